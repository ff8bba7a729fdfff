"""What a user may get wrong, through the command line: one message, its exit code, and nothing written."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kernel_pipeline.cli.main import main
from kernel_pipeline.errors import PipelineError, RefusedError
from tests.helpers.build import GAUSSIAN, ROWS, changed, config_values, listing, parsed, put, put_config
from tests.helpers.sweeps import plan_in

OCCUPIED = RefusedError.exit_code
GAMMA = ("dataset", 0, "kernels", 0, "log2_gamma")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run in, where no cluster may start."""

    def no_cluster(*arguments: Any) -> None:
        raise AssertionError("a cluster is started")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kernel_pipeline.run.options.open_cluster", no_cluster)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["run", *arguments])


def refused(folder: Path, *arguments: str, code: int = PipelineError.exit_code) -> str:
    """Run, and return the message of a run that must be refused."""
    before = listing(folder)
    result = run(*arguments)
    assert listing(folder) == before
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.output
    assert len([line for line in result.stderr.splitlines() if line.startswith("Error:")]) == 1
    return result.stderr


@dataclass
class Case:
    """A mistake in the config or in the file, and the words that its message must have."""

    name: str
    words: list[str]
    values: dict[str, Any] = field(default_factory=config_values)
    content: str | None = ROWS


def with_value(place: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    return changed(config_values(), place, value)


def words(features: str, **family: Any) -> list[dict[str, Any]]:
    return [{"family": "rank-one", "features": features, **family}]


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
        ["dataset[0] (things).format", "'cvs'", "'csv', 'table', 'libsvm', 'arff' or 'npz'"],
        config_values(format="cvs"),
    ),
    Case("unknown source", ["source", "'web'", "'file', 'openml', 'sklearn'"], config_values(source="web")),
    Case("unknown method", ["methods[0]", "'svm'", "'unif', 'align', 'alignf'"], with_value(("methods",), ["svm"])),
    Case("target out of range", ["target = 7", "3 columns", "-3 to 2"], config_values(target=7)),
    Case("unknown target", ["target = 'label'", "not a column", "there are"], config_values(target="label")),
    Case("no feature left", ["there is no feature column"], config_values(drop=[0, 1])),
    Case("wrong format", ["cannot read", "things.csv", "'npz'"], config_values(format="npz")),
    Case("empty file", ["cannot read", "things.csv", "'csv'"], content=""),
    Case("ragged file", ["cannot read", "line 10", "saw 4"], content=ROWS + "1,2,3,4\n"),
    Case("NaN in features", ["row 10", "nan", "1 of 10 rows", "missing = 'drop'"], content=ROWS + "nan,1,a\n"),
    Case("infinity in features", ["row 10", "inf", "missing = 'drop'"], content=ROWS + "inf,1,a\n"),
    Case("huge number in features", ["row 10", "1e+200", "missing = 'drop'"], content=ROWS + "1e200,1,a\n"),
    Case("gap", ["row 10", "1 of 10 rows", "missing = 'drop'"], content=ROWS + "?,1,a\n"),
    Case(
        "text in features",
        ["column 0", "'hello' in row 10", "drop = [0]", "encode = 'onehot'"],
        content=ROWS + "hello,1,a\n",
    ),
    Case("one class", ["'things'", "one class"], content=ROWS.replace("b", "a")),
    Case(
        "three classes",
        ["3 classes (a, b, c)", "not supported yet", "positive = ['a']"],
        content=ROWS + "1,1,c\n" * 3,
    ),
    Case("class of two", ["2 sample(s) of one class", "at least 3"], content=ROWS.replace("b", "a", 2)),
    Case("unknown positive", ["positive = ['q']", "the labels: a, b"], config_values(positive=["q"])),
    Case(
        "constant target",
        ["target is constant (5)", "nothing to learn"],
        config_values(task="regression"),
        "".join(f"{i},5\n" for i in range(9)),
    ),
    Case("constant features", ["every feature column is constant"], content="1,a\n1,b\n" * 5),
    Case("fewer rows than folds", ["9 rows", "12 folds"], with_value(("protocol", "folds"), 12)),
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
        ["methods", "'l2-krr' is for regression", "every dataset learns classification"],
        with_value(("methods",), ["unif", "l2-krr"]),
    ),
    Case(
        "method of no dataset",
        ["methods: 'each-kernel' fits no dataset of this sweep", "a rank-one kernel alone is a single feature"],
        config_values(kernels=words("columns")) | {"methods": ["unif", "each-kernel"]},
    ),
    Case(
        "method for fewer kernels",
        ["methods: 'alignf-linear' fits no dataset", "a matrix of 5,001 x 5,001", "5,000 kernels at most"],
        config_values(kernels=words("columns"), format="libsvm") | {"methods": ["unif", "alignf-linear"]},
        "".join(f"{i % 2} {' '.join(f'{c}:{i + 1}' for c in range(1, 5002))}\n" for i in range(9)),
    ),
    Case(
        "rank-one beside gaussian",
        ["dataset[0] (things).kernels", "a rank-one family stands alone"],
        config_values(kernels=[GAUSSIAN, {"family": "rank-one"}]),
    ),
    Case("words of a table", ["'bigrams'", "it has: columns"], config_values(kernels=words("bigrams"))),
    Case("columns of documents", ["'columns'", "it has: unigrams, bigrams"], text_values("columns")),
    Case("missing documents", ["no file", "things.csv", "--data-dir"], text_values(), content=None),
    Case("too few words", ["top = 50", "only 2 unigrams"], text_values(top=50), content="a one two\nb two two\n" * 4),
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


