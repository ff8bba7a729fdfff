"""The driver learns from the workers what they are running, however long it takes, and trusts nothing that they say."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from kernel_pipeline.cluster import open_cluster
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.events import RunningBatch, TasksRunning
from kernel_pipeline.plan.estimates import RemainingTime, TaskTime
from kernel_pipeline.run import running_tasks
from kernel_pipeline.run.executor import Execution
from kernel_pipeline.run.interrupt import Interrupt
from kernel_pipeline.run.running_tasks import (
    RunningTasks,
    checked_answers,
    noted_as_running,
    running_here,
)
from kernel_pipeline.run.running_tasks import tasks_running as event_of
from kernel_pipeline.run.schedule import Schedule, TaskBatch
from kernel_pipeline.stages.task import Output
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.reports import TaskReport
from kernel_pipeline.tasks.progress import report_progress
from tests.benchmarks.driver_cost import accept_workers
from tests.benchmarks.empty_tasks import EmptyFit, empty_plan

PLAN = empty_plan(tiles=1, cells=3, datasets=1)
FITS = [task for task in PLAN.tasks if isinstance(task, EmptyFit)]
FIRST, SECOND, THIRD = (task.name for task in FITS)


def test_a_worker_knows_what_it_runs_until_it_ends() -> None:
    with noted_as_running("one", FIRST), noted_as_running("two", SECOND):
        report_progress("5 passes")
        ((first, (seconds, text)),) = running_here("one").items()
        assert (first, text) == (FIRST, "")
        assert 0.0 <= seconds < 5.0
        ((second, (_, text)),) = running_here("two").items()
        assert (second, text) == (SECOND, "5 passes")
    with pytest.raises(ValueError, match="no"), noted_as_running("one", FIRST):
        raise ValueError("no")
    assert running_here("one") == running_here("two") == {}


def test_a_task_that_was_started_again_is_not_forgotten_when_the_first_attempt_ends() -> None:
    first = noted_as_running("one", FIRST)
    first.__enter__()
    with noted_as_running("one", FIRST):
        first.__exit__(None, None, None)
        assert running_here("one").keys() == {FIRST}
    assert running_here("one") == {}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "text",
        [("name", 1.0)],
        {"a": None},
        {"a": ["fits"]},
        {"a": {FIRST: None}},
        {"a": {FIRST: (1.0,)}},
        {"a": {FIRST: ("1", "text")}},
        {"a": {FIRST: (-1.0, "text")}},
        {"a": {FIRST: (float("nan"), "text")}},
        {"a": {FIRST: (float("inf"), "text")}},
        {"a": {FIRST: (10**400, "text")}},
        {"a": {FIRST: (1.0, b"text")}},
        {"a": {7: (1.0, "text")}},
    ],
)
def test_answers_of_another_form_are_ignored(answer: object) -> None:
    assert checked_answers(answer) == {}


def test_texts_of_workers_are_one_short_printable_line() -> None:
    ((_, text),) = checked_answers({"a": {FIRST: (1, "\x1b[2J \n" + "x" * 10_000)}}).values()
    assert text.startswith("\\x1b[2J x")
    assert len(text) < 200
    assert text.isprintable()


def test_of_two_attempts_the_later_one_is_shown() -> None:
    answers = {"a": {FIRST: (70.0, "given up")}, "b": {FIRST: (3.0, "5 passes")}, "c": {FIRST: (60.0, "also")}}
    assert checked_answers(answers) == {FIRST: (3.0, "5 passes")}


class Followed:
    """Follow batches with a clock that is set by hand, and answers that are given by a function."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: Callable[[], object]) -> None:
        self.clock, self.reports = 0.0, list[tuple[RunningBatch, ...]]()
        monkeypatch.setattr("kernel_pipeline.run.running_tasks.time.monotonic", lambda: self.clock)
        client = MagicMock(**{"run.side_effect": lambda *_, **__: answer()})
        self.tasks, self.client = RunningTasks(client, "one", self.reports.append), client

    def update(self, clock: float, *batches: TaskBatch) -> tuple[RunningBatch, ...] | None:
        """Update at a time, as often as the driver would until the answer is there; return what was reported."""
        self.clock = clock
        self.reports.clear()
        for _ in range(50):
            self.tasks.update(batches)
            if self.reports:
                return self.reports[0]
            threading.Event().wait(0.002)
        return None


