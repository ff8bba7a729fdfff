"""A sweep of any size whose tasks do nothing, but have the names, identities and reports of real tasks.

The reports have the size of real ones: the digests of a tile and its sums, or a path of 16 values. There are no
combined kernels, so that the numbers of tiles and cells are independent.
"""

from dataclasses import dataclass
from itertools import islice
from typing import Any

from kernel_pipeline.config.sweep import Config
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.stages.cell_results import Alignments, CellResult, Theorems, TrialWeights, WeightsResult
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.samples import make_targets
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.tile_sources import tiles_on_and_above_diagonal
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.store.arrays import GRAM, STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.learners.paths import PathResult
from kernel_pipeline.tasks.weights.align import Align

TASK = "regression"
FOLDS = 10
FAMILIES = (GaussianFamily((-1, 2)),)
KERNELS = FAMILIES[0].names()
SUMS = ("products", "labels", "rows", "diagonal")


@dataclass(frozen=True, kw_only=True)
class EmptyTiles(TilesTask):
    def run(self, store: RunStore) -> Output:
        gram = {f"{GRAM}/{self.dataset}/gram/c/0/{i}/{j}": f"{self.number:08x}:8388612" for i, j in self.tiles}
        sums = {f"{STATISTICS}/{self.dataset}/sums/{name}/c/{self.number}/0/0/0": "6b9b46fa:3204" for name in SUMS}
        return Output(digests=gram | sums)


@dataclass(frozen=True, kw_only=True)
class EmptyReduce(ReduceTask):
    def run(self, store: RunStore) -> Output:
        return Output()


@dataclass(frozen=True, kw_only=True)
class EmptyWeights(WeightsTask):
    def run(self, store: RunStore) -> Output:
        found = WeightsResult(n_kernels=4, n_active=4, certificate=0.0, alignments=Alignments(1 / 3, 1 / 7))
        keys = [f"{WEIGHTS}/{self.dataset}/{self.problem}/{self.method_id}/c/{trial}/0" for trial in self.trials]
        return Output(dict.fromkeys(keys, "f4c0f2aa:36"), TrialWeights(dict.fromkeys(self.trials, found)))


@dataclass(frozen=True, kw_only=True)
class EmptyFit(FitTask):
    def run(self, store: RunStore) -> Output:
        train, validation, test = ([1 / (part + place + 3) for place in range(len(self.values))] for part in range(3))
        path = PathResult([(value,) for value in self.values], [*train], [*validation], [*test], best=0)
        theorems = Theorems(theorem12=1 / 3, predictor_error=1 / 4, theorem14=1 / 5, theorem17=1 / 6)
        return Output(result=CellResult(path=path, theorems=theorems))


def empty_plan(tiles: int, cells: int, datasets: int) -> Plan:
    """Return a plan with tasks of one tile each, with cells, and with the tasks between them, spread over datasets."""
    names = [f"made-{number}" for number in range(datasets)]
    family = {"family": "gaussian", "log2_gamma": [-1, 2]}
    made = {"source": "synthetic", "task": TASK, "rows": 1000, "kernels": [family]}
    config = Config.model_validate(
        {
            "name": "empty",
            "baselines": False,
            "methods": ["align"],
            "dataset": [{"name": name, **made} for name in names],
        }
    )
    values = tuple(value for (value,) in config.fit.path(TASK))
    shares = [(_share(tiles, datasets, place), _share(cells, datasets, place)) for place in range(datasets)]
    return Plan(
        config, tuple(_dataset(name, *share, values, config) for name, share in zip(names, shares, strict=True))
    )


def _share(total: int, parts: int, place: int) -> int:
    return total // parts + (place < total % parts)


def _dataset(name: str, tiles: int, cells: int, values: tuple[float, ...], config: Config) -> DatasetPlan:
    side, tile = int((2 * tiles) ** 0.5) + 1, config.storage.tile
    info = DatasetInfo(name, "0123456789abcdef", side * tile, 10, side * tile * 10, KERNELS, 0)
    common: dict[str, Any] = {
        "dataset": name,
        "fingerprint": info.fingerprint,
        "tile_size": tile,
        "families": FAMILIES,
    }
    (target,) = make_targets([TASK])
    places = [divmod(number, FOLDS) for number in range(cells)]
    methods = [Align(1.0 + number) for number in range(-(-cells // FOLDS))]
    stages: dict[str, tuple[Task, ...]] = {
        "tiles": tuple(
            EmptyTiles(**common, number=number, tiles=(place,))
            for number, place in enumerate(islice(tiles_on_and_above_diagonal(info.rows, tile), tiles))
        ),
        "reduce": (EmptyReduce(**common, problems=(TASK,), folds=FOLDS, batches=tiles),),
        "weights": tuple(
            EmptyWeights(**common, problem=TASK, method=method, trials=tuple(range(FOLDS))) for method in methods
        ),
        "combine": (),
        "fits": tuple(
            EmptyFit(**common, target=target, method=methods[method], trial=trial, values=values)
            for method, trial in places
        ),
    }
    return DatasetPlan(
        fixed_test=False,
        info=info,
        problems=(),  # there are no statistics for a table of kernels
        rank_one=False,
        families=FAMILIES,
        folds=FOLDS,
        tile_size=tile,
        method_keys=tuple((TASK, method.method_id) for method in methods),
        unsupported=(),
        stages=stages,
        memory={},
        arrays=(),
    )
