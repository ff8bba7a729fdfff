"""Panels in the memory of all workers give the same bytes as those of one process, even if workers die."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pytest

from kernel_pipeline.cluster.errors import LostWorkersError
from kernel_pipeline.cluster.worker_memory import WorkerMemory
from kernel_pipeline.stages.cluster_panels import ClusterPanels, PanelWithDigests, aligned
from kernel_pipeline.store.arrays import DamagedError
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.learners.paneled_kernel import PaneledKernel, StoredPanels, center_panels
from kernel_pipeline.tasks.progress import progress_listener

N, BOUNDS = 90, [0, 20, 37, 38, 71, 90]
READS = {"data.zarr/wave/features/c/0/0": "1"}


class FakeResult:
    """A value in the memory of a worker."""

    def __init__(self, value: Any, owner: str, status: str = "finished") -> None:
        self.value, self.owner, self.status = value, owner, status


class FakeMemory:
    """Workers `a` to `d` in this process; at given calls of a function, the worker that runs it dies.

    Arrays are passed in the way in which they are received from other workers: read-only, and not aligned.
    """

    def __init__(self, deaths: Mapping[str, Sequence[int]] | None = None, replace: bool = True) -> None:
        self.alive = ["a", "b", "c", "d"]
        self.own_address = "a"
        self.calls: dict[str, int] = {}
        self._deaths, self._replace = deaths or {}, replace
        self._results: list[FakeResult] = []

    def limits(self) -> dict[str, int]:
        return dict.fromkeys(self.alive, 50_000)

    def submit(self, function: Callable[..., Any], *arguments: Any, name: str, at: str, priority: int) -> FakeResult:
        number = self.calls[name] = self.calls.get(name, 0) + 1
        if number in self._deaths.get(name, ()) and at in self.alive:
            self._die(at)
        given = [item.value if isinstance(item, FakeResult) else item for item in arguments]
        if any(isinstance(item, FakeResult) and item.status == "error" for item in arguments) or at not in self.alive:
            found = FakeResult(None, at, "error")
        else:
            found = FakeResult(_received(function(*given)), at)
        self._results.append(found)
        return found

    def _die(self, worker: str) -> None:
        """Remove a worker and its running task; its earlier results stay available, since Dask recomputes them."""
        self.alive.remove(worker)
        if self._replace:
            self.alive.append(f"{worker}'")

    def send(self, value: Any) -> FakeResult:
        return FakeResult(_received(value), self.own_address)

    def wait(self, results: Sequence[FakeResult]) -> None:
        if any(result.status == "error" for result in results):
            raise LostWorkersError

    def fetch(self, results: Sequence[FakeResult]) -> list[Any]:
        self.wait(results)
        return [result.value for result in results]

    def wait_for(self, holds: Callable[[], bool], timeout: float) -> bool:
        return holds()


def _received(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_received, value))
    if not isinstance(value, np.ndarray):
        return value
    memory = np.empty(value.nbytes + 3, dtype=np.uint8)
    found = memory[3:].view(value.dtype).reshape(value.shape, order="C" if value.flags.c_contiguous else "F")
    found[...] = value
    found.flags.writeable = False
    return found


class Stored:
    """Panels in memory."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, int], Floats] = {}

    def put(self, kind: str, number: int, values: Floats) -> None:
        self.values[kind, number] = values

    def get(self, kind: str, number: int) -> Floats:
        return self.values[kind, number]


def dense() -> Floats:
    root = np.random.default_rng(0).normal(size=(N, N + 3))
    return np.asarray(root @ root.T / N + 5.0)


def local() -> tuple[PaneledKernel, Floats]:
    raw = dense()
    return center_panels(StoredPanels(BOUNDS, lambda j: raw[BOUNDS[j] : BOUNDS[j + 1], BOUNDS[j] :].copy(), Stored()))


def divide(limits: Mapping[str, int]) -> dict[str, int] | None:
    return dict(limits) if len(limits) > 2 else None


def spread(
    memory: FakeMemory, compute: Callable[[int], PanelWithDigests] | None = None
) -> tuple[PaneledKernel, Floats, ClusterPanels]:
    raw = dense()

    def read(number: int) -> PanelWithDigests:
        return raw[BOUNDS[number] : BOUNDS[number + 1], BOUNDS[number] :].copy(), READS

    panels = ClusterPanels(BOUNDS, compute or read, cast(WorkerMemory, memory), divide)
    return *center_panels(panels), panels


def results(kernel: PaneledKernel) -> list[Floats]:
    """Return the results of all operations, in an order in which the factor is used before and after the kernel."""
    block = np.asfortranarray(np.random.default_rng(1).normal(size=(N, 3)))
    found = [kernel.multiply(block), kernel.diagonal(), kernel.square_sums(), kernel.columns(np.array([0, 89, 17, 37]))]
    assert kernel.factorise(-9.0) is None
    for ridge in (1.0, 0.01):
        solve = kernel.factorise(ridge)
        assert solve is not None
        found += [solve(block), kernel.multiply(block), solve(block[:, :1])]
    return found


