"""The paper's Table 3 from the shipped config, for one of its four domains; configs/README.md has all of them."""

from pathlib import Path

import pandas as pd
import pytest

from kernel_pipeline.config.loading import read_config, to_toml
from tests.helpers.sweeps import pipeline

DOMAIN = "kitchen"
# Error and alignment, each with its standard deviation, as printed in Table 3 of the paper.
PAPER = {
    ("regression", "unif"): ((1.356, 0.016), (0.039, 0.006)),
    ("regression", "l2-krr"): ((1.333, 0.015), (0.056, 0.005)),
    ("regression", "align"): ((1.312, 0.012), (0.076, 0.008)),
    ("classification", "unif"): ((0.201, 0.020), (0.039, 0.007)),
    ("classification", "l1-svm"): ((0.236, 0.024), (0.058, 0.007)),
    ("classification", "align"): ((0.172, 0.022), (0.070, 0.010)),
}
# The parts of the shipped paths with the smallest errors, for a quarter of the time.
SETTINGS = (
    "methods=['unif', 'l2-krr', 'l1-svm', 'align', 'alignf']",
    "baselines=false",
    "fit.krr={from=-12, to=-7, step=1}",
    "fit.svm={from=6, to=12, step=2}",
    "fit.l1-svm={from=10, to=10}",
)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> pd.DataFrame:
    """The rows of one run for all tests of this file."""
    root = tmp_path_factory.mktemp("paper")
    config, _ = read_config("paper-sentiment", SETTINGS)
    chosen = [dataset for dataset in config.dataset if dataset.name == DOMAIN]
    (root / "sweep.toml").write_text(to_toml(config.model_copy(update={"dataset": chosen})))
    done = pipeline("run", "sweep.toml", "--data-dir", str(data_dir), "--out", "paper", cwd=root)
    assert done.returncode == 0, done.stderr
    return pd.read_csv(root / "paper/results/rows.csv")


def test_errors_are_within_two_standard_deviations(rows: pd.DataFrame) -> None:
    errors = rows.groupby(["task", "method"])["error"].mean()
    for cell, ((mean, deviation), _) in PAPER.items():
        assert abs(errors[cell] - mean) <= 2 * deviation, cell
    for better, worse in (("align", "l2-krr"), ("l2-krr", "unif")):
        assert errors["regression", better] < errors["regression", worse]
    for better, worse in (("align", "unif"), ("unif", "l1-svm")):
        assert errors["classification", better] < errors["classification", worse]


def test_alignments_are_within_one_standard_deviation(rows: pd.DataFrame) -> None:
    alignments = rows.groupby(["task", "method"])["alignment_test"].mean()
    for cell, (_, (mean, deviation)) in PAPER.items():
        assert abs(alignments[cell] - mean) <= deviation, cell


def test_certificates_meet_their_bounds(rows: pd.DataFrame) -> None:
    max_certificate = {"unif": 0.0, "align": 0.0, "alignf": 1e-9, "l1-svm": 1e-4, "l2-krr": 1e-6}
    assert (rows["certificate"] <= rows["method"].map(max_certificate)).all()
    assert (rows["n_kernels"] == 4000).all()
