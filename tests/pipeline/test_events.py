"""Events reach all listeners, and are shown and logged."""

import io
import logging

import pytest
from rich.console import Console

from kernel_pipeline.cli.run_view import RunView
from kernel_pipeline.events import (
    ClusterOpened,
    Emitter,
    Event,
    Notice,
    ReusableRun,
    RunningBatch,
    RunStarted,
    TaskFinished,
    TasksRunning,
)
from kernel_pipeline.run.event_log import log_event


def test_listeners_are_called_in_order() -> None:
    seen: list[tuple[str, Event]] = []
    emit = Emitter([lambda event: seen.append(("first", event)), lambda event: seen.append(("second", event))])
    emit.notice("hello")
    assert seen == [("first", Notice("hello")), ("second", Notice("hello"))]


def test_texts_are_shown_unchanged() -> None:
    said = io.StringIO()
    view = RunView(Console(file=said, width=40), "my.toml")
    view(Notice("[bold]not markup[/bold] " + "x" * 50))
    view(ClusterOpened(3, "off"))
    view(ClusterOpened(1, "off"))
    view(RunStarted("tiny", "s3://a/[b]", 1, 2, 3, 4, 5, 2048, notes=("a remark",)))
    view(ReusableRun("my runs", ("methods: 'align'",)))
    view(ReusableRun("my runs", ()))
    assert said.getvalue().splitlines() == [
        "[bold]not markup[/bold] " + "x" * 50,
        "3 workers; dashboard: off",
        "1 worker; dashboard: off",
        "tiny: 1 dataset, 2 methods, 3 trials; 4 of 5 tasks to do, 2 KiB of arrays in s3://a/[b]",
        "a remark",
        "note: this config only adds to the run in my runs (methods: 'align'). To reuse what is finished there: "
        "`pipeline run my.toml --out 'my runs' --accept-changes`",
        "note: a new run starts, since this config differs from that of the run in my runs by more than additional "
        "methods and datasets. To reuse what is finished there: `pipeline run my.toml --out 'my runs' "
        "--accept-changes`",
    ]


def test_the_log_has_a_line_per_task(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="kernel_pipeline"):
        log_event(TasksRunning((RunningBatch(("fits/wave/0",), 1.0, "3 passes"),), 60.0))
        log_event(TaskFinished("fits/wave/0", "fits", 1.25, "failed: why"))
    assert caplog.messages == ["done fits/wave/0 in 1.250 s failed: why"]
