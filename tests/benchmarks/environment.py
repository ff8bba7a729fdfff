"""Provide the environment of processes that run a module of this folder on one thread."""

import os
from pathlib import Path

from kernel_pipeline.cluster.settings import ENVIRONMENT

ROOT = Path(__file__).parents[2]

ONE_THREAD = os.environ | ENVIRONMENT | {"PYTHONPATH": str(ROOT)}
"""Environment of a worker, in which `python -m tests.benchmarks.NAME` works although `PYTHONSAFEPATH` is set."""
