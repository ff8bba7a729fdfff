"""Mistakes in the config, in the data or on the command line: one message, its exit code, and nothing written."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kernel_pipeline.data.formats.format import FORMATS
from tests.helpers.build import GAUSSIAN, ROWS, changed, config_values, either, put, put_config
from tests.pipeline.cli.refusals import GAMMA, refused


@dataclass
class Case:
    """A mistake in the config or in the file, and the words that its message must contain."""

    name: str
    words: list[str]
    values: dict[str, Any] = field(default_factory=config_values)
    content: str | None = ROWS


def with_value(place: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    return changed(config_values(), place, value)


def words(features: str, **family: Any) -> list[dict[str, Any]]:
    return [{"family": "rank-one", "features": features, **family}]


def view(**keys: Any) -> dict[str, Any]:
    """Return the values of a config with one family and the keys of a view."""
    return config_values(kernels=[{"family": "linear", **keys}])


def text_values(features: str = "unigrams", source: str = "text", **family: Any) -> dict[str, Any]:
    dataset = {"name": "things", "task": "classification", "source": source, "path": "things.csv"}
    domain = {"domain": "books"} if source == "sentiment" else {}
    return config_values() | {"dataset": [dataset | domain | {"kernels": words(features, **family)}]}


CASES = [
    Case("unknown key", ["sweep.toml", "'metods'", "did you mean 'methods'"], with_value(("metods",), 1)),
    Case(
        "unknown key of a dataset",
        ["dataset[0] (things)", "'rwos'", "did you mean 'rows'"],
        config_values(rwos=3),
    ),
    Case("wrong type", ["seed", "integer", "'zero'"], with_value(("seed",), "zero")),
    Case("wrong type of folds", ["protocol.folds", "integer", "2.5"], with_value(("protocol", "folds"), 2.5)),
    Case("missing file", ["'things'", "no file", "things.csv", "--data-dir", "PIPELINE_DATA_DIR"], content=None),
    Case(
        "unknown format",
        ["dataset[0] (things).format", "'cvs'", either(FORMATS)],
        config_values(format="cvs"),
    ),
    Case("unknown source", ["source", "'web'", "'file', 'openml', 'sklearn'"], config_values(source="web")),
    Case("unknown method", ["methods[0]", "'svm'", "'unif', 'align', 'alignf'"], with_value(("methods",), ["svm"])),
    Case("target out of range", ["target = 7", "3 columns", "-3 to 2"], config_values(target=7)),
    Case("unknown target", ["target = 'label'", "not a column", "Available: "], config_values(target="label")),
    Case("no feature left", ["there is no feature column"], config_values(drop=[0, 1])),
    Case("wrong format", ["cannot read", "things.csv", "'npz'"], config_values(format="npz")),
    Case("empty file", ["cannot read", "things.csv", "'csv'", "the file is empty", "set path"], content=""),
    Case("ragged file", ["cannot read", "line 10 has 4 fields", "at most 3", "quotes"], content=ROWS + "1,2,3,4\n"),
    Case("NaN in features", ["row 10", "is empty", "1 of 10 rows", "missing = 'drop'"], content=ROWS + "nan,1,a\n"),
    Case("infinity in features", ["row 10", "inf", "missing = 'drop'"], content=ROWS + "inf,1,a\n"),
    Case("huge number in features", ["row 10", "1e+200", "missing = 'drop'"], content=ROWS + "1e200,1,a\n"),
    Case("gap", ["row 10", "1 of 10 rows", "missing = 'drop'"], content=ROWS + "?,1,a\n"),
    Case(
        "text in features",
        ["column 0", "'hello' in data row 10", "missing_values = ['hello']", "categorical = [0]"],
        content=ROWS + "hello,1,a\n",
    ),
    Case("one class", ["'things'", "one class"], content=ROWS.replace("b", "a")),
    Case("class of two", ["there are 2 samples of class 'b'", "at least 3"], content=ROWS.replace("b", "a", 2)),
    Case(
        "misspelled method",
        ["methods[0]", "got 'allignf'; did you mean 'alignf'?"],
        with_value(("methods",), ["allignf"]),
    ),
    Case("unknown positive", ["positive = ['q']", "the labels: a, b"], config_values(positive=["q"])),
    Case(
        "constant target",
        ["target is constant (5)", "nothing to learn"],
        config_values(task="regression"),
        "".join(f"{i},5\n" for i in range(9)),
    ),
    Case("constant features", ["every feature column is constant"], content="1,a\n1,b\n" * 5),
    Case(
        "fewer rows than folds",
        ["9 rows", "12 folds", "Add rows", "or set [protocol] folds = 9"],
        with_value(("protocol", "folds"), 12),
    ),
    Case(
        "fewer rows than folds, by rows",
        ["4 rows", "Set rows = 5 or more", "folds = 4"],
        config_values(rows=4) | {"protocol": {"folds": 5}},
    ),
    Case(
        "fewer rows than any number of folds", ["2 rows", "Add rows with a label to the source\n"], content="1,a\n2,b\n"
    ),
    Case("rows = 0", ["dataset[0] (things).rows", "greater than or equal to 1", "got 0"], config_values(rows=0)),
    Case("more rows than there are", ["rows = 50", "only 9"], config_values(rows=50)),
    Case("log2_gamma backwards", ["log2_gamma", "[3, -3] is backwards", "[-3, 3]"], with_value(GAMMA, [3, -3])),
    Case(
        "grid backwards",
        ["fit.krr", "from 3 to 1", "'from' must not be above 'to'"],
        with_value(("fit",), {"krr": {"from": 3, "to": 1}}),
    ),
    Case(
        "q below 1",
        ["methods[0].q", "greater than or equal to 1", "got 0.5"],
        with_value(("methods",), [{"method": "align", "q": 0.5}]),
    ),
    Case(
        "method of another task",
        ["methods", "'l2-krr' is for regression", "the datasets have only the task classification"],
        with_value(("methods",), ["unif", "l2-krr"]),
    ),
    Case(
        "method for fewer kernels",
        [
            "methods: 'alignf-linear' supports none of the datasets",
            "a matrix of all pairs of kernels",
            "supports at most 5,000 kernels; got 5,001",
        ],
        config_values(kernels=words("columns"), format="libsvm") | {"methods": ["unif", "alignf-linear"]},
        "".join(f"{i % 2} {' '.join(f'{c}:{i + 1}' for c in range(1, 5002))}\n" for i in range(9)),
    ),
    Case(
        "many columns of rank-one beside gaussian",
        ["dataset 'things': kernels[1]", "at most 500 columns", "got 501", "Choose fewer with 'columns'"],
        config_values(kernels=[GAUSSIAN, {"family": "rank-one"}]),
        "".join(",".join(str((i + 1) * c % 7) for c in range(1, 502)) + f",{'ab'[i % 2]}\n" for i in range(9)),
    ),
    Case(
        "many columns, each with a kernel",
        ["dataset 'things': kernels[0]", "each = 'column'", "at most 500 columns", "Choose fewer with 'columns'"],
        view(each="column"),
        "".join(",".join(str((i + 1) * c % 7) for c in range(1, 502)) + f",{'ab'[i % 2]}\n" for i in range(9)),
    ),
    Case("unknown column", ["dataset 'things': kernels[0].columns", "'x'", "are: '0', '1'"], view(columns=["x"])),
    Case("near column", ["kernels[0].columns", "did you mean '1'?"], view(columns=["11"])),
    Case("pattern without a match", ["kernels[0].columns", "'gene_*' matches no"], view(columns=["gene_*"])),
    Case("number of the target", ["kernels[0].columns", "2 is not", "except for the target"], view(columns=[2])),
    Case("negative column", ["kernels[0].columns[0]", "greater than or equal to 0", "-1"], view(columns=[-1])),
    Case("column as a float", ["kernels[0].columns[0]", "integer", "got 1.0"], view(columns=[1.0])),
    Case(
        "weights of the fit",
        ["fit: 'weights'", "sample weights are not supported", "drop"],
        with_value(("fit",), {"weights": "w"}),
    ),
    Case("weights of the sweep", ["'sample_weight'", "not supported"], with_value(("sample_weight",), "w")),
    Case(
        "weights of classes",
        ["fit.class_weight", "must be 'balanced'", "got {'b': 2}"],
        with_value(("fit",), {"class_weight": {"b": 2}}),
    ),
    Case("range backwards", ["kernels[0].columns", "'1-0' is backwards; write '0-1'"], view(columns=["1-0"])),
    Case("range beyond the features", ["kernels[0].columns", "'0-2'", "ends at column 2"], view(columns=["0-2"])),
    Case("column twice", ["kernels[0].columns", "1 is listed more than once"], view(columns=[1, 1])),
    Case("columns without brackets", ["kernels[0].columns", "a list in brackets"], view(columns="1")),
    Case("each row", ["kernels[0].each", "must be 'column'", "'row'"], view(each="row")),
    Case("name with a colon", ["kernels[0] (a:b).name", "letters, digits"], view(name="a:b")),
    Case(
        "two kernels of one name",
        ["dataset[0] (things).kernels", "'gaussian(2^-1)' is listed more than once", "set 'name'"],
        config_values(kernels=[GAUSSIAN | {"columns": [0]}, GAUSSIAN | {"columns": [1]}]),
    ),
    Case(
        "two kernels of one column",
        ["dataset 'things': kernels", "'0:linear' is listed more than once", "set 'name'"],
        config_values(kernels=[{"family": "linear", "each": "column"}, {"family": "rank-one", "columns": [0]}]),
    ),
    Case(
        "each column of a rank-one family",
        ["kernels[0].each", "remove this key"],
        config_values(kernels=[{"family": "rank-one", "each": "column"}]),
    ),
    Case(
        "family of a package that is not installed",
        ["kernels[0].family", "must be one of 'gaussian'", "'mine'", "only if that package is installed"],
        config_values(kernels=[{"family": "mine"}]),
    ),
    Case("words of a table", ["'bigrams'", "Available: columns"], config_values(kernels=words("bigrams"))),
    Case("columns of documents", ["'columns'", "Available: unigrams, bigrams"], text_values("columns")),
    Case("missing documents", ["no file", "things.csv", "--data-dir"], text_values(), content=None),
    Case("no bigram", ["no bigrams", "things.csv"], text_values("bigrams"), content="a one\nb two\n" * 4),
    Case("empty document", ["1 of 9", "line 9", "missing = 'drop'"], text_values(), "a one\nb two\n" * 4 + "a\n"),
    Case("missing reviews", ["no folder", "processed_acl", "PIPELINE_DATA_DIR"], text_values(source="sentiment")),
    Case("methods twice", ["methods", "'unif' is listed more than once"], with_value(("methods",), ["unif", "unif"])),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_mistake_in_the_config_or_the_data(case: Case, folder: Path) -> None:
    put_config(folder, case.values)
    if case.content is not None:
        put(folder, case.content)
    text = refused(folder, "sweep.toml")
    assert text.startswith("Error: ")
    for word in case.words:
        assert word in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], ["'nothing'", "default", "paper-gaussian"]),
        (["defalt"], ["'defalt'", "Did you mean 'default'?"]),
        (["broken.toml"], ["broken.toml", "not valid TOML", "line 1"]),
        (["latin.toml"], ["latin.toml", "utf-8"]),
        (["sweep.tml"], ["'sweep.tml'", "Did you mean 'sweep.toml'?"]),
        (["sweep"], ["'sweep'", "Did you mean 'sweep.toml'?"]),
        (["absent/sweep.tml"], ["'absent/sweep.tml'", "a shipped config"]),
        (["sweep.toml", "--set", "seed"], ["'seed'", "key=value"]),
        (["sweep.toml", "--set", "dataset.other.rows=3"], ["'other'", "things"]),
        (["sweep.toml", "--set", "sed=3"], ["'sed'", "did you mean 'seed'"]),
        (["sweep.toml", "--data-dir", "absent"], ["no file", "absent/things.csv"]),
        (["sweep.toml", "--data-dir", "things.csv"], ["--data-dir", "things.csv", "is a file"]),
        (["sweep.toml", "--workers", "0"], ["--workers", "0", "x>=1"]),
        (["sweep.toml", "--workers", "many"], ["--workers", "'many'", "integer"]),
        (["sweep.toml", "--cluster", "moon"], ["--cluster", "'moon'", "local"]),
        (["sweep.toml", "--otu", "x"], ["--otu", "--out"]),
        (["sweep.toml", "more"], ["more"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_on_the_command_line(arguments: list[str], words: list[str], folder: Path) -> None:
    put_config(folder, config_values())
    put(folder, ROWS)
    put(folder, "name = \n", "broken.toml")
    put(folder, 'name = "é"'.encode("latin-1"), "latin.toml")
    text = refused(folder, *arguments)
    for word in words:
        assert word in text


def test_the_nearest_config_of_another_folder_is_proposed(folder: Path) -> None:
    (folder / "inner").mkdir()
    put_config(folder / "inner", config_values())
    assert "Did you mean 'inner/sweep.toml'?" in refused(folder, "inner/sweep.tml")
