"""`pipeline compare` on small runs: with the paper, with each other, unfinished, and what is refused."""

import io
import shutil
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from kernel_pipeline.cli.main import main
from kernel_pipeline.errors import PipelineError, RefusedError, StorageError
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.summary import summarise
from tests.helpers.build import GAUSSIAN, ROWS, config_values, listing, parsed, put
from tests.helpers.sweeps import fail, forget, plan_in, resume_here, run_here


def made(name: str, seed: int = 0) -> dict[str, object]:
    """Return a config of one dataset, which has the name of a dataset of the paper."""
    dataset = {"name": name, "task": "regression", "source": "synthetic", "rows": 30, "kernels": [GAUSSIAN]}
    methods = ["unif", "align", "best-kernel", "each-kernel"]
    return {
        "name": "made",
        "seed": seed,
        "baselines": False,
        "methods": methods,
        "protocol": {"folds": 3},
        "dataset": [dataset],
    }


@pytest.fixture(scope="module")
def kinematics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run with a dataset that has the name of a dataset of the paper."""
    root = tmp_path_factory.mktemp("kinematics")
    run_here(root, parsed(made("kinematics")))
    assert resume_here(root)[0] == 0
    return root


@pytest.fixture(scope="module")
def other_seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same run with another seed."""
    root = tmp_path_factory.mktemp("other-seed")
    run_here(root, parsed(made("kinematics", seed=1)))
    assert resume_here(root)[0] == 0
    return root


def compare(*arguments: str | Path) -> Result:
    """Run `pipeline compare`, which must succeed."""
    result = CliRunner().invoke(main, ["compare", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: str | Path, code: int = PipelineError.exit_code) -> str:
    """Run `pipeline compare`, which must be refused, and return its only message."""
    result = CliRunner().invoke(main, ["compare", *map(str, arguments)])
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.count("Error:") == 1
    return result.stderr


def table(result: Result) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(result.stdout))


def test_with_the_paper(kinematics: Path) -> None:
    before = listing(kinematics)
    result = compare(kinematics, "--paper")
    for words in (
        "Table 1, regression: correlation of the alignment and the accuracy",
        "Table 2, regression: error",
        "Table 2, regression: alignment on the test fold",
        "Table 4, kinematics, regression: significance",
        "(.138 ± .005)",
        "within one standard deviation of the paper",
        "Table 4, significance: ",
    ):
        assert words in result.stdout
    assert "the config 'made' is not one of paper-gaussian, paper-sentiment" in result.stderr
    assert listing(kinematics) == before


def test_numbers_are_those_of_the_tables(kinematics: Path) -> None:
    found = table(compare(kinematics, "--paper", "--csv"))
    assert list(found["table"].value_counts().sort_index()) == [2, 4, 2]  # Tables 1, 2 and 4
    errors = found[found["measure"] == "error"].set_index("method")
    summary = summarise(pd.read_csv(kinematics / "results/rows.csv")).set_index("method")
    for method, paper in {"unif": (0.138, 0.005), "align": (0.125, 0.004)}.items():
        ours = float(summary["error_mean"][method])
        assert errors["ours"][method] == pytest.approx(ours, rel=1e-12)
        assert errors["deviations"][method] == pytest.approx((ours - paper[0]) / paper[1], rel=1e-12)
    entries = found[found["table"] == 4].set_index(["method", "other"])["ours"]
    written = pd.read_csv(kinematics / "results/significance.csv").set_index(["method", "other"])["other_is_better"]
    pd.testing.assert_series_equal(entries, written[entries.index], check_dtype=False, check_names=False)
    correlation = pd.read_csv(kinematics / "results/correlation.csv")
    correlations = found[found["table"] == 1].set_index("method")["ours"]
    assert correlations["centered"] == pytest.approx(correlation["centered"][0], rel=1e-12)


def test_csv_and_markdown(kinematics: Path, tmp_path: Path) -> None:
    out = tmp_path / "paper.csv"
    markdown = compare(kinematics, "--paper", "--markdown", "--out", out).stdout
    assert markdown.startswith("Table 1, regression: correlation")
    assert "|  | kinematics |\n| --- | --- |\n| unif | " in markdown
    assert "\n- Table 2, errors: " in markdown
    assert out.read_text() == compare(kinematics, "--paper", "--csv").stdout


def test_a_run_with_itself(root: Path) -> None:
    result = compare(root, root)
    assert "18 of 18 common cells have equal errors and alignments" in result.stdout
    assert "the largest difference is 0 in an error and 0 in an alignment" in result.stdout
    assert "The configs are equal." in result.stdout
    assert result.stderr == ""


def test_two_runs(kinematics: Path, other_seed: Path, tmp_path: Path) -> None:
    out = tmp_path / "cells.csv"
    result = compare(kinematics, other_seed, "--out", out)
    assert "seed: 0 -> 1" in result.stdout
    assert f"Mean error over common trials: a is {kinematics}, b is {other_seed}" in result.stdout
    found = pd.read_csv(out)
    rows = [pd.read_csv(run / "results/rows.csv") for run in (kinematics, other_seed)]
    assert len(found) == 9
    for measure, column in (("error", "error"), ("alignment", "alignment_test")):
        expected = rows[1][column] - rows[0][column]
        pd.testing.assert_series_equal(found[f"{measure}_difference"], expected, check_names=False)


