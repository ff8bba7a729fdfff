"""The Gram matrix of one base kernel of a run: read from the store, or computed again."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernel_pipeline.data.prepared import load_samples
from kernel_pipeline.errors import DataError, PipelineError, RefusedError
from kernel_pipeline.plan.plan import DatasetPlan
from kernel_pipeline.run.manifest import Manifest, check_same_data
from kernel_pipeline.run.stored_data import stored_values
from kernel_pipeline.run.tables import check_read
from kernel_pipeline.stages.rank_one import read_columns
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.store.arrays import GRAM, DamagedError, RunStore
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.tasks.arrays import Floats, Integers


class KernelStore(RunStore):
    """A store in which tasks compute one kernel: its Gram matrix is kept in memory, and nothing is written.

    Parameters
    ----------
    values
        Arrays to read instead of the stored ones, by key.
    kernel
        Number of the kernel.
    """

    def __init__(self, root: Storage, values: Mapping[str, Any], plan: DatasetPlan, kernel: int) -> None:
        super().__init__(root)
        self._values, self._kernel, self._tile = values, kernel, plan.tile
        self._gram_key = f"{GRAM}/{plan.name}/gram"
        self.gram: Floats = np.full((plan.info.rows, plan.info.rows), np.nan)

    def read(self, group: str, name: str, selection: Any = ..., undefined: bool = False) -> Any:
        """Read a part of an array."""
        key = f"{group}/{name}"
        return self._values[key][selection] if key in self._values else super().read(group, name, selection, undefined)

    def write_chunk(self, group: str, name: str, chunk: Sequence[int], values: Floats) -> dict[str, str]:
        """Keep a tile of the kernel, and its mirror image; ignore everything else."""
        if f"{group}/{name}" == self._gram_key:
            self.keep_tile(chunk[1] * self._tile, chunk[2] * self._tile, values[self._kernel])
        return {}

    def keep_tile(self, row: int, column: int, values: Floats) -> None:
        """Keep a tile that starts at a row and a column."""
        height, width = values.shape
        self.gram[row : row + height, column : column + width] = values
        self.gram[column : column + width, row : row + height] = values.T


def read_gram(manifest: Manifest, dataset: str, kernel: int, data_dir: Path | None) -> Floats:
    """Return the Gram matrix of a kernel, in the order of the source rows.

    It is read where it is stored, and otherwise computed from the stored features or the source data.
    """
    plan = _dataset_plan(manifest, dataset)
    place = np.argsort(source_rows(manifest, dataset))
    found = _stored(manifest, plan, kernel)
    if found is None:
        found = _from_features(manifest, plan, kernel)
    if found is None:
        found = _from_source(manifest, plan, kernel, data_dir)
    return found[np.ix_(place, place)]


def source_rows(manifest: Manifest, dataset: str) -> Integers:
    """Return the row of the source for each stored sample."""
    store = RunStore(manifest.arrays())
    order: Integers = store.read(GRAM, f"{dataset}/order")
    check_read(store.access.read, manifest.finished)
    return order


def _dataset_plan(manifest: Manifest, dataset: str) -> DatasetPlan:
    plan = manifest.plan()
    if plan is None:
        raise RefusedError(f"{manifest.root} has not stored all its data yet, so it has no kernels")
    return next(found for found in plan.datasets if found.name == dataset)


def _stored(manifest: Manifest, plan: DatasetPlan, kernel: int) -> Floats | None:
    """Read the stored tiles of a kernel; None if some are missing or damaged."""
    if plan.rank_one:
        return None
    store = KernelStore(manifest.arrays(), {}, plan, kernel)
    name, m, tile = f"{plan.name}/gram", plan.info.rows, plan.tile
    try:
        for row in range(0, m, tile):
            for column in range(row, m, tile):
                span = (kernel, slice(row, min(row + tile, m)), slice(column, min(column + tile, m)))
                store.keep_tile(row, column, store.read(GRAM, name, span))
        shift = store.array(GRAM, name).attrs.asdict().get("shift")
        check_read(store.access.read, manifest.finished)
    except DamagedError:
        return None
    return store.gram if shift is None else store.gram + np.asarray(shift, dtype=np.float64)[kernel]


def _from_features(manifest: Manifest, plan: DatasetPlan, kernel: int) -> Floats | None:
    """Compute a kernel from the stored features; None if they are missing or damaged."""
    store = KernelStore(manifest.arrays(), {}, plan, kernel)
    try:
        found = _compute(store, plan, kernel)
        check_read(store.access.read, manifest.finished)
    except DamagedError:
        return None
    return found


def _from_source(manifest: Manifest, plan: DatasetPlan, kernel: int, data_dir: Path | None) -> Floats:
    """Compute a kernel from the source data, which have to be those of the run."""
    dataset = next(dataset for dataset in manifest.config.dataset if dataset.name == plan.name)
    folder = data_dir or manifest.data_folder
    try:
        samples = load_samples(manifest.config, dataset, folder)
        check_same_data(manifest, samples.info)
    except PipelineError as error:
        raise DataError(
            f"the kernels of {plan.name!r} are not stored in {manifest.root}, nor are its features, and they cannot be "
            f"computed from the source data in {folder}: {error}"
        ) from None
    return _compute(KernelStore(manifest.arrays(), stored_values(plan, samples), plan, kernel), plan, kernel)


def _compute(store: KernelStore, plan: DatasetPlan, kernel: int) -> Floats:
    """Compute a kernel as the tasks of the run do."""
    if plan.rank_one:
        columns, offset = read_columns(store, plan.name)
        column = columns[:, [kernel]].toarray().ravel() + offset[kernel]
        return np.outer(column, column)
    for task in plan.of(TilesTask):
        task.run(store)
    planned = next(array for array in plan.arrays if array.key == f"{GRAM}/{plan.name}/gram")
    return store.gram + float(planned.attributes["shift"][kernel])
