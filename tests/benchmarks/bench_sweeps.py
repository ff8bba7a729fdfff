"""Compare the pipeline with a plain script, including their start-up, in one run on one machine.

    python -m tests.benchmarks.bench_sweeps SWEEP --data-dir DIR [--repeats 3] [--gram recompute]

Prints the seconds of both, their ratio, and the largest difference of a mean error. Sweeps: `gaussian` (the two-stage
methods of paper-gaussian), `kinematics` (4,000 rows), `books` (4,000 rank-one kernels).
"""

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
KINEMATICS = str(HERE / "kinematics-4000.toml")
TWO_STAGE = 'methods=["unif", "align", "alignf", "best-kernel"]'
NO_BASELINES = "baselines=false"
# Arguments of `pipeline run` and of the plain script for each sweep.
SWEEPS = {
    "gaussian": (
        ["paper-gaussian", "--set", TWO_STAGE, "--set", NO_BASELINES],
        ["plain_gaussian.py", "paper-gaussian"],
    ),
    "kinematics": ([KINEMATICS], ["plain_gaussian.py", KINEMATICS]),
    "books": ([str(HERE / "books.toml")], ["plain_sentiment.py", "books"]),
}


def timed(command: list[str], environment: dict[str, str]) -> tuple[float, str]:
    begin = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return time.perf_counter() - begin, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sweep", choices=SWEEPS)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--gram", default="auto", choices=["auto", "recompute"], help="whether Gram matrices are stored"
    )
    arguments = parser.parse_args()
    environment = os.environ | {"PYTHONPATH": str(HERE.parents[1])}
    run, (script, *script_arguments) = SWEEPS[arguments.sweep]
    plain_command = [sys.executable, str(HERE / script), *script_arguments, arguments.data_dir]
    seconds: dict[str, list[float]] = {"plain script": [], "pipeline": []}
    for _ in range(arguments.repeats):
        taken, printed = timed(plain_command, environment)
        seconds["plain script"].append(taken)
        with tempfile.TemporaryDirectory() as folder:
            options = ["--data-dir", arguments.data_dir, "--out", f"{folder}/run"]
            options += ["--set", f'storage.gram="{arguments.gram}"']
            command = [sys.executable, "-c", "from kernel_pipeline.cli.main import main; main()", "run", *run, *options]
            seconds["pipeline"].append(timed(command, environment)[0])
            with Path(folder, "run/results/summary.csv").open() as file:
                means = {
                    (row["dataset"], row["task"], row["method"]): float(row["error_mean"])
                    for row in csv.DictReader(file)
                }
    for name, values in seconds.items():
        print(f"{name:13} {statistics.median(values):6.1f} s  (of {', '.join(f'{value:.1f}' for value in values)})")
    print(f"ratio         {statistics.median(seconds['plain script']) / statistics.median(seconds['pipeline']):6.2f}")
    plain = {(d, t, m): float(e) for d, t, m, e in (line.split(",") for line in printed.splitlines())}
    print(f"largest difference of a mean error: {max(abs(means[key] - plain[key]) for key in plain):.1e}")


if __name__ == "__main__":
    main()
