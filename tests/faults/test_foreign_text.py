"""Untrusted file names, headers and profiles are not interpreted as commands, scripts or formulas."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kernel_pipeline.cli.options import console
from kernel_pipeline.cluster.errors import ProfileError
from kernel_pipeline.config.loading import read_config
from kernel_pipeline.config.profiles import find_profile, parse_profile
from kernel_pipeline.text import printable, spreadsheet_safe
from tests.faults.harness import command, no_workers, write_config
from tests.helpers.build import config_values, put

pytestmark = pytest.mark.faults

SLURM: dict[str, Any] = {"backend": "slurm", "memory": "1 GiB", "walltime": "1:00:00"}
ESCAPE = "\x1b[31mred\x1b]0;title\x07"


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


# files with the name of a shipped config


def test_shipped_default_is_used_without_a_name_whatever_files_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "name = 'mine'", "default")
    shown = command("config", "show")
    assert shown.exit_code == 0, shown.output
    assert read_config(None)[0].name == "default"
    assert shown.stderr == ""


def test_file_named_like_a_shipped_config_is_read_with_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_config(tmp_path, config_values() | {"name": "mine"}).rename(tmp_path / "default")
    said = "note: using the file 'default' in this folder, not the shipped config of the same name\n"
    for arguments in (("config", "show", "default"), ("plan", "default"), ("run", "default")):
        assert said in command(*arguments).stderr, arguments
    explicit = command("config", "show", "./default")
    assert 'name = "mine"' in explicit.output
    assert explicit.stderr == ""


# profiles


@pytest.mark.parametrize(
    "changes",
    [
        {"account": "me\nrm -rf /"},
        {"queue": "short\r"},
        {"directives": ["--constraint=a\ntouch /tmp/x"]},
        {"python": "/usr/bin/python\n"},
        {"interface": "ib0\x00"},
        {"scratch": "/tmp\x1b[2J"},
        {"driver": {"directives": ["--x\ny"]}},
        {"driver": {"memory": "4 GiB\n"}},
        {"walltime": "1:00:00\n"},
        {"description": "\x1b[2J"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_control_characters_in_a_profile_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ProfileError, match="must not contain control characters") as caught:
        parse_profile(SLURM | changes, "the test")
    assert str(caught.value).isprintable() or "\n" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_setup_may_contain_shell_code_of_several_lines(tmp_path: Path) -> None:
    profile = parse_profile(SLURM | {"setup": ["if true; then\n\tmodule load python\nfi"]}, "the test")
    assert len(profile.setup) == 1
    (tmp_path / "gateway.toml").write_text('backend = "gateway"\naddress = "https://x"\noptions = {a = "b\\nc"}\n')
    with pytest.raises(ProfileError, match="options: must not contain control characters"):
        find_profile(str(tmp_path / "gateway.toml"))


# terminals


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[1m", "\\x1b[1m"),
        ("x\x9by", "x\\x9by"),
        ("\r\x07\x7f", "\\r\\x07\\x7f"),
        ("±é", "±é"),
    ],
)
def test_control_characters_are_shown_as_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_control_characters_of_a_file_do_not_reach_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},7,{(i * 5) % 11}\n" for i in range(12))
    put(tmp_path, f"a,{ESCAPE},y\n{rows}", "data.csv")
    rank_one = [{"family": "rank-one"}]
    values = config_values(task="regression", path="data.csv", target="y", kernels=rank_one) | {"name": "escapes"}
    with no_workers():
        done = command("run", write_config(tmp_path, values), "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    assert "\x1b" not in done.output
    names = {row["kernel"] for row in table(tmp_path / "run/results/kernels.csv")}
    assert names == {"a", printable(ESCAPE)}
    # Error messages repeat the given value.
    for wrong in ({"positive": [ESCAPE]}, {"target": ESCAPE + "?"}, {"path": ESCAPE}):
        values["dataset"][0] = config_values(**({"path": "data.csv", "target": "y"} | wrong))["dataset"][0]
        refused = command("run", write_config(tmp_path, values), "--out", tmp_path / "other")
        assert refused.exit_code == 2
        assert "\x1b" not in refused.output


def test_control_characters_are_escaped_on_the_console(capsys: pytest.CaptureFixture[str]) -> None:
    console().print(f"note: {ESCAPE}", markup=False, highlight=False)
    assert capsys.readouterr().out == f"note: {printable(ESCAPE)}\n"


def test_control_characters_in_names_of_runs_are_escaped(tmp_path: Path) -> None:
    (tmp_path / ESCAPE).mkdir()
    (tmp_path / ESCAPE / "config.toml").write_text("?")
    assert "\x1b" not in command("runs", tmp_path).output


# spreadsheets


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("@x", "'@x"),
        ("+a", "'+a"),
        ("-a", "'-a"),
        ("\t=1", "'\t=1"),
        ("-1.5e3", "-1.5e3"),
        ("+2", "+2"),
        ("-inf", "'-inf"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_text_that_a_spreadsheet_would_evaluate_is_quoted(text: str, written: str) -> None:
    assert spreadsheet_safe(text) == written


def test_formulas_in_headers_are_text_in_the_tables(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i * i % 7},{(i * 5) % 11}\n" for i in range(12))
    put(tmp_path, f"\"=cmd|' /C calc'!A0\",-5,y\n{rows}", "data.csv")
    rank_one = [{"family": "rank-one"}]
    values = config_values(task="regression", path="data.csv", target="y", kernels=rank_one) | {"name": "formulas"}
    with no_workers():
        done = command("run", write_config(tmp_path, values), "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    kernels = {row["kernel"] for row in table(tmp_path / "run/results/kernels.csv")}
    assert kernels == {"'=cmd|' /C calc'!A0", "-5"}
    described = json.loads((tmp_path / "run/statistics.zarr/things/regression/trace/zarr.json").read_text())
    assert described["attributes"]["kernels"][0] == "=cmd|' /C calc'!A0", "arrays keep the original names"
    for path in (tmp_path / "run/results").glob("*.csv"):
        assert not any(cell.startswith(("=", "@")) for row in table(path) for cell in row.values()), path
    assert "status" in pq.read_schema(tmp_path / "run/results/rows.parquet").names
