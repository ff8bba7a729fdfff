"""Messages about text, dates and missing values name the columns and the steps to add; the page shows these steps."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import kernel_pipeline as kp
from tests.helpers.markdown import blocks

N = 40
NUMBERS = np.random.default_rng(0).normal(size=(N, 2))
FRAME = pd.DataFrame(NUMBERS, columns=["age", "pressure"]).assign(sex=["f", "m"] * (N // 2))
LABELS = np.where(NUMBERS[:, 0] > 0, 1, 0)
ENCODE = (
    " text or dates: encode them in a pipeline, for example with ColumnTransformer([('text', "
    "OneHotEncoder(handle_unknown='ignore', sparse_output=False), {})], remainder='passthrough'), or leave them out"
)
IMPUTE = " missing values: impute them in a pipeline, for example with SimpleImputer(), or leave out these rows"
GAPS = FRAME[["age", "pressure"]].where(FRAME["age"] > -1)
WRONG: list[tuple[Any, str]] = [
    (FRAME, f". Column 'sex' of X contains{ENCODE.format(['sex'])}"),
    (FRAME.astype({"sex": "category"}), f". Column 'sex' of X contains{ENCODE.format(['sex'])}"),
    (FRAME.assign(sex=1, day=pd.Timestamp("2024-01-05")), f". Column 'day' of X contains{ENCODE.format(['day'])}"),
    (FRAME.to_numpy(), f". Column 2 of X contains{ENCODE.format([2])}"),
    (GAPS, f"Input X contains NaN. Columns 'age', 'pressure' of X contain{IMPUTE}"),
    (GAPS.to_numpy(), f"Input X contains NaN. Columns 0, 1 of X contain{IMPUTE}"),
    (GAPS.assign(sex=FRAME["sex"]), f". Column 'sex' of X contains{ENCODE.format(['sex'])}"),
]


@pytest.mark.parametrize(("features", "message"), WRONG)
@pytest.mark.parametrize("kind", [kp.AlignedKernelClassifier, kp.AlignedKernelRegressor, kp.KernelCombiner])
def test_columns_that_are_not_complete_numbers_are_named(kind: type, features: Any, message: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        kind().fit(features, LABELS)
    assert str(refused.value).endswith(message)


def test_new_samples_and_representations_are_checked_alike() -> None:
    X = FRAME[["age", "pressure"]]
    model = kp.AlignedKernelRegressor(alpha=0.1).fit(X, LABELS)
    with pytest.raises(ValueError, match=f"Columns 'age', 'pressure' of X contain{IMPUTE[:20]}"):
        model.predict(GAPS)
    with pytest.raises(ValueError, match="Column 'sex' of views\\['a'\\] contains text"):
        kp.kernel_similarity({"a": FRAME, "b": X})
    with pytest.raises(ValueError, match="Column 'sex' of X contains text"):
        kp.alignment_statistics(FRAME, LABELS, [{"family": "linear"}])


def test_other_errors_are_not_changed() -> None:
    model = kp.AlignedKernelRegressor(alpha=0.1)
    X = FRAME[["age", "pressure"]]
    with pytest.raises(ValueError, match=r"^Input y contains NaN\.$"):
        model.fit(X, np.where(LABELS > 0, np.nan, 1.0))
    with pytest.raises(ValueError, match="feature names should match"):
        model.fit(X, LABELS).predict(X[["pressure", "age"]])
    with pytest.raises(ValueError, match=r"Feature names unseen at fit time:\n- sex\n$"):
        model.predict(FRAME)
    for shape in ((N, 2, 2), (N,)):
        with pytest.raises(ValueError, match=r"Found array with dim 3|Expected 2D array"):
            model.fit(np.ones(shape), LABELS)


def test_the_pipeline_of_the_page_encodes_text_and_imputes_gaps() -> None:
    (block,) = (block for block in blocks("pipeline/estimators/README.md") if "ColumnTransformer" in block.text)
    names: dict[str, Any] = {"X": GAPS.assign(sex=FRAME["sex"]), "y": LABELS}
    exec(block.text, names)
    assert names["model"].score(names["X"], LABELS) > 0.7
    other = FRAME.assign(sex="unknown").iloc[:3]
    assert names["model"].predict(other).shape == (3,)


@pytest.mark.parametrize("given", [np.eye(3), [np.eye(3)]])
def test_matrices_without_names_are_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="precomputed: must be a dict of matrices by name"):
        kp.AlignedKernelClassifier(precomputed=given, C=1.0).fit(np.arange(3.0)[:, None], ["a", "b", "a"])


def test_numbers_that_are_hardly_classes_are_reported() -> None:
    X, y = np.arange(80.0)[:, None], np.arange(80) // 2
    with pytest.warns(UserWarning, match="40 different values of 80 samples are taken as classes"):
        kp.alignment_statistics(X, y)
    kp.alignment_statistics(X, y, task="classification")  # warnings are errors
    kp.alignment_statistics(X, y, task="regression")
    kp.alignment_statistics(X, y // 20)
