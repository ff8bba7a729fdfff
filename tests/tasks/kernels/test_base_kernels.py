"""Both kinds of base kernels, compared with the matrices that they represent."""

import numpy as np
import pytest

from kernel_pipeline.tasks.kernels.base_kernels import GramKernels, dense_solver
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from tests.tasks.problems import KINDS, make_problem


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(15))
def test_every_result_equals_that_of_the_matrices(seed: int, kind: str) -> None:
    problem = make_problem(seed, kind, duplicates=seed % 2 == 0)
    kernels, grams = problem.kernels, problem.grams
    p, n = len(grams), len(problem.y)
    rng = np.random.default_rng(seed)
    alpha, other, weights = rng.normal(size=n), rng.normal(size=n), rng.random(p)
    images = kernels.images(alpha)
    dense_images = grams @ alpha
    assert kernels.count == p
    assert kernels.varies.all()
    np.testing.assert_allclose(images.forms, dense_images @ alpha, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(images.sum(weights), weights @ dense_images, atol=1e-11)
    np.testing.assert_allclose(images.dot(other), dense_images @ other, atol=1e-11)
    np.testing.assert_allclose(images.columns(), dense_images.T, atol=1e-11)
    np.testing.assert_allclose(kernels.combined(weights), np.tensordot(weights, grams, 1), atol=1e-12)
    np.testing.assert_allclose(kernels.products(), np.einsum("kij,lij->kl", grams, grams), atol=1e-12)
    expected = weights @ (problem.held_out @ alpha)
    np.testing.assert_allclose(kernels.predict(weights, alpha), expected, atol=1e-9 * (1 + np.abs(expected).max()))
    some = rng.permutation(p)[: (p + 1) // 2]
    part = kernels.only(some)
    assert part.count == len(some)
    np.testing.assert_allclose(part.images(alpha).forms, images.forms[some], rtol=1e-12)
    expected = weights[some] @ (problem.held_out[some] @ alpha)
    np.testing.assert_allclose(part.predict(weights[some], alpha), expected, atol=1e-9 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("p", [2, 12, 40])
def test_solutions_have_small_residuals(kind: str, uneven: bool, p: int) -> None:
    problem = make_problem(p, kind, n=20, p=p)
    rng = np.random.default_rng(p)
    alpha, b = rng.normal(size=20), rng.normal(size=(20, 3))
    weights, squares = 10 * rng.random(p), 10 * rng.random(p)
    diagonal = 10.0 ** rng.uniform(-3, 3, size=20) if uneven else 0.5
    images = problem.grams @ alpha
    matrix = np.diag(np.broadcast_to(diagonal, 20)) + np.tensordot(weights, problem.grams, 1)
    matrix += (images.T * squares) @ images
    solve = problem.kernels.solver(diagonal, weights, squares, problem.kernels.images(alpha))
    iterative = kind == "rank one" and not uneven and p > 10
    assert np.linalg.norm(matrix @ solve(b) - b) <= (3e-3 if iterative else 1e-9) * np.linalg.norm(b)
    np.testing.assert_allclose(solve(b[:, 0]), solve(b)[:, 0], atol=1e-8)


def test_constant_dense_kernels_are_zero() -> None:
    gram = np.stack([np.ones((6, 6)), np.eye(6)])
    kernels = GramKernels.of(gram, np.array([0.0, 3.0]), np.arange(4), np.arange(4, 6))
    assert kernels.varies.tolist() == [False, True]
    assert not kernels.train[0].any()
    assert not kernels.held_out[0].any()
    assert np.trace(kernels.train[1]) == pytest.approx(1.0)
    assert kernels.held_out.shape == (2, 2, 4)


def test_a_form_is_never_negative() -> None:
    kernels = make_problem(0, "low rank", n=30, p=6).dense()
    _, vectors = np.linalg.eigh(kernels.combined(np.ones(6)))
    rank_one = GramKernels(*(np.einsum("ik,jk->kij", vectors, vectors),) * 2, np.ones(30, dtype=bool))
    for vector in vectors.T:
        assert (rank_one.images(vector).forms > 0).all()  # all but one are 0 up to rounding
        assert rank_one.images(vector).forms.sum() == pytest.approx(1.0)


def test_a_system_that_is_indefinite_by_rounding_is_solved() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(12, 3))
    scale = 10.0 ** rng.uniform(-8, 8, size=12)
    matrix = (root @ root.T) * np.outer(scale, scale)
    b = matrix @ (rng.normal(size=12) / scale)
    x = dense_solver(matrix.copy(), 0.0)(b)
    assert (np.abs(matrix @ x - b) / scale).max() <= 1e-6 * (np.abs(b) / scale).max()


def test_a_system_that_is_truly_indefinite_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        dense_solver(np.array([[1.0, 9.0], [9.0, 1.0]]), 0.0)


def test_a_rank_one_family_without_other_samples() -> None:
    problem = make_problem(3, "rank one")
    assert isinstance(problem.kernels, RankOneKernels)
    alone = RankOneKernels.of(problem.kernels.columns.tocsr())
    assert alone.held_out.shape == (0, problem.kernels.count)
    assert alone.predict(np.ones(alone.count), np.ones(len(problem.y))).shape == (0,)
