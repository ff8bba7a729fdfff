"""`alignments`: the test alignment of every method and trial, one image per dataset and problem."""

from collections.abc import Iterator

from kernel_pipeline.results.figures.figure import Drawing, Figure, register
from kernel_pipeline.results.figures.strips import draw_strips
from kernel_pipeline.results.view import Results


class Alignments(Figure):
    """Centered alignments of the learned kernels with the labels of the test fold, sorted by their mean."""

    name = "alignments"
    max_problems = 60

    def draw(self, results: Results) -> Iterator[Drawing]:
        for (dataset, problem), rows in results.finished_rows():
            image = draw_strips(rows, "alignment_test", "centered alignment on the test fold", smallest_is_best=False)
            if image:
                yield Drawing(
                    image,
                    "Alignment of each method",
                    "Each point is the centered alignment of the learned kernel with the labels on the test fold of "
                    "one trial; the line is the mean over the trials. The largest mean is at the top.",
                    dataset,
                    problem,
                )


register(Alignments())
