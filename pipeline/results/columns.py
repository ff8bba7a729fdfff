"""Columns of the result tables: name, type, unit and meaning of each, stated once.

Tables list their columns by name. The same registry gives the order and the types of a table when it is written and
when it is read, and what `pipeline columns` prints.
"""

from dataclasses import dataclass
from typing import Literal

from kernel_pipeline.tasks.metrics import METRICS
from kernel_pipeline.tasks.registry import Registry

ColumnType = Literal["text", "integer", "number", "boolean"]
PANDAS_TYPES: dict[tuple[ColumnType, bool], str] = {
    ("integer", False): "int64",
    ("integer", True): "Int64",
    ("number", False): "float64",
    ("number", True): "float64",
    ("boolean", False): "bool",
    ("boolean", True): "boolean",
}
"""Types of pandas by the type of a column and whether it has gaps; texts keep the type that pandas gives them."""
ERROR_UNIT = "as the labels, or a share"


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
    """Unit of the values; empty for texts and for numbers without a unit."""
    meaning: str = ""
    gaps: bool = False
    """Whether cells may be empty, because a value is not defined or its cell failed."""

    @property
    def pandas_type(self) -> str | None:
        """Type of the column in a DataFrame; None for texts."""
        return PANDAS_TYPES.get((self.dtype, self.gaps))


COLUMNS: Registry[Column] = Registry("column")


def columns(*names: str) -> tuple[Column, ...]:
    """Return the columns of these names."""
    return tuple(COLUMNS[name] for name in names)


def metric_columns() -> tuple[Column, ...]:
    """Return one column for each registered metric that is not the primary one of a problem.

    Raises
    ------
    ValueError
        If a metric has the name of another column.
    """
    found = []
    for metric in METRICS.values():
        if not metric.primary:
            if metric.name in COLUMNS:
                raise ValueError(f"the metric {metric.name!r} has the name of another column; rename it")
            unit = "as the labels" if metric.in_label_units else ""
            meaning = f"{metric.title} on the test fold at the chosen regularisation value"
            found.append(Column(metric.name, "number", unit, meaning, gaps=True))
    return tuple(found)


def _register(name: str, dtype: ColumnType, unit: str, meaning: str, gaps: bool = False) -> None:
    COLUMNS.register(name)(Column(name, dtype, unit, meaning, gaps))


def _number(name: str, unit: str, meaning: str) -> None:
    _register(name, "number", unit, meaning, gaps=True)


def _text(name: str, meaning: str) -> None:
    _register(name, "text", "", meaning)


# What a row is about
_text("dataset", "name of the dataset")
_text("task", "problem: regression or classification")
_text("method", "method that determines the weights of the base kernels")
_text("kernel", "name of the base kernel")
_register("trial", "integer", "", "number of the trial, which is the fold that it is tested on")
_text("metric", "metric of the errors: rmse or misclassification")
_text("status", "ok, or why there is no result")
_text("note", "what a user should know about the results")

# Errors
_number("error", ERROR_UNIT, "error on the test fold at the chosen regularisation value")
_number("train_error", ERROR_UNIT, "error on the training set")
_number("validation_error", ERROR_UNIT, "error on the validation fold")
_number("test_error", ERROR_UNIT, "error on the test fold")

# Alignments
_number("alignment_test", "", "centered alignment of the kernel with the labels on the test fold")
_number("alignment_train", "", "centered alignment of the kernel with the labels on the training set")
_number("uncentered_alignment_train", "", "alignment of the kernel with the labels on the training set, not centered")
_number(
    "unnormalised_alignment_train", "", "inner product of the centered kernel, scaled to trace one, and yy', over n^2"
)

# Fits and weights
_number("gamma", "", "align-krr: weight of the alignment in the objective")
_number("gamma1", "", "align-krr: weight of the squared norm of the weights in the objective")
_number("regularisation", "", "regularisation value of the method: ridge, C, bound of the weights or gamma''")
_register("n_kernels", "integer", "kernels", "number of base kernels", gaps=True)
_register("n_active", "integer", "kernels", "number of base kernels whose weight is not zero", gaps=True)
_number("certificate", "", "how far the solution is from optimal: relative duality gap or KKT residual")
_register("at_edge", "boolean", "", "whether the regularisation value is the first or last of its grid", gaps=True)

# Theorems, evaluated on the training set
_number("predictor_error", ERROR_UNIT, "error of the alignment predictor on the test fold")
_number("theorem12_evaluated", "", "right-hand side of Theorem 12")
_number("theorem13_evaluated", "share", "right-hand side of Theorem 13 (classification)")
_number("theorem14_evaluated", "as the labels", "right-hand side of Theorem 14 (regression), as an RMSE")
_number("theorem17_evaluated", "as the labels", "right-hand side of Theorem 17 (regression), as an RMSE")

# Correlations of alignment and accuracy over base kernels
_register("kernels", "integer", "kernels", "number of base kernels that have an error of their own")
_number("centered", "", "correlation of the centered alignment on the training set and the accuracy on the test fold")
_number("uncentered", "", "the same correlation for the alignment that is not centered")

# Means and standard deviations over trials
_register("trials", "integer", "trials", "number of trials")
_register("failed", "integer", "trials", "number of trials that failed; the means leave them out")
_number("error_mean", ERROR_UNIT, "mean of error over the trials")
_number("error_sd", ERROR_UNIT, "standard deviation of error over the trials")
_number("alignment_test_mean", "", "mean of alignment_test over the trials")
_number("alignment_test_sd", "", "standard deviation of alignment_test over the trials")
_number("alignment_train_mean", "", "mean of alignment_train over the trials")
_number("alignment_train_sd", "", "standard deviation of alignment_train over the trials")

# Timings
_register("seconds", "number", "s", "time that the task took on its worker")
_register("peak_memory_bytes", "integer", "bytes", "largest memory of the worker process while the task ran")
