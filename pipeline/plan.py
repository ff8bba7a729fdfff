"""The plan: every task of a sweep and what it costs, as a value, before anything runs."""

from dataclasses import dataclass
from typing import TypeVar

from pipeline import memory
from pipeline.config import Config
from pipeline.datasets import Dataset
from pipeline.errors import TooLargeError
from pipeline.samples import Samples
from pipeline.stages.combine import CombineTask
from pipeline.stages.fits import FitTask
from pipeline.stages.reduce import ReduceTask
from pipeline.stages.tiles import TilesTask, batches, tiles_on_and_above_diagonal
from pipeline.stages.weights import WeightsTask, trial_batches
from pipeline.task import Task

T = TypeVar("T", bound=Task)


@dataclass(frozen=True)
class DatasetPlan:
    """The tasks of one dataset, stage after stage, and their cost."""

    name: str
    tasks_learned: tuple[str, ...]
    samples: int
    features: int
    kernels: tuple[str, ...]
    folds: int
    tile: int
    tiles: int
    methods: tuple[str, ...]
    left_out: int
    stages: dict[str, tuple[Task, ...]]
    memory: dict[str, int]
    """Projected peak bytes of a worker process, by stage."""

    @property
    def disk_bytes(self) -> int:
        """What the arrays take on disk; chunks at the border of a Gram matrix are stored whole."""
        learned = len(self.tasks_learned)
        kernels = len(self.kernels) + learned * len(self.methods) * self.folds  # base and combined
        sums = memory.sum_floats(self.samples, len(self.kernels), self.folds, learned)
        floats = (
            self.tiles * kernels * self.tile**2
            + len(self.stages["tiles"]) * sums
            + self.samples * (self.features + learned)
        )
        return floats * memory.FLOAT

    @property
    def tasks(self) -> list[Task]:
        """The tasks of all stages."""
        return [task for tasks in self.stages.values() for task in tasks]

    def of(self, kind: type[T]) -> list[T]:
        """The tasks of one kind."""
        return [task for task in self.tasks if isinstance(task, kind)]


@dataclass(frozen=True)
class Plan:
    """A whole sweep."""

    config: Config
    datasets: tuple[DatasetPlan, ...]

    @property
    def tasks(self) -> list[Task]:
        """All tasks."""
        return [task for dataset in self.datasets for task in dataset.tasks]

    @property
    def disk_bytes(self) -> int:
        """What the arrays of the run take on disk."""
        return sum(dataset.disk_bytes for dataset in self.datasets)

    @property
    def largest(self) -> tuple[int, str, DatasetPlan]:
        """The greatest projected memory of a task, its stage and its dataset."""
        return max(
            ((size, stage, dataset) for dataset in self.datasets for stage, size in dataset.memory.items()),
            key=lambda item: item[0],
        )

    def check_memory(self, limit: int, workers: int) -> None:
        """Refuse a sweep whose largest task does not fit a worker."""
        size, stage, dataset = self.largest
        if size <= limit:
            return
        smaller = "a smaller [storage] tile" if stage in ("tiles", "combine") else f"fewer rows ({dataset.samples} now)"
        raise TooLargeError(
            f"dataset {dataset.name!r}: a task of stage {stage!r} needs about {memory.text(size)}, but each of the "
            f"{workers} worker(s) may use {memory.text(limit)}. Ask for fewer workers (--workers 1), or for {smaller}"
        )

    def check_disk(self, free: int, where: str) -> None:
        """Refuse a sweep whose arrays do not fit the disk."""
        if self.disk_bytes > free:
            raise TooLargeError(
                f"the arrays of this sweep need {memory.text(self.disk_bytes)}, but {where} has {memory.text(free)} "
                "free. Choose another place with --out, or fewer rows, kernels or methods"
            )


def make_plan(config: Config, samples: list[Samples]) -> Plan:
    """Lay out all tasks. The batches depend on sizes only, never on where or by how many workers they run."""
    return Plan(
        config=config,
        datasets=tuple(
            _plan_dataset(config, dataset, loaded) for dataset, loaded in zip(config.dataset, samples, strict=True)
        ),
    )


def _plan_dataset(config: Config, dataset: Dataset, samples: Samples) -> DatasetPlan:
    m, d = samples.features.shape
    kernels = dataset.kernel_names
    tile = min(config.storage.tile, m)
    folds = config.protocol.folds
    tiles = tiles_on_and_above_diagonal(m, tile)
    cells = tuple((task, method) for task in dataset.task for method in config.methods)
    common = {"dataset": dataset.name, "fingerprint": samples.fingerprint}
    gram_batches = list(enumerate(batches(tiles, tile, m, len(kernels))))
    combine_batches = list(enumerate(batches(tiles, tile, m, len(kernels) + folds * len(cells))))
    stages: dict[str, tuple[Task, ...]] = {
        "tiles": tuple(
            TilesTask(
                **common,
                number=number,
                log2_gammas=tuple(family.log2_gamma for family in dataset.kernels),
                tile=tile,
                tiles=batch,
            )
            for number, batch in gram_batches
        ),
        "reduce": (ReduceTask(**common, tasks=tuple(dataset.task), folds=folds, batches=len(gram_batches)),),
        "weights": tuple(
            WeightsTask(**common, task=task, method=method, trials=batch)
            for task, method in cells
            for batch in trial_batches(folds, len(kernels))
        ),
        "combine": tuple(
            CombineTask(**common, number=number, cells=cells, tile=tile, tiles=batch)
            for number, batch in combine_batches
        ),
        "fits": tuple(
            FitTask(
                **common,
                task=task,
                task_index=dataset.task.index(task),
                method=method,
                trial=trial,
                values=tuple(config.fit.path(task)),
            )
            for task, method in cells
            for trial in range(folds)
        ),
    }
    return DatasetPlan(
        name=dataset.name,
        tasks_learned=tuple(dataset.task),
        samples=m,
        features=d,
        kernels=tuple(kernels),
        folds=folds,
        tile=tile,
        tiles=len(tiles),
        methods=tuple(config.methods),
        left_out=samples.left_out,
        stages=stages,
        memory=memory.projection(m, d, len(kernels), folds, tile, len(cells), dataset.task),
    )
