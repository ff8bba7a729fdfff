"""Only one run at a time can use a directory, and a lock without a holder does not block others."""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernel_pipeline.errors import RefusedError
from kernel_pipeline.store.lock import holder, locked
from tests.faults.harness import assert_same, command, finished_names, rewrite_ledger, wait_until
from tests.helpers.sweeps import pipeline, start

pytestmark = pytest.mark.faults

TREE = Path(__file__).parents[2]
ROUNDS, PROCESSES = 20, 4
RACES = 2 * int(os.environ.get("FAULT_SEEDS", "3"))
AGAIN = ("fits/wave/regression/", "fits/columns/")
# Takes the lock at the same instants as others and prints the outcomes; a file detects two holders at a time.
CONTENDER = """
import os, sys, time
from pathlib import Path
from kernel_pipeline.errors import RefusedError
from kernel_pipeline.store.lock import locked

root, rounds, number, begin = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
for turn in range(rounds):
    if number == 0 and turn % 2:  # a dead process left its lock
        (root / "stale").write_text(sys.argv[5])
        try:
            os.link(root / "stale", root / "lock")
        except FileExistsError:
            pass
        (root / "stale").unlink()
    while time.time() < begin + turn * 0.1:
        pass
    came = time.time()
    try:
        with locked(root):
            inside = os.open(root / "inside", os.O_CREAT | os.O_EXCL)
            time.sleep(0.1)  # four of them take longer than a process waits for the lock
            os.close(inside)
            (root / "inside").unlink()
        print("held", came, time.time())
    except RefusedError:
        print("refused", came, time.time())
"""
# Resumes runs one after the other, each at the same instant as a rival process, and prints the outcomes.
RACER = """
import json, sys, time
from pathlib import Path
from click.testing import CliRunner
from kernel_pipeline.cli.main import main

folder, number, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
for turn in range(rounds):
    (folder / f"ready-{turn}-{number}").touch()
    both = [folder / f"ready-{turn}-{rival}" for rival in range(2)]
    while not all(path.exists() for path in both):
        time.sleep(0.001)
    instant = max(path.stat().st_mtime for path in both) + 0.1
    while time.time() < instant:
        pass
    found = CliRunner().invoke(main, ["resume", str(folder / f"run-{turn}"), "--workers", "1"])
    print(json.dumps([found.exit_code, found.output]))
"""


