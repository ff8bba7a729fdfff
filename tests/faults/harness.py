"""What the fault tests share: a small sweep with every kind of task, and what must hold of a run afterwards."""

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import tomli_w

from tests.run.sweeps import pipeline

TINY: dict[str, Any] = {
    "name": "tiny",
    "methods": ["unif", "alignf", "l2-krr", "each-kernel"],
    "protocol": {"folds": 3},
    "fit": {"krr": {"from": -12, "to": 0, "step": 6}, "l2-krr": {"from": 0, "to": 4, "step": 2}},
    "storage": {"tile": 40},
    "dataset": [
        {
            "name": "wave",
            "source": "synthetic",
            "task": "regression",
            "rows": 90,
            "kernels": [{"family": "gaussian", "log2_gamma": [-4, -1]}],
        },
        {
            "name": "columns",
            "source": "synthetic",
            "task": "regression",
            "rows": 60,
            "kernels": [{"family": "rank-one"}],
        },
    ],
}


def write_config(folder: Path, values: dict[str, Any] = TINY) -> Path:
    path = folder / "tiny.toml"
    path.write_text(tomli_w.dumps(values))
    return path


def tables(root: Path) -> dict[str, bytes]:
    """Every result table but the one of seconds, which may differ from run to run."""
    return {path.name: path.read_bytes() for path in (root / "results").iterdir() if path.name != "timings.csv"}


def lines(root: Path) -> Counter[str]:
    """How often the ledger has each name."""
    content = (root / "ledger.jsonl").read_bytes().split(b"\n")[:-1]
    return Counter(json.loads(line)["name"] for line in content)


def done_by(root: Path) -> set[str]:
    """The names of what is finished."""
    return set(lines(root)) if (root / "ledger.jsonl").exists() else set()


def assert_same_and_tidy(root: Path, reference: Path) -> None:
    """The tables of an undisturbed run to the byte, and nothing left over."""
    assert tables(root) == tables(reference)
    assert not list(root.rglob("*.partial"))
    assert not (root / "lock").exists()
    assert strays(root) == []
    verified = pipeline("verify", root, cwd=root.parent)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def strays(root: Path) -> list[str]:
    """Processes that still work for a run: those with one of its files open, or that name it."""
    wait_until(lambda: not _strays(root), 10)
    return _strays(root)


def _strays(root: Path) -> list[str]:
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        try:
            files = [file.path for file in process.open_files()]
        except psutil.Error:
            continue
        if process.pid != psutil.Process().pid and any(path.startswith(str(root)) for path in files):
            found.append(str(process))
    return found


def wait_until(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether something comes to hold in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
