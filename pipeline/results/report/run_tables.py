"""Build the tables about the run for the report: datasets, tasks, failures, timings and the environment."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.report.html_table import HtmlCell, HtmlTable, integer_cell, text_cells
from kernel_pipeline.results.stage_times import StageTime
from kernel_pipeline.text import format_bytes

MAX_FAILURES = 100
"""Maximum number of failures that are listed."""


def dataset_table(plan: Plan) -> HtmlTable:
    """Return the sizes of the datasets."""
    rows = [
        [
            *text_cells(dataset.name, ", ".join(dataset.problems), _labels(dataset.info.classes, dataset.info.outputs)),
            integer_cell(dataset.info.rows),
            integer_cell(dataset.info.columns),
            integer_cell(len(dataset.kernels)),
            integer_cell(dataset.info.left_out),
        ]
        for dataset in plan.datasets
    ]
    columns = ("dataset", "task", "labels", "rows", "features", "kernels", "rows left out")
    return HtmlTable(columns, rows, text_columns=3)


def _labels(classes: Sequence[Sequence[str]], outputs: Sequence[str]) -> str:
    if outputs:
        return f"{len(outputs)} outputs"
    return f"{len(classes)} classes" if classes else "numbers"


def stage_table(context: TableContext, failed: Mapping[str, str]) -> HtmlTable:
    """Return the numbers of tasks by stage."""
    totals, done, failures = Counter[str](), Counter[str](), Counter[str]()
    unsuccessful = {*context.pending, *failed}
    for task in context.plan.tasks:
        totals[task.stage] += 1
        failures[task.stage] += task.name in failed
        done[task.stage] += task.name in context.finished and task.name not in unsuccessful
    rows = [
        [
            HtmlCell(stage),
            *map(integer_cell, (total, done[stage], failures[stage], total - done[stage] - failures[stage])),
        ]
        for stage, total in totals.items()
    ]
    return HtmlTable(("stage", "tasks", "done", "failed", "not run"), rows)


def failed_tasks(context: TableContext) -> dict[str, str]:
    """Return the first failure of each task that failed or that reports a failed cell, by the name of the task."""
    reports = (context.finished.get(task.name) for task in context.plan.known_tasks(context.finished))
    return {
        report.task: report.failures[0]
        for report in reports
        if report and report.task not in context.pending and report.failures
    }


def failure_table(failed: Mapping[str, str]) -> HtmlTable | None:
    """Return the failed tasks with their reasons; None if there are none."""
    if not failed:
        return None
    rows = [text_cells(name, reason) for name, reason in list(failed.items())[:MAX_FAILURES]]
    more = f"the first {MAX_FAILURES} of {len(failed):,} failures" if len(failed) > MAX_FAILURES else ""
    return HtmlTable(("failed task", "reason"), rows, more, text_columns=2)


def note_table(context: TableContext) -> HtmlTable | None:
    """Return the notes about data, plan and results, without columns that are empty; None if there are no notes."""
    notes = list(map(vars, [*context.plan.notes(), *context.notes]))
    columns = [name for name in ("dataset", "task", "method", "note") if any(note[name] for note in notes)]
    rows = [text_cells(*(note[name] for name in columns)) for note in notes]
    return HtmlTable(tuple(columns), rows, text_columns=len(columns)) if rows else None


def time_table(times: Sequence[StageTime]) -> HtmlTable | None:
    """Return time and memory by stage; None if no task is finished."""
    rows = [
        [
            *text_cells(time.stage),
            integer_cell(time.tasks),
            HtmlCell(f"{time.seconds:,.1f}", order=time.seconds),
            HtmlCell(f"{time.estimated:,.1f}", order=time.estimated),
            HtmlCell(f"{time.longest:,.2f}", order=time.longest),
            HtmlCell(format_bytes(time.peak_memory), order=time.peak_memory),
        ]
        for time in times
    ]
    columns = ("stage", "tasks", "seconds", "estimated seconds", "longest task (s)", "largest memory of a worker")
    return HtmlTable(columns, rows) if rows else None


def environment_table(environment: Mapping[str, object]) -> HtmlTable:
    """Return the environment as pairs of a name and a value."""
    return HtmlTable(("", ""), [text_cells(*pair) for pair in _pairs(environment)], text_columns=2)


def _pairs(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _pairs(value, f"{prefix}{name} ")
        elif isinstance(value, list):
            for number, item in enumerate(value):
                yield from _pairs(item if isinstance(item, Mapping) else {str(number): item}, f"{prefix}{name} ")
        elif value is not None:
            yield f"{prefix}{name}".replace("_", " "), value
