"""Compute the combined kernel of a method on all rows of a dataset, block by block."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernel_pipeline.config.datasets import DatasetBase
from kernel_pipeline.config.views import gram_families, has_views
from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.errors import FailedError, PipelineError
from kernel_pipeline.estimators.learned_kernel import KernelData, kernel_statistics
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.run.chosen_values import WantedModel
from kernel_pipeline.run.known_names import check_weighted
from kernel_pipeline.run.manifest import Manifest
from kernel_pipeline.run.refit import load_data, training_rows
from kernel_pipeline.run.stored_data import split_columns
from kernel_pipeline.run.tables import check_read
from kernel_pipeline.stages.combine import read_weights
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.errors import NoResultError
from kernel_pipeline.tasks.folds import trial_name
from kernel_pipeline.tasks.kernels.family import Samples, kernel_shifts, prepare_families
from kernel_pipeline.tasks.kernels.fitted_families import fitted_families
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.labels import center_labels, label_units
from kernel_pipeline.tasks.weights.gram_statistics import GramStatistics
from kernel_pipeline.tasks.weights.method import WeightRule
from kernel_pipeline.tasks.weights.rank_one_statistics import RankOneStatistics

# Target size of a block of all base kernels in memory.
BLOCK_BYTES = 64 << 20

Block = Callable[[slice, slice], Floats]
"""`block(rows, columns)` returns a block of a kernel."""


@dataclass(frozen=True)
class CombinedKernel:
    """The kernel `sum_k mu_k K_k / trace_k` of all rows of a dataset, not centered, in the order of the source.

    `trace_k` is the trace of the centered `K_k` on the rows on which the weights were learned.
    """

    about: WantedModel
    """Names of the dataset, the problem and the method, and the trial."""
    rows: Integers
    """Rows of the source, ascending, (m,)."""
    kernels: tuple[str, ...]
    weights: Floats
    """Weights mu of the kernels, which are scaled to trace one, (p,)."""
    side: int
    """Height and width of blocks that fit into memory."""
    block: Block

    def matrix(self) -> Floats:
        """Return the whole kernel, (m, m)."""
        kernel = np.empty((len(self.rows), len(self.rows)))
        self.write_to(kernel)
        return kernel

    def write_to(self, out: Floats) -> None:
        """Write the kernel into an array, block by block."""
        spans = [slice(start, min(start + self.side, len(self.rows))) for start in range(0, len(self.rows), self.side)]
        for first, rows in enumerate(spans):
            for columns in spans[first:]:
                values = self.block(rows, columns)
                values = (values + values.T) / 2.0 if rows == columns else values
                out[rows, columns] = values
                out[columns, rows] = values.T


def combined_kernel(
    manifest: Manifest, plan: DatasetPlan, wanted: WantedModel, data_dir: Path | None
) -> CombinedKernel:
    """Return the combined kernel of a method, with the stored weights of a trial or with weights learned on all rows.

    Raises
    ------
    FailedError
        If the method failed in the trial.
    PipelineError
        If the method has no weights, or determines them only during a fit and no trial is given.
    """
    methods = [method for problem, method in plan.method_keys if problem == wanted.problem]
    check_weighted(wanted.method, methods, manifest.config.used_methods)
    dataset = next(known for known in manifest.config.dataset if known.name == wanted.dataset)
    if wanted.trial is None:
        _rule(manifest, wanted)  # raises before the data are loaded
    samples = load_data(manifest, dataset, wanted.trial, data_dir)
    base_kernels = _rank_one_kernels if dataset.column_family is not None else _gram_kernels
    found = base_kernels(manifest, plan, dataset, samples, wanted)
    weights, trace = found.weights, found.trace
    factors = np.divide(weights, trace, out=np.zeros_like(weights), where=trace > 0)
    side = max(16, int((BLOCK_BYTES / 8 / len(weights)) ** 0.5)) if found.dense else 1024
    return CombinedKernel(wanted, np.sort(samples.order), samples.kernels, weights, side, found.block(factors))


@dataclass(frozen=True)
class _BaseKernels:
    """The weights and traces of the base kernels of a dataset, and how their blocks are combined."""

    weights: Floats
    trace: Floats
    block: Callable[[Floats], Block]
    """Returns the function for blocks of the combined kernel, given the factor of each base kernel."""
    dense: bool
    """Whether a block of every base kernel is held in memory, so that many kernels require small blocks."""


def _gram_kernels(
    manifest: Manifest, plan: DatasetPlan, dataset: DatasetBase, samples: PreparedDataset, wanted: WantedModel
) -> _BaseKernels:
    """Return the weights and the blocks of Gram families."""
    ascending = np.argsort(samples.order)
    features = samples.features_of(wanted.trial if samples.by_trial else None)
    assert isinstance(features, np.ndarray)
    stored = samples.precomputed
    families = gram_families(dataset, samples.columns if has_views(dataset) else None, stored.shifts if stored else ())
    reference = Samples(features)
    if samples.by_trial and wanted.trial is not None:
        reference = Samples(features, training_rows(samples, plan, wanted.trial))
    families = fitted_families(families, reference)
    data = KernelData(features, np.arange(len(features)), tuple(stored.dense()) if stored else ())
    if wanted.trial is None:
        statistics = kernel_statistics(families, data, _labels(samples, wanted.problem))
        trace = statistics.trace
        weights = _learned(manifest, wanted, GramStatistics(statistics.scaled(trace)))
    else:
        weights, trace = _stored(manifest, plan, wanted)
    fill, shifts = prepare_families(families, data.only(ascending).samples()), np.array(kernel_shifts(families))

    def block_of(factors: Floats) -> Block:
        constant = float(factors @ shifts)

        def block(rows: slice, columns: slice) -> Floats:
            values = np.empty((len(factors), rows.stop - rows.start, columns.stop - columns.start))
            fill(rows, columns, values)
            return np.asarray(np.tensordot(factors, values, 1)) + constant

        return block

    return _BaseKernels(weights, trace, block_of, dense=True)


def _rank_one_kernels(
    manifest: Manifest, plan: DatasetPlan, dataset: DatasetBase, samples: PreparedDataset, wanted: WantedModel
) -> _BaseKernels:
    """Return the weights and the blocks of a rank-one family."""
    columns, offset = split_columns(samples.features_of(wanted.trial if samples.by_trial else None))
    if wanted.trial is None:
        kernels = RankOneKernels.of(columns)
        statistics = RankOneStatistics(kernels, center_labels(_labels(samples, wanted.problem)))
        weights, trace = _learned(manifest, wanted, statistics), kernels.trace
    else:
        weights, trace = _stored(manifest, plan, wanted)
    ordered = columns[np.argsort(samples.order)]

    def block_of(factors: Floats) -> Block:
        used = np.flatnonzero(factors)

        def values(rows: slice) -> Floats:
            return np.asarray(ordered[rows][:, used].toarray() + offset[used])

        return lambda rows, columns: np.asarray((values(rows) * factors[used]) @ values(columns).T)

    return _BaseKernels(weights, trace, block_of, dense=False)


def _rule(manifest: Manifest, wanted: WantedModel) -> WeightRule:
    """Return the method; raise an error if it does not determine weights before a fit."""
    method = next((known for known in manifest.config.methods if known.method_id == wanted.method), None)
    if not isinstance(method, WeightRule):
        raise PipelineError(
            f"method {wanted.method!r} has no weights without a fit; choose those of a trial with --trial N, or trial=N"
        )
    return method


def _labels(samples: PreparedDataset, problem: str) -> Floats:
    labels = samples.targets[problem].reshape(len(samples.order), -1)
    return np.asarray(labels / label_units(labels).max())


def _learned(manifest: Manifest, wanted: WantedModel, statistics: GramStatistics | RankOneStatistics) -> Floats:
    """Return the weights that the method learns on all rows."""
    try:
        return _rule(manifest, wanted).weights(statistics)[0]
    except NoResultError as error:
        raise FailedError(f"{wanted.method} of {wanted.dataset!r} has no weights on all rows: {error}") from None


def _stored(manifest: Manifest, plan: DatasetPlan, wanted: WantedModel) -> tuple[Floats, Floats]:
    """Return the stored weights and traces of a trial."""
    assert wanted.trial is not None
    store = RunStore(manifest.arrays())
    weights, traces = read_weights(store, wanted.dataset, wanted.problem, wanted.method, [wanted.trial])
    check_read(store.access.read, manifest.finished)
    if np.isnan(weights).any():
        trial = trial_name(wanted.trial, plan.folds if plan.repeats > 1 else None)
        raise FailedError(f"{wanted.method} of {wanted.dataset!r} failed in {trial}; choose another trial")
    return weights[0], traces[0]
