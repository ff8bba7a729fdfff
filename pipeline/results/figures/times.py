"""`times`: time spent in each stage; the only figure that differs from run to run."""

from collections.abc import Iterator

from kernel_pipeline.results.figures.figure import Drawing, Figure, register
from kernel_pipeline.results.figures.style import CHARACTER, ROW, SLATE, VERMILLION, category_axis, margin, new_axes
from kernel_pipeline.results.stage_times import stage_times
from kernel_pipeline.results.view import Results


class Times(Figure):
    """Sum of the times of all tasks of a stage, and of their estimates, in the order of the stages."""

    name = "times"
    max_problems = None

    def draw(self, results: Results) -> Iterator[Drawing]:
        times = stage_times(results)
        if not times:
            return
        stages, texts = [time.stage for time in times], [f"{time.seconds:,.1f} s" for time in times]
        right = 0.2 + CHARACTER * max(map(len, texts))
        image, (axes,) = new_axes(ROW * len(times), left=margin(stages), right=right)
        axes.barh(range(len(times)), [time.seconds for time in times], height=0.6, color=SLATE)
        places, estimates = range(len(times)), [time.estimated for time in times]
        axes.barh(places, estimates, height=0.8, facecolor="none", edgecolor=VERMILLION, linewidth=1.0)
        category_axis(axes, stages)
        for place, (time, text) in enumerate(zip(times, texts, strict=True)):
            end = max(time.seconds, time.estimated), place
            axes.annotate(text, end, xytext=(5, 0), textcoords="offset points", va="center")
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", nbins=5)
        axes.set_xlabel("seconds of all workers together")
        yield Drawing(
            image,
            "Time per stage",
            "Time that the tasks of each stage took on their workers, added up over all workers. Outlines are the "
            "estimates of the plan for the machine on which the cost models were measured (48 GFlop/s per core).",
        )


register(Times())
