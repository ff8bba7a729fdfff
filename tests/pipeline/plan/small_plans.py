"""Plans of small synthetic sweeps."""

from pathlib import Path
from typing import Any

from hypothesis import settings

from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.prepared import prepare_dataset
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.plan import Plan, make_plan
from kernel_pipeline.stages.tiles import TilesTask
from tests.helpers.build import parsed, synthetic_values

RANK_ONE = [{"family": "rank-one"}]
EVERY_METHOD: list[Any] = [
    "unif",
    "align",
    {"method": "align", "q": 1.5},
    "alignf",
    "alignf-linear",
    "best-kernel",
    "l1-svm",
    "l2-krr",
    "align-krr",
    "each-kernel",
    "best-single",
    "linear",
    "majority",
    "mean",
]
METHOD_KEYS = [("regression", "unif"), ("regression", "alignf")]
# Tests have no deadline, since a machine under load is slow.
unhurried = settings(deadline=None)


def plan_of(config: Config) -> Plan:
    return make_plan(config, [prepare_dataset(config, dataset, Path("nowhere")).info for dataset in config.dataset])


def small(**dataset: Any) -> Plan:
    return plan_of(parsed(synthetic_values(**dataset)))


def tiles_of(dataset: DatasetPlan) -> int:
    return sum(len(task.tiles) for task in dataset.of(TilesTask))


def gram_bytes(dataset: DatasetPlan, combined: int, weighted: int) -> int:
    """Return the bytes of all chunks, with checksums, for 2 kernels, 3 folds and tiles of 4 x 4 in one batch."""
    m, d, tiles, problems = dataset.info.rows, dataset.info.columns, tiles_of(dataset), len(dataset.problems)
    floats = (
        tiles * (2 + combined * 3) * 4 * 4
        + 3 * 3 * 2 * (2 + problems)  # sums by pair of folds
        + (3 + 1) * 2 * m  # sums by row, and the diagonal
        + m * (d + problems + 2)  # features, labels, order and folds
        + problems * 3 * (4 * 2 * 2 + 13 * 2 + 4)  # M and M_test, also debiased, 13 statistics of the kernels, 4 norms
        + weighted * 3 * (2 + 1 + m)  # weights, a certificate and predictions
    )
    return 8 * floats + 4 * (tiles * (1 + combined * 3) + 4 + 4 + problems * 3 * 19 + weighted * 3 * 3)
