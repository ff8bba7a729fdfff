"""Plans of small synthetic sweeps."""

from pathlib import Path
from typing import Any

from hypothesis import settings

from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.prepared import load_samples
from kernel_pipeline.plan.plan import DatasetPlan, Plan, make_plan
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
]
CELLS = [("regression", "unif"), ("regression", "alignf")]
# A machine under load is slow; that is no failure.
unhurried = settings(deadline=None)


def plan_of(config: Config) -> Plan:
    return make_plan(config, [load_samples(config, dataset, Path("nowhere")).info for dataset in config.dataset])


def small(**dataset: Any) -> Plan:
    return plan_of(parsed(synthetic_values(**dataset)))


def tiles_of(dataset: DatasetPlan) -> int:
    return sum(len(task.tiles) for task in dataset.of(TilesTask))
