"""Mistakes in tables of users: one message that names the field and the fix, exit code 2, and nothing written."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kernel_pipeline.config.loading import read_config
from kernel_pipeline.data.prepared import prepare_dataset
from tests.helpers.build import ROWS, config_values, put, put_config
from tests.pipeline.cli.refusals import refused

HEADED = "u,v,label\n" + ROWS
TEXTS = "name,u,city,label\n" + "".join(f"p{i},{i},{['Rome', 'Bonn'][i % 2]},{'ab'[i % 2]}\n" for i in range(9))
# The column v has the folds 0, 1 and 2; the first contains all samples of one class.
SPLIT = "u,v,label\n" + "".join(f"{i},{i // 4},{'a' if i // 4 else 'b'}\n" for i in range(12))


GAPS: dict[str, Any] = {"missing": "mean", "encode": "onehot"}
SPARSE: dict[str, Any] = {"missing": "mean", "format": "libsvm", "kernels": [{"family": "rank-one"}]}
EMPTY = "u,v,label\n" + "".join(f"{i},,{'ab'[i % 2]}\n" for i in range(9))
# The column u has values in one of three folds only.
ODD = "u,v,label\n" + "".join(f"{'' if i // 2 % 3 else i},{i // 2 % 3},{'ab'[i % 2]}\n" for i in range(12))


REGRESSION: dict[str, Any] = {"task": "regression", "target": "y"}
ONEHOT: dict[str, Any] = {"encode": "onehot"}
CITIES = "u,city,label\n" + "".join(f"{i},{['Rome', 'Bonn', ''][i % 3]},{'ab'[i % 2]}\n" for i in range(9))
ABC = "u,label\n" + "".join(f"{i},{'abc'[i % 3]}\n" for i in range(9))
# The column u has one word among numbers.
MIXED = HEADED.replace("\n1,", "\n1 x,")
WAYS = ["Correct the file", "missing_values = ['1 x']", "categorical = ['u']"]


def ends_with(last: str) -> str:
    """Return a table whose target has a certain cell in its last row."""
    return "u,y\n" + "".join(f"{i},{i * i}\n" for i in range(9)) + f"1,{last}\n"


@dataclass
class Case:
    """A mistake in the keys of a dataset or in its file, and the words that its message must contain."""

    name: str
    words: list[str]
    dataset: dict[str, Any] = field(default_factory=dict)
    content: str | bytes = HEADED
    folds: int = 3


CASES = [
    Case(
        "text columns",
        ["column 'name'", "'p0' in data row 1", "column 'city'", "drop = ['name', 'city']", "encode = 'onehot'"],
        content=TEXTS,
    ),
    Case("duplicate names", ["the name 'u' 2 times", "distinct", "Rename"], content=HEADED.replace("v", "u")),
    Case("long separator", ["separator", "at most 1 character", "'::'"], {"separator": "::"}),
    Case("blank as separator", ["separator", "format = 'table'"], {"separator": " "}),
    Case("separator of a table", ["separator = ';'", "only format = 'csv'"], {"separator": ";", "format": "table"}),
    Case("separator that is not there", ["no feature column", "'u,v,label'", "Set separator"], {"separator": ";"}),
    Case("encoding of parquet", ["encoding", "'csv' or 'table'"], {"encoding": "utf-8", "format": "parquet"}),
    Case("unknown encoding", ["encoding", "'utf9'", "'latin-1'"], {"encoding": "utf9"}),
    Case("other encoding", ["not 'utf-8'", "encoding = 'latin-1'"], content=HEADED.replace("u", "ü").encode("latin-1")),
    Case("unknown decimal", ["decimal", "'.' or ','"], {"decimal": "'"}),
    Case("decimal is separator", ["decimal = ','", "separator = ';'"], {"decimal": ","}),
    Case(
        "decimal comma",
        ["'0,5' in data row 1", "decimal = ','"],
        content=HEADED.replace(",", ";").replace("0;", "0,5;", 1),
    ),
    Case("unknown index", ["index = 'id'", "not a column", "'u', 'v', 'label'"], {"index": "id"}),
    Case("index is target", ["index = 'label'", "target column"], {"index": "label"}),
    Case("index out of range", ["index = 9", "-3 to 2"], {"index": 9}),
    Case("no parquet file", ["cannot read", "'parquet'", "magic bytes"], {"format": "parquet"}),
    Case("no feather file", ["cannot read", "'feather'"], {"format": "feather"}),
    Case("parquet as csv", ["'csv'", "parquet file; set format = 'parquet'"], content=b"PAR1\x15\x04\xff"),
    Case("parquet as table", ["set format = 'parquet'"], {"format": "table"}, b"PAR1\x15\x04\xff"),
    Case("feather as csv", ["set format = 'feather'"], {"separator": ","}, b"ARROW1\0\0\xff"),
    Case("workbook as csv", ["Excel workbook (xlsx)", "save it as csv"], content=b"PK\x03\x04\x14\xff"),
    Case("old workbook as csv", ["Excel workbook (xls)", "save it as csv"], content=b"\xd0\xcf\x11\xe0\xff"),
    Case(
        "header read as a sample",
        ["1 sample of class 'u'", "first line of things.csv is read as a sample: set header = true"],
        ONEHOT | {"positive": ["u"]},
        "col,u\n" + "r,a\nb,b\nr,b\n" * 5,
    ),
    Case("header only", ["0 rows are too few for 3 folds", "Add rows"], {"header": True}, "u,v,label\n"),
    Case("sample weights", ["weights", "not supported", "drop ="], {"weights": "w"}),
    Case("misspelled file", ["thing.csv", "was searched", "did you mean 'things.csv'?"], {"path": "thing.csv"}),
    Case("other case", ["did you mean 'things.csv'?"], {"path": "THINGS.CSV"}),
    Case(
        "missing folder",
        ["deep/things.csv", "/deep does not exist", "was searched", "sweep.toml, things.csv"],
        {"path": "deep/things.csv"},
    ),
    Case(
        "folder for a file", ["is a folder, but a file is required", "things.csv", "Set path to a file"], {"path": "."}
    ),
    Case("unknown groups", ["groups = 'patient'", "not a column"], {"groups": "patient"}),
    Case("groups is target", ["groups = 'label'", "target column"], {"groups": "label"}),
    Case("few groups", ["groups = 'v'", "5 distinct values", "[protocol] folds = 5"], {"groups": "v"}, folds=6),
    Case("groups and folds", ["folds = 'u'", "remove groups = 'v'"], {"groups": "v", "folds": "u"}),
    Case(
        "groups of a class",
        ["training set of trial 0", "1 of 2 classes", "column for the key folds, or another number"],
        {"folds": "v"},
        SPLIT,
    ),
    Case("other number of folds", ["folds = 'v'", "5 distinct values (0, 1, 2, 3, 4)", "folds = 5"], {"folds": "v"}),
    Case("missing group", ["'u'", "groups", "row 10", "missing = 'drop'"], {"groups": "u"}, HEADED + ",1,a\n"),
    Case("unknown test mark", ["test = 'v'", "'2', '4', '3'", "true, 1, yes or test"], {"test": "v"}),
    Case(
        "empty test set",
        ["test set", "no usable row", "mark rows that have a label"],
        {"test": "z"},
        "z," + HEADED.replace("\n", "\n0,")[:-2],
    ),
    Case(
        "all rows in the test set",
        ["the test set (key test or test_path) has 9 rows, and the other 0 rows are", "choose a smaller test set"],
        {"test": "z"},
        "z," + HEADED.replace("\n", "\n1,")[:-2],
    ),
    Case(
        "two rows outside of the test set",
        ["has 7 rows, and the other 2 rows are too few for 3 folds", "Add rows with a label that are not in the test"],
        {"test": "z"},
        "z,u,label\n" + "".join(f"{int(i > 1)},{i},{'ab'[i % 2]}\n" for i in range(9)),
    ),
    Case(
        "too many rows outside of the test set",
        ["rows = 8", "only 6 usable rows outside of the test set (key test or test_path)"],
        {"test": "z", "rows": 8},
        "z,u,label\n" + "".join(f"{int(i > 5)},{i},{'ab'[i % 2]}\n" for i in range(9)),
    ),
    Case(
        "one class outside of the test set",
        ["samples outside of the test set (key test or test_path)", "1 of 2 classes", "Choose another test set"],
        {"test": "z"},
        "z,u,label\n" + "".join(f"{int(i > 5)},{i},{'ab'[i > 5]}\n" for i in range(12)),
    ),
    Case(
        "one sample of a class outside of the test set",
        ["1 of 2 classes. Choose another test set (key test or test_path), so that at least 3 samples of every class"],
        {"test": "z"},
        "z,u,label\n" + "".join(f"{int(i > 6)},{i},{'ab'[i > 5]}\n" for i in range(12)),
    ),
    Case("two test sets", ["test = 'v'", "test_path = 'b.csv'", "remove one"], {"test": "v", "test_path": "b.csv"}),
    Case(
        "missing test file",
        ["test_path: there is no file", "tings.csv", "did you mean 'things.csv'?", "change test_path"],
        {"test_path": "tings.csv"},
    ),
    Case("folder for a test file", ["test_path: ", "is a folder", "Set test_path to a file"], {"test_path": "."}),
    Case("missing value", ["column 'v'", "row 10", "found 'N/A'", "missing = 'drop'"], content=HEADED + "1,N/A,a\n"),
    Case("way to fill gaps", ["missing = 'mean', 'median' or 'most-frequent'"], content=HEADED + "1,,a\n"),
    Case("unknown way to fill gaps", ["missing", "'mean', 'median' or 'most-frequent'"], {"missing": "mode"}),
    Case(
        "infinite label", ["column 'y'", "inf", "only empty cells"], REGRESSION | {"missing": "mean"}, ends_with("inf")
    ),
    Case("gap in a label", ["target column 'y' is empty in data row 10", "1 of 10 rows"], REGRESSION, ends_with("")),
    Case("gap in text", ["'city' is empty in data row 3", "3 of 9 rows"], {"encode": "onehot"}, CITIES),
    Case(
        "word in a target", ["column 'y' contains 'n.d.' in data row 10", "= ['n.d.']"], REGRESSION, ends_with("n.d.")
    ),
    Case(
        "text in a target",
        ["'label' contains 'a' in data row 1", "task = 'classification'"],
        {"task": "regression"},
        ABC,
    ),
    Case("word in a number", ["column 'u'", "numbers, except for '1 x' in data row 2", *WAYS], {}, MIXED),
    Case("word in a number, encoded", ["except for '1 x' in data row 2", *WAYS], {"encode": "onehot"}, MIXED),
    Case("word in a number, with codes", ["except for '1 x' in data row 2", *WAYS], {"encode": {"b": 1}}, MIXED),
    Case(
        "decimal comma, encoded",
        ["'0,5' in data row 1", "set decimal = ','", "categorical = ['u']"],
        {"encode": "onehot"},
        HEADED.replace(",", ";").replace("0;", "0,5;", 1),
    ),
    Case(
        "word beside decimal commas",
        ["column 'u' consists of numbers, except for 'n.d.' in data row 2"],
        {"encode": "onehot", "decimal": ","},
        "u;label\n" + "".join(f"{'n.d.' if i == 1 else f'{i},5'};{'ab'[i % 2]}\n" for i in range(9)),
    ),
    Case(
        "what the config has already",
        ["missing_values = ['n.d.', '1 x']", "categorical = ['v', 'u']"],
        {"encode": "onehot", "missing_values": ["n.d."], "categorical": ["v"]},
        MIXED,
    ),
    Case("columns to drop too", ["Add these columns to drop (drop = ['u', 'name', 'city'])"], {"drop": ["u"]}, TEXTS),
    Case("unknown categories", ["categorical = 'w' is not a column"], ONEHOT | {"categorical": ["w"]}),
    Case("target of categories", ["categorical = ['label']", "not a feature"], ONEHOT | {"categorical": ["label"]}),
    Case("no words for gaps", ["missing_values", "at least 1 item"], {"missing_values": []}),
    Case("target with a typing error", ["target = 'Label' is", "Did you mean 'label'?"], {"target": "Label"}),
    Case("target without accents", ["Did you mean 'État'?"], {"target": "Etat"}, HEADED.replace("label", "État")),
    Case(
        "beginning of a name", ["Did you mean 'day of birth'?"], {"drop": ["day"]}, HEADED.replace("v", "day of birth")
    ),
    Case("name without a header", ["names only if the first line"], {"target": "y", "header": False}, ROWS),
    Case("first line of numbers", ["first line", "give columns by number"], {"target": "y"}, ROWS),
    Case("column without values", ["column 'v'", "no value in any row"], GAPS, EMPTY),
    Case("gaps of sparse columns", ["missing = 'mean'", "remove this key"], SPARSE, "a 1:2\n"),
    Case("unknown samples to fit on", ["fit_on", "'all' or 'train'", "'test'"], {"fit_on": "test"}),
    Case(
        "chi-squared, scaled per trial",
        ["column 'u' contains -", "below the minimum of the training set", "scale = 'minmax' with fit_on = 'all'"],
        {"scale": "minmax", "fit_on": "train", "kernels": [{"family": "chi-squared"}]},
    ),
    Case("no value in a training set", ["'u'", "training set of trial"], GAPS | {"folds": "v", "fit_on": "train"}, ODD),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_mistake_with_a_table(case: Case, folder: Path) -> None:
    put_config(folder, config_values(**case.dataset) | {"protocol": {"folds": case.folds}})
    put(folder, case.content)
    text = refused(folder, "sweep.toml")
    for word in case.words:
        assert word in text


def test_hidden_files_are_not_listed(folder: Path) -> None:
    put_config(folder, config_values(path="absent/data.csv"))
    put(folder, HEADED)
    put(folder, "", ".hidden")
    assert "it contains sweep.toml, things.csv." in refused(folder, "sweep.toml")
    (folder / "empty").mkdir()
    put(folder, "", "empty/.hidden")
    put_config(folder, config_values(path="empty/data.csv"))
    assert "it contains no visible files." in refused(folder, "sweep.toml")


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        ({"groups": "label"}, ["groups = 'label' has 2", "choose another column with at least"]),
        ({"folds": "label"}, ["folds = 'label' has 2", "choose another column with"]),
    ],
)
def test_two_folds_are_not_offered(dataset: dict[str, Any], words: list[str], folder: Path) -> None:
    put_config(folder, config_values(target="v", task="regression", **dataset))
    put(folder, HEADED)
    text = refused(folder, "sweep.toml")
    assert all(word in text for word in words)
    assert "[protocol]" not in text


def test_a_tilde_is_the_home_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder / "home"))
    put_config(folder, config_values(path="~/things.csv"))
    assert f"there is no file {folder / 'home' / 'things.csv'}" in refused(folder, "sweep.toml")


YAML = "name: small\nmethods:\n  - unif\ndataset:\n  - name: things\n"
JSON = '{"name": "small", "methods": ["unif"]}'


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("sweep.yaml", YAML, ["sweep.yaml is not valid TOML: it looks like YAML", 'name = "my-sweep"']),
        ("sweep.toml", YAML, ["it looks like YAML", "pipeline config show default"]),
        ("sweep.json", JSON, ["sweep.json is not valid TOML: it is JSON", 'name = "my-sweep"']),
        (
            "things.csv",
            HEADED,
            ["things.csv is not a config: this looks like data", "things.toml", 'path = "things.csv"'],
        ),
        ("things.txt", HEADED, ["this looks like data", 'path = "things.txt"', 'format = "csv"']),
        ("my things.parquet", b"PAR1\xff", ["this looks like data", 'name = "my-things"', 'format = "parquet"']),
        ("things.arff.gz", HEADED, ["this looks like data", 'format = "arff"']),
        ("things.xlsx", b"PK\x03\x04\xff", ["in a format that is not supported (.xlsx)", "csv or parquet"]),
        ("broken.toml", "name = \n", ["broken.toml is not valid TOML", "line 1"]),
        (
            "unquoted.toml",
            "# a\nname = a b # c\n",
            ['(at line 2, column 8): text must be in quotes; write name = "a b"'],
        ),
        ("list.toml", "name = [a]\n", ["(at line 1, column 9)\n"]),
        ("folder/inner.toml", "", ["'folder' is a folder", "TOML file"]),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value[:20] else "",
)
def test_a_file_that_is_not_a_config(name: str, content: str | bytes, words: list[str], folder: Path) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    put(folder, content, name)
    text = refused(folder, name.partition("/")[0])
    for word in words:
        assert word in text


def test_the_config_that_is_proposed_for_data_is_valid(folder: Path) -> None:
    put(folder, HEADED)
    put(folder, refused(folder, "things.csv").partition(":\n\n")[2], "things.toml")
    config, where = read_config("things.toml")
    assert prepare_dataset(config, config.dataset[0], where).features.shape == (9, 2)