def test_other_data_are_stated(root: Path, other_seed: Path, kinematics: Path, tmp_path: Path) -> None:
    """The configs of two runs may be equal although their files are not."""
    for name, rows in (("a", ROWS), ("b", ROWS + "9,3,b\n10,1,a\n")):
        (tmp_path / name).mkdir()
        put(tmp_path / name, rows)
        run_here(tmp_path / name, parsed(config_values()))
    shown = compare(tmp_path / "a", tmp_path / "b").stdout
    assert (
        "The configs are equal.\nThe data of 'things' differ (rows: 9 and 11; things.csv has another content)" in shown
    )
    assert "The data" not in compare(root, root).stdout
    assert "The data or the folds of 'kinematics' differ" in compare(kinematics, other_seed).stdout


def test_an_unfinished_run(root: Path, tmp_path: Path) -> None:
    whole = shutil.copytree(root, tmp_path / "whole")
    forget(root, "fits/wave/regression/unif/1", "tables")
    result = compare(root, whole)
    assert "17 of 17 common cells have equal" in result.stdout
    assert f"Finished cells that are only in {whole}: 1." in result.stdout
    assert f"{root} is not finished: 1 of 18 cells have no result yet" in result.stderr
    assert f"`pipeline resume {root}`" in result.stderr


def test_an_unfinished_run_with_the_paper(kinematics: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(kinematics, tmp_path / "copied")
    forget(copied, "fits/kinematics/regression/unif/1", "tables")
    result = compare(copied, "--paper", "--csv")
    errors = table(result).query("measure == 'error'").set_index("method")["ours"]
    rows = pd.read_csv(kinematics / "results/rows.csv").query("method == 'unif' and trial != 1")
    assert errors["unif"] == pytest.approx(rows["error"].mean(), rel=1e-12)
    assert "1 of 9 cells have no result yet" in result.stderr


def test_failed_cells_are_left_out(root: Path, plan: Plan) -> None:
    fail(root, plan, "fits/wave/regression/unif/1", "it was too hot")
    forget(root, "tables")
    result = compare(root, root, "--csv")
    assert len(table(result)) == 17
    assert result.stderr.count(f"1 of 18 cells of {root} failed and are left out") == 2


def test_no_run_directory(root: Path, tmp_path: Path) -> None:
    for arguments in ((tmp_path, "--paper"), (root, tmp_path), (tmp_path / "nowhere", root)):
        assert "is not a run directory" in refused(*arguments, code=RefusedError.exit_code)


def test_damaged_tables(root: Path) -> None:
    (root / "results/rows.csv").write_text("dataset\n")
    assert f"pipeline verify {root} --repair" in refused(root, "--paper", code=RefusedError.exit_code)


def test_nothing_in_common(root: Path, kinematics: Path) -> None:
    text = refused(root, kinematics)
    assert "have no finished cell in common" in text
    assert "name: small -> made" in text
    text = refused(root, "--paper")
    assert "has no result for the paper's Tables 1 to 5" in text
    assert "kinematics, ionosphere, german, spambase, splice, books, dvd, electronics, kitchen" in text


def test_a_run_without_results(tmp_path: Path) -> None:
    plan_in(tmp_path / "begun", parsed(made("kinematics")))
    assert "have no finished cell in common" in refused(tmp_path / "begun", tmp_path / "begun")


def test_wrong_arguments(root: Path) -> None:
    for arguments in ((root,), (root, root, "--paper")):
        assert "give either a second run directory or --paper" in refused(*arguments)
    assert "give either --csv or --markdown" in refused(root, root, "--csv", "--markdown")


def test_a_file_that_cannot_be_written(root: Path, tmp_path: Path) -> None:
    text = refused(root, root, "--out", tmp_path / "no/where.csv", code=StorageError.exit_code)
    assert f"cannot write {tmp_path}/no/where.csv: No such file or directory. Choose another file" in text


def test_the_comparison_is_a_section_of_a_report(kinematics: Path, other_seed: Path, tmp_path: Path) -> None:
    own = (kinematics / "report.html").read_text()
    assert own.count('<section id="paper">') == own.count('<a href="#paper">Comparison with the paper</a>') == 1
    assert "Table 2, regression: error" in own
    file = tmp_path / "both.html"
    result = compare(kinematics, other_seed, "--report", file)
    text = file.read_text()
    assert f"<h2>{kinematics} compared with {other_seed}</h2>" in text
    for line in result.stdout.splitlines():
        if line.startswith("The configs differ"):
            assert line.replace(">", "&gt;") in text
    assert (kinematics / "report.html").read_text() == own
    message = refused(kinematics, other_seed, "--report", tmp_path / "none" / "both.html", code=StorageError.exit_code)
    assert "cannot write" in message
