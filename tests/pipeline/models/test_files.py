"""A loaded model equals the saved one, and files that contain other types are refused."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import Ridge

import kernel_pipeline as kp
from kernel_pipeline.models.model_file import _allowed, _types
from kernel_pipeline.models.predictors import KernelPredictor
from kernel_pipeline.tasks.kernels.family import GramFamily
from tests.pipeline.models.example_run import DATASETS
from tests.pipeline.models.test_against_sweep import raw_rows


@pytest.mark.parametrize("dataset", [dataset["name"] for dataset in DATASETS])
def test_a_loaded_model_equals_the_saved_one(root: Path, tmp_path: Path, dataset: str) -> None:
    model = kp.open_run(root).model(dataset, "alignf")
    model.save(tmp_path / "model.skops")
    loaded = kp.load_model(tmp_path / "model.skops")
    rows = raw_rows(root, dataset)
    # Rounding in BLAS may depend on how arrays are aligned in memory.
    np.testing.assert_allclose(loaded.values(rows), model.values(rows), rtol=1e-14)
    assert loaded.facts == model.facts
    assert repr(loaded) == repr(model)


def test_files_of_models_contain_only_allowed_types(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    kp.open_run(root).model("clinic", "alignf").save(path)
    untrusted = skops.io.get_untrusted_types(file=path)
    assert untrusted
    assert all(name.startswith("kernel_pipeline.") for name in untrusted)
    with zipfile.ZipFile(path) as archive:
        assert set(_types(json.loads(archive.read("schema.json")))) <= _allowed()


class Foreign:
    """A type that is not part of the package."""


@pytest.mark.parametrize("intruder", [Foreign(), Ridge(), np.add, print])
def test_a_foreign_type_is_refused(root: Path, tmp_path: Path, intruder: object) -> None:
    model = kp.open_run(root).model("clinic", "unif")
    facts = replace(model.facts, source={"surprise": intruder})
    path = tmp_path / "model.skops"
    type(model)(model.encoder, model.steps, model.predictor, model.outputs, facts).save(path)
    with pytest.raises(kp.RefusedError, match="which no model of this package contains"):
        kp.load_model(path)


def test_other_files_are_not_models(root: Path, tmp_path: Path) -> None:
    (tmp_path / "text.skops").write_text("a,b\n1,2\n")
    skops.io.dump({"format": 1, "model": [1, 2]}, tmp_path / "list.skops")
    with zipfile.ZipFile(tmp_path / "zip.skops", "w") as archive:
        archive.writestr("other.txt", "")
    for name, message in (
        ("text", "is not a model"),
        ("list", "is not a model of format 1"),
        ("zip", "is not a model"),
        ("absent", "cannot read"),
    ):
        with pytest.raises(kp.DataError, match=message):
            kp.load_model(tmp_path / f"{name}.skops")


def test_a_damaged_model_is_reported(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    kp.open_run(root).model("wave", "unif").save(path)
    with zipfile.ZipFile(path) as archive:
        schema = archive.read("schema.json")
    with zipfile.ZipFile(tmp_path / "broken.skops", "w") as archive:
        archive.writestr("schema.json", schema)  # without its arrays
    with pytest.raises(kp.DataError, match="is a damaged model"):
        kp.load_model(tmp_path / "broken.skops")


def test_a_model_with_kernels_of_another_package_is_not_saved(root: Path, tmp_path: Path) -> None:
    class Plugin(GramFamily):
        def names(self) -> tuple[str, ...]:
            return ("plug-in",)

        def prepare(self, samples: object) -> None:  # type: ignore[override]
            raise NotImplementedError

    model = kp.open_run(root).model("wave", "unif")
    assert isinstance(model.predictor, KernelPredictor)
    kernel = replace(model.predictor.kernel, families=(Plugin(),))
    model.predictor = replace(model.predictor, kernel=kernel)
    with pytest.raises(kp.RefusedError, match=r"Plugin is not part of this package"):
        model.save(tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def test_a_model_is_an_estimator_of_scikit_learn(root: Path) -> None:
    from sklearn.base import is_classifier, is_regressor
    from sklearn.metrics import accuracy_score, make_scorer
    from sklearn.utils.validation import check_is_fitted

    model = kp.open_run(root).model("clinic", "alignf")
    check_is_fitted(model)
    assert is_classifier(model)
    assert is_regressor(kp.open_run(root).model("wave", "alignf"))
    rows = pd.read_csv(root / "clinic.csv")
    assert make_scorer(accuracy_score)(model, rows, rows["outcome"]) > 0.6
