"""One task of each kind, and another value for each of its fields."""

from typing import Any

from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.fitted import TrainingFolds
from kernel_pipeline.stages.one_stage import OneStageTask
from kernel_pipeline.stages.panel_fits import LargeRidgesTask, PanelFitTask
from kernel_pipeline.stages.rank_one import RankOneFitTask, RankOneOneStageTask, RankOneStatisticsTask
from kernel_pipeline.stages.rank_one_kernels import RankOneBestSingleTask, RankOneEachKernelTask
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.references import ReferenceTask
from kernel_pipeline.stages.row_fits import RowFitTask
from kernel_pipeline.stages.samples import Target
from kernel_pipeline.stages.single_kernels import BestSingleTask, EachKernelTask
from kernel_pipeline.stages.task import Task
from kernel_pipeline.stages.tiles import GramTask, TilesTask
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.learners.align_krr import AlignKrr
from kernel_pipeline.tasks.learners.best_single import BestSingle
from kernel_pipeline.tasks.learners.each_kernel import EachKernel
from kernel_pipeline.tasks.learners.l2_krr import L2Krr
from kernel_pipeline.tasks.learners.linear import Linear
from kernel_pipeline.tasks.learners.mean import Mean
from kernel_pipeline.tasks.learners.panel_memory import PanelMemory
from kernel_pipeline.tasks.learners.svm_rows import RowMemory
from kernel_pipeline.tasks.statistics.permutations import Permutations
from kernel_pipeline.tasks.weights.align import Align
from kernel_pipeline.tasks.weights.unif import Unif

COMMON: dict[str, Any] = {"dataset": "made", "fingerprint": "f" * 64}
GRAM: dict[str, Any] = {**COMMON, "tile_size": 4, "families": (GaussianFamily((-3, 3)),)}
OTHER_GRAM: dict[str, Any] = {
    "tile_size": 5,
    "families": (GaussianFamily((-3, -1)), GaussianFamily((0, 3))),
    "recompute": True,
}
TARGET = Target("regression", (0,))
CELL: dict[str, Any] = {"target": TARGET, "trial": 0}
OTHER_CELL: dict[str, Any] = {
    "target": Target("regression", (1,)),
    "trial": 1,
    "metrics": ("mae",),
    "metric": "mae",
    "fixed_test": True,
}
OTHER_FIT: dict[str, Any] = {**OTHER_CELL, "refit": True}
OTHER_PATH: dict[str, Any] = {"method": Unif(), "values": (1.0, 0.25), "class_weight": "balanced"}
OTHER_BATCH: dict[str, Any] = {**OTHER_PATH, "number": 1, "first": 1, "count": 3}
OTHER_PANELS: dict[str, Any] = {
    **OTHER_CELL,
    "method": Align(3.0),
    "values": (1.0, 0.25),
    "class_weight": "balanced",
    "memory": PanelMemory(9, 0),
}
# One task of each kind, and for each of its fields another value.
TASKS: list[tuple[Task, dict[str, Any]]] = [
    (
        TilesTask(**GRAM, number=0, tiles=((0, 0), (0, 1))),
        {"number": 1, "tiles": ((0, 0), (1, 1)), "label_blocks": ((0,), (1,))},
    ),
    (
        ReduceTask(**GRAM, problems=("regression",), folds=5, batches=2),
        {"problems": ("classification",), "folds": 6, "batches": 3, "fixed_test": True, "widths": (3,), "repeat": 1},
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
        {**OTHER_FIT, "method": Align(3.0), "values": (1.0, 0.25), "class_weight": "balanced", "trials": (0, 1)},
    ),
    (
        RowFitTask(**GRAM, **CELL | {"trial": 2}, method=Align(2.0), values=(1.0, 0.5), memory=RowMemory(2**20, 8)),
        {
            **OTHER_CELL,
            "method": Align(3.0),
            "values": (1.0, 0.25),
            "class_weight": "balanced",
            "memory": RowMemory(2**20, 9),
        },
    ),
    (
        LargeRidgesTask(**GRAM, **CELL | {"trial": 3}, method=Align(2.0), values=(1.0, 0.5), memory=PanelMemory(8, 0)),
        OTHER_PANELS,
    ),
    (
        PanelFitTask(**GRAM, **CELL | {"trial": 3}, method=Align(2.0), values=(1.0, 0.5), memory=PanelMemory(8, 0)),
        OTHER_PANELS,
    ),
    (
        OneStageTask(**GRAM, **CELL, method=L2Krr(), values=((1.0, 0.5),)),
        {**OTHER_FIT, "method": AlignKrr(), "values": ((1.0, 0.25),)},
    ),
    (
        EachKernelTask(**GRAM, **CELL, method=EachKernel(), number=0, first=0, count=2, values=(1.0, 0.5)),
        {**OTHER_CELL, **OTHER_BATCH},
    ),
    (
        BestSingleTask(**GRAM, **CELL, method=BestSingle(), values=(1.0, 0.5)),
        {**OTHER_FIT, **OTHER_PATH},
    ),
    (
        ReferenceTask(**COMMON, **CELL, method=Mean(), values=(1.0, 0.5)),
        {**OTHER_FIT, "method": Linear(), "values": (1.0,), "class_weight": "balanced", "rank_one": True},
    ),
    (
        RankOneStatisticsTask(**COMMON, targets=(TARGET,), folds=5),
        {"targets": (Target("classification", (0,)),), "folds": 6, "fixed_test": True, "repeat": 1},
    ),
    (
        RankOneFitTask(**COMMON, **CELL, method=Align(), values=((1.0,),)),
        {**OTHER_FIT, "method": Align(1.5), "values": ((0.5,),), "class_weight": "balanced", "few_columns": True},
    ),
    (
        RankOneOneStageTask(**COMMON, **CELL, method=L2Krr(), values=((1.0,),)),
        {**OTHER_FIT, "method": AlignKrr(), "values": ((0.5,),), "few_columns": True},
    ),
    (
        RankOneEachKernelTask(**COMMON, **CELL, method=EachKernel(), number=0, first=0, count=2, values=(1.0, 0.5)),
        {**OTHER_CELL, **OTHER_BATCH},
    ),
    (
        RankOneBestSingleTask(**COMMON, **CELL, method=BestSingle(), values=(1.0, 0.5), n_kernels=4),
        {**OTHER_FIT, **OTHER_PATH, "n_kernels": 5},
    ),
]
SHARED: dict[str, Any] = {
    "dataset": "other",
    "fingerprint": "e" * 64,
    "fit_on": TrainingFolds(0, (2, 3)),
    "repeats": 2,
    "permutations": Permutations(19, 0),
}
FIELDS = [
    (task, name, value)
    for task, others in TASKS
    for name, value in {**SHARED, **(OTHER_GRAM if isinstance(task, GramTask) else {}), **others}.items()
]
