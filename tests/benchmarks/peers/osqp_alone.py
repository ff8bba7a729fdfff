"""OSQP alone, with a tolerance of 1e-9; its negative and negligible weights are set to zero."""

from importlib import import_module

import numpy as np

from tests.benchmarks.peers.peer import Arrays, Call, Peer, Program
from tests.benchmarks.peers.problems import Floats
from tests.benchmarks.peers.quadratic import problems, statistics_of_columns

TOLERANCE, ITERATIONS = 1e-9, 1_000_000
# Weights this small relative to the largest one are zero up to its accuracy.
NEGLIGIBLE = 1e-7


def solve(M: Floats, a: Floats) -> Floats:
    osqp, sparse = import_module("osqp"), import_module("scipy.sparse")
    solver = osqp.OSQP()
    solver.setup(
        P=sparse.csc_matrix(np.triu(M)),
        q=-a,
        A=sparse.identity(len(a), format="csc"),
        l=np.zeros(len(a)),
        u=np.full(len(a), np.inf),
        eps_abs=TOLERANCE,
        eps_rel=TOLERANCE,
        max_iter=ITERATIONS,
        verbose=False,
    )
    v: Floats = np.maximum(np.asarray(solver.solve(raise_error=False).x), 0.0)
    v[v < NEGLIGIBLE * v.max()] = 0.0
    return v


def given(data: Arrays) -> Call:
    import_module("osqp"), import_module("scipy.sparse")
    return lambda: {"v": solve(data["M"], data["a"])}


def from_columns(data: Arrays) -> Call:
    import_module("osqp"), import_module("scipy.sparse")
    return lambda: {"v": solve(*statistics_of_columns(data["columns"], data["labels"]))}


PEER = Peer(
    name="OSQP",
    package="osqp",
    requirements=("osqp>=1.0.3,<2",),
    problems=problems(Program("OSQP {version}", given), Program("OSQP {version}", from_columns)),
)
