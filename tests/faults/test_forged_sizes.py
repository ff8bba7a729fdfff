"""Commands refuse run directories with forged huge sizes, and use less than 1 GiB of memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.forgeries import COMMANDS, CONFIG, SIZES, arguments, prepare
from tests.faults.harness import command, no_workers, write_config

pytestmark = pytest.mark.faults


def test_forged_sizes_do_not_exhaust_the_memory(tmp_path: Path) -> None:
    config = write_config(tmp_path, CONFIG)
    with no_workers():
        done = command("run", config, "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    cases = [(size, name) for size in SIZES for name in COMMANDS]
    lines = [["resume", str(tmp_path / "run")]]
    for number, (size, name) in enumerate(cases):
        root, _ = prepare(tmp_path / "run", tmp_path / str(number), SIZES[size])
        lines.append(arguments(name, root, config))
    limited = [sys.executable, "-m", "tests.faults.limited"]
    top = Path(__file__).parents[2]  # not the working directory, which other tests may have changed
    environment = os.environ | {"PYTHONPATH": str(top)}  # the working directory may not be on the path
    done_all = subprocess.run(
        limited, input=json.dumps(lines), capture_output=True, text=True, check=False, cwd=top, env=environment
    )
    results = [json.loads(line) for line in done_all.stdout.splitlines()]
    assert results, f"exit code {done_all.returncode}: {done_all.stderr[-2000:]}"
    first, *found = results
    assert first["code"] == 0, first
    failures = [
        f"{size}: {name}: {result}"
        for (size, name), result in zip(cases, found, strict=False)
        if result["failed"] or result["code"] not in (0, 3, 4)
    ]
    assert not failures, "\n".join(failures)
    assert len(found) == len(cases), f"{cases[len(found)]}: {done_all.stderr[-500:]}"
