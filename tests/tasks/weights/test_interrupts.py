"""Ctrl-C works after several threads have solved programs at the same time."""

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from kernel_pipeline.tasks.weights.qp import nonnegative_qp
from tests.tasks.weights.quadratic_programs import well_conditioned

SOLVES = 200


def test_the_handler_of_ctrl_c_is_restored_after_concurrent_solves() -> None:
    programs = [well_conditioned(seed, 40) for seed in range(SOLVES)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda program: nonnegative_qp(*program), programs))
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
