"""`comparison`: difference of each pair of methods on each dataset, with its confidence interval and tests."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.comparison import compare_methods, comparison_latex, comparison_markdown
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.table import Table, register
from kernel_pipeline.stages.samples import read_folds
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.tasks.folds import trials


class Comparison(Table):
    """Tests of the difference of two methods, one row per dataset, problem and pair."""

    name = "comparison"
    columns = columns(
        "dataset",
        "task",
        "metric",
        "method",
        "other",
        "paired_trials",
        "difference",
        "lower",
        "upper",
        "p_paired",
        "p_corrected",
        "p_holm",
    )

    @property
    def renderers(self) -> Mapping[str, Callable[[pd.DataFrame], bytes]]:
        return {"md": comparison_markdown, "tex": comparison_latex}

    def rows(self, context: TableContext) -> pd.DataFrame:
        ratios = {dataset.name: test_ratio(context.store, dataset) for dataset in context.plan.datasets}
        return compare_methods(context.required_table("rows"), ratios)


def test_ratio(store: RunStore, dataset: DatasetPlan) -> float:
    """Return the number of test samples per training sample, of all trials together.

    With a fixed test set, the result is NaN: the corrected test is for trials that test on different samples.
    """
    if dataset.fixed_test:
        return np.nan
    parts, tested, trained = trials(dataset.folds), 0, 0
    for fold in read_folds(store, dataset.name, dataset.repeats):
        sizes = np.bincount(fold)
        tested += sum(sizes[part.test] for part in parts)
        trained += sum(sizes[list(part.train)].sum() for part in parts)
    return float(tested / trained)


register(Comparison())
