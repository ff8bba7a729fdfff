"""Fits stage: fit ridge paths whose kernel exceeds the memory of a fit, from panels of the kernel.

The path of a cell is solved by several tasks: one for its large ridges, and one for each group of the others, which may
run on different workers. The number of groups is known once the kernel is computed. Each task writes the coefficients
of its ridges, from which a run that was killed resumes. A last task certifies the coefficients, and evaluates the path.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from kernel_pipeline.stages.cell_results import CellResult
from kernel_pipeline.stages.cells import NO_RESULT, failed, has_theorems
from kernel_pipeline.stages.cluster_panels import ClusterPanels, PanelWithDigests
from kernel_pipeline.stages.combine import read_weights, scaled_weights
from kernel_pipeline.stages.fits import NO_WEIGHTS, CombinedCellTask
from kernel_pipeline.stages.matrices import TrialPanels
from kernel_pipeline.stages.scratch import Scratch
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.task_results import NoResult, TaskResult
from kernel_pipeline.stages.tile_sources import CombinedTiles
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.store.arrays import PREDICTIONS, WEIGHTS, RunStore
from kernel_pipeline.store.inputs import Input, trials_of
from kernel_pipeline.store.json_object import JsonObject
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.centering import center_rows
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.labels import center_labels, standardize_labels
from kernel_pipeline.tasks.learners.iterative_ridge import refine_solutions, solve_large_ridges, solve_ridge_group
from kernel_pipeline.tasks.learners.panel_memory import PanelMemory
from kernel_pipeline.tasks.learners.paneled_kernel import PaneledKernel, StoredPanels, center_panels
from kernel_pipeline.tasks.learners.ridge import certified_fits
from kernel_pipeline.tasks.statistics.guarantees import KernelMoments

if TYPE_CHECKING:
    from kernel_pipeline.cluster.worker_memory import WorkerMemory


@dataclass(frozen=True)
class RidgeGroupsResult(TaskResult):
    """Result of the task for large ridges: the groups in which the others are solved."""

    groups: tuple[tuple[int, int], ...] = ()
    """Index of the first ridge of each group, and the index after its last ridge."""

    def to_json(self) -> dict[str, Any]:
        return {"groups": [list(group) for group in self.groups]}

    @classmethod
    def from_json(cls, value: object) -> Self:
        found = JsonObject(value, "the result")
        groups = []
        for item in found.items("groups"):
            if not (isinstance(item, list) and len(item) == 2 and all(type(number) is int for number in item)):
                raise found.error("groups", "a list of pairs of integers")
            groups.append((item[0], item[1]))
        return cls(tuple(groups))


@dataclass(frozen=True)
class CenteredPanels:
    """The centered kernel of a trial in panels, with the offsets of its centering and the split of the trial."""

    kernel: PaneledKernel
    offsets: Floats
    uncentered: TrialPanels
    split: Split

    @property
    def target(self) -> Floats:
        """Return the labels of the training samples, (n, outputs)."""
        return self.split.target[self.split.train]

    @property
    def centered_target(self) -> Floats:
        """Return the labels of the training samples minus their means, (n, outputs)."""
        return center_labels(self.target)

    def held_out(self) -> Iterator[Floats]:
        """Yield the centered kernel of the held-out samples in blocks of rows."""
        for rows in self.uncentered.held_out():
            center_rows(rows, self.offsets)
            yield rows


@dataclass(frozen=True, kw_only=True)
class PanelTask(CombinedCellTask):
    """A task that holds the combined kernel of one cell in panels."""

    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 2
    may_spread: ClassVar[bool] = True
    reads: ClassVar[tuple[type[Task], ...]] = (TilesTask, WeightsTask)

    memory: PanelMemory

    @property
    def coefficients_name(self) -> str:
        """Return the name of the array of coefficients."""
        return f"{self.dataset}/{self.problem}/coefficients/{self.method_id}"

    def inputs(self) -> tuple[Input, ...]:
        return tuple(dict.fromkeys((*self.combined_inputs([self.trial]), *self.base_inputs())))

    def writes(self) -> tuple[Input, ...]:
        return (trials_of(PREDICTIONS, self.coefficients_name, [self.trial]),)

    def has_weights(self, store: RunStore) -> bool:
        """Return whether the weights of the cell were found."""
        name = f"{self.dataset}/{self.problem}/{self.method_id}"
        return not np.isnan(store.read(WEIGHTS, name, self.trial, allow_nan=True)).any()

    @abstractmethod
    def solve(self, store: RunStore, memory: "WorkerMemory | None") -> Output:
        """Run the task, with panels in the memory of all workers, or of this process if `memory` is None."""

    def run(self, store: RunStore) -> Output:
        return self.solve(store, None)

    def can_spread(self, limits: Mapping[str, int]) -> bool:
        return len(limits) > 1 and self._divide(limits, next(iter(limits))) is not None

    def run_spread(self, store: RunStore, memory: "WorkerMemory") -> Output:
        return self.solve(store, memory if self.can_spread(memory.limits()) else None)

    @contextmanager
    def panels(self, store: RunStore, memory: "WorkerMemory | None") -> Iterator[CenteredPanels]:
        """Compute the kernel of the training samples, and hold it for a `with` block."""
        split = self.split(store)
        found = self.trial_panels(store, split)
        if memory is not None:
            spread = ClusterPanels(
                found.bounds,
                partial(compute_panel, self, store),
                memory,
                partial(self._divide, solver=memory.own_address),
            )
            kernel, offsets = center_panels(spread)
            for digests in spread.digests:
                store.access.read |= digests
            yield CenteredPanels(kernel, offsets, found, split)
            return
        with Scratch(self.memory.kept_bytes) as scratch:
            kernel, offsets = center_panels(StoredPanels(found.bounds, found.panel, scratch))
            yield CenteredPanels(kernel, offsets, found, split)

    def trial_panels(self, store: RunStore, split: Split) -> TrialPanels:
        """Return the kernel of the trial, whose panels are computed when they are read."""
        weights, traces = read_weights(store, self.dataset, *self.method_key, [self.trial])
        tiles = CombinedTiles(self.base_tiles(store), scaled_weights(weights, traces), 0)
        return TrialPanels(tiles, split, self.tile_size, self.memory.width)

    def _divide(self, limits: Mapping[str, int], solver: str) -> dict[str, int] | None:
        return self.memory.shares(limits, solver, len(self.values) * len(self.target.columns))

    def write_coefficients(self, store: RunStore, split: Split, first: int, solutions: Floats) -> dict[str, str]:
        """Store the coefficients of consecutive ridges, (n, outputs, ridges); return the digests of the chunks."""
        digests: dict[str, str] = {}
        for number in range(solutions.shape[2]):
            values = np.zeros(split.target.shape)
            values[split.train] = solutions[:, :, number]
            chunk = (self.trial, first + number, 0, 0)
            digests |= store.write_chunk(PREDICTIONS, self.coefficients_name, chunk, values[None, None])
        return digests


@dataclass(frozen=True, kw_only=True)
class LargeRidgesTask(PanelTask):
    """Solve for the large ridges of a path, and request a task for each group of the others."""

    is_open_ended: ClassVar[bool] = True
    result_type: ClassVar[type[TaskResult]] = RidgeGroupsResult

    @property
    def part(self) -> str:
        return f"{super().part}/large"

    def solve(self, store: RunStore, memory: "WorkerMemory | None") -> Output:
        if not self.has_weights(store):
            return Output(result=RidgeGroupsResult())
        with self.panels(store, memory) as found:
            solutions, groups = solve_large_ridges(found.kernel, found.centered_target, np.array(self.values))
        digests = self.write_coefficients(store, found.split, 0, solutions)
        return Output(digests, RidgeGroupsResult(groups.factorised))

    def read_result(self, value: object) -> TaskResult:
        found = RidgeGroupsResult.from_json(value)
        if wrong := [group for group in found.groups if not 0 <= group[0] < group[1] <= len(self.values)]:
            raise ValueError(f"the result: 'groups' has {wrong[0]}, which is not a range of {len(self.values)} ridges")
        return found

    def follow_up(self, result: TaskResult) -> tuple[Task, ...]:
        assert isinstance(result, RidgeGroupsResult)
        common = {field.name: getattr(self, field.name) for field in fields(PanelTask)}
        return tuple(RidgeGroupTask(**common, first=first, last=last) for first, last in result.groups)


@dataclass(frozen=True, kw_only=True)
class RidgeGroupTask(PanelTask):
    """Solve for a group of small ridges with one factorisation."""

    result_type: ClassVar[type[TaskResult]] = NoResult

    first: int
    """Index of the first ridge of the group."""
    last: int
    """Index after the last ridge of the group."""

    @property
    def part(self) -> str:
        return f"{super().part}/{self.first}-{self.last}"

    def solve(self, store: RunStore, memory: "WorkerMemory | None") -> Output:
        with self.panels(store, memory) as found:
            ridges = np.array(self.values[self.first : self.last])
            solutions = solve_ridge_group(found.kernel, found.centered_target, ridges)
        return Output(self.write_coefficients(store, found.split, self.first, solutions))


@dataclass(frozen=True, kw_only=True)
class PanelFitTask(PanelTask):
    """Certify the coefficients of a cell by their residuals, and evaluate its path."""

    def inputs(self) -> tuple[Input, ...]:
        return (*super().inputs(), trials_of(PREDICTIONS, self.coefficients_name, [self.trial]))

    def writes(self) -> tuple[Input, ...]:
        return self.predictions_written()

    def solve(self, store: RunStore, memory: "WorkerMemory | None") -> Output:
        if not self.has_weights(store):
            return Output(result=CellResult(NO_WEIGHTS))
        _, traces = read_weights(store, self.dataset, *self.method_key, [self.trial])
        largest_diagonal, ridges = self.largest_diagonal(store, traces[0]), np.array(self.values)
        with self.panels(store, memory) as found:
            stored = store.read(PREDICTIONS, self.coefficients_name, self.trial, allow_nan=True)
            solutions = np.ascontiguousarray(stored[:, found.split.train].transpose(1, 2, 0))
            images = refine_solutions(found.kernel, found.centered_target, ridges, solutions)
            try:
                fitted = certified_fits(found.target, ridges, solutions, images)
                result = self.evaluate(fitted, found.held_out(), found.split, _moments(found), largest_diagonal)
            except NO_RESULT as error:
                return failed(error)
        return Output(self.write_predictions(store, found.split, result.path), result)


def compute_panel(task: PanelTask, store: RunStore, number: int) -> PanelWithDigests:
    """Compute a panel of the kernel of a task, on any worker; return it with the digests of what it was computed from.

    A copy of the store records only what this panel reads, so that the task can compare the digests with the ledger.
    """
    store = store.fresh_copy()
    return task.trial_panels(store, task.split(store)).panel(number), store.access.read


def _moments(found: CenteredPanels) -> KernelMoments | None:
    """Return the moments of a kernel that the theorems need; None if the theorems are not evaluated."""
    if not has_theorems(found.split):
        return None
    scaled = standardize_labels(found.split.labels[found.split.train])
    images = found.kernel.multiply(scaled[:, None])[:, 0]
    return KernelMoments.of_rows(found.kernel.square_sums(), found.kernel.diagonal(), images)
