"""Fit a regularisation path on a combined kernel of few columns, without forming the kernel."""

from collections.abc import Sequence

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, require_finite
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.learners.column_ridge import column_ridge_path
from kernel_pipeline.tasks.learners.column_svm import fit_column_machine
from kernel_pipeline.tasks.learners.factored import FactoredKernel
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.one_against_one import class_pairs, sample_weights, vote
from kernel_pipeline.tasks.learners.paths import PathPredictions, PathResult, measure_path
from kernel_pipeline.tasks.learners.svm_certificate import MAX_GAP
from kernel_pipeline.tasks.progress import report_progress


def fit_factored_path(
    problem: str,
    kernel: FactoredKernel,
    split: Split,
    options: FitOptions,
) -> PathResult:
    """Fit the whole path on the training samples and evaluate it on the validation and test sets.

    The parameters are those of `fit_path`; `kernel` has the training and the held-out samples of the split.
    """
    target = split.target[split.train]
    if problem == "regression":
        predictions, certificates = column_ridge_path(kernel, target, options.values)
    else:
        predictions, certificates = column_svm_path(kernel, target, options.values, options.class_weight)
    fitted, held_out = np.split(predictions, [len(split.train)])
    predicted = PathPredictions.of(fitted, held_out, split)
    return measure_path(problem, options.path, predicted, certificates, options.metrics, options.metric)


def column_svm_path(
    kernel: FactoredKernel, target: Floats, values: Sequence[float], class_weight: str | None = None
) -> tuple[Floats, list[float]]:
    """Return predictions of the training and held-out samples for every `C`, and one certificate per `C`.

    More than two classes are separated one against one, with ties and the order of classes as in scikit-learn's SVC.

    Parameters
    ----------
    target
        Labels of the training samples as in `fit_svm_path`: (n, 1) or one column per class.
    class_weight
        "balanced" multiplies `C` of each class by `n / (n_classes * n_samples_of_class)`, as in scikit-learn.

    Returns
    -------
    predictions
        (n + q, columns of the target, number of values): for two classes, decision values; for more, 1 in the column of
        the predicted class and 0 elsewhere; NaN if the gap is above `MAX_GAP`.
    certificates
        Relative duality gaps, the largest of all pairs of classes.
    """
    require_finite("the kernel", kernel.train, kernel.held_out)
    rows = np.concatenate([kernel.train, kernel.held_out])
    coefficients, intercepts, certificates = fit_column_machines(kernel.train, target, values, class_weight)
    decisions = np.empty((len(rows), *intercepts.shape))
    for pair_index, value_index in np.ndindex(intercepts.shape):
        vector = np.ascontiguousarray(coefficients[:, pair_index, value_index])
        decisions[:, pair_index, value_index] = rows @ vector + intercepts[pair_index, value_index]
    predictions = decisions if target.shape[1] == 1 else vote(decisions, target.shape[1])
    predictions[:, :, ~(certificates <= MAX_GAP)] = np.nan
    return predictions, certificates.tolist()


def fit_column_machines(
    columns: Floats, target: Floats, values: Sequence[float], class_weight: str | None = None
) -> tuple[Floats, Floats, Floats]:
    """Fit the machines of all pairs of classes and values of `C`, as in `column_svm_path`.

    Parameters
    ----------
    columns
        Columns Z of the training samples, (n, r).

    Returns
    -------
    coefficients, intercepts, certificates
        (r, pairs, values), (pairs, values), and the largest gap of all pairs, (values,).
    """
    weights, pairs = sample_weights(target, class_weight), class_pairs(target)
    coefficients = np.empty((columns.shape[1], len(pairs), len(values)))
    intercepts, gaps = np.empty((2, len(pairs), len(values)))
    for value_index, value in enumerate(values):
        root = float(np.sqrt(value))
        scaled = columns * root
        for pair_index, pair in enumerate(pairs):
            part = scaled if len(pairs) == 1 else scaled[pair.samples]
            report_progress(f"value {value_index + 1} of {len(values)}, pair {pair_index + 1} of {len(pairs)}")
            machine = fit_column_machine(part, pair.labels, weights[pair.samples])
            coefficients[:, pair_index, value_index] = root * machine.coefficients
            intercepts[pair_index, value_index], gaps[pair_index, value_index] = machine.intercept, machine.gap
    return coefficients, intercepts, gaps.max(axis=0)
