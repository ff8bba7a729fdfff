"""`alignf` of many more rank-one kernels than pairs of samples: M is singular, and so are most working sets."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.weights.rank_one_statistics import RankOneStatistics
from tests.tasks.dense import Floats


def smallest_objective(columns: Floats, labels: Floats) -> tuple[float, Floats, Floats]:
    """Return the least `||sum_k v_k K_k - yy'||^2 - ||yy'||^2` by scipy's nnls, its matrix and its right-hand side."""
    v = columns - columns.mean(axis=0)
    norms = np.linalg.norm(v, axis=0)
    v /= np.where(norms > 0, norms, 1.0)
    i, j = np.triu_indices(len(labels))
    weight = np.where(i == j, 1.0, np.sqrt(2.0))
    yc = labels - labels.mean()
    matrix, right = v[i] * v[j] * weight[:, None], yc[i] * yc[j] * weight
    _, rest = scipy.optimize.nnls(matrix, right, maxiter=100 * matrix.shape[1])
    return rest**2 - right @ right, matrix, right


@pytest.mark.parametrize("kind", ["numbers", "counts"])
@pytest.mark.parametrize(("n", "p"), [(2, 50), (5, 2000), (10, 500), (10, 3000), (20, 7000)])
@pytest.mark.parametrize("seed", range(2))
def test_the_weights_are_those_of_nnls(kind: str, n: int, p: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(n, p)) if kind == "numbers" else rng.poisson(0.3, size=(n, p)).astype(np.float64)
    labels = 7.0 * rng.normal(size=n)
    kernels = RankOneKernels.of(scipy.sparse.csr_array(columns))
    v, residual = RankOneStatistics(kernels, (labels - labels.mean())[:, None]).nonnegative_solution()
    least, matrix, right = smallest_objective(columns, labels)
    assert residual <= 1e-9
    assert (v >= 0).all()
    found = float(np.sum((matrix @ v - right) ** 2) - right @ right)
    assert found == pytest.approx(least, rel=1e-10)
