"""Fit a method of a run again, on all rows of a dataset or on the training rows of one trial."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import kernel_pipeline.models.one_stage_fitting  # noqa: F401  (registers the fits of one-stage methods)
from kernel_pipeline import __version__
from kernel_pipeline.config.datasets import DatasetBase
from kernel_pipeline.config.loading import config_values
from kernel_pipeline.config.views import gram_families, has_views
from kernel_pipeline.data.prepared import PreparedDataset, prepare_dataset
from kernel_pipeline.errors import FailedError, PipelineError, TooLargeError
from kernel_pipeline.models.fitting import FitSettings, FittedPredictor, fit_columns, fit_gram
from kernel_pipeline.models.model import FittedModel, ModelFacts
from kernel_pipeline.models.predictors import Outputs
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.training_sizes import training_samples
from kernel_pipeline.run.chosen_values import Values, WantedModel, chosen_value
from kernel_pipeline.run.manifest import Manifest, check_same_data
from kernel_pipeline.run.stored_data import split_columns
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.errors import NoResultError
from kernel_pipeline.tasks.folds import trials
from kernel_pipeline.tasks.kernels.family import Samples
from kernel_pipeline.tasks.kernels.fitted_families import fitted_families
from kernel_pipeline.tasks.labels import label_units
from kernel_pipeline.tasks.weights.method import Method

# Memory of a fit in float64 values per pair of samples: the kernel, and the workspace of the solver.
NUMBERS_PER_PAIR = 2.5


def fit_model(manifest: Manifest, plan: DatasetPlan, wanted: WantedModel, data_dir: Path | None) -> FittedModel:
    """Fit a model of a run.

    Data-dependent steps (scale, missing, gamma = "median", vocabularies) are fitted to all rows of the run, or, for one
    trial with `fit_on = "train"`, to its training rows.

    Raises
    ------
    PipelineError
        If the method or the kernels do not support models, or the data have changed.
    """
    method = _method(manifest, wanted)
    dataset = next(known for known in manifest.config.dataset if known.name == wanted.dataset)
    if dataset.kernel_files():
        raise PipelineError(
            f"dataset {dataset.name!r} has precomputed kernels, which are not known for new rows; models need kernels "
            "that are computed from features. In Python, AlignedKernelRegressor and AlignedKernelClassifier accept "
            "precomputed={...}"
        )
    samples = load_data(manifest, dataset, wanted.trial, data_dir)
    train = _rows_to_fit(samples, plan, wanted.trial)
    path = tuple(manifest.config.fit.path(wanted.problem, method))
    value = chosen_value(manifest, plan, wanted, path)
    path = path if value in path else (value,)
    fit = FitSettings(wanted.problem, method, value, path, manifest.config.fit.class_weights(wanted.problem))
    targets = samples.targets[wanted.problem].reshape(len(samples.order), -1)
    unit = float(label_units(targets).max())
    try:
        fitted = _fit(samples, dataset, plan, train, targets[train] / unit, fit, wanted.trial)
    except (NoResultError, np.linalg.LinAlgError) as error:
        raise FailedError(f"{wanted.method} of {wanted.dataset!r} has no model: {error}") from None
    return _model(manifest, samples, dataset, wanted, fitted, FitFacts(value, len(train), unit))


@dataclass(frozen=True)
class FitFacts:
    """Facts about a fit that are stored with its model."""

    value: Values
    """Regularisation value."""
    samples: int
    """Number of training samples."""
    unit: float
    """Unit of the labels, by which they are divided before the fit."""


def _method(manifest: Manifest, wanted: WantedModel) -> Method:
    """Return the method of a model."""
    methods: dict[str, Method] = {method.method_id: method for method in manifest.config.methods}
    method = methods.get(wanted.method)  # baselines are not listed in a config
    if method is None or not method.has_model:
        supported = [name for name, known in methods.items() if known.has_model]
        raise PipelineError(
            f"method {wanted.method!r} has no model. Methods of this run with a model: {', '.join(supported) or 'none'}"
        )
    return method


def load_data(manifest: Manifest, dataset: DatasetBase, trial: int | None, data_dir: Path | None) -> PreparedDataset:
    """Read the data of the run from their source, which must not have changed."""
    folder = data_dir or manifest.data_folder
    samples = prepare_dataset(manifest.config, dataset, folder)
    check_same_data(manifest, samples.info)
    if trial is None and samples.by_trial:  # all steps are fitted to all rows
        return prepare_dataset(manifest.config, dataset.model_copy(update={"fit_on": "all"}), folder)
    return samples


def _rows_to_fit(samples: PreparedDataset, plan: DatasetPlan, trial: int | None) -> Integers:
    if trial is None:
        return np.arange(len(samples.order))
    return training_rows(samples, plan, trial)


def training_rows(samples: PreparedDataset, plan: DatasetPlan, trial: int) -> Integers:
    """Return the positions of the training rows of a trial, which is numbered over all repeats."""
    repeat, number = divmod(trial, plan.folds)
    fold = samples.fold if samples.fold_by_repeat is None else samples.fold_by_repeat[repeat]
    return np.flatnonzero(np.isin(fold, trials(plan.folds, plan.fixed_test)[number].train))


def _fit(
    samples: PreparedDataset,
    dataset: DatasetBase,
    plan: DatasetPlan,
    train: Integers,
    labels: Floats,
    fit: FitSettings,
    trial: int | None,
) -> FittedPredictor:
    """Fit the predictor on the features of the training rows."""
    features = samples.features_of(trial if samples.by_trial else None)
    if dataset.column_family is not None:
        columns, offset = split_columns(features)
        few = len(samples.kernels) < (len(train) if trial is None else training_samples(plan.info, plan.folds))
        _check_memory(0 if few else len(train), 1, dataset.name)
        return fit_columns(fit.method, columns[train], offset, labels, fit, few)
    assert isinstance(features, np.ndarray)
    reference = features[train] if samples.by_trial else features
    families = gram_families(dataset, samples.columns if has_views(dataset) else None)
    families = fitted_families(families, Samples(reference))
    _check_memory(len(train), len(samples.kernels) if fit.method.reads_base_kernels else 1, dataset.name)
    return fit_gram(fit.method, families, features[train], labels, fit)


def _check_memory(n: int, kernels: int, dataset: str) -> None:
    """Raise an error if the kernels of n samples do not fit into memory."""
    from distributed.system import MEMORY_LIMIT

    needed = int(8 * NUMBERS_PER_PAIR * kernels * n * n)
    if needed > MEMORY_LIMIT:
        raise TooLargeError(
            f"the model of {dataset!r} needs {needed / 1e9:.1f} GB of memory for {n:,} samples, and this machine has "
            f"{MEMORY_LIMIT / 1e9:.1f} GB; use a larger one, or a run with fewer rows: rows = ..."
        )


def _model(
    manifest: Manifest,
    samples: PreparedDataset,
    dataset: DatasetBase,
    wanted: WantedModel,
    fitted: FittedPredictor,
    fit: FitFacts,
) -> FittedModel:
    values = config_values(manifest.config)
    index = [known.name for known in manifest.config.dataset].index(dataset.name)
    steps = samples.by_trial[wanted.trial] if samples.by_trial and wanted.trial is not None else samples.steps
    classes = samples.classes if wanted.problem == "classification" else ()
    outputs = samples.outputs if wanted.problem == "regression" else ()
    facts = ModelFacts(
        run=manifest.config.name,
        dataset=dataset.name,
        task=wanted.problem,
        method=wanted.method,
        regularisation=fit.value[0] if len(fit.value) == 1 else fit.value,
        trial=wanted.trial,
        samples=fit.samples,
        kernels=samples.kernels,
        features=samples.columns.names if samples.columns else samples.kernels,
        certificate=float(fitted.certificate),
        fit_certificate=float(fitted.fit_certificate),
        source=values["dataset"][index],
        version=__version__,
    )
    meaning = Outputs(wanted.problem, classes, outputs, fit.unit)
    return FittedModel(samples.encoder, () if steps is None else (steps,), fitted.predictor, meaning, facts)
