"""Commands refuse or ignore forged parts of run directories, change nothing outside them, and run no code."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.forge import ESCAPE
from tests.faults.forgeries import COMMANDS, CONFIG, IN_PROCESS, KEYS, NAMES, READING, RESULTS, arguments, prepare
from tests.faults.harness import command, no_workers, write_config

pytestmark = pytest.mark.faults

TIMEOUT_S = 20


class HangError(BaseException):
    """A command that exceeds the time limit."""


@contextmanager
def no_hang() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(TIMEOUT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def everything(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return mode, modification time and content of everything below a folder, without following links."""
    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        content = str(path.readlink()).encode() if path.is_symlink() else b""
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
        found[str(path.relative_to(folder))] = (about.st_mode, about.st_mtime_ns, content)
    return found


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with its config beside it. Tests copy it and must not change it."""
    folder = tmp_path_factory.mktemp("base")
    config = write_config(folder, CONFIG)
    with no_workers():
        done = command("run", config, "--out", folder / "run")
    assert done.exit_code == 0, done.output
    return folder / "run"


@pytest.mark.parametrize("forgery", IN_PROCESS)
def test_a_forged_directory_harms_nothing(
    base: Path, tmp_path: Path, forgery: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numcodecs.pickles.ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    failures = []
    for name in COMMANDS:
        root, outside = prepare(base, tmp_path / name, IN_PROCESS[forgery])
        before, inside = everything(outside), everything(root)
        try:
            with no_hang(), no_workers():
                done = command(*arguments(name, root, base.parent / "tiny.toml"))
        except HangError:
            failures.append(f"{name} hangs")
            continue
        said = f"{name} prints {done.output[-300:]!r}"
        if done.exception and not isinstance(done.exception, SystemExit):
            failures.append(f"{said} and ends in {done.exception!r}")
        elif done.exit_code not in (0, 3, 4):
            failures.append(f"{said} and exits with {done.exit_code}")
        if everything(outside) != before:
            failures.append(f"{name} changes files outside the directory")
        if name in READING and everything(root) != inside:
            failures.append(f"{name} changes the directory")
        if (tmp_path / name / "canary").exists():
            failures.append(f"{name} runs code")
        if "\x1b" in done.output or ESCAPE in done.output:
            failures.append(f"{name} shows control characters")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("name", ["resume", "repair"])
@pytest.mark.parametrize("forgery", RESULTS)
def test_a_forged_result_is_computed_again(base: Path, tmp_path: Path, forgery: str, name: str) -> None:
    root, _ = prepare(base, tmp_path, RESULTS[forgery])
    with no_workers():
        done = command(*arguments(name, root, base.parent / "tiny.toml"))
    assert done.exit_code == 0, done.output
    for path in (base / "results").iterdir():
        if path.name != "timings.csv":
            assert (root / "results" / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.parametrize("forgery", KEYS | NAMES)
def test_ledger_with_names_that_no_run_uses_is_refused(base: Path, tmp_path: Path, forgery: str) -> None:
    root, _ = prepare(base, tmp_path, IN_PROCESS[forgery])
    for name in ("status", "verify", "resume", "clean"):
        done = command(*arguments(name, root, base.parent / "tiny.toml"))
        assert done.exit_code == 4, done.output
    assert not (root / "logs/submitted.sh").exists()
    assert not (root / "results/forged.csv").exists()
