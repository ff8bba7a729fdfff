"""Mistakes in the options of documents and text columns: one message, its exit code, and nothing written."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.build import GAUSSIAN, config_values, put, put_config
from tests.pipeline.cli.refusals import refused

DOCUMENTS = "ham the cat sat\nspam buy the cat now\nham a dog\n" * 4
TABLE = "review,age,label\n" + "the cat sat,3,ham\nbuy the cat now,4,spam\na dog,5,ham\n" * 4


def family(**parameters: Any) -> list[dict[str, Any]]:
    return [{"family": "rank-one", "features": "unigrams", **parameters}]


def documents(**fields: Any) -> dict[str, Any]:
    dataset = {"name": "things", "task": "classification", "source": "text", "path": "things.csv", "kernels": family()}
    return config_values() | {"dataset": [dataset | fields]}


def reviews(**fields: Any) -> dict[str, Any]:
    return documents(source="sentiment", domain="books", **fields)


def column(**fields: Any) -> dict[str, Any]:
    given = config_values(**{"text": "review", "target": "label", "kernels": family()} | fields)
    return given | {"dataset": [{key: value for key, value in given["dataset"][0].items() if value is not None}]}


CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "unknown counts": (documents(counts="tfidf"), ["(things).counts", "'counts', 'binary' or 'tf-idf'", "'tfidf'"]),
    "min_df of 0": (documents(min_df=0), ["(things).min_df", "1 or more", "between 0 and 1", "got 0"]),
    "min_df of 1.5": (documents(min_df=1.5), ["(things).min_df", "1 or more", "got 1.5"]),
    "min_df of 1.0": (documents(min_df=1.0), ["got 1.0", "all documents in CountVectorizer", "write 1 for one"]),
    "min_df as text": (documents(min_df="3"), ["(things).min_df", "a number of documents", "got '3'"]),
    "min_df too large": (documents(min_df=9), ["min_df = 9", "12 documents", "choose a smaller min_df"]),
    "top of 0": (documents(kernels=family(top=0)), ["kernels[0].top", "greater than or equal to 1", "got 0"]),
    "no kind of words": (documents(kernels=family(features=[])), ["kernels[0].features", "empty list", "'bigrams'"]),
    "unknown words": (
        documents(kernels=family(features=["unigrams", "trigrams"])),
        ["kernels[0].features[1]", "'unigrams' or 'bigrams'", "got 'trigrams'"],
    ),
    "columns among words": (
        documents(kernels=family(features=["unigrams", "columns"])),
        ["kernels[0].features[1]", "'unigrams' or 'bigrams'", "got 'columns'"],
    ),
    "stop_words as a number": (documents(stop_words=3), ["(things).stop_words", "'english', or a list", "got 3"]),
    "columns of words per trial": (
        documents(fit_on="train", kernels=family(top=2, columns=["c*"])),
        ["fit_on = 'train'", "columns = ['c*']", "remove 'columns'", "fit_on = 'all'"],
    ),
    "gaps of words": (column(missing="median"), ["missing = 'median'", "the features are words", "remove missing"]),
    "unknown language": (documents(stop_words="german"), ["(things).stop_words", "'english', or a list", "'german'"]),
    "nothing but stop words": (
        documents(stop_words=["the", "cat", "sat", "buy", "now", "dog"]),
        ["no unigrams", "things.csv", "besides stop_words"],
    ),
    "lowercase as text": (documents(lowercase="no"), ["(things).lowercase", "boolean", "got 'no'"]),
    "unknown key": (documents(stopwords="english"), ["'stopwords'", "did you mean 'stop_words'"]),
    "stop_words of counted words": (
        reviews(stop_words="english"),
        ["stop_words", "counted already", "remove this key"],
    ),
    "lowercase of counted words": (reviews(lowercase=True), ["lowercase", "counted already", "remove this key"]),
    "no such column": (column(text="opinion"), ["text = 'opinion'", "not a column", "'review', 'age', 'label'"]),
    "no column of this number": (column(text=7), ["text = 7", "out of range", "3 columns"]),
    "a column of numbers": (column(text="age"), ["text = 'age'", "no text, but 3 in data row 1", "name the column"]),
    "text is the target": (column(text="label"), ["text = 'label'", "is also the target column", "target = 'COLUMN'"]),
    "text is dropped": (column(drop=["review"]), ["drop = ['review']", "the text column 'review'"]),
    "text with a Gaussian": (column(kernels=[GAUSSIAN]), ["text = 'review'", "family = 'rank-one'"]),
    "text without words": (
        column(kernels=[{"family": "rank-one"}]),
        ["text = 'review'", "set features of the rank-one family", "'unigrams', 'bigrams' or a list of both"],
    ),
    "words without text": (column(text=None), ["features = 'unigrams'", "Available: columns", "text = 'COLUMN'"]),
    "words beside another family, without text": (
        column(text=None, kernels=[*family(features=["unigrams", "bigrams"], top=1), GAUSSIAN]),
        ["features = 'unigrams'", "Available: columns", "text = 'COLUMN'"],
    ),
    "two families of words, without text": (
        column(text=None, kernels=[{"family": "rank-one"}, *family(features="bigrams", top=1, name="pairs")]),
        ["features = 'bigrams'", "Available: columns", "text = 'COLUMN'"],
    ),
    "counts without text": (
        column(text=None, kernels=[GAUSSIAN], counts="binary"),
        ["counts = 'binary'", "is for documents", "text = 'COLUMN'"],
    ),
    "text of an npz file": (
        column(target=None, format="npz"),
        ["text = 'review'", "'npz' contains numbers only", "remove this key"],
    ),
    "scaled words": (column(scale="standard"), ["scale = 'standard'", "the features are words", "remove scale"]),
    "encoded words": (column(encode="onehot"), ["encode = 'onehot'", "the features are words", "remove encode"]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_in_the_options_of_text(name: str, folder: Path) -> None:
    values, words = CASES[name]
    put_config(folder, values)
    put(folder, TABLE if values["dataset"][0]["source"] == "file" else DOCUMENTS)
    text = refused(folder, "sweep.toml")
    assert text.startswith("Error: ")
    for word in words:
        assert word in text
