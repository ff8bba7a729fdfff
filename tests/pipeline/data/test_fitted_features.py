"""Features of each trial, with steps fitted to its training set, are those of scikit-learn."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from kernel_pipeline.data.prepared import PreparedDataset, prepare_dataset
from kernel_pipeline.data.scaling import Scaling
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.folds import trials
from tests.helpers.build import config_values, load, parsed, put
from tests.pipeline.data.documents import filled, ready

SCALERS: dict[Any, Any] = {"standard": StandardScaler, "minmax": MinMaxScaler}
WORDS = ["good", "fine", "dull", "bad", "long", "film", "book", "plot", "end", "cast", "rare", "once"]


def training(samples: PreparedDataset, folds: int = 3) -> list[Any]:
    return [np.isin(samples.fold, trial.train) for trial in trials(folds)]


@given(
    rows=st.integers(9, 25),
    columns=st.integers(1, 4),
    scale=st.sampled_from(sorted(SCALERS)),
    imputed=st.booleans(),
    seed=st.integers(0, 10_000),
)
@settings(deadline=None, max_examples=25)
def test_each_trial_has_the_features_of_a_pipeline_fitted_to_its_training_set(
    tmp_path_factory: pytest.TempPathFactory, rows: int, columns: int, scale: Any, imputed: bool, seed: int
) -> None:
    folder, random = tmp_path_factory.mktemp("table"), np.random.default_rng(seed)
    table = pd.DataFrame(random.normal(size=(rows, columns)) * 10.0 ** random.integers(-3, 4, columns))
    table.columns = pd.Index([f"x{column}" for column in table.columns])
    if imputed:
        table.iloc[0, 0] = np.nan
    put(folder, table.assign(y=np.arange(rows) % 2).to_csv(index=False, float_format="%.17g"))
    samples = load(folder, target="y", scale=scale, missing="mean", fit_on="train")
    raw = table.to_numpy()[samples.order]
    assert samples.info.per_trial
    for trial, train in enumerate(training(samples)):
        reference = make_pipeline(SimpleImputer(), SCALERS[scale]()).fit(raw[train])
        np.testing.assert_allclose(
            np.asarray(samples.features_of(trial)), reference.transform(raw), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("how", SCALERS)
def test_a_column_that_is_constant_on_the_training_set_becomes_zero(how: Any) -> None:
    train, other = np.array([[1.0, 3.0], [2.0, 3.0]]), np.array([[1.5, 9.0]])
    assert Scaling.fit(train, how).apply(other)[0, 1] == 0.0


def documents(folder: Path) -> list[str]:
    """Write documents whose words differ so much in frequency that scikit-learn need not break ties."""
    random, likely = np.random.default_rng(3), 1.5 ** -np.arange(10.0)
    texts = [" ".join(random.choice(WORDS[:10], size=8, p=likely / likely.sum())) for _ in range(150)]
    texts[4] += " rare" * 9  # in one document only
    put(folder, "".join(f"{i % 2} {text}\n" for i, text in enumerate(texts)), "words.txt")
    return texts


@pytest.mark.parametrize(
    ("options", "reference"),
    [
        ({"top": 5}, CountVectorizer(max_features=5)),
        ({"top": 5, "counts": "binary"}, CountVectorizer(max_features=5, binary=True)),
        ({"min_df": 20}, CountVectorizer(min_df=20)),
        ({"min_df": 0.5, "counts": "tf-idf"}, TfidfVectorizer(min_df=0.5)),
        ({"top": 6, "counts": "tf-idf"}, TfidfVectorizer(max_features=6)),
        ({"counts": "tf-idf"}, TfidfVectorizer()),
    ],
)
def test_words_of_each_trial_are_those_of_a_vectorizer_fitted_to_its_training_set(
    tmp_path: Path, options: dict[str, Any], reference: Any
) -> None:
    texts = documents(tmp_path)
    samples = ready(tmp_path, "text", "unigrams", **options, fit_on="train")
    ordered = [texts[row] for row in samples.order]
    union: set[str] = set()
    for trial, train in enumerate(training(samples)):
        reference.fit([text for text, inside in zip(ordered, train, strict=True) if inside])
        words = reference.get_feature_names_out().tolist()
        found = filled(samples.features_of(trial))
        chosen = [samples.kernels.index(word) for word in words]
        np.testing.assert_allclose(found[:, chosen], reference.transform(ordered).toarray(), rtol=1e-12)
        assert not np.delete(found, chosen, axis=1).any()
        union |= set(words)
    assert samples.kernels == tuple(sorted(union))
    assert samples.info.columns == len(union)
    assert any(note.startswith("fit_on = 'train': the vocabularies of the trials have") for note in samples.notes)


def test_counts_of_all_words_need_no_fit(tmp_path: Path) -> None:
    documents(tmp_path)
    samples = ready(tmp_path, "text", "unigrams", fit_on="train")
    assert samples.notes == ("fit_on = 'train' changes nothing: no step of this dataset is fitted to data",)
    assert samples.fingerprint == ready(tmp_path, "text", "unigrams").fingerprint
    assert isinstance(samples.features, scipy.sparse.csr_array)


def test_the_fingerprint_depends_on_the_samples_that_steps_are_fitted_to(tmp_path: Path) -> None:
    put(tmp_path, "u,v,y\n" + "".join(f"{i},{i * i % 7},{i % 2}\n" for i in range(9)))
    median = [{"family": "gaussian", "gamma": "median"}]
    for options in ({"scale": "standard"}, {"kernels": median}):
        one, other = (load(tmp_path, target="y", fit_on=fit_on, **options) for fit_on in ("all", "train"))
        assert one.fingerprint != other.fingerprint
        assert (one.info.fit_on, other.info.fit_on) == ("all", "train")
        assert one.info.fitted_steps == other.info.fitted_steps != ()


def refusal(folder: Path, content: str, **dataset: Any) -> str:
    put(folder, content)
    config = parsed(config_values(**dataset))
    with pytest.raises(DataError) as caught:
        prepare_dataset(config, config.dataset[0], folder)
    return str(caught.value)


def test_errors_of_steps_fitted_to_a_training_set_name_the_trial(tmp_path: Path) -> None:
    common: dict[str, Any] = {"target": "y", "folds": "fold", "fit_on": "train"}
    rows = [(i, i % 3 * 10 + i, i % 3, i % 2) for i in range(12)]
    lacking = "u,v,fold,y\n" + "".join(f"{i},{'' if fold == 2 else v},{fold},{y}\n" for i, v, fold, y in rows)
    text = refusal(tmp_path, lacking, **common, missing="mean")
    assert "column 'v' has no value in the training set of trial 0" in text
    tiny = "u,v,fold,y\n" + "".join(f"{i},{1e149 if fold != 2 else i * 1e-140},{fold},{y}\n" for i, _, fold, y in rows)
    text = refusal(tmp_path, tiny, **common, scale="minmax")
    assert "column 'v' varies so little in the training set of trial 0" in text
    assert "Add 'v' to drop, or set scale = 'none' or fit_on = 'all'" in text
    chi = [{"family": "chi-squared"}]
    text = refusal(tmp_path, lacking.replace(",,", ",5,"), **common, scale="minmax", kernels=chi)
    assert "chi-squared" in text


def test_no_word_is_frequent_enough_in_a_training_set(tmp_path: Path) -> None:
    documents(tmp_path)
    with pytest.raises(DataError, match=r"min_df = 51, but no unigrams occur in that many of 50 training documents"):
        ready(tmp_path, "text", "unigrams", min_df=51, fit_on="train")
