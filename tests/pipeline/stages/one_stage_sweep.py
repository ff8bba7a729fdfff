"""A sweep of Gaussian families with one-stage methods, and helpers for its tests."""

from pathlib import Path
from typing import Any

import pandas as pd

from kernel_pipeline.plan.plan import Plan
from tests.helpers.plain import Trial
from tests.helpers.sweeps import SMALL

FOLDS = 4
# The third kernel of wave is constant.
GAMMAS = {"wave": [2.0**e for e in (-6, -5, -1000, 0, 1)], "flowers": [2.0**e for e in range(-3, 2)]}
FIT = SMALL["fit"] | {
    "l1-svm": {"from": 2, "to": 8, "step": 3},
    "l2-krr": {"from": 2, "to": 14, "step": 6},
    "align-krr": {
        "gamma": {"from": -2, "to": 0, "step": 2},
        "gamma1": {"from": -12, "to": -10, "step": 2},
        "gamma2": {"from": -20, "to": -10, "step": 10},
    },
}
MAX_CERTIFICATES = {"l1-svm": 1e-4, "l2-krr": 1e-6, "align-krr": 1e-6}
OneStageRun = tuple[Path, Plan, dict[tuple[str, str, int], Trial]]


def selected(root: Path, table: str, **keys: Any) -> pd.DataFrame:
    found = pd.read_csv(root / f"results/{table}.csv")
    for key, value in keys.items():
        found = found[found[key] == value]
    return found
