"""Arrange comparisons with the paper as its tables, and state in sentences how far they agree."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kernel_pipeline.results.markup import short_number
from kernel_pipeline.results.paper_comparison import ComparedNumber, ComparedOrder, compare_orders
from kernel_pipeline.results.paper_tables import ALIGNMENT, CORRELATION, ERROR, OTHER_IS_BETTER

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
ROUNDING = 1e-9
"""Tolerance when a deviation is compared with a limit, since most of the printed decimals have no exact binary form."""
EXPLANATION = (
    "Each entry shows the number of this run, that of the paper with its standard deviation (in parentheses), and the "
    "difference in units of this standard deviation. In matrices, 1 means that the method of the column has a "
    "significantly smaller error than the method of the row; * marks entries that differ from the paper"
)
TITLES = {
    CORRELATION: "correlation of the alignment and the accuracy of single kernels",
    ERROR: "error",
    ALIGNMENT: "alignment on the test fold",
    OTHER_IS_BETTER: "significance",
}
PLURALS = {CORRELATION: "correlations", ERROR: "errors", ALIGNMENT: "alignments"}


@dataclass(frozen=True)
class TextTable:
    """One table as text."""

    title: str
    heading: list[str]
    rows: list[list[str]]
    name_columns: int = 1
    """Number of leading columns that contain names."""


def comparison_tables(numbers: Sequence[ComparedNumber]) -> list[TextTable]:
    """Arrange compared numbers as in the paper: methods by datasets, and one matrix per dataset and problem."""

    def group(number: ComparedNumber) -> tuple[int, str, str, str]:
        key = number.paper.key
        dataset = key.dataset if key.measure == OTHER_IS_BETTER else ""
        return number.paper.table, key.problem, key.measure, dataset

    return [
        _table(f"Table {table}, {', '.join(filter(None, (dataset, problem)))}: {TITLES[measure]}", part)
        for (table, problem, measure, dataset), part in _grouped(numbers, group)
    ]


def agreement(numbers: Sequence[ComparedNumber]) -> list[str]:
    """Return sentences that state how many numbers agree with the paper, and list those that do not.

    Errors and alignments are counted within one and within two of the paper's standard deviations, and those beyond two
    are listed. The order of two methods, or an entry of a matrix, agrees if it is the same in both. Numbers that are
    not defined in the run are counted separately.
    """
    lines: list[str] = []
    for (table, measure), part in _grouped(numbers, lambda number: (number.paper.table, number.paper.key.measure)):
        defined = [number for number in part if not math.isnan(number.ours)]
        undefined = len(part) - len(defined)
        if measure == OTHER_IS_BETTER:
            lines.append(f"Table {table}, significance: {_entries(defined)}")
        elif measure != CORRELATION:
            lines.append(f"Table {table}, {PLURALS[measure]}: {_deviations(defined)}")
        orders = compare_orders(part)
        if orders:
            lines.append(f"Table {table}, orders by {PLURALS[measure]}: {_orders(orders)}")
        if undefined:
            lines.append(
                f"Table {table}, {TITLES[measure]}: {undefined} of {len(part)} numbers are not defined in this run."
            )
    return lines


def _deviations(numbers: Sequence[ComparedNumber]) -> str:
    within = [sum(abs(number.deviations) <= limit + ROUNDING for number in numbers) for limit in (1, 2)]
    outside = [
        f"{_dataset_and_problem(number)} {number.paper.key.method} ({number.deviations:+.2f})"
        for number in numbers
        if abs(number.deviations) > 2 + ROUNDING
    ]
    text = f"{within[0]} of {len(numbers)} are within one standard deviation of the paper, {within[1]} within two"
    return f"{text}. More than two: {', '.join(outside)}." if outside else f"{text}."


def _orders(orders: Sequence[ComparedOrder]) -> str:
    same = sum(order.agrees for order in orders)
    groups = _grouped(orders, lambda order: (order.key.dataset, order.key.problem))
    whole = sum(all(order.agrees for order in part) for _, part in groups)
    others = [
        f"{order.key.dataset} {order.key.problem} {order.key.method} < {order.key.other}"
        for order in orders
        if not order.agrees
    ]
    text = (
        f"{same} of {len(orders)} pairs have the same order as in the paper; on {whole} of {len(groups)} combinations "
        "of a dataset and a task, all pairs do"
    )
    return f"{text}. Different: {', '.join(others)}." if others else f"{text}."


def _entries(numbers: Sequence[ComparedNumber]) -> str:
    same = sum(number.agrees is True for number in numbers)
    others = [
        f"{_dataset_and_problem(number)} {number.paper.key.method}, {number.paper.key.other} "
        f"(this run: {number.ours:.0f})"
        for number in numbers
        if not number.agrees
    ]
    text = f"{same} of {len(numbers)} entries agree"
    return f"{text}. Different: {'; '.join(others)}." if others else f"{text}."


def _dataset_and_problem(number: ComparedNumber) -> str:
    return f"{number.paper.key.dataset} {number.paper.key.problem}"


def _table(title: str, numbers: Sequence[ComparedNumber]) -> TextTable:
    is_matrix = numbers[0].paper.key.measure == OTHER_IS_BETTER

    def column(number: ComparedNumber) -> str:
        return number.paper.key.other if is_matrix else number.paper.key.dataset

    rows = list(dict.fromkeys(number.paper.key.method for number in numbers))
    columns = rows if is_matrix else list(dict.fromkeys(map(column, numbers)))
    shown = {(number.paper.key.method, column(number)): _shown(number) for number in numbers}
    return TextTable(
        title,
        heading=["", *columns],
        rows=[[row, *(shown.get((row, name), "--" if row == name else "") for name in columns)] for row in rows],
    )


def _shown(number: ComparedNumber) -> str:
    """Return an entry of a table, such as `.119 (.115 ± .004) +1.0`, or `1 (0) *` in a matrix."""
    if number.paper.key.measure == OTHER_IS_BETTER:
        ours = "" if math.isnan(number.ours) else f"{number.ours:.0f} "
        return f"{ours}({number.paper.value:.0f}){' *' if number.agrees is False else ''}"
    deviation = "" if math.isnan(number.paper.sd) else f" ± {short_number(number.paper.sd)}"
    units = "" if math.isnan(number.deviations) else f" {round(number.deviations, 1) + 0.0:+.1f}"  # never -0.0
    return f"{short_number(number.ours)} ({short_number(number.paper.value)}{deviation}){units}".lstrip()


def _grouped(items: Sequence[T], key: Callable[[T], K]) -> list[tuple[K, list[T]]]:
    """Group items by a key, in the order in which the keys first occur."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.items())
