"""Labels whose squares and fourth powers overflow or underflow give the same fits as labels of ordinary size."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.tasks.labels import label_units
from tests.faults.harness import TINY, command, no_workers, write_config
from tests.helpers.build import put

pytestmark = pytest.mark.faults

METHODS = ["unif", "align", "alignf", "l2-krr", "align-krr", "each-kernel"]
FIT = {"align-krr": {name: {"from": -20, "to": -10, "step": 10} for name in ("gamma", "gamma1", "gamma2")}}
IN_UNITS = ["error", "validation_error"]
SAME = ["alignment_test", "alignment_train", "regularisation", "n_active"]


def values_of(kernels: list[dict[str, Any]], scale: float) -> tuple[dict[str, Any], str]:
    """Return a config, and a table of two features with a target that is multiplied by `scale`."""
    random = np.random.default_rng(5)
    features = random.normal(size=(60, 2))
    target = (features[:, 0] ** 2 + features[:, 1] + 0.1 * random.normal(size=60)) * scale
    lines = (",".join(repr(float(cell)) for cell in row) for row in np.column_stack([features, target]))
    dataset = {"name": "sized", "source": "file", "path": "data.csv", "format": "csv", "task": "regression"}
    methods = METHODS if kernels[0]["family"] == "gaussian" else METHODS[:-1]
    config = TINY | {"methods": methods, "fit": TINY["fit"] | FIT, "dataset": [dataset | {"kernels": kernels}]}
    return config, "\n".join(lines) + "\n"


def results(folder: Path, kernels: list[dict[str, Any]], scale: float) -> dict[str, pd.DataFrame]:
    folder.mkdir()
    config, content = values_of(kernels, scale)
    put(folder, content, "data.csv")
    with no_workers():
        done = command("run", write_config(folder, config), "--out", folder / "run")
    assert done.exit_code == 0, done.output
    return {name: pd.read_csv(folder / "run/results" / f"{name}.csv") for name in ("rows", "path", "kernels", "bounds")}


@pytest.mark.parametrize(
    "kernels",
    [[{"family": "gaussian", "log2_gamma": [-2, 1]}], [{"family": "rank-one"}]],
    ids=["gaussian", "rank-one"],
)
@pytest.mark.parametrize("scale", [2.0**-532, 2.0**465], ids=["1e-160", "1e140"])
def test_labels_of_any_size_give_the_same_fits(tmp_path: Path, kernels: list[dict[str, Any]], scale: float) -> None:
    usual, other = results(tmp_path / "usual", kernels, 1.0), results(tmp_path / "other", kernels, scale)
    assert set(other["rows"]["status"]) == {"ok"}
    pd.testing.assert_frame_equal(other["rows"][SAME], usual["rows"][SAME], rtol=1e-9)
    for table, columns in (
        ("rows", IN_UNITS),
        ("path", ["train_error", "test_error"]),
        ("bounds", ["predictor_error", "theorem14_evaluated", "theorem16_evaluated", "theorem17_evaluated"]),
    ):
        np.testing.assert_allclose(other[table][columns] / scale, usual[table][columns], rtol=1e-8)
    shown = ["alignment_train", "alignment_test", "uncentered_alignment_train"]
    pd.testing.assert_frame_equal(other["kernels"][shown], usual["kernels"][shown], rtol=1e-9)
    if "error" in usual["kernels"]:
        np.testing.assert_allclose(other["kernels"]["error"] / scale, usual["kernels"]["error"], rtol=1e-8)


def test_labels_of_ordinary_size_are_not_rescaled() -> None:
    labels = np.array([[1.0, 1e-60, -5e59, 0.0, 3e-160, 2e140], [0.5, 0.0, 1e3, 0.0, 1e-170, -1e120]])
    units = label_units(labels)
    np.testing.assert_array_equal(units[:4], 1.0)
    scaled = np.abs(labels / units).max(axis=0)
    assert ((scaled[4:] >= 0.5) & (scaled[4:] < 1)).all()
    np.testing.assert_array_equal(np.frexp(units)[0], 0.5)
