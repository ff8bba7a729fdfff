"""Compare all pairs of methods on each dataset, and show the comparisons as tables and as the paper's matrices."""

from collections.abc import Hashable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from kernel_pipeline.results.markup import latex_table, latex_text, markdown_table, short_number, short_p
from kernel_pipeline.results.paired_tests import LEVEL, holm, paired_test
from kernel_pipeline.store.reports import OK

GROUP = ["dataset", "task", "metric"]
HEADING = ("methods", "trials", "difference", "90 % interval", "paired t-test", "corrected test", "Holm")
DIAGONAL = "--"
"""Entry of a method compared with itself; a test that is not defined is empty."""
EXPLANATION = (
    "difference: mean of the error of the first method minus that of the second; paired t-test: one-sided, for a "
    "smaller error of the first method; corrected test: Nadeau and Bengio, two-sided; Holm: the corrected test, "
    "adjusted for all pairs"
)


def compare_methods(rows: pd.DataFrame, test_ratios: Mapping[str, float]) -> pd.DataFrame:
    """Return one row per dataset, problem and pair of methods, in the order of the rows.

    Parameters
    ----------
    rows
        The table `rows`. A trial in which either method failed is left out of the comparison of the two.
    test_ratios
        Number of test samples per training sample, by dataset; NaN if the corrected test does not apply.
    """
    found: list[dict[str, object]] = []
    for key, errors in errors_by_problem(rows):
        pairs = list(combinations(errors.columns, 2))
        tests = [
            paired_test(errors[first].to_numpy(), errors[second].to_numpy(), test_ratios[key["dataset"]])
            for first, second in pairs
        ]
        adjusted = holm([test.p_corrected for test in tests])
        for (first, second), test, p_holm in zip(pairs, tests, adjusted, strict=True):
            values = {name: value for name, value in vars(test).items() if name != "trials"}
            pair = {"method": first, "other": second, "paired_trials": test.trials}
            found.append({**key, **pair, **values, "p_holm": p_holm})
    names = [*GROUP, "method", "other", "paired_trials", "difference", "lower", "upper"]
    return pd.DataFrame(found, columns=[*names, "p_paired", "p_corrected", "p_holm"])


def errors_by_problem(rows: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield the key and the errors of each dataset and problem, (trials, methods), with NaN for failed trials."""
    measured = rows.assign(error=rows["error"].where(rows["status"] == OK))
    for group, part in measured.groupby(GROUP, sort=False):
        errors = part.pivot(index=["repeat", "trial"], columns="method", values="error")
        methods = list(dict.fromkeys(part["method"]))
        yield dict(zip(GROUP, map(str, group), strict=True)), errors[methods].astype(float)


def significance(comparison: pd.DataFrame) -> pd.DataFrame:
    """Return the entries of the paper's matrices: one row per dataset, problem and ordered pair of methods.

    An entry is 1 if `other` (a column of the matrix) has a significantly smaller error than `method` (a row).
    """
    found: list[dict[str, object]] = []
    for key, pairs in comparison.groupby(GROUP, sort=False):
        names = dict(zip(GROUP, key, strict=True))
        records = pairs.to_dict("records")
        p_smaller = {(record["method"], record["other"]): float(record["p_paired"]) for record in records}
        p_smaller |= {(second, first): 1.0 - p for (first, second), p in p_smaller.items()}
        methods = list(dict.fromkeys([*pairs["method"], *pairs["other"]]))
        for method in methods:
            for other in methods:
                if other != method:
                    p = p_smaller[other, method]
                    found.append(
                        {
                            **names,
                            "method": method,
                            "other": other,
                            "other_is_better": None if np.isnan(p) else p < LEVEL,
                        }
                    )
    frame = pd.DataFrame(found, columns=[*GROUP, "method", "other", "other_is_better"])
    return frame.assign(other_is_better=frame["other_is_better"].astype("boolean").astype("Int64"))


def comparison_markdown(comparison: pd.DataFrame) -> bytes:
    """Return the comparisons as Markdown, one table per dataset and problem."""
    parts = [
        f"{title}.\n\n{markdown_table(HEADING, [_cells(row) for row in pairs.to_dict('records')])}"
        for title, pairs in _titled(comparison)
    ]
    return "\n".join([*parts, f"{EXPLANATION}.\n"]).encode()


def comparison_latex(comparison: pd.DataFrame) -> bytes:
    """Return the comparisons as LaTeX, one table per dataset and problem."""
    heading = [text.replace("%", r"\%") for text in HEADING]
    parts = []
    for title, pairs in _titled(comparison):
        rows = [[latex_text(cell).replace("< ", "$<$ ") for cell in _cells(row)] for row in pairs.to_dict("records")]
        parts.append(f"% {title}\n{latex_table(heading, rows, 'lrrrrrr')}")
    return "\n".join([*parts, f"% {EXPLANATION}\n"]).encode()


def significance_markdown(entries: pd.DataFrame) -> bytes:
    """Return the paper's matrices as Markdown, one per dataset and problem."""
    return "\n".join(
        f"{title}: 1 if the method of the column has a significantly smaller error than the method of the row.\n\n"
        f"{markdown_table(['', *methods], rows)}"
        for title, methods, rows in _matrices(entries)
    ).encode()


def significance_latex(entries: pd.DataFrame) -> bytes:
    """Return the paper's matrices as LaTeX, one per dataset and problem."""
    return "\n".join(
        f"% {title}\n"
        + latex_table(
            ["", *map(latex_text, methods)],
            [[latex_text(method), *entries] for method, *entries in rows],
            "l|" + "c" * len(methods),
        )
        for title, methods, rows in _matrices(entries)
    ).encode()


def _titled(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for (dataset, task, metric), part in frame.groupby(GROUP, sort=False):
        yield f"{dataset}, {task} ({metric})", part


def _cells(row: Mapping[Hashable, Any]) -> list[str]:
    """Return the table row of one comparison."""
    numbers = {name: float(row[name]) for name in ("difference", "lower", "upper", "p_paired", "p_corrected", "p_holm")}
    interval = f"[{short_number(numbers['lower'])}, {short_number(numbers['upper'])}]"
    return [
        f"{row['method']} - {row['other']}",
        str(row["paired_trials"]),
        short_number(numbers["difference"]),
        "" if np.isnan(numbers["lower"]) else interval,
        *(short_p(numbers[name]) for name in ("p_paired", "p_corrected", "p_holm")),
    ]


def _matrices(entries: pd.DataFrame) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield title, methods and rows of each matrix; an entry that is not defined is empty."""
    for title, part in _titled(entries):
        methods = list(dict.fromkeys(part["method"]))
        found = {
            (record["method"], record["other"]): "" if pd.isna(entry := record["other_is_better"]) else str(entry)
            for record in part.to_dict("records")
        }
        yield title, methods, [[row, *(found.get((row, other), DIAGONAL) for other in methods)] for row in methods]
