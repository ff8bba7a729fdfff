"""One-stage methods from samples to errors, against a plain computation with dense kernels."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from kernel_pipeline.tasks.errors import NotSolvedError, NoWeightsError
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels, GramKernels
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.learners.learned import OneStageSolution
from kernel_pipeline.tasks.learners.one_stage import OneStageResult, learn
from tests.tasks.dense import Floats, Integers
from tests.tasks.methods import ONE_STAGE

VALUES: dict[str, list[tuple[float, ...]]] = {
    "l1-svm": [(1.0,), (16.0,), (256.0,), (4096.0,)],
    "l2-krr": [(0.25,), (4.0,), (64.0,), (1024.0,)],
    "align-krr": [(1.0, 1.0, 1.0), (1.0, 1e-2, 0.0), (0.0, 1e-5, 1e-3), (1.0, 1e-9, 0.0)],
}


class Case:
    """Kernels of shuffled samples, of which one is constant on the training set, but not elsewhere."""

    def __init__(self, seed: int, kind: str, method: str, p: int = 6) -> None:
        rng = np.random.default_rng(seed)
        m = 60
        shuffled = rng.permutation(m)
        self.train, self.validation, self.test = shuffled[:32], shuffled[32:43], shuffled[43:]
        self.dead = int(rng.integers(p))
        if kind == "rank one":
            columns = rng.poisson(1.0, size=(m, p)).astype(np.float64)
            columns[self.train, self.dead] = 2.0
            self.target = columns @ rng.normal(size=p) + 0.5 * rng.normal(size=m)
            self.whole = np.einsum("ik,jk->kij", columns, columns)
        else:
            x = rng.normal(size=(m, 2))
            distances = ((x[:, None] - x[None]) ** 2).sum(axis=2)
            self.whole = np.stack([np.exp(-(2.0 ** (k - 5)) * distances) for k in range(p)])
            held_out = np.ones(m)
            held_out[self.train] = 0.0
            self.whole[self.dead] = np.outer(held_out, held_out)
            self.target = np.sin(3 * x[:, 0]) + 0.3 * rng.normal(size=m)
        if method == "l1-svm":
            self.target = np.where(self.target > np.quantile(self.target, 0.6), 1.0, -1.0)
        self.centered = np.stack([self._centered(gram) for gram in self.whole])
        traces = np.trace(self.centered[:, self.train], axis1=1, axis2=2)
        traces[self.dead] = 0.0
        others = np.concatenate([self.validation, self.test])
        self.kernels: BaseKernels
        if kind == "rank one":
            counts = scipy.sparse.csr_array(columns)
            self.kernels = RankOneKernels.of(counts[self.train], counts[others])
        else:
            self.kernels = GramKernels.of(self.whole, traces, self.train, others)
        self.alive = np.flatnonzero(traces > 0)
        self.scaled = self.centered[self.alive] / traces[self.alive][:, None, None]

    def _centered(self, gram: Floats) -> Floats:
        n = len(self.train)
        U = np.eye(n) - np.ones((n, n)) / n
        columns = gram[:, self.train]
        return np.asarray((columns - columns[self.train].mean(axis=0)) @ U)

    def learn(self, method: str, kernels: BaseKernels | None = None, target: Floats | None = None) -> OneStageResult:
        """Learn from the kernels and labels of the case, or from others."""
        return learn(
            ONE_STAGE[method],
            ONE_STAGE[method].problems[0],
            self.kernels if kernels is None else kernels,
            Split((self.target if target is None else target)[:, None], self.train, self.validation, self.test),
            VALUES[method],
        )

    def error(self, method: str, predictions: Floats, samples: Integers) -> float:
        if method == "l1-svm":
            return float(np.mean(np.where(predictions[samples] >= 0, 1.0, -1.0) != self.target[samples]))
        return float(np.sqrt(np.mean((predictions[samples] - self.target[samples]) ** 2)))


@pytest.mark.parametrize("kind", ["gaussian", "rank one"])
@pytest.mark.parametrize("method", ONE_STAGE)
@pytest.mark.parametrize("seed", range(8))
def test_against_a_plain_computation(seed: int, method: str, kind: str) -> None:
    case, values = Case(seed, kind, method), VALUES[method]
    found = case.learn(method)
    # the same learner on dense kernels, without the constant one
    dense = GramKernels(case.scaled[:, case.train], case.scaled, np.ones(len(case.alive), dtype=bool))
    learned = ONE_STAGE[method].learn_path(dense, case.target[case.train], values)
    predictions = [np.tensordot(one.weights, case.scaled, 1) @ one.coefficients + one.intercept for one in learned]
    tolerance = 0.1 if method == "l1-svm" else 2e-3  # a sample on the decision boundary may be assigned to either side
    for errors, samples in (
        (found.path.train_errors, case.train),
        (found.path.validation_errors, case.validation),
        (found.path.test_errors, case.test),
    ):
        expected = [case.error(method, one, samples) for one in predictions]
        np.testing.assert_allclose(np.array(errors, dtype=float), expected, rtol=tolerance, atol=tolerance)
    validation = [error for error in found.path.validation_errors if error is not None]
    assert found.path.best == int(np.argmin(validation))  # the first of equal errors, which is the most regularised
    assert found.path.values == values
    assert found.path.certificates is not None
    assert found.certificate == found.path.certificates[found.path.best]
    assert found.certificate <= 1e-4
    assert found.weights.shape == (len(case.whole),)
    assert found.weights.sum() == pytest.approx(1.0, rel=1e-12)
    assert (found.weights >= 0).all()
    assert found.weights[case.dead] == 0.0
    weights = learned[found.path.best].weights
    np.testing.assert_allclose(found.weights[case.alive], weights / weights.sum(), atol=0.05)


@pytest.mark.parametrize("method", ["l1-svm", "l2-krr"])
def test_the_choice_differs_between_problems(method: str) -> None:
    best = set()
    for seed in range(8):
        case = Case(seed, "gaussian", method)
        found = case.learn(method)
        best.add(found.path.best)
    assert len(best) > 1


@pytest.mark.parametrize("method", ONE_STAGE)
def test_held_out_labels_do_not_affect_the_weights(method: str) -> None:
    case = Case(3, "gaussian", method)
    found = case.learn(method)
    changed = case.target.copy()
    changed[case.test] *= -1.0
    other = case.learn(method, target=changed)
    np.testing.assert_array_equal(other.weights, found.weights)
    assert other.path.validation_errors == found.path.validation_errors
    assert other.path.test_errors != found.path.test_errors


@pytest.mark.parametrize("kind", ["gaussian", "rank one"])
@pytest.mark.parametrize("method", ONE_STAGE)
def test_kernels_that_are_all_constant_leave_no_weights(method: str, kind: str) -> None:
    case = Case(0, kind, method)
    dead = case.kernels.only(np.array([case.dead]))
    with pytest.raises(NoWeightsError):
        case.learn(method, dead)


@pytest.mark.parametrize("method", ONE_STAGE)
def test_a_value_without_a_certificate_is_not_chosen(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(1, "gaussian", method)
    best = case.learn(method).path.best
    kind = type(ONE_STAGE[method])
    learn_path = kind.learn_path

    def spoil(some: Callable[[int], bool]) -> None:
        def learn_badly(*given: Any) -> list[OneStageSolution]:
            found = learn_path(*given)
            return [replace(one, certificate=0.5) if some(number) else one for number, one in enumerate(found)]

        monkeypatch.setattr(kind, "learn_path", learn_badly)

    spoil(lambda number: number == best)
    path = case.learn(method).path
    assert path.best != best
    assert path.validation_errors[best] is path.test_errors[best] is path.train_errors[best] is None
    assert path.certificates is not None
    assert path.certificates[best] == 0.5
    spoil(lambda number: True)
    message = rf"{method} found no sufficiently accurate solution: .* is 5.0e-01, and at most .*\[fit\] {method}"
    with pytest.raises(NotSolvedError, match=message):
        case.learn(method)
