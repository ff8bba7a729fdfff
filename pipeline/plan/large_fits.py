"""Decide which fits exceed `[fit] memory` and are solved in parts, and how these use the memory.

The decision depends on the config and on the sizes of the data alone, so that it is the same when a run is resumed.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kernel_pipeline.cluster.quantities import parse_memory
from kernel_pipeline.config.datasets import Dataset
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.plan.methods import PlannedMethod, UnsupportedMethod, dataset_targets, plan_methods
from kernel_pipeline.plan.training_sizes import fitted_samples
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.panel_fits import PanelFitTask, PanelTask
from kernel_pipeline.stages.row_fits import RowFitTask
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.tasks.arrays import FLOAT_BYTES
from kernel_pipeline.tasks.learners.linear import has_few_features
from kernel_pipeline.tasks.learners.panel_memory import PanelMemory
from kernel_pipeline.tasks.learners.svm_rows import RowMemory
from kernel_pipeline.tasks.weights.method import METHODS, Method

# Memory of a fit in one piece, in float64 values per entry of the kernel of the training samples.
VALUES_PER_ENTRY = {"regression": 1.3, "classification": 2.2}
# Fraction of the limit that the arrays of a solver may always use.
MIN_SOLVER_FRACTION = 0.25


@dataclass(frozen=True)
class FitMemory:
    """The memory of the fits of a dataset."""

    limit: str
    """Value of `[fit] memory`."""
    train: int
    """Largest number of samples that a model is fitted to."""
    other_bytes: int = 0
    """Bytes that a worker process needs in addition to the arrays of a solver."""
    dataset: str = ""
    """Name of the dataset, for messages."""

    def needed(self, problem: str) -> int:
        """Return the bytes of a fit in one piece.

        >>> FitMemory("1 GiB", 12_000).needed("regression")
        1497600000
        """
        return int(FLOAT_BYTES * VALUES_PER_ENTRY[problem] * self.train**2)

    @property
    def solver_limit(self) -> int:
        """Return the bytes that the solver of a fit in parts may use.

        >>> FitMemory("1 GiB", 12_000, 512 << 20).solver_limit >> 20
        512
        >>> FitMemory("64 KiB", 100, 512 << 20).solver_limit >> 10
        16
        """
        limit = parse_memory(self.limit)
        return max(limit - self.other_bytes, int(MIN_SOLVER_FRACTION * limit))

    def exceeds(self, problem: str) -> bool:
        """Return whether a fit in one piece needs more than the limit."""
        return self.needed(problem) > parse_memory(self.limit)

    def is_in_parts(self, problem: str, method: Method) -> bool:
        """Return whether the fits of a method are solved in parts."""
        return method.can_fit_in_parts and self.exceeds(problem)

    def row_memory(self) -> RowMemory:
        """Divide the memory of a support vector machine that is fitted from rows of the kernel.

        Raises
        ------
        ConfigError
            If it is too small for a few rows of the kernel.
        """
        found = RowMemory.of(self.solver_limit, self.train)
        if found is None:
            raise self._too_small_error(
                RowMemory.min_bytes(self.train), f"a few rows of the kernel of {self.train:,} training samples"
            )
        return found

    def panel_memory(self, tile_size: int, systems: int) -> PanelMemory:
        """Divide the memory of a ridge path whose kernel is held in panels.

        Parameters
        ----------
        tile_size
            Side length of a tile.
        systems
            Number of pairs of a ridge and an output.

        Raises
        ------
        ConfigError
            If it is too small for a few panels, each of one row of tiles.
        """
        side = min(tile_size, self.train)
        found = PanelMemory.of(self.solver_limit, self.train, side, systems, self.other_bytes)
        if found is None:
            rows = f"a few rows of tiles of size {side} for {self.train:,} training samples"
            raise self._too_small_error(PanelMemory.min_bytes(self.train, side), rows, ", or a smaller [storage] tile")
        return found

    def final_fit_error(self, problems: Sequence[str]) -> ConfigError:
        """Return the error for a final fit of a dataset whose fits are solved in parts."""
        size = format_memory(max(map(self.needed, problems)))
        return ConfigError(
            f"fit.refit = 'train+validation' needs fits in one piece, but those of dataset {self.dataset!r}, with "
            f"{self.train:,} samples, need more than fit.memory = {self.limit!r}. Use at least {size!r}, for example "
            f"with --set fit.memory='{size}', or refit = 'train'"
        )

    def solver_bytes(self, fits: Sequence[Task]) -> int:
        """Return the largest number of bytes that the solver of a fit in parts needs; 0 if there are no such fits."""
        rows = [self.solver_limit for fit in fits if isinstance(fit, RowFitTask)]
        systems = [
            (fit.memory, len(fit.values) * len(fit.target.columns)) for fit in fits if isinstance(fit, PanelTask)
        ]
        return max([*rows, *(panels.needed_bytes(count) for panels, count in systems)], default=0)

    def _too_small_error(self, arrays: int, what: str, otherwise: str = "") -> ConfigError:
        """Return the error for a limit that is too small, given the bytes that the arrays of a solver need."""
        size = format_memory(min(arrays + self.other_bytes, math.ceil(arrays / MIN_SOLVER_FRACTION)))
        return ConfigError(
            f"fit.memory = {self.limit!r} is too small to solve the fits of dataset {self.dataset!r} in parts: {what} "
            f"would not fit. Use at least {size!r}, for example with --set fit.memory='{size}'{otherwise}"
        )


def choose_methods(
    config: Config, dataset: Dataset, info: DatasetInfo
) -> tuple[list[PlannedMethod], list[UnsupportedMethod]]:
    """Return the methods that are used for a dataset, and those that are left out."""
    targets, rank_one = dataset_targets(dataset.task, info), dataset.column_family is not None
    methods, unsupported = plan_methods(targets, config.used_methods, len(info.kernels), rank_one, info.columns)
    if rank_one:
        return methods, unsupported
    fit_memory = FitMemory(config.fit.memory, fitted_samples(info, config.protocol.folds, config.fit.has_final_fit))
    listed = [method.name for method in config.methods]
    methods, too_large = without_large_baselines(methods, listed, fit_memory, info.columns)
    return methods, unsupported + too_large


def without_large_baselines(
    methods: Sequence[PlannedMethod], listed: Collection[str], fit_memory: FitMemory, features: int
) -> tuple[list[PlannedMethod], list[UnsupportedMethod]]:
    """Leave out baselines that the config does not list, if a fit in one piece would exceed `[fit] memory`.

    Parameters
    ----------
    methods
        Methods of a dataset with Gram families.
    listed
        Names of the methods that the config lists.
    features
        Number of features of the dataset.

    Returns
    -------
    kept, left_out
        The methods that are used, and those that are left out.
    """
    kept, left_out = [], []
    has_single_fits = any(METHODS[name].fits_each_kernel for name in listed)  # which baselines can use as well
    for planned in methods:
        method, problem = planned.method, planned.target.problem
        single = method.fits_each_kernel and not has_single_fits
        linear = method.reads_features and not has_few_features(features, fit_memory.train)
        if method.name not in listed and (single or linear) and fit_memory.exceeds(problem):
            samples, limit = fit_memory.train, fit_memory.limit
            reason = f"a fit of {samples:,} samples needs more than [fit] memory = {limit!r} in one piece"
            left_out.append(UnsupportedMethod(problem, method.method_id, reason))
        else:
            kept.append(planned)
    return kept, left_out


def format_memory(size: int) -> str:
    """Return a memory size of at least this number of bytes, as it is written in a config.

    >>> format_memory(1500), format_memory(9 << 20)
    ('2 KiB', '9 MiB')
    """
    unit, name = (1 << 10, "KiB") if size < 4 << 20 else (1 << 20, "MiB")
    return f"{-(-size // unit)} {name}"


def smaller_memory(fits: Sequence[FitTask], train: int, limit: int) -> str:
    """Return a value of `[fit] memory` with which fits that are too large for the workers are solved in parts.

    Parameters
    ----------
    fits
        Fits in one piece.
    limit
        Memory of a worker, in bytes.

    Returns
    -------
    str
        The value; empty if some of the fits cannot be solved in parts, or if there are no fits.
    """
    in_parts = [fit.problem for fit in fits if fit.method.can_fit_in_parts]
    if not in_parts or len(in_parts) < len(fits):
        return ""
    needed = min(FitMemory("", train).needed(problem) for problem in in_parts)
    return f"{min(limit, needed - 1) >> 20} MiB" if min(limit, needed - 1) >= 1 << 20 else ""


def temporary_bytes(fits: Sequence[Task], workers: int, limit: int | None) -> int:
    """Return the size of the temporary files of all workers together; 0 if the workers hold all panels in memory.

    Parameters
    ----------
    workers
        Number of workers.
    limit
        Bytes that each worker may use; None if this is not known.
    """
    limits = {} if limit is None else {str(worker): limit for worker in range(workers)}
    files = [fit.memory.file_bytes for fit in fits if isinstance(fit, PanelFitTask) and not fit.can_spread(limits)]
    return min(workers, len(files)) * max(files, default=0)


def describe_parts(fits: Sequence[Task], limit: str, train: int) -> list[str]:
    """Return lines that state which fits of a dataset are solved in parts."""
    kinds = {
        "ridge paths": sum(isinstance(fit, PanelFitTask) for fit in fits),
        "paths of support vector machines": sum(isinstance(fit, RowFitTask) for fit in fits),
    }
    return [
        f"{count} {kind} of {train:,} training samples are solved in parts, since each needs more than "
        f"[fit] memory = {limit!r} in one piece"
        for kind, count in kinds.items()
        if count
    ]
