"""Remove the combined kernels of finished cells, unless the config keeps them.

The fit of a cell is the only task that reads its combined kernel. The ledger therefore need not record the removal: the
files may be missing as long as the fit is finished and its result is valid, and they are computed again otherwise.
"""

from collections.abc import Collection, Iterable, Mapping

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.store.reports import TaskReport
from kernel_pipeline.store.storage import Storage


def released_kernels(plan: Plan, dataset: DatasetPlan, finished: Mapping[str, TaskReport]) -> tuple[str, ...]:
    """Return the prefixes of the keys of combined kernels that may be missing, given the finished tasks.

    Kernels whose fit failed are kept, since the fit may be retried.
    """
    return tuple(fit.kernel_prefix for fit in _removable_fits(plan, dataset) if _is_released(fit, finished))


def removable_kernels(plan: Plan, dataset: DatasetPlan) -> tuple[str, ...]:
    """Return the prefixes of the keys of all combined kernels that the process that executes the run may remove."""
    return tuple(fit.kernel_prefix for fit in _removable_fits(plan, dataset))


def _removable_fits(plan: Plan, dataset: DatasetPlan) -> list[FitTask]:
    return [] if plan.config.storage.keep_combined else _stored_fits(dataset)


def _stored_fits(dataset: DatasetPlan) -> list[FitTask]:
    return [] if dataset.gram is None or dataset.gram.recompute else dataset.of(FitTask)


def _is_released(fit: FitTask, finished: Mapping[str, TaskReport]) -> bool:
    return fit.name in finished and not finished[fit.name].failures


class KernelRemoval:
    """Remove combined kernels from the storage of the arrays as a run progresses."""

    def __init__(self, plan: Plan, arrays: Storage) -> None:
        self._arrays = arrays
        self._fits: dict[str, FitTask] = {}
        self._writers: dict[tuple[str, tuple[str, str]], list[str]] = {}
        for dataset in () if plan.config.storage.keep_combined else plan.datasets:
            self._fits |= {fit.name: fit for fit in _stored_fits(dataset)}
            for task in dataset.of(CombineTask):
                self._writers.setdefault((task.dataset, task.method_key), []).append(task.name)

    def remove(self, names: Iterable[str], finished: Mapping[str, TaskReport]) -> None:
        """Remove the kernels of some fits if these are finished; files that the ledger does not name are left."""
        for fit in (self._fits[name] for name in names if name in self._fits):
            if _is_released(fit, finished):
                reports = (finished[name] for name in self._writers[fit.dataset, fit.method_key] if name in finished)
                own = {key for report in reports for key in report.digests if key.startswith(fit.kernel_prefix)}
                self._arrays.remove_files(fit.kernel_prefix, own.__contains__)

    def remove_all(self, finished: Mapping[str, TaskReport]) -> None:
        """Remove the kernels of all finished fits, which a process that was killed may have left."""
        self.remove(self._fits, finished)

    def remove_rewritten(self, executed: Collection[str], finished: Mapping[str, TaskReport]) -> None:
        """Remove kernels that were recomputed together with others, although their fits were already finished."""
        self.remove([name for name, fit in self._fits.items() if self._is_rewritten(fit, executed)], finished)

    def _is_rewritten(self, fit: FitTask, executed: Collection[str]) -> bool:
        return fit.name not in executed and any(name in executed for name in self._writers[fit.dataset, fit.method_key])
