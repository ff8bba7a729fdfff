"""A small sweep with data for every figure about few kernels, and its figures and report."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.figures.rendering import Rendered, render_figures
from kernel_pipeline.results.report.page import report_page
from kernel_pipeline.results.view import Results
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.reports import TaskReport
from tests.helpers.few_figures import all_figures

GRID = {"from": -12, "to": 0, "step": 6}
WAVE = {"source": "synthetic", "task": "regression", "kernels": [{"family": "gaussian", "log2_gamma": [-4, -1]}]}
DRAWN: dict[str, Any] = {
    "name": "drawn",
    "description": "every figure",
    "baselines": False,
    "methods": ["unif", "alignf", "best-kernel", "l2-krr", "each-kernel"],
    "protocol": {"folds": 3},
    "fit": {"krr": GRID, "l2-krr": {"from": 0, "to": 4, "step": 2}},
    "dataset": [WAVE | {"name": f"wave{number}", "rows": 40 + number} for number in range(4)],
}


def drawn_config(**changes: Any) -> Config:
    return parse_config(DRAWN | changes, "a test")


def context_of(
    root: Path, plan: Plan, finished: Mapping[str, TaskReport], pending: Collection[str] = ()
) -> TableContext:
    return TableContext(plan, finished, RunStore(LocalStorage(root)), pending)


def figures_of(context: TableContext) -> dict[str, bytes]:
    """Return the files of all figures, by name."""
    with all_figures():
        return {
            key.removeprefix("figures/"): content
            for figure in render_figures(Results(context))
            for key, content in figure.files.items()
        }


def report_of(context: TableContext, environment: Mapping[str, object] | None = None) -> str:
    """Return the text of the report."""
    with all_figures():
        figures: list[Rendered] = list(render_figures(Results(context), png=False))
        return report_page(context, figures, environment or {}).decode()
