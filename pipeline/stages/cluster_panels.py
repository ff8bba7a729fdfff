"""Hold the panels of a kernel in the memory of all workers."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kernel_pipeline.cluster.errors import LostWorkersError
from kernel_pipeline.store.arrays import DamagedError
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.learners import panel_steps
from kernel_pipeline.tasks.learners.paneled_kernel import Step
from kernel_pipeline.tasks.progress import report_progress

if TYPE_CHECKING:
    from kernel_pipeline.cluster.worker_memory import Result, WorkerMemory

T = TypeVar("T")

MAX_ATTEMPTS = 4
"""Number of attempts at an operation on the panels, if workers die during each of them."""
REPLACEMENT_TIMEOUT_S = 60.0
"""Time to wait for the replacement of workers that died."""
RANGES_PER_WORKER = 2
"""Number of ranges of consecutive panels that each worker holds."""

PanelWithDigests = tuple[Floats, dict[str, str]]
"""A panel of the kernel before centering, and the digests of the chunks from which it was computed."""


class ClusterPanels:
    """Implementation of `Panels` in the memory of all workers, which runs each step where the panel is held.

    The factor replaces the kernel, so that only one of the two is in memory. If panels of the kernel are needed later,
    they are computed again. All sums are in the order of `StoredPanels`, so results are equal.

    Parameters
    ----------
    bounds
        Start of each panel, followed by the number of samples n.
    compute
        Function of the number of a panel, called on any worker. It returns the panel of the kernel before centering,
        and the digests of the chunks that it reads.
    divide
        Function of the bytes that each worker may use. It returns the bytes of panels that each worker can hold; None
        if they cannot hold all panels.
    """

    def __init__(
        self,
        bounds: Sequence[int],
        compute: Callable[[int], PanelWithDigests],
        memory: "WorkerMemory",
        divide: Callable[[Mapping[str, int]], dict[str, int] | None],
    ) -> None:
        self.spans = tuple(slice(*ends) for ends in pairwise(bounds))
        self.digests: list[dict[str, str]] = [{} for _ in self.spans]
        """Digests of the chunks from which each panel was computed."""
        self._compute, self._memory, self._divide = compute, memory, divide
        self._owners: dict[int, str] = {}
        """Address of the worker that holds each panel."""
        self._means: Result | None = None
        self._kernel: dict[int, Result] = {}
        self._factor: list[Result] = []
        self._ridge = 0.0
        if not self._place():  # a worker has died since the task was started
            self._replace_lost()

    def map(self, step: Step, argument: Any = None) -> Iterator[Any]:
        """Yield the results of a function of each panel of the kernel, in order."""
        sent = self._memory.send(argument) if isinstance(argument, np.ndarray) else argument
        apply = apply_with_digests if self._means is None else apply_to_panels
        results: deque[Result] = deque()
        done = 0

        def fetch() -> list[Any]:
            try:
                if not results:
                    results.extend(
                        self._submit(part[0], apply, step, self._rows(part), sent, *map(self._panel, part))
                        for part in self._ranges(done)
                    )
                (found,) = self._memory.fetch([results[0]])
            except LostWorkersError:
                results.clear()
                raise
            results.popleft()
            return list(aligned(found))

        while done < len(self.spans):
            for result in self._repeat(fetch):
                if self._means is None:
                    result, self.digests[done] = result
                    report_progress(f"kernel, panel {done + 1} of {len(self.spans)}")
                done += 1
                yield result

    def center(self, means: Floats) -> None:
        """Center the kernel, given the means of its rows."""
        panels = [self._panel(number) for number in range(len(self.spans))]
        self._kernel.clear()
        self._means = self._memory.send(means)
        while panels:  # a panel is kept only until its centered one is computed
            number = len(panels) - 1
            self._kernel[number] = self._centered(number, panels.pop())

    def factorise(self, ridge: float) -> None:
        """Compute the panels of the factor, which replace those of the kernel."""
        self._factor, self._ridge = [], ridge
        self._repeat(lambda: self._factorise(ridge))

    def _factorise(self, ridge: float) -> None:
        """Compute the factor: once a panel is factorised, its contribution to all later panels is subtracted."""
        rest = {
            number: self._submit(number, panel_steps.add_ridge, self._panel(number), ridge)
            for number in range(len(self.spans))
        }
        self._kernel.clear()
        factor: list[Result] = []
        for number, rows in enumerate(self.spans):
            factor.append(self._submit(number, panel_steps.factorise, rest.pop(number), priority=1))
            for later in rest:
                offset = self.spans[later].start - rows.start
                # The next panel comes first, since all others wait for its factor.
                rest[later] = self._submit(
                    later, panel_steps.subtract_product, rest[later], factor[-1], offset, priority=later == number + 1
                )
        self._memory.wait(factor)
        self._factor = factor

    def substitute(self, block: Floats) -> Floats:
        """Return `(R'R)^-1 block` by one pass over the factor R in each direction."""
        start = self._memory.send(block)

        def both() -> Floats:
            if any(panel.status == "error" for panel in self._factor):
                self._factor = []
            if not self._factor:
                self._factorise(self._ridge)
            found, parts = start, list(self._ranges())
            for step in (panel_steps.substitute_forward, panel_steps.substitute_backward):
                for part in parts:
                    panels = [self._factor[number] for number in part]
                    found = self._submit(part[0], substitute, step, self._rows(part), found, *panels)
                parts = [part[::-1] for part in reversed(parts)]
            (solution,) = self._memory.fetch([found])
            return np.asarray(aligned(solution))

        return self._repeat(both)

    def _panel(self, number: int) -> "Result":
        """Return a panel of the kernel, which the workers keep unless they hold the factor."""
        if number in self._kernel and self._kernel[number].status != "error":
            return self._kernel[number]
        panel = self._submit(number, compute_uncentered, self._compute, number)
        if self._means is not None:
            panel = self._centered(number, panel)
        if not self._factor:
            self._kernel[number] = panel
        return panel

    def _centered(self, number: int, panel: "Result") -> "Result":
        return self._submit(number, center_panel, panel, self.spans[number], self._means, self.digests[number])

    def _submit(self, number: int, function: Callable[..., Any], *arguments: Any, priority: int = 0) -> "Result":
        """Submit a function to the worker that holds a panel."""
        return self._memory.submit(
            call_aligned, function, *arguments, name=function.__name__, at=self._owners[number], priority=priority
        )

    def _repeat(self, function: Callable[[], T]) -> T:
        """Call a function, and repeat the call if a worker dies in the meantime."""
        for _ in range(MAX_ATTEMPTS):
            try:
                return function()
            except LostWorkersError:
                self._replace_lost()
        raise RuntimeError(
            f"workers died {MAX_ATTEMPTS} times in a row while they held a kernel of {self.spans[-1].stop:,} samples: "
            "they were killed, or ran out of memory"
        )

    def _replace_lost(self) -> None:
        """Wait until the workers can hold all panels again, and assign the panels of those that died to others."""
        if not self._memory.wait_for(self._place, REPLACEMENT_TIMEOUT_S):
            raise ConnectionError(
                f"workers died, and those that are left cannot hold a kernel of {self.spans[-1].stop:,} samples"
            )

    def _ranges(self, first: int = 0) -> Iterator[list[int]]:
        """Yield the numbers of panels from the first one on, in ranges of panels that one worker holds."""
        for _, part in groupby(range(first, len(self.spans)), self._owners.__getitem__):
            yield list(part)

    def _rows(self, part: Sequence[int]) -> list[slice]:
        return [self.spans[number] for number in part]

    def _place(self) -> bool:
        """Assign panels that no worker holds to workers with free memory; return whether they can hold all panels.

        Each worker has `RANGES_PER_WORKER` ranges of consecutive panels. With longer ranges, fewer steps of a
        substitution wait for a result of another worker; with more ranges, workers are idle for a smaller part of a
        factorisation.
        """
        shares = self._divide(self._memory.limits())
        if shares is None:
            return False
        self._owners = {number: owner for number, owner in self._owners.items() if owner in shares}
        free = dict(shares)
        for number, owner in self._owners.items():
            free[owner] -= self._bytes(number)
        missing = [number for number in range(len(self.spans)) if number not in self._owners]
        quotas = np.tile(np.maximum(list(free.values()), 1), RANGES_PER_WORKER).cumsum()
        sizes = np.array([self._bytes(number) for number in missing])
        middles = (sizes.cumsum() - sizes / 2) / max(1, sizes.sum()) * quotas[-1]
        ranges = np.searchsorted(quotas, middles)
        self._owners |= {number: list(shares)[part % len(shares)] for number, part in zip(missing, ranges, strict=True)}
        return True

    def _bytes(self, number: int) -> int:
        rows = self.spans[number]
        return 8 * (rows.stop - rows.start) * int(self.spans[-1].stop - rows.start)


def call_aligned(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function with arrays that are aligned in memory."""
    return function(*aligned(arguments))


