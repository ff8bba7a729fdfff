"""Precomputed kernels that cannot be used: one message with numbers, exit code 2, and nothing written."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.tasks.arrays import Floats
from tests.helpers.build import GAUSSIAN, ROWS, config_values, put, put_config
from tests.pipeline.cli.refusals import refused
from tests.pipeline.data.kernel_matrices import kernels, save


def sound() -> Floats:
    return np.asarray(kernels(1, 9)[0])


def changed(place: tuple[int, ...], value: float) -> Callable[[], Floats]:
    """Return a function that returns a kernel with another value at an index."""

    def kernel() -> Floats:
        values = sound()
        values[place] = value
        return values

    return kernel


@dataclass
class Case:
    """A mistake in the file or in the family, and the words that its message must contain."""

    name: str
    words: list[str]
    values: Callable[[], Any] | None = sound
    file: str = "string.npy"
    family: dict[str, Any] = field(default_factory=dict)
    rows: str = ROWS
    dataset: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case("missing file", ["'things': kernels[0].path: there is no file", "string.npy", "--data-dir"], None),
    Case("missing folder", ["'things'", "no folder", "string.zarr"], None, "string.zarr"),
    Case("no path", ["kernels[0].path", "is missing"], None, family={"path": None}),
    Case("other end", ["kernels[0].path: string.txt", ".npy or .npz or .zarr"], lambda: b"1 2", "string.txt"),
    Case(
        "no npy file",
        ["kernels[0].path", "string.npy cannot be read", "not an npy file", "numpy.save", "set path"],
        lambda: b"1 2",
    ),
    Case("too few rows", ["kernels[0].path: string.npy", "(8, 8)", "(9, 9)", "(p, 9, 9)"], lambda: kernels(1, 8)[0]),
    Case(
        "one row per usable row",
        ["(9, 9)", "(10, 10) is required", "including the row that is left out because of missing values"],
        rows=ROWS + "nan,1,a\n",
        dataset={"missing": "drop"},
    ),
    Case("last axis is the kernel", ["(9, 9, 2)", "(9, 9)"], lambda: np.zeros((9, 9, 2)), "string.npz"),
    Case("complex", ["complex128", "real numbers", "K.real"], lambda: np.eye(9) * 1j),
    Case(
        "NaN",
        ["1 entry that is", "NaN", "row 3, column 7 (counted from 0)", "compute the kernel without"],
        changed((3, 7), np.nan),
        "string.zarr",
    ),
    Case("infinity", ["9 entries", "infinite", "row 2, column 0"], changed((2,), -np.inf)),
    Case("huge", ["1e+120", "1e+100", "Divide"], changed((2, 2), 1e120)),
    Case("asymmetric", ["not symmetric", "row 1, column 4", "times the largest", "1e-10"], changed((4, 1), 5.0)),
    Case("indefinite", ["smallest eigenvalue is -", "times the largest one", "psd = 'clip'"], changed((4, 4), -5.0)),
    Case("negative definite", ["is -3.93; ", "is 1 times the largest one (3.93)", "Save -K"], lambda: -sound()),
    Case("clipped to nothing", ["no eigenvalue is positive"], lambda: -sound(), family={"psd": "clip"}),
    Case("objects", ["has the type object", "K.astype(float)"], lambda: np.full((9, 9), None)),
    Case(
        "header read as a sample",
        ["(9, 9)", "(10, 10) is required", "first line of things.csv is read as a sample: set header = true"],
        rows="city,label\n" + "Rome,a\nBonn,b\nRome,b\n" * 3,
        dataset={"encode": "onehot", "positive": ["a"]},
    ),
    Case(
        "constant",
        ["kernels[0].path: string.npy is constant: all entries are 0", "Set path to another file, or add a family"],
        lambda: np.zeros((9, 9)),
        dataset={"kernels": [{"family": "precomputed", "path": "string.npy"}]},
    ),
    Case("unknown psd", ["kernels[0].psd", "'clip'", "'yes'"], family={"psd": "yes"}),
    Case("columns", ["kernels[0].columns", "use no columns"], family={"columns": [0]}),
    Case("each", ["kernels[0].each", "use no columns"], family={"each": "column"}),
    Case("wrong name", ["kernels[0] (a b).name", "letters, digits"], family={"name": "a b"}),
    Case("name of another kernel", ["'linear' is listed more than once", "'name'"], family={"name": "linear"}),
    Case("documents", ["documents need one family"], dataset={"source": "text"}),
]


def config_of(case: Case) -> dict[str, Any]:
    family = {"family": "precomputed", "path": case.file, **case.family}
    family = {key: value for key, value in family.items() if value is not None}
    values = config_values(**{"kernels": [family, GAUSSIAN, {"family": "linear"}], **case.dataset})
    if case.dataset.get("source") == "text":
        del values["dataset"][0]["format"]
    return values


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_kernel_that_cannot_be_used(case: Case, folder: Path) -> None:
    put(folder, case.rows)
    content = case.values() if case.values else None
    if isinstance(content, bytes):
        put(folder, content, case.file)
    elif content is not None:
        save(folder / case.file, content)
    put_config(folder, config_of(case))
    message = refused(folder, "sweep.toml", "--out", "run")
    for word in case.words:
        assert word in message
