from typing import Any

import numpy as np
import pytest

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.distances import squared_distances
from kernel_pipeline.tasks.kernels.family import family_notes, prepare_families
from kernel_pipeline.tasks.kernels.gaussian import SHIFT, GaussianFamily, shifted_kernels
from kernel_pipeline.tasks.parameters import ParameterError
from tests.tasks import dense

EPS = float(np.finfo(np.float64).eps)


@pytest.mark.parametrize("log2_gamma", [(-12, 3), (-40, -20), (-3, -3), (0, 12)])
def test_every_kernel_of_a_family_keeps_its_digits(log2_gamma: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    distances = 10.0 ** rng.uniform(-9, 4, size=(20, 30))
    distances[0, :3] = [0.0, 1e-280, 1e300]
    p = log2_gamma[1] - log2_gamma[0] + 1
    out = np.full((p, 20, 30), np.nan)
    shifted_kernels(distances, log2_gamma, out)
    for k, exponent in enumerate(range(log2_gamma[0], log2_gamma[1] + 1)):
        expected = np.expm1(-(np.longdouble(2.0) ** exponent) * distances.astype(np.longdouble))
        # relative, however small E is; a doubling adds a rounding or two and multiplies none
        np.testing.assert_allclose(out[k], expected.astype(np.float64), rtol=4 * EPS * (k + 1))
        np.testing.assert_allclose(out[k] + SHIFT, np.exp(-(2.0**exponent) * distances), rtol=0, atol=4 * EPS * (k + 1))
    assert (out <= 0).all()
    assert (out >= -1).all()
    assert not out[:, 0, 0].any()


def test_kernels_are_written_into_any_view() -> None:
    distances = np.arange(6.0).reshape(2, 3)
    out = np.full((5, 2, 3), np.nan)
    shifted_kernels(distances, (-1, 1), out[1:4])
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
    prepare_families(families, features)(slice(0, 6), slice(6, 10), out)
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


def test_the_diagonal_of_a_block_with_itself_is_exactly_the_shift() -> None:
    features = 1e3 + np.random.default_rng(5).normal(size=(30, 7))
    family, out = GaussianFamily((-3, 3)), np.full((7, 30, 30), np.nan)
    family.prepare(features)(slice(0, 30), slice(0, 30), out)
    assert family.shift == SHIFT == 1.0
    assert not np.diagonal(out, axis1=1, axis2=2).any()


def test_the_note_names_the_first_of_many_columns_that_are_subtracted_directly() -> None:
    features = np.random.default_rng(0).normal(size=(50, 9))
    names = [f"column {number}" for number in range(9)]
    families = [GaussianFamily((-3, -2)), GaussianFamily((0, 3))]
    assert family_notes(families, features, names) == ()
    features[:, 2:] *= 1e9
    (note,) = family_notes(families, features, names)
    assert note.startswith("columns 'column 2', 'column 3', 'column 4', 'column 5', 'column 6' and 2 more: ")
    assert "computed directly" in note
    assert family_notes([GaussianFamily((-80, -80))], features / 1e9, names) == ()


def test_the_narrowest_kernel_is_zero_away_from_its_center() -> None:
    out = np.empty((1, 1, 2))
    shifted_kernels(np.array([[0.0, 1e8]]), (1000, 1000), out)
    assert out.tolist() == [[[0.0, -1.0]]]
