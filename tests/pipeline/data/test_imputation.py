"""Missing values are imputed as by scikit-learn, counted in a note, and never for labels."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.impute import SimpleImputer

from kernel_pipeline.data.imputation import Imputation, incomplete_columns
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.plan.plan import make_plan
from kernel_pipeline.tasks.arrays import Floats
from tests.helpers.build import config_values, dense, load, parsed, put, refused

STRATEGIES: dict[Any, str] = {"mean": "mean", "median": "median", "most-frequent": "most_frequent"}
GAPS = "u,v,color,y\n" + "".join(
    f"{'' if i == 2 else i},{'' if i % 4 == 1 else i % 3},{'' if i == 7 else ['red', 'blue', 'red'][i % 3]},{i % 2}\n"
    for i in range(12)
)
TABLE: dict[str, Any] = {"target": "y", "drop": ["color"]}


@given(
    features=arrays(np.float64, st.tuples(st.integers(2, 9), st.integers(1, 5)), elements=st.integers(0, 4)),
    seed=st.integers(0, 1000),
    strategy=st.sampled_from(sorted(STRATEGIES)),
)
@settings(deadline=None, max_examples=80)
def test_values_are_those_of_scikit_learn_also_for_other_samples(features: Floats, seed: int, strategy: Any) -> None:
    holes = np.random.default_rng(seed).random(features.shape) < 0.3
    holes[0] = False  # every column has a value
    features = np.where(holes, np.nan, features)
    fitted_to = np.arange(len(features) // 2 + 1)
    expected = SimpleImputer(strategy=STRATEGIES[strategy]).fit(features[fitted_to]).transform(features)
    fitted = Imputation.fit(features[fitted_to], strategy, incomplete_columns(features))
    np.testing.assert_allclose(fitted.apply(features), expected, rtol=1e-15)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_table_is_imputed_and_the_values_are_counted(tmp_path: Path, strategy: str) -> None:
    put(tmp_path, GAPS)
    samples = load(tmp_path, **TABLE, missing=strategy)
    raw = pd.read_csv(tmp_path / "things.csv")[["u", "v"]].to_numpy()[samples.order]
    np.testing.assert_allclose(dense(samples), SimpleImputer(strategy=STRATEGIES[strategy]).fit_transform(raw))
    assert f"missing = '{strategy}': 4 of 24 feature values are imputed, in columns 'u' (1), 'v' (3)" in samples.notes
    assert samples.left_out == 0
    assert samples.info.fitted_steps == (f"missing = '{strategy}'",)
    assert samples.info.fit_on == "all"


def test_text_becomes_the_most_frequent_word_of_its_column(tmp_path: Path) -> None:
    put(tmp_path, GAPS)
    samples = load(tmp_path, target="y", encode="onehot", missing="most-frequent")
    assert samples.columns is not None
    assert samples.columns.names == ("u", "v", "color_blue", "color_red")
    assert dense(samples)[samples.order == 7, 2:].tolist() == [[0.0, 1.0]]
    assert set(dense(samples)[:, 2:].sum(axis=1)) == {1.0}


def test_codes_become_the_most_frequent_one_letter_by_letter(tmp_path: Path) -> None:
    rows = ["AC,1", "AG,0", "NG,1", "AN,0", "CG,1", "AG,0", "AG,1", "CC,0", "AG,1"]
    put(tmp_path, "\n".join(["dna,y", *rows]) + "\n")
    codes = {"A": 1.0, "C": 2.0, "G": 3.0}
    samples = load(tmp_path, target="y", encode=codes, missing="most-frequent")
    found = dense(samples)[np.argsort(samples.order)]
    assert found[2].tolist() == [1.0, 3.0]
    assert found[3].tolist() == [1.0, 3.0]


def test_a_part_of_the_words_of_a_column_may_be_used(tmp_path: Path) -> None:
    put(tmp_path, GAPS)
    kernels = [{"family": "rank-one", "columns": ["color_blue"]}]
    samples = load(tmp_path, target="y", encode="onehot", missing="most-frequent", kernels=kernels)
    assert dense(samples)[samples.order == 7].tolist() == [[0.0]]


@pytest.mark.parametrize("strategy", ["mean", "median"])
def test_text_becomes_the_most_frequent_one_beside_means_of_numbers(tmp_path: Path, strategy: str) -> None:
    put(tmp_path, GAPS)
    most_frequent = dense(load(tmp_path, target="y", encode="onehot", missing="most-frequent"))
    found = load(tmp_path, target="y", encode="onehot", missing=strategy)
    np.testing.assert_array_equal(dense(found)[:, 2:], most_frequent[:, 2:])  # color_blue, color_red
    assert not np.array_equal(dense(found)[:, :2], most_frequent[:, :2])


def test_infinite_values_are_not_imputed(tmp_path: Path) -> None:
    text = refused(tmp_path, GAPS.replace("3,0,red,1\n", "inf,0,red,1\n"), **TABLE, missing="mean")
    assert "column 'u' has no usable number (found inf) in data row 4" in text
    assert "missing = 'mean' fills only empty cells of features" in text


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_without_a_label_are_left_out_and_the_others_imputed(tmp_path: Path, strategy: str) -> None:
    put(tmp_path, GAPS.replace("3,0,red,1\n", "3,0,red,\n"))
    samples = load(tmp_path, **TABLE, missing=strategy)
    assert samples.left_out == 1
    raw = pd.read_csv(tmp_path / "things.csv")[["u", "v"]].to_numpy()[samples.order]
    assert sorted(samples.order) == [0, 1, 2, *range(4, 12)]
    np.testing.assert_allclose(dense(samples), SimpleImputer(strategy=STRATEGIES[strategy]).fit_transform(raw))
    plan = make_plan(parsed(config_values(**TABLE, missing=strategy)), [samples.info])
    assert "note: dataset 'things': 1 row is left out, since it has no label" in lines(plan.notes())


def test_gaps_of_text_are_counted_once_and_under_the_name_of_their_column(tmp_path: Path) -> None:
    put(tmp_path, GAPS)
    note = "missing = 'mean': 5 of 36 feature values are imputed, in columns 'u' (1), 'v' (3), 'color' (1)"
    assert note in load(tmp_path, target="y", encode="onehot", missing="mean").notes
    view = [{"family": "linear", "columns": ["v", "color_red"]}]
    note = "missing = 'mean': 4 of 24 feature values are imputed, in columns 'v' (3), 'color' (1)"
    assert note in load(tmp_path, target="y", encode="onehot", missing="mean", kernels=view).notes


def test_a_column_without_any_value_is_named(tmp_path: Path) -> None:
    rows = "".join(f"{i},,{i % 2}\n" for i in range(9))
    assert "column 'v' has no value in any row" in refused(tmp_path, "u,v,y\n" + rows, target="y", missing="median")


def test_nothing_is_fitted_if_nothing_is_missing(tmp_path: Path) -> None:
    put(tmp_path, "u,v,y\n" + "".join(f"{i},{i * i % 7},{i % 2}\n" for i in range(9)))
    samples = load(tmp_path, target="y", missing="mean", fit_on="train")
    assert samples.notes[0] == "fit_on = 'train' changes nothing: no step of this dataset is fitted to data"
    assert not samples.info.per_trial
    assert samples.fingerprint == load(tmp_path, target="y").fingerprint
