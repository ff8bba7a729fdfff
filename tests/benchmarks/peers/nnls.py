"""scipy's nnls alone, on a Cholesky factor of M."""

from importlib import import_module

import numpy as np

from tests.benchmarks.peers.peer import Arrays, Call, Peer, Program
from tests.benchmarks.peers.problems import Floats
from tests.benchmarks.peers.quadratic import problems, statistics_of_columns

# Added to the diagonal of M until it has a Cholesky factor; M of many Gaussians is singular up to rounding.
FIRST_JITTER = 1e-15


def solve(M: Floats, a: Floats) -> Floats:
    linalg, optimize = import_module("scipy.linalg"), import_module("scipy.optimize")
    jitter = FIRST_JITTER
    while True:
        try:
            root = linalg.cholesky(M + jitter * np.eye(len(a)))
            break
        except linalg.LinAlgError:
            jitter *= 10
    return np.asarray(optimize.nnls(root, linalg.solve_triangular(root, a, trans="T"))[0])


def given(data: Arrays) -> Call:
    import_module("scipy.optimize"), import_module("scipy.linalg")
    return lambda: {"v": solve(data["M"], data["a"])}


def from_columns(data: Arrays) -> Call:
    import_module("scipy.optimize"), import_module("scipy.linalg")
    return lambda: {"v": solve(*statistics_of_columns(data["columns"], data["labels"]))}


PEER = Peer(
    name="scipy nnls",
    package="scipy",
    requirements=("scipy",),
    problems=problems(Program("scipy {version} `nnls`", given), Program("scipy {version} `nnls`", from_columns)),
)