# The run directory


@pytest.fixture
def begun(folder: Path) -> Path:
    """A directory in which the sweep of sweep.toml was begun."""
    put(folder, ROWS)
    put_config(folder, config_values())
    plan_in(folder / "begun", parsed(config_values()), folder)
    return folder / "begun"


def test_a_directory_of_another_sweep(begun: Path, folder: Path) -> None:
    text = refused(
        folder, "sweep.toml", "--out", "begun", "--set", "protocol.folds=4", "--set", "seed=2", code=OCCUPIED
    )
    assert text.startswith("Error: begun contains another sweep")
    for word in ("protocol.folds: 3 -> 4", "seed: 0 -> 2", "--out", "--accept-changes"):
        assert word in text


def test_a_directory_of_a_sweep_with_another_dataset(begun: Path, folder: Path) -> None:
    text = refused(folder, "sweep.toml", "--out", "begun", "--set", "dataset.things.rows=8", code=OCCUPIED)
    assert "dataset[0].rows: not set -> 8" in text


def test_a_directory_that_is_no_run(folder: Path) -> None:
    put(folder, ROWS)
    put_config(folder, config_values())
    (folder / "mine").mkdir()
    put(folder / "mine", "dear diary", "notes.txt")
    text = refused(folder, "sweep.toml", "--out", "mine", code=OCCUPIED)
    for word in ("mine is not empty", "not a run directory", "--out"):
        assert word in text


def test_a_directory_that_is_a_file(folder: Path) -> None:
    put(folder, ROWS)
    put_config(folder, config_values())
    text = refused(folder, "sweep.toml", "--out", "things.csv", code=OCCUPIED)
    for word in ("things.csv is a file", "--out"):
        assert word in text


def test_a_directory_below_a_file(folder: Path) -> None:
    put(folder, ROWS)
    put_config(folder, config_values())
    text = refused(folder, "sweep.toml", "--out", "things.csv/inner/run", code=OCCUPIED)
    for word in ("things.csv", "cannot be used: Not a directory", "--out"):
        assert word in text


