"""Rank-one kernels of words whose vocabulary and weights are fitted to each training set, against whole matrices."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.feature_extraction.text import TfidfVectorizer

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.build import parsed, put
from tests.helpers.plain import Floats, Trial, trial_of
from tests.helpers.sweeps import flip, run_here, write_results

FOLDS = 3
WORDS = ["good", "fine", "dull", "bad", "long", "film", "book", "plot", "end", "cast"]
SWEEP: dict[str, Any] = {
    "name": "words",
    "baselines": False,
    "methods": ["unif", "align", "alignf", "l2-krr"],
    "protocol": {"folds": FOLDS},
    "fit": {"krr": {"from": -8, "to": 0, "step": 4}, "l2-krr": {"from": 4, "to": 4}},
    "dataset": [
        {
            "name": "words",
            "task": "regression",
            "source": "text",
            "path": "words.txt",
            "counts": "tf-idf",
            "fit_on": "train",
            "kernels": [{"family": "rank-one", "features": "unigrams", "top": 6}],
        }
    ],
}
Sweep = tuple[Path, Plan, list[tuple[Trial, Floats]]]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Return a finished run, its plan, and each trial with the columns of scikit-learn."""
    root, random = tmp_path_factory.mktemp("words"), np.random.default_rng(5)
    likely = 1.4 ** -np.arange(10.0)
    texts = [" ".join(random.choice(WORDS, size=9, p=likely / likely.sum())) for _ in range(60)]
    texts = [text + " rare" * 30 * (row == 7) for row, text in enumerate(texts)]  # in one vocabulary only
    labels = [text.count("good") - text.count("dull") + round(float(random.normal()), 2) for text in texts]
    put(root, "".join(f"{label} {text}\n" for label, text in zip(labels, texts, strict=True)), "words.txt")
    plan, (samples,), finished = run_here(root, parsed(SWEEP))
    write_results(root, plan, finished)
    ordered = [texts[row] for row in samples.order]
    trials = []
    for number in range(FOLDS):
        train = ~np.isin(samples.fold, [number, (number + 1) % FOLDS])
        vectorizer = TfidfVectorizer(max_features=6)
        vectorizer.fit([text for text, inside in zip(ordered, train, strict=True) if inside])
        columns = np.zeros((len(texts), len(samples.kernels)))
        places = [samples.kernels.index(word) for word in vectorizer.get_feature_names_out()]
        columns[:, places] = vectorizer.transform(ordered).toarray()
        grams = np.einsum("ik,jk->kij", columns, columns)
        trials.append((trial_of(samples, grams, "regression", number, FOLDS, columns), columns))
    return root, plan, trials


def test_statistics_weights_and_errors_equal_a_dense_recomputation(sweep: Sweep) -> None:
    root, plan, trials = sweep
    assert "rare" in plan.datasets[0].kernels
    store = RunStore(LocalStorage(root))
    rows = pd.read_csv(root / "results/rows.csv").set_index(["method", "trial"])
    assert (rows["status"] == "ok").all()
    for number, (trial, columns) in enumerate(trials):
        outside = np.asarray(~columns.any(axis=0))
        assert outside.sum() == len(outside) - 6
        np.testing.assert_allclose(store.read(STATISTICS, "words/regression/a", number), trial.a, rtol=1e-9, atol=1e-12)
        weights = {method: store.read(WEIGHTS, f"words/regression/{method}", number) for method in SWEEP["methods"]}
        np.testing.assert_allclose(weights["unif"], np.where(outside, 0.0, 1 / 6), rtol=1e-9)
        np.testing.assert_allclose(weights["align"], trial.a / trial.a.sum(), rtol=1e-9, atol=1e-12)
        slope = trial.products @ weights["alignf"]
        slope = slope * (trial.a @ weights["alignf"]) / (weights["alignf"] @ slope) - trial.a
        assert (slope > -1e-9 * trial.a.max()).all()
        for method, mu in weights.items():
            assert not mu[outside].any()
            row = rows.loc[[(method, number)]].iloc[0]
            assert row["alignment_test"] == pytest.approx(trial.alignment(mu, "test"), rel=1e-7)
            if method != "l2-krr":
                (errors,) = trial.path(mu, [row["regularisation"]])
                assert row["error"] == pytest.approx(errors.test, rel=1e-9)


def test_words_outside_of_a_vocabulary_are_not_reported_as_constant(sweep: Sweep) -> None:
    root, _, _ = sweep
    notes = pd.read_csv(root / "results/notes.csv")["note"]
    assert not notes.str.contains("constant").any()
    assert "fit_on = 'train' (top = 6, counts = 'tf-idf'): 3 copies of the columns instead of 1" in list(notes)


def test_disk_gram_matrices_damage_and_repair(sweep: Sweep, tmp_path: Path) -> None:
    root, plan, trials = sweep
    stored = [path for group in root.glob("*.zarr") for path in group.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in stored if path.name != "zarr.json") <= plan.disk_bytes
    run, word = kp.open_run(root, data_dir=root), plan.datasets[0].kernels.index("rare")
    back = np.argsort(RunStore(LocalStorage(root)).read("gram.zarr", "words/order"))
    for number, (_, columns) in enumerate(trials):
        column = columns[back, word]
        np.testing.assert_allclose(run.gram("words", "rare", trial=number), np.outer(column, column), atol=1e-12)
    copy = shutil.copytree(root, tmp_path / "run")
    rows = (copy / "results/rows.csv").read_bytes()
    assert CliRunner().invoke(main, ["resume", str(copy), "--cluster", "threads"]).exit_code == 0
    flip(copy / "data.zarr/words/trials/1/columns/data/c/0")
    found = CliRunner().invoke(main, ["verify", str(copy)])
    assert "data.zarr/words/trials/1/columns/data/c/0 is damaged" in found.output
    repaired = CliRunner().invoke(main, ["verify", str(copy), "--repair", "--cluster", "threads"])
    assert repaired.exit_code == 0, repaired.output
    assert (copy / "results/rows.csv").read_bytes() == rows
