from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from kernel_pipeline.tasks.kernels.family import Fill, GramFamily, Samples, prepare_families
from kernel_pipeline.tasks.kernels.fitted_families import fitted_families
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.kernels.generator import Evaluate, Generate, GeneratorFamily
from kernel_pipeline.tasks.kernels.guard import FamilyError
from kernel_pipeline.tasks.kernels.laplacian import LaplacianFamily
from kernel_pipeline.tasks.kernels.linear import LinearFamily
from kernel_pipeline.tasks.kernels.precomputed import StoredFamily
from kernel_pipeline.tasks.kernels.view import View
from kernel_pipeline.tasks.learners.feature_rows import FeatureRows
from tests.tasks.dense import Floats, Integers, gaussians

TRAIN = np.concatenate([np.arange(5, 60), np.arange(80, 130)])


def whole(families: list[GramFamily], samples: Samples, weights: Floats) -> Floats:
    """Return the combined kernel of all samples, computed as one block."""
    every = slice(0, len(samples.features))
    values = np.empty((len(weights), every.stop, every.stop))
    prepare_families(families, samples)(every, every, values)
    return np.asarray(np.tensordot(weights, values, axes=1))


def features(seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(150, 3))


def test_gaussians_against_a_dense_reference() -> None:
    x, weights = features(), np.array([0.2, 0.0, 0.5])
    samples = Samples(x)
    families = fitted_families([GaussianFamily(log2_gamma=(-2, 0))], samples)
    rows = FeatureRows(families, samples, weights, TRAIN, TRAIN)
    expected = np.tensordot(weights, (gaussians(x, (-2, 0)) - 1.0).astype(np.float64), axes=1)
    chosen = np.array([70, 3, 0, 104])
    assert rows.n_columns == len(TRAIN)
    np.testing.assert_allclose(rows.rows(chosen), expected[np.ix_(TRAIN[chosen], TRAIN)], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("fitted_on", [None, np.arange(40)])
def test_views_medians_and_several_families(fitted_on: Integers | None) -> None:
    samples = Samples(features(1), fitted_on)
    families: list[GramFamily] = [
        GaussianFamily(gamma=("median", 0.3)),
        View(GaussianFamily(gamma=("median",)), (0, 2), "part"),
        LaplacianFamily((0.5,)),
        LinearFamily(),
    ]
    weights = np.array([0.3, 0.1, 0.2, 0.4, 0.05])
    expected = whole(families, samples, weights)
    rows = FeatureRows(fitted_families(families, samples), samples, weights, TRAIN, TRAIN)
    chosen = np.arange(0, len(TRAIN), 7)
    np.testing.assert_allclose(rows.rows(chosen), expected[np.ix_(TRAIN[chosen], TRAIN)], rtol=1e-9, atol=1e-12)


def test_parts_of_the_columns_subsets_and_held_out_rows() -> None:
    samples, weights = Samples(features(2)), np.array([1.0])
    families = fitted_families([GaussianFamily(log2_gamma=(-1, -1))], samples)
    rows = FeatureRows(families, samples, weights, TRAIN, TRAIN)
    everything = rows.rows(np.arange(len(TRAIN)))
    parts = [FeatureRows(families, samples, weights, TRAIN, part) for part in np.array_split(TRAIN, 3)]
    chosen = np.array([1, 50, 99])
    together = np.concatenate([part.rows(chosen) for part in parts], axis=1)
    np.testing.assert_allclose(together, everything[chosen], rtol=1e-12, atol=1e-14)
    few = np.arange(10, 90, 3)
    np.testing.assert_allclose(
        rows.only(few).rows(np.array([2, 5])), everything[np.ix_(few[[2, 5]], few)], rtol=1e-12, atol=1e-14
    )
    held_out = np.arange(60, 80)
    found = FeatureRows(families, samples, weights, held_out, TRAIN).rows(np.arange(20))
    expected = whole(list(families), samples, weights)
    np.testing.assert_allclose(found, expected[np.ix_(held_out, TRAIN)], rtol=1e-12, atol=1e-14)


def test_precomputed_kernels_are_read_by_runs() -> None:
    values = np.random.default_rng(3).normal(size=(2, 150, 150))
    calls = []

    def blocks(kernels: slice, rows: slice, columns: slice) -> Floats:
        calls.append((rows, columns))
        return values[kernels, rows, columns]

    samples = Samples(np.zeros((150, 0)), blocks=blocks)
    rows = FeatureRows((StoredFamily("k", 0, (0.5, 0.0)),), samples, np.array([2.0, -1.0]), TRAIN, TRAIN)
    chosen = np.array([8, 9, 10, 4])
    expected = 2.0 * (values[0] - 0.5) - values[1]
    np.testing.assert_allclose(rows.rows(chosen), expected[np.ix_(TRAIN[chosen], TRAIN)], rtol=1e-12)
    assert len(calls) == 4  # two runs of rows times two runs of columns


@dataclass(frozen=True)
class FittedFamily(GramFamily):
    """A family of another package, which scales the features by their means over the samples that it is fitted to."""

    means: tuple[float, ...] | None = None

    def names(self) -> tuple[str, ...]:
        return ("fitted",)

    def fitted(self, samples: Samples) -> "FittedFamily":
        return self if self.means else replace(self, means=tuple(samples.reference.mean(axis=0)))

    def prepare(self, samples: Samples) -> Fill:
        assert self.means is not None, "only fitted families are prepared"
        x = samples.features / np.array(self.means)

        def fill(rows: slice, columns: slice, out: Floats) -> None:
            np.matmul(x[rows], x[columns].T, out=out[0])

        return fill


@pytest.mark.parametrize("fitted_on", [None, np.arange(40)])
def test_a_family_of_another_package_is_fitted_to_its_own_samples(fitted_on: Integers | None) -> None:
    samples = Samples(np.abs(features(4)) + 1.0, fitted_on)
    families: list[GramFamily] = [FittedFamily()]
    rows = FeatureRows(fitted_families(families, samples), samples, np.ones(1), TRAIN, TRAIN)
    expected = whole(families, samples, np.ones(1))
    chosen = np.array([0, 1, 30])
    np.testing.assert_allclose(rows.rows(chosen), expected[np.ix_(TRAIN[chosen], TRAIN)], rtol=1e-12, atol=1e-14)


@dataclass(frozen=True)
class ScaledFamily(GeneratorFamily):
    """A family of another package with a generator, whose scale is the mean of the samples that it is fitted to."""

    scale: float | None = None

    def names(self) -> tuple[str, ...]:
        return ("scaled",)

    def fitted(self, samples: Samples) -> "ScaledFamily":
        return self if self.scale is not None else replace(self, scale=1.0 / float(samples.reference.mean()))

    @classmethod
    def generator(cls, families: Sequence["ScaledFamily"], samples: Samples) -> Generate:
        return lambda rows, columns: np.asarray(samples.features[rows] @ samples.features[columns].T)

    def evaluator(self) -> Evaluate:
        return lambda block, out: np.copyto(out[0], (self.scale or 0.0) * block)


@pytest.mark.parametrize("columns", [None, (0, 2)])
def test_a_family_of_another_package_with_a_generator_is_fitted_once(columns: tuple[int, ...] | None) -> None:
    samples = Samples(np.abs(features(5)) + 1.0, np.arange(40))
    families: list[GramFamily] = [View(ScaledFamily(), columns, "part")]
    fitted = fitted_families(families, samples)
    (view,) = fitted
    assert isinstance(view, View)
    assert isinstance(view.family, ScaledFamily)
    assert view.family.scale == pytest.approx(1.0 / samples.features[:40, columns or slice(None)].mean(), rel=1e-12)
    found = FeatureRows(fitted, samples, np.ones(1), TRAIN, TRAIN).rows(np.arange(9))
    expected = whole(families, samples, np.ones(1))[np.ix_(TRAIN[:9], TRAIN)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    with pytest.raises(FamilyError, match=r"ScaledFamily.* raised ZeroDivisionError"):
        fitted_families(families, Samples(np.zeros((3, 3))))
