"""Build the report of a run as one self-contained HTML file, which is complete without scripts."""

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from kernel_pipeline.config.loading import to_toml
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.figures.rendering import Rendered
from kernel_pipeline.results.paired_tests import LEVEL
from kernel_pipeline.results.report.comparison_section import ComparisonSection, paper_section
from kernel_pipeline.results.report.dataset_tables import dataset_tables
from kernel_pipeline.results.report.html_table import HtmlTable
from kernel_pipeline.results.report.inline_svg import SharedStyles, inline_svg
from kernel_pipeline.results.report.limits import MAX_ROWS, limit_sentences, shown_images
from kernel_pipeline.results.report.result_tables import error_tables, fit_table
from kernel_pipeline.results.report.run_tables import (
    dataset_table,
    environment_table,
    failed_tasks,
    failure_table,
    note_table,
    stage_table,
    time_table,
)
from kernel_pipeline.results.stage_times import stage_times
from kernel_pipeline.results.unif_sentences import unif_sentences
from kernel_pipeline.results.view import Key, Results
from kernel_pipeline.store.reports import OK
from kernel_pipeline.text import printable

if TYPE_CHECKING:
    from jinja2 import Environment

TIMES = "times"
"""Name of the figure in the section on timings and environment."""


@dataclass(frozen=True)
class PageFigure:
    """One image of the page."""

    id: str
    title: str
    caption: str
    svg: str


@dataclass(frozen=True)
class DatasetSection:
    """Section of the page about one dataset and problem."""

    id: str
    dataset: str
    problem: str
    sentence: str
    figures: Sequence[PageFigure]
    tables: Sequence[HtmlTable] = ()


@dataclass(frozen=True)
class Page:
    """Values that the template renders."""

    name: str
    description: str
    state: str
    """Why the report is not complete; empty if it is."""
    facts: Sequence[tuple[str, str]]
    """Short statements at the top: a number and what it counts."""
    config: str
    environment: HtmlTable
    sections: Sequence[DatasetSection] = ()
    remarks: Sequence[str] = ()
    """Sentences about all datasets, below those that state which method is best."""
    errors: Sequence[HtmlTable] = ()
    figures: Sequence[PageFigure] = ()
    """Images of the whole run."""
    fits: HtmlTable | None = None
    notes: HtmlTable | None = None
    failures: HtmlTable | None = None
    datasets: HtmlTable | None = None
    stages: HtmlTable | None = None
    times: HtmlTable | None = None
    time_figures: Sequence[PageFigure] = ()
    level: float = LEVEL
    """Level of the tests."""
    limits: str = ""
    """Which figures are not drawn for all pairs of a dataset and a problem, or left out; empty if none are."""
    styles: str = ""
    """Style sheet of the images."""
    comparisons: Sequence[ComparisonSection] = ()
    refresh_s: int = 0
    """Time after which the page reloads itself; 0 if it does not."""


def report_page(
    context: TableContext,
    figures: Iterable[Rendered],
    environment: Mapping[str, object],
    refresh_s: int = 0,
    comparisons: Sequence[ComparisonSection] = (),
) -> bytes:
    """Return the report of a run, which may be unfinished.

    Parameters
    ----------
    environment
        The environment of the run, as recorded in the ledger.
    refresh_s
        Time after which the page reloads itself; 0 if it does not.
    comparisons
        Comparisons with other runs; one with the paper is added if the run covers numbers of its tables.
    """
    results, plan, failed = Results(context), context.plan, failed_tasks(context)
    styles = SharedStyles()
    images = [(figure, _page_figure(figure, number, styles)) for number, figure in enumerate(figures)]
    of_times = [image for figure, image in images if figure.name == TIMES]
    others = [(figure, image) for figure, image in images if figure.name != TIMES]
    shown = others[: shown_images([len(image.svg) for _, image in others])]
    return render_page(
        Page(
            name=plan.config.name,
            description=plan.config.description,
            state=_state(len(context.pending), len(plan.tasks)),
            facts=_facts(results, len(failed)),
            config=to_toml(plan.config),
            environment=environment_table(environment),
            sections=_sections(results, shown),
            remarks=unif_sentences(context.required_table("comparison")),
            errors=error_tables(results),
            figures=[image for figure, image in shown if not figure.dataset],
            fits=fit_table(results),
            notes=note_table(context),
            failures=failure_table(failed),
            datasets=dataset_table(plan),
            stages=stage_table(context, failed),
            times=time_table(stage_times(results)),
            time_figures=of_times,
            limits=limit_sentences(len(results.problems), len(others) - len(shown)),
            styles=styles.sheet,
            comparisons=[*_paper_section(context), *comparisons],
            refresh_s=refresh_s,
        )
    )


def page_without_data(config: Config, environment: Mapping[str, object], refresh_s: int = 0) -> bytes:
    """Return the report of a run that has not stored its data yet."""
    state = "This report is not complete, since the data of the run are not stored yet."
    return render_page(
        Page(
            config.name,
            config.description,
            state,
            (),
            to_toml(config),
            environment_table(environment),
            refresh_s=refresh_s,
        )
    )


def _paper_section(context: TableContext) -> list[ComparisonSection]:
    """Return the comparison of the finished cells with the paper; empty if the paper has no number for them."""
    rows = context.required_table("rows")
    section = paper_section(rows[rows["status"] == OK], context.table("correlation"))
    return [section] if section else []


def _state(pending: int, total: int) -> str:
    if not pending:
        return ""
    return f"This report is not complete: {pending:,} of {total:,} tasks of the run have not been run yet."


def _facts(results: Results, failed: int) -> list[tuple[str, str]]:
    counts = {
        "dataset": len({dataset for dataset, _ in results.problems}),
        "method": len(results.methods),
        "trial": results.trials,
    } | ({"repeat": results.repeats} if results.repeats > 1 else {})
    facts = [(f"{count:,}", noun if count == 1 else f"{noun}s") for noun, count in counts.items()]
    return facts + ([(f"{failed:,}", "failed task" if failed == 1 else "failed tasks")] if failed else [])


def _sections(results: Results, images: Iterable[tuple[Rendered, PageFigure]]) -> list[DatasetSection]:
    by_key: dict[Key, list[PageFigure]] = {}
    for figure, image in images:
        by_key.setdefault((figure.dataset, figure.problem), []).append(image)
    sentences = {key: best.sentence for key, best in results.best_methods.items()}
    tables = dataset_tables(results)
    return [
        DatasetSection(
            f"{dataset}-{problem}",
            dataset,
            problem,
            sentences.get(key, ""),
            by_key.get(key, ()),
            tables.get(key, ()),
        )
        for key in results.problems
        for dataset, problem in [key]
    ]


def _page_figure(figure: Rendered, number: int, styles: SharedStyles) -> PageFigure:
    svg = styles.replace(inline_svg(figure.svg, f"f{number}-")) if figure.svg else ""
    return PageFigure(figure.stem.replace("/", "-"), figure.title, figure.caption, svg)


def render_page(page: Page) -> bytes:
    """Return a page as HTML."""
    from markupsafe import Markup

    style, script, template = map(_resource, ("report.css", "report.js", "report.html.j2"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = (
        _templates()
        .from_string(template)
        .render(
            page=page,
            max_rows=MAX_ROWS,
            style=Markup(f"{style}{page.styles}"),
            script=Markup(script),
            script_digest=digest,
        )
    )
    return text.encode()


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _templates() -> "Environment":
    from jinja2 import Environment, StrictUndefined

    return Environment(
        autoescape=True,
        # Markup, a subclass of str, is not changed.
        finalize=lambda value: printable(value) if type(value) is str else value,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