def aligned(values: Any) -> Any:
    """Return an array, or a list or tuple of values, with copies of arrays that are not aligned in memory.

    Arrays that were received from other workers may start at any byte, and numpy then uses other algorithms, whose
    results differ in the last digits.
    """
    if isinstance(values, np.ndarray):
        return np.require(values, requirements="A")
    return type(values)(map(aligned, values)) if isinstance(values, list | tuple) else values


def compute_uncentered(compute: Callable[[int], PanelWithDigests], number: int) -> PanelWithDigests:
    """Compute a panel before centering; errors are raised without a cause, since those of zarr cannot be pickled."""
    try:
        return compute(number)
    except DamagedError as error:
        raise DamagedError(str(error)) from None


def apply_to_panels(step: Step, rows: Sequence[slice], argument: Any, *panels: Floats) -> list[Any]:
    """Apply a step to some panels."""
    return [step(panel, span, argument) for span, panel in zip(rows, panels, strict=True)]


def apply_with_digests(
    step: Step, rows: Sequence[slice], argument: Any, *panels: PanelWithDigests
) -> list[tuple[Any, dict[str, str]]]:
    """Apply a step to some panels before centering, and return the digests of what was read with each result."""
    return [(step(values, span, argument), digests) for span, (values, digests) in zip(rows, panels, strict=True)]


def substitute(step: Step, rows: Sequence[slice], found: Floats, *panels: Floats) -> Floats:
    """Apply a step of a substitution to some panels of the factor, one after the other."""
    for span, panel in zip(rows, panels, strict=True):
        found = step(panel, span, found)
    return found


def center_panel(panel: PanelWithDigests, rows: slice, means: Floats, expected: dict[str, str]) -> Floats:
    """Center a panel.

    Raises
    ------
    DamagedError
        If it was recomputed from chunks that differ from those that were read first.
    """
    if panel[1] != expected:
        raise DamagedError("the inputs of a panel of the kernel have changed during a solve")
    return panel_steps.center(panel[0], rows, means)
