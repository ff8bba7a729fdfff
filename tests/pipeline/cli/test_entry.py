"""The process of a command ends at once, after its output is written and the exit functions have run."""

import subprocess
import sys

import pytest

LEFT_BEHIND = """
import atexit, sys
from kernel_pipeline.cli.entry import main
class Slow:
    def __del__(self): print("freed")
kept = Slow()
atexit.register(print, "exit function")
sys.argv = ["pipeline", *sys.argv[1:]]
main()
"""


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", LEFT_BEHIND, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("arguments", "code"), [(["configs"], 0), (["--version"], 0), (["plan", "absent.toml"], 2)])
def test_output_is_complete_and_nothing_is_freed(arguments: list[str], code: int) -> None:
    done = run(*arguments)
    assert done.returncode == code
    assert done.stdout.endswith("exit function\n")  # objects are not freed, which would print "freed"
    assert ("absent.toml" in done.stderr) == (code == 2)


def test_long_output_to_a_pipe_is_complete() -> None:
    done = run("config", "schema")
    assert done.returncode == 0
    assert done.stdout.startswith("{")
    assert done.stdout.endswith("}\nexit function\n")


def test_closed_output_does_not_raise() -> None:
    closed = f"{sys.executable} -m kernel_pipeline configs >&- 2>&-"
    assert subprocess.run(closed, shell=True, check=False).returncode == 0
