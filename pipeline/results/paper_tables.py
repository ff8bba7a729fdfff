"""Read the numbers of the paper's Tables 1 to 5, which are shipped as a data file."""

import csv
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

FILE = "paper-tables.csv"
CORRELATION, ERROR, ALIGNMENT, OTHER_IS_BETTER = "correlation", "error", "alignment", "other_is_better"
PAPER_METRICS = {"regression": "rmse", "classification": "misclassification"}
"""Metrics in which the paper reports errors, by problem."""


@dataclass(frozen=True)
class NumberKey:
    """Key of a number in a table of results: the dataset, problem, measure and methods that it belongs to."""

    dataset: str
    problem: str
    measure: str
    """`correlation` (Table 1), `error` or `alignment` (Tables 2 and 3), or `other_is_better` (Tables 4 and 5)."""
    method: str
    """Name of a method; for correlations, `centered` or `uncentered`."""
    other: str = ""
    """Method of the column of a matrix of Table 4 or 5; empty in other tables."""


@dataclass(frozen=True)
class PaperNumber:
    """One number that the paper prints."""

    table: int
    key: NumberKey
    value: float
    sd: float
    """Standard deviation over the trials; NaN where the paper has none."""


@cache
def paper_numbers() -> tuple[PaperNumber, ...]:
    """Return all numbers of the paper's Tables 1 to 5, in the order of the file.

    >>> paper_numbers()[10]
    PaperNumber(table=2, key=NumberKey(dataset='kinematics', problem='regression', measure='error', method='unif', \
other=''), value=0.138, sd=0.005)
    """
    lines = files("kernel_pipeline.configs").joinpath(FILE).read_text("utf-8").splitlines()
    return tuple(
        PaperNumber(
            table=int(row["table"]),
            key=NumberKey(row["dataset"], row["task"], row["measure"], row["method"], row["other"]),
            value=float(row["value"]),
            sd=float(row["sd"]) if row["sd"] else math.nan,
        )
        for row in csv.DictReader(line for line in lines if not line.startswith("#"))
    )
