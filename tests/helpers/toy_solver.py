"""An iterative solver whose number of passes is not known in advance: the largest eigenvalue of the first kernel.

Each pass multiplies the stored tiles with a vector, one task per batch of tiles; a step sums the products and requests
another pass until the eigenvalue no longer changes.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest

from kernel_pipeline.plan import plan as planning
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.stages.tile_sources import tile_slices
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.store.array_metadata import ArrayPlan
from kernel_pipeline.store.arrays import GRAM, STATISTICS, RunStore
from kernel_pipeline.store.inputs import Input, tiles_of, trials_of, whole
from kernel_pipeline.store.json_object import JsonObject
from kernel_pipeline.tasks.arrays import Floats

MAX_PASSES = 60
PRECISION = 1e-10


@dataclass(frozen=True)
class StepResult(TaskResult):
    eigenvalue: float
    is_settled: bool

    def to_json(self) -> dict[str, Any]:
        return {"eigenvalue": self.eigenvalue, "is_settled": self.is_settled}

    @classmethod
    def from_json(cls, value: object) -> Self:
        found = JsonObject(value, "the result")
        return cls(found.optional_number("eigenvalue") or 0.0, found.flag("is_settled"))


@dataclass(frozen=True)
class VectorResult(TaskResult):
    vector: list[float]

    def to_json(self) -> dict[str, Any]:
        return {"vector": self.vector}

    @classmethod
    def from_json(cls, value: object) -> Self:
        return cls(JsonObject(value, "the result").numbers("vector"))


@dataclass(frozen=True, kw_only=True)
class SolverTask(Task):
    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 1

    number: int
    """Number of the pass."""
    batches: tuple[tuple[tuple[int, int], ...], ...]
    """The tiles of each batch."""
    tile_size: int
    killer: str = ""
    """Path of a file; a task that does not find it creates it and kills its own worker. Empty for none."""

    @property
    def vectors(self) -> str:
        return f"{self.dataset}/toy/vectors"

    @property
    def products(self) -> str:
        return f"{self.dataset}/toy/products"

    @property
    def solution(self) -> str:
        return f"{self.dataset}/toy/solution"

    def read_vector(self, store: RunStore, samples: int) -> Floats:
        if self.number == 0:
            return np.full(samples, samples**-0.5)
        return np.asarray(store.read(STATISTICS, self.vectors, self.number - 1))


@dataclass(frozen=True, kw_only=True)
class PassTask(SolverTask):
    """Multiply a batch of tiles with the vector of the pass."""

    batch: int

    @property
    def part(self) -> str:
        return f"toy/pass/{self.number}/{self.batch}"

    def inputs(self) -> tuple[Input, ...]:
        vector = (trials_of(STATISTICS, self.vectors, [self.number - 1]),) if self.number else ()
        return (tiles_of(f"{self.dataset}/gram", self.batches[self.batch]), *vector)

    def writes(self) -> tuple[Input, ...]:
        return (trials_of(STATISTICS, self.products, [self.number]),)

    def run(self, store: RunStore) -> Output:
        if self.number == 2 and self.killer and not Path(self.killer).exists():
            Path(self.killer).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        samples = store.array(GRAM, f"{self.dataset}/gram").shape[1]
        vector, product = self.read_vector(store, samples), np.zeros(samples)
        for i, j in self.batches[self.batch]:
            rows, columns = tile_slices((i, j), self.tile_size, samples)
            (values,) = store.read(GRAM, f"{self.dataset}/gram", (slice(0, 1), rows, columns)) + 1.0
            product[rows] += values @ vector[columns]
            if i != j:
                product[columns] += values.T @ vector[rows]
        chunk = (self.number, self.batch, 0)
        return Output(store.write_chunk(STATISTICS, self.products, chunk, product[None, None]))


@dataclass(frozen=True, kw_only=True)
class StepTask(SolverTask):
    """Sum the products of a pass and request another one until the eigenvalue has converged."""

    is_open_ended: ClassVar[bool] = True
    result_type: ClassVar[type[TaskResult]] = StepResult

    before: float = 0.0

    @property
    def part(self) -> str:
        return f"toy/step/{self.number}"

    def inputs(self) -> tuple[Input, ...]:
        return (trials_of(STATISTICS, self.products, [self.number]),)

    def writes(self) -> tuple[Input, ...]:
        return (trials_of(STATISTICS, self.vectors, [self.number]), whole(STATISTICS, self.solution))

    def run(self, store: RunStore) -> Output:
        product = store.read(STATISTICS, self.products, self.number).sum(axis=0)
        norm = float(np.linalg.norm(product))
        is_settled = abs(norm - self.before) <= PRECISION * norm
        digests = store.write_trials(STATISTICS, self.vectors, [self.number], [product / norm])
        if is_settled:
            digests |= store.write(STATISTICS, self.solution, product / norm)
        return Output(digests, StepResult(norm, is_settled))

    def follow_up(self, result: TaskResult) -> tuple[Task, ...]:
        assert isinstance(result, StepResult)
        if result.is_settled or self.number + 1 == MAX_PASSES:
            return ()
        common = common_fields(self) | {"number": self.number + 1}
        passes = [PassTask(**common, batch=batch) for batch in range(len(self.batches))]
        return (*passes, StepTask(**common, before=result.eigenvalue))


@dataclass(frozen=True, kw_only=True)
class EigenvalueTask(SolverTask):
    """Read the solution."""

    result_type: ClassVar[type[TaskResult]] = VectorResult

    @property
    def part(self) -> str:
        return "toy/eigenvalue"

    def inputs(self) -> tuple[Input, ...]:
        return (whole(STATISTICS, self.solution),)

    def writes(self) -> tuple[Input, ...]:
        return ()

    def run(self, store: RunStore) -> Output:
        return Output(result=VectorResult(store.read(STATISTICS, self.solution).tolist()))


def common_fields(task: SolverTask) -> dict[str, Any]:
    names = ("dataset", "fingerprint", "number", "batches", "tile_size", "killer")
    return {name: getattr(task, name) for name in names}


@contextmanager
def toy_solver(killer: str = "") -> Iterator[None]:
    """Add the solver to all plans of the dataset `wave` inside the block."""
    plan_dataset = planning._plan_dataset

    def with_solver(*arguments: Any) -> DatasetPlan:
        plan = plan_dataset(*arguments)
        if plan.name != "wave":
            return plan
        batches = tuple((tile,) for task in plan.of(TilesTask) for tile in task.tiles)
        common: dict[str, Any] = {
            "dataset": plan.name,
            "fingerprint": plan.info.fingerprint,
            "number": 0,
            "batches": batches,
            "tile_size": plan.tile_size,
            "killer": killer,
        }
        passes = [PassTask(**common, batch=batch) for batch in range(len(batches))]
        last, rows = EigenvalueTask(**common), plan.info.rows
        shape = (MAX_PASSES, len(batches), rows)
        arrays = (
            *plan.arrays,
            ArrayPlan(STATISTICS, last.vectors, (MAX_PASSES, rows), (1, rows), "vector of each pass"),
            ArrayPlan(STATISTICS, last.solution, (rows,), (rows,), "eigenvector"),
            ArrayPlan(STATISTICS, last.products, shape, (1, 1, rows), "products of each pass and batch"),
        )
        fits = (*plan.stages["fits"], *passes, StepTask(**common), last)
        return replace(plan, stages=plan.stages | {"fits": fits}, arrays=arrays)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "_plan_dataset", with_solver)
        yield
