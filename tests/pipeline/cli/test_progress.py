import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from kernel_pipeline.cli.progress import Progress
from kernel_pipeline.events import RunningBatch, TaskFinished, TasksRunning, TasksStarted, TasksStopped
from tests.helpers.sweeps import plan_in, small_config


def shown(
    console: Console, tmp_path: Path, seconds: list[float], monkeypatch: pytest.MonkeyPatch, **changes: Any
) -> str:
    """Return what is printed if one task ends at each of these times."""
    plan, _ = plan_in(tmp_path, small_config(**changes))
    clock = iter([0.0, *(second for second in seconds for _ in range(2))])
    last = [0.0]

    def now() -> float:
        last[0] = next(clock, last[0])
        return last[0]

    if not console.is_terminal:
        monkeypatch.setattr("kernel_pipeline.cli.progress.time.monotonic", now)
    progress = Progress(console)
    progress(TasksStarted(Counter(task.stage for task in plan.tasks), {}))
    for _ in seconds:
        progress(TaskFinished("tiles/wave/0", "tiles", 0.0, remaining=720.0))
    progress(TasksStopped())
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def test_a_terminal_shows_one_bar_per_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    output = shown(console, tmp_path, [1.0, 2.0], monkeypatch)
    for stage in ("tiles", "reduce", "weights", "combine", "fits"):
        assert stage in output
    assert "2/" in output
    assert "about 12 min left" in output


def test_stages_without_tasks_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=160)
        output = shown(console, tmp_path / str(terminal), [11.0, 22.0, 33.0], monkeypatch, methods=["each-kernel"])
        for stage in ("tiles", "reduce", "fits"):
            assert stage in output
        for stage in ("weights", "combine"):
            assert stage not in output


def test_without_a_terminal_a_line_is_printed_at_most_every_ten_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    console = Console(file=io.StringIO(), width=160)
    lines = shown(console, tmp_path, [float(s) for s in range(1, 26)], monkeypatch).splitlines()
    assert 1 <= len(lines) <= 2
    assert lines[0].startswith("1")
    assert "tiles " in lines[0]
    assert "fits 0/48; about 12 min left" in lines[0]


def test_an_unknown_remaining_time_is_not_shown() -> None:
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=160)
        progress = Progress(console)
        progress(TasksStarted({"tiles": 1}, {}))
        progress._last_line -= 60.0
        progress(TaskFinished("tiles/wave/0", "tiles", 0.0))
        progress(TasksStopped())
        stream = console.file
        assert isinstance(stream, io.StringIO)
        assert "1/1" in stream.getvalue()
        assert "left" not in stream.getvalue()


LONG = RunningBatch(("fits/wave/[0]",), 590.0, "23 passes, [9] of 16 ridges done")
SHORT = RunningBatch(("fits/wave/1", "fits/wave/2"), 12.0)


def test_without_a_terminal_a_long_fit_is_shown_every_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    console, clock = Console(file=io.StringIO(), width=40), [0.0]
    monkeypatch.setattr("kernel_pipeline.cli.progress.time.monotonic", lambda: clock[0])
    progress = Progress(console)
    progress(TasksStarted({"tiles": 1, "fits": 15}, {"tiles": 1, "fits": 2}))
    for second in range(10, 135, 10):
        clock[0] = float(second)
        if second == 20:
            progress(TaskFinished("fits/wave/3", "fits", 1.0, remaining=None))
        batches = (LONG, SHORT) if second < 100 else (SHORT,) if second < 200 else ()
        progress(TasksRunning(batches, 1860.0))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == [
        "20 s: tiles 1/1, fits 3/15",
        "80 s: tiles 1/1, fits 3/15; fits/wave/[0] for 9.8 min: 23 passes, [9] of 16 ridges done; about 31 min left",
    ]
    clock[0] = 140.0
    progress(TasksRunning((SHORT,), 1860.0))
    clock[0] = 200.0
    progress(TasksRunning((), None))
    assert console.file.getvalue().splitlines()[2:] == [
        "140 s: tiles 1/1, fits 3/15; fits/wave/1 and 1 more task, for 12 s; about 31 min left",
        "200 s: tiles 1/1, fits 3/15",
    ]


def test_a_terminal_shows_the_remaining_time_during_a_long_fit() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    progress = Progress(console)
    progress(TasksStarted({"fits": 15}, {}, remaining=4140.0))
    progress(TasksRunning((LONG,), 1860.0))
    progress(TasksStopped())
    assert isinstance(console.file, io.StringIO)
    assert "about 31 min left" in console.file.getvalue()
