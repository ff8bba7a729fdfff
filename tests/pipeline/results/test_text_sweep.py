"""A sweep over a csv file with a text column gives the numbers of a plain script, and writes its notes."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from kernel_pipeline.config.loading import parse_config
from tests.helpers.plain import aligned
from tests.helpers.sweeps import run_here, write_results

FOLDS = 3


def write_opinions(path: Path) -> pd.DataFrame:
    """Write 90 rows of words and numbers, of which 8 belong to one class; some words distinguish the classes."""
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(90) < 8, "bad", "good")
    usual = [f"word{number}" for number in range(12)]
    opinions = [
        " ".join([*rng.choice(usual, 8), *rng.choice(["poor", "fine"], 4, p=[0.8, 0.2] if label == "bad" else None)])
        for label in labels
    ]
    frame = pd.DataFrame({"opinion": opinions, "stars": rng.integers(1, 6, 90), "label": labels})
    frame.to_csv(path, index=False)
    return frame


def test_a_sweep_over_a_text_column(tmp_path: Path) -> None:
    frame = write_opinions(tmp_path / "opinions.csv")
    dataset = {
        "name": "opinions",
        "task": "classification",
        "source": "file",
        "path": "opinions.csv",
        "format": "csv",
        "text": "opinion",
        "target": "label",
        "counts": "tf-idf",
        "kernels": [{"family": "rank-one", "features": ["unigrams", "bigrams"], "top": 1000}],
    }
    fit = {"svm": {"from": 0, "to": 8, "step": 4}}
    values = {
        "name": "text",
        "baselines": False,
        "methods": ["unif"],
        "protocol": {"folds": FOLDS},
        "fit": fit,
        "dataset": [dataset],
    }
    plan, (samples,), finished = run_here(tmp_path, parse_config(values, "a test"))
    rows = write_results(tmp_path, plan, finished)
    assert (rows["status"] == "ok").all()
    assert rows["trial"].tolist() == list(range(FOLDS))

    columns = TfidfVectorizer(ngram_range=(1, 2)).fit_transform(frame["opinion"]).toarray()[samples.order]
    y = np.where(frame["label"][samples.order] == "good", 1.0, -1.0)
    assert columns.shape[1] == len(samples.kernels)
    for trial, row in enumerate(rows.to_dict("records")):
        train, test = ~np.isin(samples.fold, [trial, (trial + 1) % FOLDS]), samples.fold == trial
        norms = np.linalg.norm(columns[train] - columns[train].mean(axis=0), axis=0)
        scaled = columns[:, norms > 1e-12] / norms[norms > 1e-12]
        for part, found in ((train, row["alignment_train"]), (test, row["alignment_test"])):
            assert found == pytest.approx(aligned(scaled[part] @ scaled[part].T, y[part]), rel=1e-9)

    notes = pd.read_csv(tmp_path / "results/notes.csv", keep_default_na=False)
    assert notes.query("method == '' and task == ''")["note"].tolist()[:4] == [
        "column 'stars' is not used: the features are the words of the text column 'opinion'",
        f"top = 1000, but there are only {len(samples.kernels)} unigrams and bigrams; all of them are used",
        "class 'bad' has 8 samples, fewer than 10; errors and alignments will vary considerably between trials",
        "91.1 % of the samples belong to class 'good'; a constant prediction of this class has an error of about "
        "0.089; compare errors with this value",
    ]
