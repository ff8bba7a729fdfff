"""One task of each kind, and another value for each of its fields."""

from typing import Any

from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.one_stage import EachKernelTask, OneStageTask
from kernel_pipeline.stages.rank_one import RankOneFitTask, RankOneOneStageTask, RankOneStatisticsTask
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.samples import Target
from kernel_pipeline.stages.task import Task
from kernel_pipeline.stages.tiles import GramTask, TilesTask
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.learners.align_krr import AlignKrr
from kernel_pipeline.tasks.learners.each_kernel import EachKernel
from kernel_pipeline.tasks.learners.l2_krr import L2Krr
from kernel_pipeline.tasks.weights.align import Align
from kernel_pipeline.tasks.weights.unif import Unif

COMMON: dict[str, Any] = {"dataset": "made", "fingerprint": "f" * 64}
GRAM: dict[str, Any] = {**COMMON, "tile": 4, "families": (GaussianFamily((-3, 3)),)}
OTHER_GRAM: dict[str, Any] = {"tile": 5, "families": (GaussianFamily((-3, -1)), GaussianFamily((0, 3)))}
TARGET = Target("regression", (0,))
CELL: dict[str, Any] = {"target": TARGET, "trial": 0}
OTHER_CELL: dict[str, Any] = {"target": Target("regression", (1,)), "trial": 1, "metrics": ("mae",)}
# One task of each kind, and for each of its fields another value.
TASKS: list[tuple[Task, dict[str, Any]]] = [
    (
        TilesTask(**GRAM, number=0, tiles=((0, 0), (0, 1))),
        {"number": 1, "tiles": ((0, 0), (1, 1))},
    ),
    (
        ReduceTask(**GRAM, tasks=("regression",), folds=5, batches=2),
        {"tasks": ("classification",), "folds": 6, "batches": 3},
    ),
    (
        WeightsTask(**GRAM, problem="regression", method=Align(), trials=(0, 1)),
        {"problem": "classification", "method": Align(1.5), "trials": (0, 1, 2)},
    ),
    (
        CombineTask(**GRAM, number=0, problem="regression", method=Unif(), trials=(0, 1), tiles=((0, 0),)),
        {"number": 1, "problem": "classification", "method": Align(), "trials": (0,), "tiles": ((0, 1),)},
    ),
    (
        FitTask(**GRAM, **CELL, method=Align(2.0), values=(1.0, 0.5)),
        {**OTHER_CELL, "method": Align(3.0), "values": (1.0, 0.25)},
    ),
    (
        OneStageTask(**GRAM, **CELL, method=L2Krr(), values=((1.0, 0.5),)),
        {**OTHER_CELL, "method": AlignKrr(), "values": ((1.0, 0.25),)},
    ),
    (
        EachKernelTask(**GRAM, **CELL, method=EachKernel(), kernels=(0, 1), values=(1.0, 0.5)),
        {**OTHER_CELL, "method": Unif(), "kernels": (0, 1, 2), "values": (1.0, 0.25)},
    ),
    (
        RankOneStatisticsTask(**COMMON, targets=(TARGET,), folds=5),
        {"targets": (Target("classification", (0,)),), "folds": 6},
    ),
    (
        RankOneFitTask(**COMMON, **CELL, method=Align(), values=((1.0,),)),
        {**OTHER_CELL, "method": Align(1.5), "values": ((0.5,),)},
    ),
    (
        RankOneOneStageTask(**COMMON, **CELL, method=L2Krr(), values=((1.0,),)),
        {**OTHER_CELL, "method": AlignKrr(), "values": ((0.5,),)},
    ),
]
SHARED: dict[str, Any] = {"dataset": "other", "fingerprint": "e" * 64}
FIELDS = [
    (task, name, value)
    for task, others in TASKS
    for name, value in {**SHARED, **(OTHER_GRAM if isinstance(task, GramTask) else {}), **others}.items()
]
