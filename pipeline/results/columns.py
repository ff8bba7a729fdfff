"""Define the columns of the result tables: name, type, unit and meaning.

Tables list their columns by name, in their order. This registry determines the types of these columns when a table is
written and when it is read, and their descriptions in the output of `pipeline columns`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from kernel_pipeline.tasks.metrics import METRICS
from kernel_pipeline.tasks.registry import Registry
from kernel_pipeline.tasks.weights.method import METHODS

ColumnType = Literal["text", "integer", "number", "boolean"]
PANDAS_TYPES: dict[tuple[ColumnType, bool], str] = {
    ("integer", False): "int64",
    ("integer", True): "Int64",
    ("number", False): "float64",
    ("number", True): "float64",
    ("boolean", False): "bool",
    ("boolean", True): "boolean",
}
"""Pandas types, by column type and whether values may be missing; text columns have the default type of pandas."""
ERROR_UNIT = "same as labels, or fraction"


@dataclass(frozen=True)
class Column:
    """One column of result tables.

    Examples
    --------
    >>> Column("trial", "integer", meaning="number of the trial").pandas_type
    'int64'
    """

    name: str
    dtype: ColumnType
    unit: str = ""
    """Unit of the values; empty for text and for numbers without a unit."""
    meaning: str = ""
    nullable: bool = False
    """Whether values may be missing, because they are not defined or their cell failed."""

    @property
    def pandas_type(self) -> str | None:
        """Return the type of the column in a DataFrame; None for text."""
        return PANDAS_TYPES.get((self.dtype, self.nullable))

    def expand(self, names: Iterable[str]) -> "list[Column]":
        """Return one column per name that matches the placeholder of the column; without one, the column itself.

        >>> [column.name for column in Column("score_<class>", "number").expand(["score_a", "trial", "score_b"])]
        ['score_a', 'score_b']
        """
        prefix, placeholder, _ = self.name.partition("<")
        if not placeholder:
            return [self]
        return [replace(self, name=name) for name in names if name.startswith(prefix)]


COLUMNS: Registry[Column] = Registry("column")


def columns(*names: str) -> tuple[Column, ...]:
    """Return the columns with the given names."""
    return tuple(COLUMNS[name] for name in names)


def metric_columns() -> tuple[Column, ...]:
    """Return one column for each registered metric.

    Raises
    ------
    ValueError
        If a metric has the name of another column.
    """
    found = []
    for metric in METRICS.values():
        if metric.name in COLUMNS:
            raise ValueError(f"the metric {metric.name!r} has the name of another column; rename it")
        unit = "same as labels" if metric.in_label_units else ""
        meaning = f"{metric.title} on the test fold at the chosen regularisation value"
        if metric.two_classes_only:
            meaning += "; empty for more than two classes"
        if metric.needs_probabilities:
            meaning += "; empty for support vector machines, whose decision values are not probabilities"
        found.append(Column(metric.name, "number", unit, meaning, nullable=True))
    return tuple(found)


def grid_columns() -> tuple[Column, ...]:
    """Return one column for each grid of the registered methods, except for the last grid of a method.

    The values of the last grid are in `regularisation`. Methods whose grids have the same name share a column.

    Raises
    ------
    ValueError
        If a grid has the name of another column.
    """
    found: dict[str, Column] = {}
    for method in METHODS.values():
        for grid in method.grids[:-1]:
            if grid.name in COLUMNS:
                raise ValueError(f"the grid {grid.name!r} of {method.name} has the name of a column; rename it")
            found.setdefault(
                grid.name, Column(grid.name, "number", "", f"{method.name}: {grid.description}", nullable=True)
            )
    return tuple(found.values())


def _register(name: str, dtype: ColumnType, unit: str, meaning: str, nullable: bool = False) -> None:
    COLUMNS.register(name)(Column(name, dtype, unit, meaning, nullable))


def _number(name: str, unit: str, meaning: str) -> None:
    _register(name, "number", unit, meaning, nullable=True)


def _text(name: str, meaning: str) -> None:
    _register(name, "text", "", meaning)


# Columns that identify a row
_text("dataset", "name of the dataset")
_text("task", "problem: regression or classification")
_text("method", "name of the method, with its parameters")
_text("kernel", "name of the base kernel")
_text("output", "name of the target column, if a regression has several")
_register("repeat", "integer", "", "number of the repeat, which is one assignment of the samples to folds")
_register(
    "trial",
    "integer",
    "",
    "number of the trial in its repeat; also that of its test fold, or of its validation fold if the test set is fixed",
)
_text("metric", "metric of the errors: rmse, misclassification or [fit] metric; for a score, the error is 1 - score")
_text("status", "ok, or the reason why there is no result")
_text("note", "text of the note, about the data, the plan or the results")

# Errors
_number("error", ERROR_UNIT, "error on the test fold at the chosen regularisation value")
_number("train_error", ERROR_UNIT, "error on the training set")
_number("validation_error", ERROR_UNIT, "error on the validation fold")
_number("test_error", ERROR_UNIT, "error on the test fold")

# Alignments
_number("alignment_test", "", "centered alignment of the kernel with the labels on the test fold")
_number("alignment_train", "", "centered alignment of the kernel with the labels on the training set")
_number("debiased_alignment_test", "", "alignment_test, estimated from pairs of distinct samples")
_number("debiased_alignment_train", "", "alignment_train, estimated from pairs of distinct samples")
_number("null_alignment_test", "", "mean of alignment_test over permutations of the labels within folds")
_number("null_alignment_train", "", "mean of alignment_train over permutations of the labels within folds")
_number("null_alignment_test_95", "", "95 % quantile of alignment_test over permutations of the labels within folds")
_number("null_alignment_train_95", "", "95 % quantile of alignment_train over permutations of the labels within folds")
_number("uncentered_alignment_train", "", "alignment of the kernel with the labels on the training set, not centered")
_number(
    "unnormalised_alignment_train",
    "",
    "inner product of the centered kernel, scaled to trace one, and yy', divided by n^2",
)

# Fits and weights
_number(
    "regularisation", "", "regularisation value of the method: ridge, C, Lambda (l1-svm, l2-krr) or gamma2 (align-krr)"
)
_register("n_kernels", "integer", "kernels", "number of base kernels", nullable=True)
_register("n_active", "integer", "kernels", "number of base kernels whose weight is not zero", nullable=True)
_number(
    "certificate",
    "",
    "how far the solution is from optimal: relative duality gap, KKT residual or residual of a ridge fit",
)
_register("at_edge", "boolean", "", "whether the regularisation value is the first or last of its grid", nullable=True)

# Theorems, evaluated on the training set
_number("predictor_error", ERROR_UNIT, "error of the alignment predictor on the test fold")
_number("theorem12_evaluated", "", "right-hand side of Theorem 12")
_number("theorem13_evaluated", "fraction", "right-hand side of Theorem 13 (classification)")
_number("theorem14_evaluated", "same as labels", "right-hand side of Theorem 14 (regression), as an RMSE")
_number("theorem15_evaluated", "fraction", "right-hand side of Theorem 15 (classification)")
_number("theorem16_evaluated", "same as labels", "right-hand side of Theorem 16 (regression): change of a prediction")
_number("theorem17_evaluated", "same as labels", "right-hand side of Theorem 17 (regression), as an RMSE")

# Correlations of alignment and accuracy over base kernels
_register("kernels", "integer", "kernels", "number of base kernels that were fitted separately")
_number("centered", "", "correlation of the centered alignment on the training set and the accuracy on the test fold")
_number("uncentered", "", "the same correlation for the alignment that is not centered")

# Means and standard deviations over trials
_register("trials", "integer", "trials", "number of trials")
_register("failed", "integer", "trials", "number of trials that failed; they are excluded from the means")
_text("fit_on", "samples to which steps such as scaling are fitted: all or train; empty without such steps")
_number("error_mean", ERROR_UNIT, "mean of error over the trials")
_number("error_sd", ERROR_UNIT, "standard deviation of error over the trials")
_number("alignment_test_mean", "", "mean of alignment_test over the trials")
_number("alignment_test_sd", "", "standard deviation of alignment_test over the trials")
_number("alignment_train_mean", "", "mean of alignment_train over the trials")
_number("alignment_train_sd", "", "standard deviation of alignment_train over the trials")

# Comparisons of two methods
_text("other", "method that `method` is compared with")
_register("paired_trials", "integer", "trials", "number of trials in which both methods have an error")
_number("difference", ERROR_UNIT, "mean of the error of `method` minus the error of `other`, over the paired trials")
_number(
    "lower", ERROR_UNIT, "lower bound of the 90 % confidence interval of the difference, with the corrected variance"
)
_number(
    "upper", ERROR_UNIT, "upper bound of the 90 % confidence interval of the difference, with the corrected variance"
)
_number("p_paired", "", "paired t-test of the paper, one-sided: p-value for a smaller error of `method`")
_number("p_corrected", "", "corrected resampled t-test of Nadeau and Bengio, two-sided: p-value for any difference")
_number("p_holm", "", "p_corrected, adjusted by Holm's method for all pairs of methods of the dataset and task")
_register(
    "other_is_better",
    "integer",
    "",
    "1 if the error of `other` is significantly smaller (the paper's t-test, level 0.1), else 0; empty if not defined",
    nullable=True,
)

# Ranks over datasets
_register("datasets", "integer", "datasets", "number of datasets with the task")
_number(
    "average_rank", "", "mean rank of the error over the datasets, 1 for the smallest; empty if an error is missing"
)
_number("friedman_statistic", "", "statistic of the Friedman test of equal ranks; methods without a rank are left out")
_number("friedman_p", "", "p-value of the Friedman test")
_number("p_nemenyi", "", "p-value of the Nemenyi test of equal average ranks of both methods")

# Predictions and weights
_text("role", "validation or test: the fold that the sample is in")
_register("row", "integer", "", "number of the row in the source, from 0")
_number(
    "true",
    "same as labels",
    "label of a regression; -1 or +1 for two classes; the number of the class, from 0, for more classes",
)
_number("prediction", "same as labels", "prediction of the chosen fit, coded like the label")
_number("decision", "", "decision value for two classes; the prediction is +1 if it is at least 0")
_number("decision_<class>", "", "one column for each of more than two classes: 1 for the predicted class, else 0")
_text("true_class", "label of the true class; several labels that form one class are separated by commas")
_text("predicted_class", "label of the predicted class")
_register(
    "samples",
    "integer",
    "samples",
    "number of samples of the test fold with this pair of classes; pairs that do not occur are left out",
)
_number(
    "weight",
    "",
    "weight of the kernel, which is scaled to trace one on the training set; kernels of weight 0 are left out",
)
_register(
    "direction",
    "integer",
    "",
    "sign of the covariance of the column with the label on the training set; only for rank-one kernels and one label",
    nullable=True,
)

# Timings
_register("seconds", "number", "s", "time that the task took on its worker")
_register("peak_memory_bytes", "integer", "bytes", "peak memory of the worker process while the task ran")
