from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.distances import squared_distances
from kernel_pipeline.tasks.kernels.exponentials import SHIFT
from kernel_pipeline.tasks.kernels.family import Samples, family_notes, prepare_families
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.kernels.view import View
from kernel_pipeline.tasks.parameters import ParameterError
from tests.tasks import dense
from tests.tasks.kernels.references import assembled, gram

EPS = float(np.finfo(np.float64).eps)


@pytest.mark.parametrize("log2_gamma", [(-12, 3), (-40, -20), (-3, -3), (0, 12)])
def test_every_kernel_of_a_family_is_accurate(log2_gamma: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    distances = 10.0 ** rng.uniform(-9, 4, size=(20, 30))
    distances[0, :3] = [0.0, 1e-280, 1e300]
    p = log2_gamma[1] - log2_gamma[0] + 1
    out = np.full((p, 20, 30), np.nan)
    GaussianFamily(log2_gamma).evaluator()(distances, out)
    for k, exponent in enumerate(range(log2_gamma[0], log2_gamma[1] + 1)):
        expected = np.expm1(-(np.longdouble(2.0) ** exponent) * distances.astype(np.longdouble))
        # the error is relative to E, however small, and grows by one or two roundings per doubling
        np.testing.assert_allclose(out[k], expected.astype(np.float64), rtol=4 * EPS * (k + 1))
        np.testing.assert_allclose(out[k] + SHIFT, np.exp(-(2.0**exponent) * distances), rtol=0, atol=4 * EPS * (k + 1))
    assert (out <= 0).all()
    assert (out >= -1).all()
    assert not out[:, 0, 0].any()


def test_kernels_are_written_into_any_view() -> None:
    distances = np.arange(6.0).reshape(2, 3)
    out = np.full((5, 2, 3), np.nan)
    GaussianFamily((-1, 1)).evaluator()(distances, out[1:4])
    assert np.isnan(out[[0, 4]]).all()
    np.testing.assert_allclose(out[1:4], [np.expm1(-gamma * distances) for gamma in (0.5, 1.0, 2.0)], rtol=1e-14)
    np.testing.assert_array_equal(distances, np.arange(6.0).reshape(2, 3))


def test_families_share_one_set_of_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    features = np.random.default_rng(3).normal(size=(10, 2))
    calls = []

    def counting(*arguments: Any) -> Floats:
        calls.append(arguments)
        return squared_distances(*arguments)

    monkeypatch.setattr("kernel_pipeline.tasks.kernels.gaussian.squared_distances", counting)
    families = [GaussianFamily(ends) for ends in ((-3, -1), (2, 2), (0, 1))]
    out = np.full((6, 6, 4), np.nan)
    prepare_families(families, Samples(features))(slice(0, 6), slice(6, 10), out)
    distances = dense.squared_distances(features[:6], features[6:]).astype(np.float64)
    expected = [np.expm1(-(2.0**exponent) * distances) for exponent in (-3, -2, -1, 2, 0, 1)]
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    assert len(calls) == 1


def test_kernel_names() -> None:
    assert GaussianFamily((-1, 1)).names() == ("gaussian(2^-1)", "gaussian(2^0)", "gaussian(2^1)")
    assert GaussianFamily((-12, -12)).names() == ("gaussian(2^-12)",)


def test_exponents_are_ascending() -> None:
    with pytest.raises(ParameterError, match=r"log2_gamma: \[1, 0\] is backwards; write \[0, 1\]"):
        GaussianFamily((1, 0))


def test_either_log2_gamma_or_gamma_is_required() -> None:
    with pytest.raises(ParameterError, match=r"^log2_gamma: write either log2_gamma = \[lo, hi\].*both are missing$"):
        GaussianFamily()
    with pytest.raises(ParameterError, match=r"or gamma = a value or a list; both are given$"):
        GaussianFamily(log2_gamma=(0, 1), gamma=(0.5,))


def test_any_bandwidths_in_any_order() -> None:
    features = np.random.default_rng(2).normal(size=(20, 5))
    gammas = (0.4, 0.1, 3.0, 0.2)
    family = GaussianFamily(gamma=gammas)
    expected = [rbf_kernel(features, gamma=gamma) for gamma in gammas]
    np.testing.assert_allclose(gram([family], features, cuts=(7,)), expected, rtol=0, atol=1e-14)
    assert family.names() == ("gaussian(0.4)", "gaussian(0.1)", "gaussian(3)", "gaussian(0.2)")


def test_powers_of_two_have_exactly_the_values_of_one_chain() -> None:
    """Results of earlier runs with log2_gamma must not change."""
    features = np.random.default_rng(4).normal(size=(20, 5))
    centered = features - features.mean(axis=0)
    expected = [np.expm1(-(2.0**-3) * squared_distances(centered, centered))]
    for _ in range(4):
        expected.append((expected[-1] + 2.0) * expected[-1])
    np.testing.assert_array_equal(assembled([GaussianFamily(log2_gamma=(-3, 1))], features), expected)


@pytest.mark.parametrize("rows", [3, 40, 1000, 2500])
def test_the_median_heuristic(rows: int) -> None:
    features = np.random.default_rng(rows).normal(size=(rows, 3))
    features[1] = features[0]  # equal samples do not count
    used = features if rows <= 1000 else features[[int(place) for place in np.linspace(0, rows - 1, 1000)]]
    distances = np.sqrt(dense.squared_distances(used, used).astype(np.float64))[np.triu_indices(len(used), 1)]
    gamma = 1 / (2 * np.median(distances[distances > 0]) ** 2)
    family = GaussianFamily(gamma=("median", 0.5))
    np.testing.assert_allclose(family.fitted(Samples(features)).gammas(), [gamma, 0.5], rtol=1e-12)
    out = np.empty((2, 2, rows))
    prepare_families([family], Samples(features))(slice(0, 2), slice(0, rows), out)
    np.testing.assert_allclose(out[0] + 1, rbf_kernel(features[:2], features, gamma), rtol=0, atol=1e-13)
    assert family.names() == ("gaussian(median)", "gaussian(0.5)")


def test_the_median_is_that_of_the_samples_it_is_fitted_to() -> None:
    features = np.random.default_rng(6).normal(size=(30, 3))
    features[20:] *= 100.0
    train = np.arange(20)
    family = GaussianFamily(gamma=("median",))
    alone, among = family.fitted(Samples(features[:20])), family.fitted(Samples(features, train))
    assert alone == among != family.fitted(Samples(features))


def test_the_median_of_samples_that_are_all_equal_or_far_apart() -> None:
    family = GaussianFamily(gamma=("median",))
    assert family.fitted(Samples(np.ones((5, 2)))).gammas() == (1.0,)
    for size in (1e-200, 1e200):
        features = size * np.arange(6.0)[:, None]
        (gamma,) = family.fitted(Samples(features)).gammas()
        assert 0 < gamma < np.inf
        assert family_notes([family], Samples(features), ["x"])[0].startswith("gaussian(median): gamma = ")


def test_a_note_gives_the_gamma_of_the_median_heuristic_and_its_columns() -> None:
    features = np.array([[0.0, 7.0], [1.0, 7.0], [3.0, 7.0]])
    families = [GaussianFamily(gamma=(2.0, "median")), GaussianFamily(log2_gamma=(0, 1))]
    assert family_notes(families, Samples(features), ["age", "size"]) == (
        "gaussian(median): gamma = 0.125, from the median distance 2 of samples in columns 'age', 'size'",
    )
    view = View(families[0], (0,))
    assert family_notes([view], Samples(features), ["age", "size"])[0].endswith("of samples in columns 'age'")


@pytest.mark.parametrize(
    ("rows", "note"),
    [([[7.0]] * 4, "all samples are equal in columns 'size'"), ([[0.0], [0.5**0.5]], "the median distance 0.707107")],
)
def test_the_note_about_the_median_of_equal_samples(rows: list[list[float]], note: str) -> None:
    (found,) = family_notes([GaussianFamily(gamma=("median",))], Samples(np.array(rows)), ["size"])
    assert found.startswith(f"gaussian(median): gamma = 1, {'since' if len(rows) > 2 else 'from'} {note}")


def test_the_diagonal_of_a_block_with_itself_is_exactly_the_shift() -> None:
    features = 1e3 + np.random.default_rng(5).normal(size=(30, 7))
    family, out = GaussianFamily((-3, 3)), np.full((7, 30, 30), np.nan)
    family.prepare(Samples(features))(slice(0, 30), slice(0, 30), out)
    assert set(family.shifts()) == {SHIFT} == {1.0}
    assert not np.diagonal(out, axis1=1, axis2=2).any()


def test_the_note_names_the_first_of_many_columns_that_are_subtracted_directly() -> None:
    features = np.random.default_rng(0).normal(size=(50, 9))
    names = [f"column {number}" for number in range(9)]
    families = [GaussianFamily((-3, -2)), GaussianFamily((0, 3))]
    assert family_notes(families, Samples(features), names) == ()
    features[:, 2:] *= 1e9
    (note,) = family_notes(families, Samples(features), names)
    assert note.startswith("columns 'column 2', 'column 3', 'column 4', 'column 5', 'column 6' and 2 more: ")
    assert "computed directly" in note
    assert family_notes([GaussianFamily((-80, -80))], Samples(features / 1e9), names) == ()


def test_the_narrowest_kernel_is_zero_away_from_its_center() -> None:
    out = np.empty((1, 1, 2))
    GaussianFamily((1000, 1000)).evaluator()(np.array([[0.0, 1e8]]), out)
    assert out.tolist() == [[[0.0, -1.0]]]
