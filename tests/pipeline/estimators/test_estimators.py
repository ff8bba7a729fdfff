"""The estimators in pipelines, searches and with tables; kernels of new samples compared with dense formulas."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import kernel_pipeline as kp
from kernel_pipeline.estimators import learned_kernel
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.errors import NoWeightsError
from tests.helpers.markdown import blocks

KERNELS: list[dict[str, Any]] = [{"family": "gaussian", "gamma": [0.1, 1.0]}, {"family": "linear"}]


def samples(n: int = 60, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n) + 3.0


def gram(x: Floats, z: Floats) -> list[Floats]:
    distances = ((x[:, None] - z[None]) ** 2).sum(axis=2)
    return [np.exp(-0.1 * distances), np.exp(-distances), x @ z.T]


def combined(weights: Any, train: Floats, new: Floats) -> Floats:
    """Compute the combined kernel of new samples, centered with the training means, by explicit matrices."""
    found, n = np.zeros((len(new), len(train))), len(train)
    for weight, square, rows in zip(weights, gram(train, train), gram(new, train), strict=True):
        U = np.eye(n) - 1 / n
        centered = (rows - square.mean(axis=0)[None]) @ U
        found += weight * centered / np.trace(U @ square @ U)
    return found


@pytest.mark.parametrize("block_bytes", [32 << 20, 1000])
def test_rows_of_new_samples_are_centered_with_the_training_means(
    block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned_kernel, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(learned_kernel, "ROWS_PER_BLOCK", 7)
    X, y = samples()
    combiner = kp.KernelCombiner(kernels=KERNELS)
    square = combiner.fit_transform(X[:40], y[:40])
    np.testing.assert_allclose(square, combined(combiner.weights_, X[:40], X[:40]), atol=1e-14)
    np.testing.assert_allclose(combiner.transform(X[40:]), combined(combiner.weights_, X[:40], X[40:]), atol=1e-14)
    np.testing.assert_allclose(combiner.transform(X[:40]), square, atol=1e-14)
    np.testing.assert_allclose(combiner.alignment_, kp.centered_alignment(square, np.outer(y[:40], y[:40])), rtol=1e-9)
    assert combiner.certificate_ < 1e-9


def test_a_pipeline_with_a_precomputed_kernel_equals_the_classifier() -> None:
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(kp.KernelCombiner(kernels=KERNELS), SVC(kernel="precomputed", C=100.0))
    classifier = kp.AlignedKernelClassifier(kernels=KERNELS, C=100.0)
    np.testing.assert_array_equal(
        pipeline.fit(X[::2], y[::2]).predict(X[1::2]), classifier.fit(X[::2], y[::2]).predict(X[1::2])
    )
    np.testing.assert_allclose(pipeline.decision_function(X[1::2]), classifier.decision_function(X[1::2]), atol=1e-6)
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.9


def test_the_regressor_equals_kernel_ridge_with_the_combined_kernel() -> None:
    X, y = samples()
    Y = np.column_stack([y, X[:, 3] ** 2])
    for target in (y, Y, 1e-80 * y):
        model = kp.AlignedKernelRegressor(kernels=KERNELS, alpha=1e-3).fit(X[:40], target[:40])
        ridge = KernelRidge(alpha=1e-3, kernel="precomputed")
        mean = target[:40].mean(axis=0)
        ridge.fit(combined(model.weights_, X[:40], X[:40]), target[:40] - mean)
        expected = ridge.predict(combined(model.weights_, X[:40], X[40:])) + mean
        np.testing.assert_allclose(model.predict(X[40:]), expected, rtol=1e-9)
        assert model.fit_certificate_ < 1e-9


def test_the_value_on_a_path_is_chosen_by_cross_validation() -> None:
    X, y = samples()
    values = [1e-6, 1e-3, 1.0]
    cv = ShuffleSplit(4, random_state=0)
    model = kp.AlignedKernelRegressor(kernels=KERNELS, alpha=values, cv=cv).fit(X, y)
    single = kp.AlignedKernelRegressor(kernels=KERNELS)
    search = GridSearchCV(single, {"alpha": values}, cv=cv, scoring="neg_root_mean_squared_error").fit(X, y)
    assert model.alpha_ == search.best_params_["alpha"]
    expected = -search.cv_results_["mean_test_score"]
    assert model.cv_errors_ is not None
    np.testing.assert_allclose(model.cv_errors_[values], expected, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), search.predict(X), rtol=1e-9)
    assert single.set_params(alpha=1e-3).fit(X, y).cv_errors_ is None


def test_views_choose_columns_by_name_and_number() -> None:
    X, y = samples()
    frame = pd.DataFrame(X, columns=["gene_a", "gene_b", "age", "size"])
    views: list[dict[str, Any]] = [
        {"family": "linear", "columns": ["gene_*"], "name": "genes"},
        {"family": "gaussian", "gamma": "median", "columns": [2, "size"]},
    ]
    model = kp.AlignedKernelRegressor("align", kernels=views, alpha=0.01).fit(frame, y)
    assert list(model.weights_.index) == ["genes:linear", "gaussian(median)"]
    genes = kp.AlignedKernelRegressor("align", kernels=[{"family": "linear"}], alpha=0.01).fit(X[:, :2], y)
    np.testing.assert_allclose(kp.alignment_statistics(frame, y, views).alignment["genes:linear"], genes.alignment_)
    with pytest.raises(ValueError, match=r"X: kernels\[0\].columns: 'weight' is not a feature column"):
        clone(model).set_params(kernels=[{"family": "linear", "columns": ["weight"]}]).fit(frame, y)


@pytest.mark.parametrize("with_features", [False, True])
def test_precomputed_kernels_are_parameters_and_x_contains_sample_numbers(with_features: bool) -> None:
    X, y = samples()
    wide, narrow, linear = gram(X, X)
    reference = kp.AlignedKernelRegressor(kernels=KERNELS, alpha=1e-3)
    numbers = np.arange(60.0)[:, None]
    if with_features:
        model = kp.AlignedKernelRegressor(
            kernels=[{"family": "gaussian", "gamma": [0.1, 1.0]}], precomputed={"linear": linear}, alpha=1e-3
        )
        given = np.hstack([numbers, X])
    else:
        matrices = {"gaussian(0.1)": wide, "gaussian(1)": narrow, "linear": linear}
        model, given = kp.AlignedKernelRegressor(precomputed=matrices, alpha=1e-3), numbers
    np.testing.assert_allclose(cross_val_score(model, given, y), cross_val_score(reference, X, y), rtol=1e-6)
    pd.testing.assert_series_equal(model.fit(given, y).weights_, reference.fit(X, y).weights_, atol=1e-9)
    with pytest.raises(ValueError, match="an integer from 0 to 59; got 60"):
        model.predict(given[:1] + np.eye(1, given.shape[1]) * 60)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "alignff"}, "method: must be 'unif', "),
        ({"method": "l2-krr"}, "method: must be one of 'unif', 'align', .*; got 'l2-krr'"),
        ({"kernels": [{"family": "gausian"}]}, r"kernels\[0\].family: must be one of 'gaussian'"),
        ({"kernels": [{"family": "precomputed", "path": "a.npy"}]}, "pass precomputed matrices as the parameter"),
        ({"kernels": []}, "kernels: there are no kernels"),
        ({"kernels": [{"family": "linear"}] * 2}, "'linear' is listed more than once"),
        ({"alpha": 0.0}, "alpha: must be a positive number, .*; got 0.0"),
        ({"alpha": "large"}, "alpha: must be a positive number, .*; got 'large'"),
        ({"cv": 1}, "cv: must be at least 2; got 1"),
        ({"precomputed": {"k": np.ones((2, 3))}}, r"precomputed\['k'\]: must be a square matrix"),
        ({"precomputed": {"k": np.diag([1.0, -1.0])}}, r"precomputed\['k'\]: is not positive semi-definite"),
        ({"precomputed": {"k": np.array([[1.0, 0.5], [0.0, 1.0]])}}, r"precomputed\['k'\]: is not symmetric"),
        ({"precomputed": {"k": np.full((2, 2), np.nan)}}, r"precomputed\['k'\]: contains NaN"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    X, y = samples()
    with pytest.raises(ValueError, match=message):
        kp.AlignedKernelRegressor(**parameters).fit(X, y)


def test_labels_that_cannot_be_learned_are_refused() -> None:
    X, y = samples()
    with pytest.raises(NoWeightsError):
        kp.AlignedKernelRegressor(alpha=1.0).fit(X, np.ones(60))
    with pytest.raises(ValueError, match="task: must be one of 'auto'"):
        kp.KernelCombiner(task="clustering").fit(X, y)
    with pytest.raises(ValueError, match="a class has only one sample"):
        kp.AlignedKernelClassifier().fit(X, np.arange(60) == 0)


def test_the_documented_example_runs() -> None:
    (block,) = (block for block in blocks("pipeline/estimators/README.md") if "AlignedKernelRegressor" in block.text)
    X, y = samples()
    names: dict[str, Any] = {"X": X, "y": y}
    exec(block.text, names)
    assert names["model"].score(X, y) > 0.9


def test_fitted_estimators_can_be_pickled_and_shown() -> None:
    X, y = load_iris(return_X_y=True)
    model = kp.AlignedKernelClassifier("alignf-linear", kernels=KERNELS, C=[1.0, 100.0], cv=3).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    assert model.score(X, y) > 0.9
    assert model.fit_certificate_ < 0.01
    assert "AlignedKernelClassifier" in model._repr_html_()