def assert_same_bytes(found: Sequence[Floats], expected: Sequence[Floats]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.tobytes("A") == other.tobytes("A")


def test_results_have_the_same_bytes_as_those_of_one_process() -> None:
    kernel, offsets, panels = spread(FakeMemory())
    expected, expected_offsets = local()
    assert_same_bytes([offsets, *results(kernel)], [expected_offsets, *results(expected)])
    assert panels.digests == [READS] * (len(BOUNDS) - 1)


def test_panels_that_are_computed_are_reported_in_the_same_way() -> None:
    expected = [f"kernel, panel {number} of 5" for number in range(1, 6)]
    for compute in (local, lambda: spread(FakeMemory())):
        heard: list[str] = []
        with progress_listener(heard.append):
            compute()
        assert heard == expected


@pytest.mark.parametrize(
    "deaths",
    [
        {"compute_uncentered": [2]},
        {"apply_with_digests": [4], "apply_to_panels": [1, 7]},
        {"center_panel": [5], "apply_to_panels": [24]},
        {"subtract_product": [6, 40], "factorise": [9]},
        {"substitute": [3, 8, 21]},
    ],
    ids=str,
)
def test_workers_that_die_do_not_change_the_results(deaths: dict[str, list[int]]) -> None:
    memory = FakeMemory(deaths)
    kernel, offsets, _ = spread(memory)
    expected, expected_offsets = local()
    assert_same_bytes([offsets, *results(kernel)], [expected_offsets, *results(expected)])
    assert sum(owner.endswith("'") for owner in memory.alive) >= 1


def test_panels_are_divided_by_memory_and_those_of_dead_workers_are_moved() -> None:
    memory = FakeMemory({"apply_to_panels": [2]}, replace=False)
    kernel, _, panels = spread(memory)
    before = dict(panels._owners)
    assert set(before.values()) == {"a", "b", "c", "d"}
    kernel.multiply(np.ones((N, 1)))
    (lost,) = {"a", "b", "c", "d"} - set(memory.alive)
    assert {number: owner for number, owner in panels._owners.items() if before[number] != lost} == {
        number: owner for number, owner in before.items() if owner != lost
    }
    assert lost not in panels._owners.values()


def test_the_factor_replaces_the_kernel() -> None:
    kernel, _, panels = spread(FakeMemory())
    assert len(panels._kernel) == len(BOUNDS) - 1
    kernel.factorise(1.0)
    assert not panels._kernel
    kernel.multiply(np.ones((N, 1)))
    assert not panels._kernel


def test_workers_that_die_repeatedly_are_reported() -> None:
    kernel, _, _ = spread(FakeMemory({"apply_to_panels": range(1, 1000)}))
    with pytest.raises(RuntimeError, match=r"died 4 times in a row.*90 samples: they were killed"):
        kernel.multiply(np.ones((N, 1)))


def test_too_few_remaining_workers_are_reported() -> None:
    kernel, _, _ = spread(FakeMemory({"apply_to_panels": [1, 3]}, replace=False))
    with pytest.raises(ConnectionError, match="those that are left cannot hold a kernel of 90 samples"):
        kernel.multiply(np.ones((N, 1)))


def test_data_that_change_during_a_solve_are_reported() -> None:
    raw, count = dense(), 0

    def read(number: int) -> PanelWithDigests:
        nonlocal count
        count += 1
        return raw[BOUNDS[number] : BOUNDS[number + 1], BOUNDS[number] :].copy(), READS if count < 6 else {}

    kernel, _, _ = spread(FakeMemory(), read)
    kernel.factorise(1.0)  # the panels of the kernel are now computed again when they are used
    with pytest.raises(DamagedError, match="have changed during a solve"):
        kernel.multiply(np.ones((N, 1)))


def test_arrays_that_are_not_aligned_are_copied() -> None:
    values = _received((np.arange(6.0).reshape(2, 3), 5))
    assert not values[0].flags.aligned
    found = aligned([values, np.ones(2)])
    assert found[0][0].flags.aligned
    np.testing.assert_array_equal(found[0][0], values[0])
    assert found[0][1] == 5


def test_panels_are_placed_once_a_worker_that_died_before_is_replaced() -> None:
    memory, raw = FakeMemory(), dense()
    memory.alive = ["a", "b"]  # too few, until the first one that died is replaced

    def read(number: int) -> PanelWithDigests:
        return raw[BOUNDS[number] : BOUNDS[number + 1], BOUNDS[number] :].copy(), READS

    def wait_for(holds: Callable[[], bool], timeout: float) -> bool:
        assert not holds()
        memory.alive.append("c")
        return holds()

    memory.wait_for = wait_for  # type: ignore[method-assign]
    kernel, _ = center_panels(ClusterPanels(BOUNDS, read, cast(WorkerMemory, memory), divide))
    expected, _ = local()
    np.testing.assert_array_equal(kernel.diagonal(), expected.diagonal())
