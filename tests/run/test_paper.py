"""The paper's Table 2 from the shipped config, on the paper's datasets."""

from pathlib import Path

import pandas as pd
import pytest

from pipeline.config_file import read_config
from pipeline.plan import make_plan
from pipeline.samples import load_samples
from tests.run.sweeps import pipeline

# Error and its standard deviation, as printed in Table 2 of the paper.
PAPER = {
    "kinematics": {"unif": (0.138, 0.005), "align": (0.125, 0.004), "alignf": (0.115, 0.004)},
    "ionosphere": {"unif": (0.479, 0.033), "align": (0.456, 0.036), "alignf": (0.444, 0.034)},
    "german": {"unif": (0.259, 0.018), "align": (0.255, 0.015), "alignf": (0.242, 0.015)},
    "spambase": {"unif": (0.187, 0.028), "align": (0.186, 0.026), "alignf": (0.180, 0.024)},
    "splice": {"unif": (0.152, 0.022), "align": (0.151, 0.024), "alignf": (0.139, 0.013)},
}


def test_table_2_of_the_paper(data_dir: Path, tmp_path: Path) -> None:
    done = pipeline("run", "paper-gaussian", "--data-dir", data_dir, "--out", "paper", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = pd.read_csv(tmp_path / "paper/results/rows.csv")
    errors = rows.groupby(["dataset", "method"])["error"].mean()
    for dataset, methods in PAPER.items():
        for method, (mean, deviation) in methods.items():
            assert abs(errors[dataset, method] - mean) <= 2 * deviation, (dataset, method)

    assert (rows["certificate"] <= 1e-9).all()
    kernels = pd.read_csv(tmp_path / "paper/results/kernels.csv")
    best_alone = kernels.groupby(["dataset", "trial"], sort=False)["alignment_train"].max()
    by_method = rows.set_index(["method", "dataset", "trial"])["alignment_train"]
    for other in (by_method["unif"], by_method["align"], best_alone):
        assert (by_method["alignf"] >= other * (1 - 1e-9)).all()

    config, _ = read_config("paper-gaussian")
    plan = make_plan(config, [load_samples(config, dataset, data_dir) for dataset in config.dataset])
    peaks = pd.read_csv(tmp_path / "paper/results/timings.csv").set_index("task")["peak_memory_bytes"]
    for planned in plan.datasets:
        for stage, tasks in planned.stages.items():
            for task in tasks:
                assert peaks[task.name] <= planned.memory[stage]


def test_without_the_data_the_message_says_which_file_to_put_where(tmp_path: Path) -> None:
    done = pipeline("run", "paper-gaussian", cwd=tmp_path)
    assert done.returncode == 2
    assert "kin/kin-8nm/Dataset.data.gz" in done.stderr
    assert "--data-dir" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("dataset", "rows", "left_out"), [("kinematics", 8192, 0), ("splice", 3175, 15), ("spambase", 4601, 0)]
)
def test_all_rows_of_the_files_are_read(data_dir: Path, dataset: str, rows: int, left_out: int) -> None:
    config, _ = read_config("paper-gaussian", [f"dataset.{dataset}.rows={rows}"])
    (chosen,) = [found for found in config.dataset if found.name == dataset]
    samples = load_samples(config, chosen, data_dir)
    assert len(samples.features) == rows
    assert samples.left_out == left_out
