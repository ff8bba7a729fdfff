"""Run sweeps from Python: from any kind of config, on any kind of cluster, and with listeners."""

import asyncio
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import kernel_pipeline as kp
from kernel_pipeline.events import (
    Event,
    Notice,
    RunFinished,
    RunStarted,
    TaskFinished,
    TasksRunning,
    TasksStarted,
    TasksStopped,
)
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.task import Output
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.tasks.progress import progress_listener

TINY: dict[str, Any] = {
    "name": "tiny",
    "baselines": False,
    "methods": ["unif"],
    "protocol": {"folds": 3},
    "fit": {"krr": {"from": -8, "to": 0, "step": 4}},
    "dataset": [
        {
            "name": "wave",
            "source": "synthetic",
            "task": "regression",
            "rows": 30,
            "kernels": [{"family": "gaussian", "log2_gamma": [-3, -2]}],
        }
    ],
}


@pytest.fixture(autouse=True)
def _run_in_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def client() -> Iterator[Client]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield client


def run(**options: Any) -> kp.RunResults:
    return kp.run(TINY, **{"cluster": "threads", "workers": 1, **options})


def test_a_run_emits_events_in_order() -> None:
    events: list[Event] = []
    found = run(listeners=[events.append])
    tasks = len(kp.plan(TINY).tasks)
    kinds = [type(event) for event in events if not isinstance(event, Notice)]
    assert kinds[0] is RunStarted
    assert kinds[-1] is RunFinished
    assert kinds.index(TasksStarted) < kinds.index(TaskFinished) < kinds.index(TasksStopped)
    done = [event for event in events if isinstance(event, TaskFinished)]
    assert {event.name for event in done} == {task.name for task in kp.plan(TINY).tasks}
    assert {event.stage for event in done} >= {"tiles", "fits"}
    started = next(event for event in events if isinstance(event, RunStarted))
    assert (started.name, started.pending, started.total) == ("tiny", tasks, tasks)
    assert found.directory.startswith(str(Path.cwd() / "runs/tiny-"))


@pytest.mark.parametrize("is_own", [True, False])
def test_a_run_reports_what_is_running(client: Client, is_own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernel_pipeline.run.running_tasks.ASK_INTERVAL_S", 0.0)
    fit, names = FitTask.run, {task.name for task in kp.plan(TINY).tasks}

    def slow_fit(task: FitTask, store: RunStore) -> Output:
        time.sleep(0.7)
        return fit(task, store)

    monkeypatch.setattr(FitTask, "run", slow_fit)
    events: list[Event] = []
    run(listeners=[events.append], **({} if is_own else {"cluster": client, "workers": None}))
    kinds = [type(event) for event in events]
    assert kinds.index(TasksStarted) < kinds.index(TasksRunning) < kinds.index(TasksStopped)
    running = [event for event in events if isinstance(event, TasksRunning)]
    found = {name for event in running for batch in event.batches for name in batch.tasks}
    assert found <= names
    assert any(name.startswith("fits/") for name in found)
    last = [event.remaining for event in running if event.batches][-1]
    assert last is not None
    assert last > 0.0


def test_all_parts_of_a_task_say_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = set[str]()

    def note_all(note: Callable[[str], None]) -> AbstractContextManager[None]:
        def note_one(text: str) -> None:
            heard.add(text)
            note(text)

        return progress_listener(note_one)

    monkeypatch.setattr("kernel_pipeline.run.running_tasks.progress_listener", note_all)
    run(settings={"methods": ["unif", "each-kernel"], "fit.refit": "train+validation"})
    assert heard >= {
        "kernel, tile 1 of 1",
        "tridiagonalisation",
        "kernel 2 of 2: tridiagonalisation",
        "final fit: kernel, tile 1 of 1",
        "final fit: tridiagonalisation",
    }


def test_a_run_prints_nothing_by_itself(capfd: pytest.CaptureFixture[str]) -> None:
    run()
    assert capfd.readouterr() == ("", "")


def test_an_exception_of_a_listener_stops_the_run_which_can_be_resumed() -> None:
    def stop(event: Event) -> None:
        if isinstance(event, TaskFinished) and event.stage == "tiles":
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        run(out="here", listeners=[stop])
    assert not kp.open_run("here").is_complete
    assert run(out="here").is_complete


def test_every_type_of_config_gives_the_same_plan(tmp_path: Path) -> None:
    config = kp.read_config(TINY)
    from kernel_pipeline.config.loading import to_toml

    (tmp_path / "tiny.toml").write_text(to_toml(config))
    plans = [kp.plan(given) for given in (TINY, config, "tiny.toml", tmp_path / "tiny.toml")]
    assert len({plan.identity for plan in plans}) == 1


@pytest.mark.parametrize("given", [TINY, "config"])
def test_settings_change_values_by_key_but_not_the_original(given: Any) -> None:
    given = kp.read_config(TINY) if given == "config" else given
    changed = kp.read_config(given, {"protocol.folds": 4, "dataset.wave.rows": 40})
    assert (changed.protocol.folds, changed.dataset[0].rows) == (4, 40)
    assert kp.read_config(given).protocol.folds == 3


def test_errors_have_the_same_messages_as_the_command_line() -> None:
    with pytest.raises(kp.ConfigError, match=r"the given config is not a valid config:\n  protocol\.folds"):
        kp.run(TINY, settings={"protocol.folds": 1})
    with pytest.raises(kp.ClusterError, match="there is no such cluster"):
        kp.run(TINY, cluster="no-such-cluster")
    run(out="here")
    with pytest.raises(kp.RefusedError, match=r"here contains another sweep; its config differs:\n  seed: 0 -> 1"):
        run(out="here", settings={"seed": 1})
    assert len(run(out="here", settings={"seed": 1}, accept_changes=True).rows) == 3


def test_an_existing_client_is_used_and_left_open(client: Client, capfd: pytest.CaptureFixture[str]) -> None:
    found = run(cluster=client, workers=None, out="client")
    assert client.status == "running"
    assert len(client.nthreads()) == 1
    reference = run(out="threads")
    tables = [Path(one.directory, "results/rows.csv").read_bytes() for one in (found, reference)]
    assert tables[0] == tables[1]


def test_a_closed_client_is_rejected(client: Client) -> None:
    client.close()
    with pytest.raises(kp.ClusterError, match="the client is closed, not running") as refused:
        run(cluster=client, workers=None)
    assert isinstance(refused.value, kp.PipelineError)
    assert refused.value.exit_code == 5


def test_a_run_works_inside_an_event_loop_and_in_a_thread_of_one() -> None:
    async def both() -> list[kp.RunResults]:
        return [run(out="inside"), await asyncio.to_thread(lambda: run(out="thread"))]

    assert [found.is_complete for found in asyncio.run(both())] == [True, True]
