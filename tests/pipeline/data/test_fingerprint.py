"""The fingerprint of a prepared dataset depends on every number that is used for learning."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kernel_pipeline.data.prepared import PreparedDataset, prepare_dataset
from tests.helpers.build import (
    ROWS,
    config_values,
    dense,
    load,
    parsed,
    put,
    synthetic_values,
)


def synthetic(folder: Path, seed: int = 0, folds: int = 3, **dataset: Any) -> PreparedDataset:
    config = parsed(synthetic_values(**dataset) | {"seed": seed, "protocol": {"folds": folds}})
    return prepare_dataset(config, config.dataset[0], folder)


def test_fingerprint_is_the_same_for_the_same_numbers_in_another_format(tmp_path: Path) -> None:
    put(tmp_path, ROWS)
    put(tmp_path, ROWS.replace(",", "  "), "things.data.gz")
    assert load(tmp_path).fingerprint == load(tmp_path, path="things.data.gz", format="table").fingerprint


def test_fingerprint_changes_with_one_number_of_the_file(tmp_path: Path) -> None:
    put(tmp_path, ROWS)
    before = load(tmp_path).fingerprint
    put(tmp_path, ROWS.replace("8,1,a", "8,1.0000000000000002,a"))
    assert load(tmp_path).fingerprint != before


def test_fingerprint_changes_with_one_label_of_the_file(tmp_path: Path) -> None:
    put(tmp_path, ROWS)
    before = load(tmp_path).fingerprint
    put(tmp_path, ROWS.replace("8,1,a", "8,1,b"))
    assert load(tmp_path).fingerprint != before


def test_fingerprint_depends_on_every_number(tmp_path: Path) -> None:
    samples = synthetic(tmp_path, rows=6)
    seen = {samples.fingerprint}
    for place in np.ndindex(samples.features.shape):
        features = dense(samples).copy()
        features[place] = np.nextafter(features[place], 9)
        seen.add(replace(samples, features=features).fingerprint)
    for row in range(6):
        target = samples.targets["regression"].copy()
        target[row] = np.nextafter(target[row], 99)
        seen.add(replace(samples, targets={"regression": target}).fingerprint)
        order, fold = samples.order.copy(), samples.fold.copy()
        order[row] += 1
        fold[row] += 1
        seen |= {replace(samples, order=order).fingerprint, replace(samples, fold=fold).fingerprint}
    assert len(seen) == 1 + samples.features.size + 3 * 6


def test_fingerprint_depends_on_the_names_of_rank_one_kernels(tmp_path: Path) -> None:
    prints = set()
    for header in ("u,v,label\n", "u,w,label\n"):
        put(tmp_path, header + ROWS)
        prints.add(load(tmp_path, header=True, kernels=[{"family": "rank-one"}]).fingerprint)
    assert len(prints) == 2


def test_fingerprint_depends_on_folds_and_scale(tmp_path: Path) -> None:
    prints = [
        synthetic(tmp_path).fingerprint,
        synthetic(tmp_path, folds=4).fingerprint,
        synthetic(tmp_path, scale="minmax").fingerprint,
    ]
    assert len(set(prints)) == 3


def test_fingerprint_depends_on_the_shape() -> None:
    """Data with the same bytes but another shape have another fingerprint."""
    values = parsed(config_values())
    tall = PreparedDataset(
        values.name, np.ones((4, 1)), ("0",), {"regression": np.ones(4)}, np.arange(4), np.arange(4), 0
    )
    assert tall.fingerprint != replace(tall, features=np.ones((1, 4))).fingerprint
