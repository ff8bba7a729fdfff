"""The quadratic program of `alignf`, `min_{v >= 0} v'Mv - 2 v'a`, that solvers alone are compared on."""

from collections.abc import Mapping

import numpy as np

from tests.benchmarks.peers.peer import Arrays, Call, Problem, Program, Size
from tests.benchmarks.peers.problems import Floats, dense_statistics, kkt_violation, samples, unit_norms

GIVEN_SIZES = (Size(1000, 7), Size(1000, 20), Size(1200, 500))
COLUMN_SIZES = (Size(1200, 2000),)
ENTRIES = 20
# Numbers of kernels up to this one are those of Gaussians; larger ones are rank-one kernels of sparse columns.
MAX_GAUSSIANS = 20


def given_data(size: Size) -> Arrays:
    """Return M and a of kernels of norm one."""
    if size.p > MAX_GAUSSIANS:
        made = column_data(size)
        return dict(zip("Ma", statistics_of_columns(made["columns"], made["labels"]), strict=True))
    found = dense_statistics(samples(size))
    return dict(zip("Ma", unit_norms(found["M"], found["a"]), strict=True))


def column_data(size: Size) -> Arrays:
    """Return sparse columns of counts, stored dense, and centered labels that depend on some of them."""
    rng = np.random.default_rng(0)
    columns = np.zeros((size.n, size.p))
    rows = rng.integers(0, size.n, (ENTRIES, size.p))
    columns[rows, np.arange(size.p)] = rng.geometric(0.8, rows.shape)
    relevant = rng.choice(size.p, size.p // 10, replace=False)
    labels = columns[:, relevant] @ rng.standard_normal(len(relevant)) + rng.standard_normal(size.n)
    return {"columns": columns, "labels": labels - labels.mean()}


def statistics_of_columns(columns: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """Return M and a of the rank-one kernels of columns, scaled to norm one; the largest entry of a is one."""
    centered = columns - columns.mean(axis=0)
    centered /= np.linalg.norm(centered, axis=0)
    a = (centered.T @ labels) ** 2
    return (centered.T @ centered) ** 2, a / a.max()


def ours(data: Arrays) -> Call:
    import osqp  # noqa: F401 - the package imports it when it is first needed

    from kernel_pipeline.tasks.weights.qp import nonnegative_qp

    return lambda: {"v": nonnegative_qp(data["M"], data["a"])[0]}


def ours_from_columns(data: Arrays) -> Call:
    import osqp  # noqa: F401 - the package imports it when it is first needed
    import scipy.sparse

    from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
    from kernel_pipeline.tasks.weights.rank_one_statistics import RankOneStatistics

    columns = scipy.sparse.csr_array(data["columns"])

    def run() -> Arrays:
        statistics = RankOneStatistics(RankOneKernels.of(columns), data["labels"][:, None])
        return {"v": statistics.nonnegative_solution()[0]}

    return run


def score(data: Arrays, answer: Arrays) -> Mapping[str, float]:
    """Return the KKT violation, and the objective above that of a certified solution, relative to it."""
    from kernel_pipeline.tasks.weights.qp import nonnegative_qp

    M, a = (data["M"], data["a"]) if "M" in data else statistics_of_columns(data["columns"], data["labels"])
    v, (best, _) = answer["v"], nonnegative_qp(M, a)
    if "M" not in data:  # answers may have another scale of a, and the best multiple has the same directions
        v = v * (v @ a) / (v @ M @ v)
    objectives = [float(x @ M @ x - 2 * x @ a) for x in (v, best)]
    return {
        "KKT violation": kkt_violation(M, a, v),
        "objective gap": (objectives[0] - objectives[1]) / abs(objectives[1]),
        "positive weights": int((v > 0).sum()),
    }


def problems(given: Program, from_columns: Program) -> tuple[Problem, ...]:
    """Return the problems of a solver: with given `M` and `a`, and with columns from which they are computed."""
    return (
        Problem(
            title="QP of `alignf`, given `M` and `a`",
            sizes=GIVEN_SIZES,
            data=given_data,
            score=score,
            programs=(Program("ours: OSQP and an active-set method", ours, is_ours=True), given),
        ),
        Problem(
            title="QP of `alignf`, rank-one kernels from columns",
            sizes=COLUMN_SIZES,
            data=column_data,
            score=score,
            programs=(Program("ours: column generation", ours_from_columns, is_ours=True), from_columns),
        ),
    )
