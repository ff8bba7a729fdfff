"""Read the Gram matrix of one base kernel of a run from the store, or compute it again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kernel_pipeline.data.prepared import prepare_dataset
from kernel_pipeline.errors import DataError, PipelineError, RefusedError
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.run.manifest import Manifest, check_same_data
from kernel_pipeline.run.stored_data import stored_values
from kernel_pipeline.run.tables import check_read
from kernel_pipeline.stages.rank_one import read_columns
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.store.arrays import DATA, GRAM, DamagedError, RunStore
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.inputs import PRECOMPUTED
from kernel_pipeline.store.paths import fitted_group
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.kernels.family import kernel_shifts

Loaders = Mapping[str, Callable[[], Any]]
"""Functions that return the values of arrays, by key."""


@dataclass(frozen=True)
class WantedKernel:
    """A base kernel of a dataset, in one trial if kernels differ by trial."""

    dataset: str
    number: int
    trial: int | None = None
    """The trial to whose training set data-dependent steps are fitted; None for all samples."""

    @property
    def group(self) -> str:
        """Return the name of the group of its arrays."""
        return fitted_group(self.dataset, self.trial)


class KernelStore(RunStore):
    """A store in which tasks compute one kernel: its Gram matrix is kept in memory, and nothing is written.

    Parameters
    ----------
    values
        Functions that return arrays, by key; their results are read instead of the stored arrays.
    wanted
        The kernel to compute.
    """

    def __init__(self, root: Storage, values: Loaders, plan: DatasetPlan, wanted: WantedKernel) -> None:
        super().__init__(root)
        self._values, self._kernel, self._tile_size = values, wanted.number, plan.tile_size
        self._gram_key = f"{GRAM}/{wanted.group}/gram"
        self.gram: Floats = np.full((plan.info.rows, plan.info.rows), np.nan)

    def read(self, group: str, name: str, selection: Any = ..., allow_nan: bool = False) -> Any:
        """Read a part of an array."""
        key = f"{group}/{name}"
        if key in self._values:
            return self._values[key]()[selection]
        return super().read(group, name, selection, allow_nan)

    def write_chunk(self, group: str, name: str, chunk: Sequence[int], values: Floats) -> dict[str, str]:
        """Keep a tile of the kernel, and its transpose; ignore everything else."""
        if f"{group}/{name}" == self._gram_key:
            self.keep_tile(chunk[1] * self._tile_size, chunk[2] * self._tile_size, values[self._kernel])
        return {}

    def write_part(self, group: str, name: str, number: int, values: Floats) -> dict[str, str]:
        """Ignore sums."""
        return {}

    def keep_tile(self, row: int, column: int, values: Floats) -> None:
        """Keep a tile that starts at a row and a column."""
        height, width = values.shape
        self.gram[row : row + height, column : column + width] = values
        self.gram[column : column + width, row : row + height] = values.T


def read_gram(manifest: Manifest, wanted: WantedKernel, data_dir: Path | None) -> Floats:
    """Return the Gram matrix of a kernel, in the order of the source rows.

    It is read if it is stored, and otherwise computed from the stored features or the source data.
    """
    plan = dataset_plan(manifest, wanted.dataset)
    ascending = np.argsort(source_rows(manifest, wanted.dataset))
    found = _stored(manifest, plan, wanted)
    if found is None:
        found = _from_features(manifest, plan, wanted)
    if found is None:
        found = _from_source(manifest, plan, wanted, data_dir)
    return found[np.ix_(ascending, ascending)]


def source_rows(manifest: Manifest, dataset: str) -> Integers:
    """Return the row of the source for each stored sample."""
    store = RunStore(manifest.arrays())
    order: Integers = store.read(GRAM, f"{dataset}/order")
    check_read(store.access.read, manifest.finished)
    return order


def dataset_plan(manifest: Manifest, dataset: str) -> DatasetPlan:
    """Return the plan of a dataset of a run."""
    plan = manifest.plan()
    if plan is None:
        raise RefusedError(
            f"{manifest.root} has no kernels yet: its data are not stored. `pipeline resume {quoted(manifest.root)}` "
            "resumes the run"
        )
    return next(found for found in plan.datasets if found.name == dataset)


def _stored(manifest: Manifest, plan: DatasetPlan, wanted: WantedKernel) -> Floats | None:
    """Read the stored tiles of a kernel; None if some are missing or damaged."""
    if plan.gram is None or plan.gram.recompute:
        return None
    store = KernelStore(manifest.arrays(), {}, plan, wanted)
    name, m, size = f"{wanted.group}/gram", plan.info.rows, plan.tile_size
    try:
        for row in range(0, m, size):
            for column in range(row, m, size):
                span = (wanted.number, slice(row, min(row + size, m)), slice(column, min(column + size, m)))
                store.keep_tile(row, column, store.read(GRAM, name, span))
        shift = store.array(GRAM, name).attrs.asdict().get("shift")
        check_read(store.access.read, manifest.finished)
    except DamagedError:
        return None
    return store.gram if shift is None else store.gram + np.asarray(shift, dtype=np.float64)[wanted.number]


def _from_features(manifest: Manifest, plan: DatasetPlan, wanted: WantedKernel) -> Floats | None:
    """Compute a kernel from the stored features; None if they are missing or damaged."""
    store = KernelStore(manifest.arrays(), {}, plan, wanted)
    try:
        found = _compute(store, plan, wanted)
        check_read(store.access.read, manifest.finished)
    except DamagedError:
        return None
    return found


def _from_source(manifest: Manifest, plan: DatasetPlan, wanted: WantedKernel, data_dir: Path | None) -> Floats:
    """Compute a kernel from the source data, which must be unchanged since the run."""
    dataset = next(dataset for dataset in manifest.config.dataset if dataset.name == plan.name)
    folder = data_dir or manifest.data_folder
    try:
        samples = prepare_dataset(manifest.config, dataset, folder)
        check_same_data(manifest, samples.info)
    except PipelineError as error:
        raise DataError(
            f"neither the kernels of {plan.name!r} nor its features can be read from {manifest.root}, and the kernels "
            f"cannot be computed from the source data in {folder}: {error}"
        ) from None
    values = stored_values(plan, samples)
    if samples.precomputed is not None:
        values[f"{DATA}/{plan.name}/{PRECOMPUTED}"] = samples.precomputed.dense
    values = {key: cache(load) for key, load in values.items()}  # all tasks read the same arrays
    return _compute(KernelStore(manifest.arrays(), values, plan, wanted), plan, wanted)


def _compute(store: KernelStore, plan: DatasetPlan, wanted: WantedKernel) -> Floats:
    """Compute a kernel as the tasks of the run do."""
    if plan.rank_one:
        columns, offset = read_columns(store, wanted.group)
        column = columns[:, [wanted.number]].toarray().ravel() + offset[wanted.number]
        return np.outer(column, column)
    for task in plan.of(TilesTask):
        if task.data_group == wanted.group:
            replace(task, recompute=False).run(store)  # so that it passes its tiles to the store
    return store.gram + kernel_shifts(plan.families)[wanted.number]