def test_batches_are_reported_every_few_seconds_longest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"a": {FIRST: (4.0, "5 passes"), "fits/foreign/0": (9.0, "")}, "b": {SECOND: (7.0, "")}}
    followed = Followed(monkeypatch, lambda: answer)
    sent: list[TaskBatch] = [(FITS[0],), (FITS[1], FITS[2])]
    assert followed.update(9.0, *sent) is None, "it is too early"
    assert not followed.client.run.called
    assert followed.update(10.0) is None, "nothing was sent"
    assert followed.update(11.0, *sent) == (
        RunningBatch((SECOND, THIRD), 7.0, ""),
        RunningBatch((FIRST,), 4.0, "5 passes"),
    )
    assert followed.update(20.0, *sent) is None, "it is too early"
    answer = {"a": {FIRST: (14.0, "9 passes")}}
    assert followed.update(21.0, *sent) == (RunningBatch((FIRST,), 14.0, "9 passes"),)


def test_workers_that_cannot_be_asked_do_not_stop_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> object:
        raise OSError("the scheduler has left")

    followed = Followed(monkeypatch, fail)
    assert followed.update(11.0, (FITS[0],)) == ()
    assert followed.update(22.0, (FITS[0],)) == ()


def test_a_worker_that_does_not_answer_leaves_what_was_known_before(monkeypatch: pytest.MonkeyPatch) -> None:
    is_frozen, end = threading.Event(), threading.Event()

    def answer() -> object:
        if is_frozen.is_set():
            end.wait(timeout=30)
        return {"a": {FIRST: (4.0, "5 passes")}}

    followed = Followed(monkeypatch, answer)
    followed.update(11.0, (FITS[0],))
    is_frozen.set()
    assert followed.update(22.0, (FITS[0],)) is None, "the answer may still come"
    assert followed.update(33.0, (FITS[0],)) == (RunningBatch((FIRST,), 26.0, "5 passes"),)
    assert followed.client.run.call_count == 2, "no second question is asked before the answer to the first"
    end.set()


def test_the_event_has_the_remaining_time_after_the_times_of_running_tasks() -> None:
    remaining = RemainingTime({name: TaskTime("fits", 60.0) for name in "abc"}, "abc")
    remaining.add_finished("a", 120.0)
    batches = (RunningBatch(("b",), 50.0, "5 passes"),)
    assert event_of(batches, remaining, 1) == TasksRunning(batches, 70.0 + 120.0)


@dataclass(frozen=True, kw_only=True)
class LongFit(EmptyFit):
    """A fit that reports steps, and ends when a file exists."""

    file: str

    def run(self, store: RunStore) -> Output:
        report_progress("3 passes, 1 of 16 ridges done")
        for _ in range(3000):
            if Path(self.file).exists():
                return super().run(store)
            time.sleep(0.01)
        raise TimeoutError


@pytest.mark.parametrize("backend", ["local", "threads"])
def test_a_long_fit_is_reported_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: Any) -> None:
    monkeypatch.setattr("kernel_pipeline.run.running_tasks.ASK_INTERVAL_S", 0.1)
    file = tmp_path / "end"
    common = {field.name: getattr(FITS[0], field.name) for field in fields(FITS[0])}
    tasks = [LongFit(**common, file=str(file))]
    heard: list[tuple[RunningBatch, ...]] = []
    recorded: list[TaskReport] = []

    def report(batches: tuple[RunningBatch, ...]) -> None:
        heard.append(batches)
        if len([batch for batches in heard for batch in batches]) >= 3:
            file.touch()

    with Interrupt() as interrupt, open_cluster(Profile(backend=backend, jobs=2), tmp_path) as cluster:
        Execution(
            cluster,
            Schedule(tasks, ()),
            RunStore(LocalStorage(tmp_path)),
            recorded.extend,
            accept_workers,
            interrupt,
            False,
            print,
            report_running=report,
        ).run()
    assert [entry.name for entry in recorded] == [FIRST]
    found = [batch for batches in heard for batch in batches]
    assert {(batch.tasks, batch.progress) for batch in found} == {((FIRST,), "3 passes, 1 of 16 ridges done")}
    assert 0.0 <= found[0].seconds < found[1].seconds < found[2].seconds < 60.0
    assert not running_tasks._noted
