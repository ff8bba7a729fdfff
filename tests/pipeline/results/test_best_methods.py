"""The sentences that state which method is best, and what the terminal marks."""

import io
from collections.abc import Mapping, Sequence

import pandas as pd
from rich.console import Console

from kernel_pipeline.cli.summary_view import print_summary
from kernel_pipeline.results.best_methods import BestMethod, best_methods
from kernel_pipeline.results.comparison import compare_methods
from kernel_pipeline.results.summary import summarise
from tests.pipeline.results.made_rows import rows_of

CLEAR: dict[str, list[float | None]] = {
    "unif": [0.30, 0.32, 0.31, 0.33, 0.30],
    "alignf": [0.110, 0.131, 0.119, 0.142, 0.093],
}


def best_of(errors: Mapping[str, Sequence[float | None]]) -> BestMethod:
    rows = rows_of(errors)
    (found,) = best_methods(summarise(rows), compare_methods(rows, {"made": 1 / 3}))
    return found


def test_the_best_method_and_its_comparisons() -> None:
    found = best_of(CLEAR | {"align": [0.10, 0.15, 0.12, 0.16, 0.11]})
    assert found.sentence == (
        "alignf .119 is best; align .128: no significant difference (p = .39, corrected); unif .312: significantly "
        "worse (p < .01, corrected)."
    )
    assert found.method == "alignf"
    assert found.indistinguishable == ("align",)


def test_many_methods_are_counted() -> None:
    near: dict[str, list[float | None]] = {
        f"m{number}": [0.11, 0.14, 0.12, 0.13, 0.10 + number / 1000] for number in range(1, 6)
    }
    found = best_of({"best": [0.11, 0.12, 0.13, 0.12, 0.11], **near})
    assert found.sentence == (
        "best .118 is best; m1 .120, m2 .120, m3 .121 and 2 more: no significant difference (p = 1.00, corrected)."
    )


def test_pairs_that_could_not_be_tested_are_stated() -> None:
    found = best_of({"a": [0.1, 0.2, 0.3], "b": [0.1, 0.2, 0.3], "c": [None, None, 0.4], "d": [None, None, None]})
    assert found.sentence == "a .200 is best; b .200: the same errors; c .400: not tested; d: no result."
    assert found.indistinguishable == ("b", "c")
    assert best_of({"a": [None], "b": [None]}).sentence == "no method has a result."
    assert best_of({"a": [0.1]}).sentence == "a .100 is best."


def test_methods_with_equal_means_are_all_best() -> None:
    errors: dict[str, list[float | None]] = {"alignf": [0.1, 0.2, 0.3], "linear": [0.3, 0.1, 0.2]}
    worse: dict[str, list[float | None]] = {"unif": [0.9, 0.9, 0.9]}
    found = best_of(errors | worse)
    assert found.sentence == ("alignf and linear .200 are best; unif .900: significantly worse (p = .04, corrected).")
    assert found.tied == ("alignf", "linear")
    said = printed(rows_of(errors | worse), None, force_terminal=True)
    assert said.count("\x1b[1m0.200") == 2
    five: dict[str, list[float | None]] = {f"m{number}": [0.1, 0.2] for number in range(5)}
    tied = {name: values if int(name[1]) % 2 else values[::-1] for name, values in five.items()}
    assert best_of(tied).sentence == "m0, m1 and m3 .150 are best; m2 .150 and m4 .150: the same errors."


def printed(rows: pd.DataFrame, comparison: pd.DataFrame | None, force_terminal: bool = False) -> str:
    said = io.StringIO()
    print_summary(Console(file=said, width=120, force_terminal=force_terminal), summarise(rows), comparison)
    return said.getvalue()


def test_the_terminal_marks_the_best_and_indistinguishable_methods() -> None:
    rows = rows_of(CLEAR | {"align": [0.10, 0.15, 0.12, 0.16, 0.11]})
    said = printed(rows, compare_methods(rows, {"made": 1 / 3}))
    assert {line.split()[1] for line in said.splitlines() if "│ * " in line.replace("│  *", "│ *")} == {
        "align",
        "alignf",
    }
    assert said.splitlines()[-2].startswith("made, regression: alignf .119 is best; align .128: no significant")
    assert "* the best method (bold) and all that cannot be distinguished from it" in said


def test_a_run_of_an_earlier_version_has_no_comparisons() -> None:
    said = printed(rows_of(CLEAR), None)
    assert "*" not in said
    assert "is best" not in said