def python(code: str, *arguments: str | Path, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(TREE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lock_of(pid: int, host: str = socket.gethostname()) -> str:
    return json.dumps({"host": host, "pid": pid, "since": "2026-01-02 03:04:05+00:00"})


def dead_process() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def unfinished(undisturbed: Path, place: Path) -> Path:
    """Copy a finished run and remove its fits and tables from the ledger."""
    root = shutil.copytree(undisturbed, place)
    rewrite_ledger(root, lambda name: not name.startswith((*AGAIN, "tables")))
    return root


def test_lock_is_never_held_by_two_concurrent_processes(tmp_path: Path) -> None:
    begin, stale = time.time() + 4, lock_of(dead_process())
    contenders = [
        python(CONTENDER, tmp_path, *map(str, (ROUNDS, number, begin, stale)), cwd=tmp_path)
        for number in range(PROCESSES)
    ]
    said = [contender.communicate(timeout=60) for contender in contenders]
    assert all(not errors for _, errors in said), said
    turns = [line.split() for output, _ in said for line in output.splitlines()]
    spans = {word: [(float(came), float(gone)) for what, came, gone in turns if what == word] for word, *_ in turns}
    assert len(turns) == ROUNDS * PROCESSES
    assert spans.keys() == {"held", "refused"}
    for came, gone in spans["refused"]:
        assert any(begun <= gone and came <= ended for begun, ended in spans["held"]), "the lock was free"
    assert not (tmp_path / "lock").exists()


def test_one_of_two_concurrent_runs_is_executed_and_the_other_names_it(undisturbed: Path, tmp_path: Path) -> None:
    roots = [unfinished(undisturbed, tmp_path / f"run-{turn}") for turn in range(RACES)]
    for root in roots[::2]:
        (root / "lock").write_text(lock_of(dead_process()))
    racers = [python(RACER, tmp_path, str(number), str(RACES), cwd=tmp_path) for number in range(2)]
    ended = [racer.communicate(timeout=200) for racer in racers]
    turns = list(zip(*([json.loads(line) for line in output.splitlines()] for output, _ in ended), strict=True))
    assert len(turns) == RACES, ended
    for root, results in zip(roots, turns, strict=True):
        codes = [code for code, _ in results]
        assert sorted(codes) == [0, 4], results
        refusal, winner = results[codes.index(4)][1], racers[codes.index(0)].pid
        assert f"in use by process {winner} on {socket.gethostname()}, since 20" in refusal
        assert_same(root, undisturbed)


def test_lock_of_a_killed_run_is_taken_over_and_that_of_a_live_run_is_kept(undisturbed: Path, tmp_path: Path) -> None:
    root = unfinished(undisturbed, tmp_path / "run")
    process = start("resume", root, "--workers", "1", cwd=tmp_path)
    assert wait_until(lambda: any(name.startswith(AGAIN) for name in finished_names(root)), 60)
    refused = command("unlock", root)
    assert refused.exit_code == 4
    assert f"in use by process {process.pid} on {socket.gethostname()}, since 20" in refused.output
    assert f"kill {process.pid}" in refused.output
    assert f"The run is being executed by process {process.pid}" in command("status", root).output
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert (root / "lock").exists()
    assert "is being executed" not in command("status", root).output
    done = pipeline("resume", root, "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same(root, undisturbed)


def test_a_lock_of_another_host_is_respected_until_it_is_removed_by_hand(undisturbed: Path, tmp_path: Path) -> None:
    root = shutil.copytree(undisturbed, tmp_path / "run")
    (root / "lock").write_text(lock_of(4711, "elsewhere"))
    refused = pipeline("resume", root, cwd=tmp_path)
    assert refused.returncode == 4
    assert "in use by process 4711 on elsewhere, since 2026-01-02 03:04:05+00:00" in refused.stderr
    assert f"pipeline unlock {root}" in refused.stderr
    assert "The run is being executed by process 4711 on elsewhere" in command("status", root).output
    assert (root / "lock").read_text() == lock_of(4711, "elsewhere")
    removed = command("unlock", root)
    assert removed.exit_code == 0
    assert "the lock was held by process 4711 on elsewhere" in removed.output
    assert not (root / "lock").exists()
    with locked(root):
        assert holder(root)


@pytest.mark.parametrize(
    "content",
    [lock_of(os.getpid()), lock_of(1), "", "{", "[1]", '{"host": 1}'],
    ids=["this process", "the first process", "empty", "half", "a list", "other keys"],
)
def test_a_lock_that_names_a_live_process_which_does_not_hold_it_is_taken_over(tmp_path: Path, content: str) -> None:
    (tmp_path / "lock").write_text(content)
    assert holder(tmp_path) is None
    with locked(tmp_path):
        held = holder(tmp_path)
        assert held is not None
        assert (held.pid, held.host) == (os.getpid(), socket.gethostname())
    assert not (tmp_path / "lock").exists()


def test_reading_the_holder_neither_blocks_the_lock_nor_leaves_a_file(tmp_path: Path) -> None:
    code = "import sys, pathlib; from kernel_pipeline.store.lock import holder; print(flush=True)"
    reader = python(f"{code}\nwhile True: holder(pathlib.Path(sys.argv[1]))", tmp_path, cwd=tmp_path)
    try:
        assert reader.stdout
        reader.stdout.readline()
        for _ in range(2000):
            with locked(tmp_path):
                pass
    finally:
        reader.kill()
        reader.communicate()
    assert not (tmp_path / "lock").exists()


def test_lock_file_that_was_replaced_during_locking_is_not_acquired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock
    theirs: list[int] = []

    def flock_after_replacement(descriptor: int, how: int) -> None:
        if not theirs:  # the holder ends, and another one starts
            (tmp_path / "lock").unlink()
            theirs.append(os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT))
            flock(theirs[0], fcntl.LOCK_EX)
            os.write(theirs[0], lock_of(1).encode())
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock_after_replacement)
    with pytest.raises(RefusedError, match="in use by process 1"), locked(tmp_path):
        pass
    os.close(theirs[0])
