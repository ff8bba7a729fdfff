"""The run directory: its names, which are a contract, and the arrays it starts with."""

from pathlib import Path

import numpy as np

from pipeline.plan import DatasetPlan
from pipeline.samples import Samples
from pipeline.store import COMBINED, DATA, GRAM, STATISTICS, WEIGHTS, RunStore
from tasks.sums import Sums

CONFIG = "config.toml"
ENVIRONMENT = "environment.json"
LEDGER = "ledger.jsonl"
RESULTS = "results"
LOGS = "logs"

# name: (shape behind the trial, what it is); p kernels, scaled to trace one on the training set
STATISTICS_ARRAYS = {
    "M": ("pp", "<K_k, K_l> of the centered kernels, training set"),
    "a": ("p", "<K_k, y y'> of the centered kernels, training set"),
    "trace": ("p", "trace of the centered kernels before scaling, training set; 0 for a constant kernel"),
    "M_test": ("pp", "<K_k, K_l> of the same kernels, centered on the test fold"),
    "a_test": ("p", "<K_k, y y'> of the same kernels, centered on the test fold"),
    "label_norms": ("2", "yc . yc of the centered labels, training set and test fold"),
    "alignment": ("p", "centered alignment of each kernel, training set"),
    "alignment_test": ("p", "centered alignment of each kernel, test fold"),
    "uncentered": ("p", "alignment of each kernel without centering, training set"),
}


def create_arrays(root: Path, plan: DatasetPlan, samples: Samples) -> None:
    """Make the arrays of a dataset; tasks fill them. What is there already stays."""
    store = RunStore(root)
    name, m, p, trials = plan.name, plan.samples, len(plan.kernels), plan.folds
    named = {"kernels": list(plan.kernels)}
    store.create(
        GRAM,
        f"{name}/gram",
        (p, m, m),
        (p, plan.tile, plan.tile),
        "kernel k of samples order[i], order[j]; tiles on and above the diagonal",
        attributes=named,
    )
    integers = {"order": samples.order, "fold": samples.fold}
    for key, about in (("order", "row of the source at each place"), ("fold", "fold of each place")):
        store.create(GRAM, f"{name}/{key}", (m,), (m,), about, dtype="int64")
        store.write(GRAM, f"{name}/{key}", integers[key])
    targets = np.column_stack([samples.targets[task] for task in plan.tasks_learned])
    for key, values, about in (
        ("features", samples.features, "features of samples order[i]"),
        ("targets", targets, "a column of labels a task"),
    ):
        store.create(DATA, f"{name}/{key}", values.shape, values.shape, about)
        store.write(DATA, f"{name}/{key}", values)
    batches, tasks = len(plan.stages["tiles"]), len(plan.tasks_learned)
    for key, values in Sums.zeros(trials, p, tasks, m).arrays().items():
        shape = values.shape
        store.create(STATISTICS, f"{name}/sums/{key}", (batches, *shape), (1, *shape), "sums of one batch of tiles")
    sizes = {"p": (p,), "pp": (p, p), "2": (2,)}
    for task in plan.tasks_learned:
        for key, (shape_name, about) in STATISTICS_ARRAYS.items():
            shape = sizes[shape_name]
            store.create(STATISTICS, f"{name}/{task}/{key}", (trials, *shape), (1, *shape), about, attributes=named)
        for method in plan.methods:
            store.create(
                WEIGHTS,
                f"{name}/{task}/{method}",
                (trials, p),
                (1, p),
                "weights of the trace-one kernels; they sum to one",
                attributes=named,
            )
            store.create(
                WEIGHTS,
                f"{name}/{task}/certificate/{method}",
                (trials,),
                (1,),
                "how far the weights are from optimal; 0 is exact",
            )
            store.create(
                COMBINED,
                f"{name}/{task}/{method}",
                (trials, m, m),
                (1, plan.tile, plan.tile),
                "K_mu of each trial; tiles on and above the diagonal",
            )
