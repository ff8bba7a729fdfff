"""The plain script of `plain_sweep.py`: both commands run in separate processes, and times include the start-up."""

import csv
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tests.benchmarks.peers.environments import ROOT
from tests.benchmarks.peers.peer import Arrays, Call, Peer, Problem, Program, Size
from tests.benchmarks.peers.problems import samples

# Ten values of each learner, as powers of two.
RIDGES, COSTS = (-27, 0, 3), (0, 18, 2)
CONFIG = """
name = "peers"
baselines = false
methods = ["unif", "align", "alignf"]
[fit]
krr = {{ from = {ridges[0]}, to = {ridges[1]}, step = {ridges[2]} }}
svm = {{ from = {costs[0]}, to = {costs[1]}, step = {costs[2]} }}
[[dataset]]
name = "samples"
task = ["regression", "classification"]
source = "file"
path = "samples.csv"
format = "csv"
target = "label"
folds = "fold"
kernels = [{{ family = "gaussian", log2_gamma = [{first}, {last}] }}]
"""


def data(size: Size) -> Arrays:
    """Return labels of two classes for both problems: 3 methods, 2 learners and 10 values on 5 trials are 300 fits."""
    made = samples(size)
    return {
        "features": made["X"],
        "fold": made["fold"],
        "gammas": 2.0 ** made["log2_gamma"],
        "target:regression": made["labels"].astype(float),
        "target:classification": made["labels"].astype(float),
        "values:regression": 2.0 ** np.arange(RIDGES[0], RIDGES[1] + 1, RIDGES[2])[::-1],
        "values:classification": 2.0 ** np.arange(COSTS[0], COSTS[1] + 1, COSTS[2]),
    }


def _run(command: list[str]) -> str:
    """Run a command; return what it prints, or raise an error with the end of its messages."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {' '.join(done.stderr.split())[-120:]}")
    return done.stdout


def plain_script(data: Arrays) -> Call:
    path = Path(tempfile.mkdtemp(), "samples.npz")  # below a folder that the benchmark removes
    np.savez(path, **data)

    def run() -> Arrays:
        printed = _run([sys.executable, str(ROOT / "tests/benchmarks/plain_sweep.py"), str(path)])
        rows = [line.rsplit(",", 1) for line in printed.splitlines()]
        return {key: np.array(float(error)) for key, error in rows}

    return run


def ours(data: Arrays) -> Call:
    folder = Path(tempfile.mkdtemp())  # below a folder that the benchmark removes
    columns = [f"x{place}" for place in range(data["features"].shape[1])]
    table = np.column_stack([data["features"], data["target:classification"], data["fold"]])
    rows = [[*map(repr, row[:-2].tolist()), f"{row[-2]:.0f}", f"{row[-1]:.0f}"] for row in table]
    (folder / "samples.csv").write_text("\n".join(",".join(row) for row in [[*columns, "label", "fold"], *rows]) + "\n")
    exponents = np.log2(data["gammas"]).round().astype(int)
    config = CONFIG.format(ridges=RIDGES, costs=COSTS, first=exponents[0], last=exponents[-1])
    (folder / "peers.toml").write_text(config)

    def run() -> Arrays:
        arguments = ["run", str(folder / "peers.toml"), "--workers", "1", "--out", str(folder / "run")]
        start = "from kernel_pipeline.cli.main import main; main()"
        _run([sys.executable, "-c", start, *arguments])
        with (folder / "run/results/summary.csv").open() as file:
            return {
                f"{row['task']},{row['method']}": np.array(float(row["error_mean"])) for row in csv.DictReader(file)
            }

    return run


def score(data: Arrays, answer: Arrays) -> Mapping[str, float]:
    names = {"regression": "RMSE of alignf", "classification": "error of alignf"}
    return {name: float(answer[f"{problem},alignf"]) for problem, name in names.items()}


PEER = Peer(
    name="plain script",
    package="scikit-learn",
    requirements=("numpy", "scipy", "scikit-learn"),
    problems=(
        Problem(
            title="sweep: 3 methods, ridge and SVM, 10 values, 5 trials",
            sizes=(Size(1000, 7), Size(2000, 7), Size(4000, 7)),
            data=data,
            score=score,
            programs=(
                Program("ours: `pipeline run`, one worker", ours, is_ours=True),
                Program("plain script, scikit-learn {version}", plain_script),
            ),
        ),
    ),
)
