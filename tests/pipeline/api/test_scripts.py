"""Scripts and notebooks that run sweeps, each in its own process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import kernel_pipeline as kp
from tests.pipeline.api.test_running import TINY

SCRIPT = f"""
import kernel_pipeline as kp

for seed in (0, 1):
    run = kp.run({TINY}, workers=1, settings={{"seed": seed}}, out=f"run-{{seed}}")
    print(len(run.rows), run.is_complete)
"""


def script(code: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    (cwd / "script.py").write_text(code)
    return subprocess.run(
        [sys.executable, "script.py"],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=200,
    )


def test_a_script_without_a_main_guard_runs_two_sweeps(tmp_path: Path) -> None:
    done = script(SCRIPT, tmp_path)
    assert (done.stdout, done.stderr) == ("3 True\n3 True\n", "")
    assert done.returncode == 0


def test_user_files_with_the_names_of_our_folders_are_ignored(tmp_path: Path) -> None:
    for name in ("tasks", "pipeline", "cluster", "configs", "run", "plan", "events"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this file is not for you')\n")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/default.toml").write_text("name = 'other'\n")
    done = script(SCRIPT, tmp_path, PYTHONPATH=str(tmp_path))
    assert (done.stdout, done.stderr) == ("3 True\n3 True\n", "")
    shown = subprocess.run(
        [sys.executable, "-m", "kernel_pipeline", "configs"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert shown.stdout.startswith("default "), shown.stderr


def notebook(cwd: Path, *cells: str) -> list[str]:
    """Run a notebook and return what each cell prints or displays."""
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel: pip install '.[test]'")
    pytest.importorskip("ipykernel", reason="needs ipykernel: pip install '.[test]'")
    nbformat: Any = pytest.importorskip("nbformat.v4", reason="needs nbclient: pip install '.[test]'")
    made = nbformat.new_notebook(cells=[nbformat.new_code_cell(cell) for cell in cells])
    kernel = cwd / "kernels/this/kernel.json"
    kernel.parent.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel.write_text(json.dumps({"argv": command, "display_name": "this", "language": "python"}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(cwd))
        patch.setenv("IPYTHONDIR", str(cwd / "ipython"))
        client = nbclient.NotebookClient(
            made, kernel_name="this", timeout=200, resources={"metadata": {"path": str(cwd)}}
        )
        client.execute()
    return ["".join(map(_shown, cell.outputs)).strip() for cell in made.cells]


def _shown(output: Any) -> str:
    return str(output.get("text", "") or output.get("data", {}).get("text/plain", ""))


@pytest.mark.filterwarnings("default")
def test_a_notebook_runs_sweeps_and_shows_progress(tmp_path: Path) -> None:
    first, second = notebook(
        tmp_path,
        f"import kernel_pipeline as kp\nrun = kp.run({TINY}, workers=1, listeners=[kp.RunView()])",
        "print(len(run.rows), run.is_complete, kp.run is not None)",
    )
    assert "7 of 7 tasks to do" in first
    assert second == "3 True True"


STOPPED = f"""
import os, signal, threading
import kernel_pipeline as kp
from kernel_pipeline.events import TaskFinished

def interrupt(event):
    # The interrupt button of a notebook sends this signal.
    if isinstance(event, TaskFinished) and event.stage == "tiles":
        os.kill(os.getpid(), signal.SIGINT)

try:
    kp.run({TINY}, workers=1, out="here", listeners=[interrupt])
except kp.InterruptedRunError as error:
    print(error)
"""


@pytest.mark.faults
@pytest.mark.filterwarnings("default")
def test_interrupting_a_notebook_leaves_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    stopped, state, resumed = notebook(
        tmp_path,
        STOPPED,
        "print(kp.open_run('here').is_complete)",
        f"print(kp.run({TINY}, workers=1, out='here').is_complete)",
    )
    assert stopped.startswith("stopped; "), stopped
    assert "`pipeline resume here`" in stopped
    assert (state, resumed) == ("False", "True")


@pytest.mark.faults
def test_a_second_ctrl_c_stops_a_script_at_once_and_leaves_its_process_alive(tmp_path: Path) -> None:
    code = f"""
import time
import kernel_pipeline as kp
from kernel_pipeline.events import TaskFinished

def hang(event):
    if isinstance(event, TaskFinished):
        print("working", flush=True)
        time.sleep(60)

try:
    kp.run({TINY}, workers=1, out="here", listeners=[hang])
except kp.InterruptedRunError as error:
    time.sleep(6)  # the command line would have exited by then
    print(error)
"""
    (tmp_path / "script.py").write_text(code)
    process = subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert output == "stopped. `pipeline resume here`, or the same call, resumes the run\n"
    assert not kp.open_run(tmp_path / "here").is_complete
