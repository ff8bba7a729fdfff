"""Build the tables of results for the report: errors and alignments by dataset, and details of the fits."""

from collections.abc import Iterator, Mapping

import pandas as pd

from kernel_pipeline.results.best_methods import BestMethod
from kernel_pipeline.results.numbers import decimals_for, format_number, format_scientific, format_value
from kernel_pipeline.results.report.html_table import HtmlCell, HtmlTable, integer_cell, text_cells
from kernel_pipeline.results.view import Results
from kernel_pipeline.tasks.metrics import METRICS

UNDEFINED = "–"


def error_tables(results: Results) -> list[HtmlTable]:
    """Return one table per metric: datasets in rows, methods in columns."""
    summary = results.table("summary")
    if summary is None or summary.empty:
        return []
    found = []
    for metric, rows in summary.groupby("metric", sort=False):
        methods = list(dict.fromkeys(rows["method"]))
        blocks = rows.groupby(["dataset", "task"], sort=False)
        found.append(
            HtmlTable(
                ("dataset", *map(str, methods)),
                [
                    [HtmlCell(str(name)), *_errors(block, methods, results.best_methods.get((str(name), str(problem))))]
                    for (name, problem), block in blocks
                ],
                f"{METRICS[str(metric)].error_title} on the test fold, and below it the centered alignment on the test "
                "fold; mean ± standard deviation over the trials",
            )
        )
    return found


def _errors(block: pd.DataFrame, methods: list[str], found: BestMethod | None) -> Iterator[HtmlCell]:
    """Yield the table cells of one dataset; its numbers have the same number of decimals."""
    close, best = (found.indistinguishable, found.tied) if found else ((), ())
    by_method = block.set_index("method").to_dict("index")
    decimals = decimals_for(block["error_mean"])
    for method in methods:
        row = by_method.get(method)
        if row is None or pd.isna(row["error_mean"]):
            yield HtmlCell(UNDEFINED if row is None else f"no result in {row['trials']} trials")
            continue
        missing = f", {row['failed']} of {row['trials']} trials missing" if row["failed"] else ""
        yield HtmlCell(
            _plus_minus(row["error_mean"], row["error_sd"], decimals),
            below=_plus_minus(row["alignment_test_mean"], row["alignment_test_sd"], 3) + missing,
            order=float(row["error_mean"]),
            is_best=method in best,
            is_close=method not in best and method in close,
        )


def _plus_minus(mean: float, deviation: float, decimals: int) -> str:
    shown = format_number(mean, decimals)
    return shown if pd.isna(deviation) or not shown else f"{shown} ± {format_number(deviation, decimals)}"


def fit_table(results: Results) -> HtmlTable | None:
    """Return the details of the fits of each method: chosen values, active kernels and certificates."""
    certificates = _path_certificates(results)
    rows = []
    for key, group in results.finished_rows():
        for method, found in group.groupby("method", sort=False):
            chosen = sorted(found["regularisation"].dropna())
            edge = int(found["at_edge"].fillna(False).sum())
            of_weights, active = found["certificate"].max(), found["n_active"].dropna().astype(int)
            of_path = certificates.get((*key, str(method)))
            rows.append(
                [
                    *text_cells(*key, method),
                    integer_cell(len(found)),
                    HtmlCell(_range(active), order=float(active.mean()) if len(active) else None),
                    HtmlCell(_values(chosen), order=chosen[0] if chosen else None),
                    integer_cell(edge),
                    HtmlCell(format_scientific(of_weights), order=None if pd.isna(of_weights) else float(of_weights)),
                    HtmlCell(format_scientific(of_path), order=of_path),
                ]
            )
    if not rows:
        return None
    columns = (
        "dataset",
        "task",
        "method",
        "trials",
        "active kernels",
        "regularisation",
        "at edge",
        "certificate of weights",
        "certificate of path",
    )
    return HtmlTable(columns, rows, text_columns=3)


def _range(counts: pd.Series) -> str:
    if counts.empty:
        return ""
    low, high = counts.min(), counts.max()
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _values(chosen: list[float]) -> str:
    """Return the smallest and largest chosen value."""
    if not chosen:
        return ""
    low, high = format_value(chosen[0]), format_value(chosen[-1])
    return low if low == high else f"{low} to {high}"


def _path_certificates(results: Results) -> Mapping[tuple[str, str, str], float]:
    """Return the largest certificate along the paths of each method that has certificates."""
    found: dict[tuple[str, str, str], float] = {}
    for (dataset, problem), rows in results.parts("path"):
        for method, largest in rows.groupby("method", sort=False)["certificate"].max().dropna().items():
            found[dataset, problem, str(method)] = float(largest)
    return found