@pytest.mark.parametrize("out", ["new/run", "begun"])
def test_a_directory_that_may_not_be_written(
    out: str, begun: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*arguments: Any, **options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    # A test may run as root, whom no mode of a folder stops.
    monkeypatch.setattr(tempfile, "TemporaryFile", denied)
    text = refused(folder, "sweep.toml", "--out", out, code=OCCUPIED)
    for word in ("cannot be written to", "Permission denied", "--out"):
        assert word in text


def test_data_that_changed_under_a_run(begun: Path, folder: Path) -> None:
    put(folder, ROWS.replace("8,1,a", "8,2,a"))
    text = refused(folder, "sweep.toml", "--out", "begun", code=OCCUPIED)
    for word in ("'things'", "changed", "begun", "--out", "--accept-changes"):
        assert word in text


def test_a_damaged_ledger_in_the_directory(begun: Path, folder: Path) -> None:
    put(begun, "no json\n", "ledger.jsonl")
    text = refused(folder, "sweep.toml", "--out", "begun", code=OCCUPIED)
    for word in ("ledger.jsonl", "line 1", "pipeline verify begun --repair"):
        assert word in text


def test_the_same_sweep_in_its_own_directory_is_not_refused(begun: Path) -> None:
    """Otherwise the tests above would show nothing."""
    result = run("sweep.toml", "--out", "begun")
    assert isinstance(result.exception, AssertionError)
    assert str(result.exception) == "a cluster is started"


# Size


def test_a_sweep_too_large_for_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, ROWS)
    put_config(folder, config_values())
    monkeypatch.setattr("kernel_pipeline.run.options.worker_limits", lambda profile: (7, 3 << 20))
    text = refused(folder, "sweep.toml")
    for word in ("Error: dataset 'things'", "stage", "MiB", "7 worker(s)", "3 MiB", "--workers 1"):
        assert word in text
    assert "fewer rows (9 now)" in text or "a smaller [storage] tile" in text


@pytest.mark.parametrize(
    ("rows", "tile", "stage", "advice"),
    [(1000, 10, "fits", "fewer rows (1000 now)"), (1000, 1000, "tiles", "a smaller [storage] tile")],
)
def test_what_to_change_depends_on_the_stage_that_is_too_large(
    rows: int, tile: int, stage: str, advice: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = changed(config_values(task="regression"), GAMMA, [-9, 9] if stage == "tiles" else [0, 1])
    put(folder, "".join(f"{i},{i * i % 97}\n" for i in range(rows)))
    put_config(folder, values | {"storage": {"tile": tile}})
    monkeypatch.setattr("kernel_pipeline.run.options.worker_limits", lambda profile: (1, 1 << 20))
    text = refused(folder, "sweep.toml")
    assert f"stage {stage!r}" in text
    assert advice in text


def test_a_sweep_too_large_for_the_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, ROWS)
    put_config(folder, config_values())
    monkeypatch.setattr("kernel_pipeline.store.local_storage.LocalRoot.free_bytes", lambda root: 900)
    text = refused(folder, "sweep.toml", "--out", "there")
    # One tile of 9 x 9, for two kernels and for one method in three trials; the sums; two features, a label, the order
    # and the folds; the statistics, weights and certificate of each trial. Each of the 54 chunks has a checksum.
    floats = 9 * 9 * (2 + 3) + (3 * 3 * 2 * (2 + 1) + (3 + 1) * 2 * 9) + 9 * 5 + 3 * (2 * 4 + 9 * 2 + 2 + 2 + 1)
    assert 8 * floats + 4 * 54 == 5568
    for word in ("5.44 KiB", "there has 900 B free", "--out"):
        assert word in text


@pytest.mark.parametrize(
    ("name", "content"),
    [("config.toml", b"\xff"), ("config.toml", b"name = "), ("environment.json", b"{"), ("environment.json", b"{}")],
)
def test_a_damaged_file_that_the_ledger_cannot_restore(name: str, content: bytes, begun: Path, folder: Path) -> None:
    (begun / "ledger.jsonl").unlink()
    put(begun, content, name)
    assert f"{name} is damaged" in refused(folder, "sweep.toml", "--out", "begun", code=OCCUPIED)
