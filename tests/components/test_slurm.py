"""Sweeps on a real Slurm cluster of two nodes: jobs that are replaced, a node that dies, the driver as a job."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.components.slurm import queue, slurm, worker_processes, write_profile
from tests.faults.harness import TINY, assert_same, finished_names, wait_until, write_config
from tests.faults.inject import ALWAYS, TASK, Fault, FaultyRun, run_with
from tests.faults.stale import CHANGED, FAULTS, TILES
from tests.helpers.sweeps import pipeline

IS_DISPOSABLE = "PIPELINE_TEST_SLURM"

pytestmark = [
    pytest.mark.components,
    pytest.mark.timeout(480),
    pytest.mark.skipif(
        IS_DISPOSABLE not in os.environ or len(slurm("sinfo", "--noheader", "--Node", "--format=%N").split()) < 2,
        reason="needs a Slurm cluster of two nodes, whose jobs may be cancelled and nodes killed: start one, and set "
        f"the environment variable {IS_DISPOSABLE}=1",
    ),
]

REQUEUE_DELAY_S = 5
WORKER, DRIVER = "pipeline-worker", "pipeline-driver"
SLOW = Fault(at=TASK, do="sleep", seconds=1.0, times=ALWAYS)


@pytest.fixture(autouse=True)
def _empty_queue() -> Iterator[None]:
    yield
    if left := queue():
        slurm("scancel", *left)
    assert wait_until(lambda: not queue(), 60), queue()


def driver_log(root: Path) -> str:
    return (root / "logs" / "driver.log").read_text()


@pytest.mark.parametrize(
    ("jobs", "cores"), [(2, 1), *(pytest.param(*more, marks=pytest.mark.slow) for more in ((4, 1), (2, 2)))]
)
def test_any_number_of_jobs_gives_the_tables_of_a_local_run(
    jobs: int, cores: int, tmp_path: Path, undisturbed: Path
) -> None:
    write_config(tmp_path)
    write_profile(tmp_path, jobs=jobs, cores=cores, memory=f"{cores} GiB")
    done = pipeline("run", "tiny.toml", "--cluster", "queue.toml", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same(tmp_path / "run", undisturbed)
    assert f"{jobs * cores} workers" in done.stdout
    assert wait_until(lambda: not queue(), 20), "jobs are left in the queue"
    assert not list((tmp_path / "run" / "logs").glob(".certificates-*"))


@pytest.mark.slow
def test_keys_of_a_run_are_private_and_removed_at_its_end(tmp_path: Path, undisturbed: Path) -> None:
    write_config(tmp_path)
    write_profile(tmp_path)
    logs = tmp_path / "run" / "logs"
    with FaultyRun("run", "tiny.toml", "--cluster", "queue.toml", "--out", "run", cwd=tmp_path, faults=[SLOW]) as run:
        assert wait_until(lambda: len(finished_names(tmp_path / "run")) > 4, 60)
        (folder,) = logs.glob(".certificates-*")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
        commands = {process: process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])}
        workers = [
            process
            for process, command in commands.items()
            if "distributed.cli.dask_worker" in command and str(tmp_path) in " ".join(command)
        ]
        assert workers
        for worker in workers:
            assert any(argument.startswith("tls://") for argument in worker.cmdline())
            family = (worker, *worker.children(recursive=True))
            listening = [c for p in family for c in p.net_connections() if c.status == psutil.CONN_LISTEN]
            assert {connection.laddr.ip for connection in listening} == {"127.0.0.1"}
        assert run.end().returncode == 0
    assert not list(logs.glob(".certificates-*"))
    assert_same(tmp_path / "run", undisturbed)


def test_a_cancelled_job_is_replaced(tmp_path: Path, undisturbed: Path) -> None:
    write_config(tmp_path)
    write_profile(tmp_path)
    with FaultyRun("run", "tiny.toml", "--cluster", "queue.toml", "--out", "run", cwd=tmp_path, faults=[SLOW]) as run:
        assert wait_until(lambda: len(finished_names(tmp_path / "run")) > 4, 60)
        before = queue(WORKER)
        slurm("scancel", before[0])
        assert wait_until(lambda: bool(set(queue(WORKER)) - set(before)), 60), "the job was not replaced"
        assert run.end().returncode == 0
    assert_same(tmp_path / "run", undisturbed)
    assert f"job {before[0]} of worker" in driver_log(tmp_path / "run")


@pytest.mark.slow
def test_adaptive_jobs_are_submitted_and_replaced(tmp_path: Path, undisturbed: Path) -> None:
    write_config(tmp_path)
    path = write_profile(tmp_path, adapt=[1, 3])
    path.write_text(path.read_text().replace("jobs = 2\n", ""))
    with FaultyRun("run", "tiny.toml", "--cluster", "queue.toml", "--out", "run", cwd=tmp_path, faults=[SLOW]) as run:
        assert wait_until(lambda: len(queue(WORKER)) > 1, 60), "the number of jobs did not grow"
        before = queue(WORKER)
        slurm("scancel", *before)
        assert wait_until(lambda: bool(set(queue(WORKER)) - set(before)), 60), "the jobs were not replaced"
        assert run.end(150).returncode == 0
    assert_same(tmp_path / "run", undisturbed)


@pytest.mark.slow
def test_run_survives_a_node_that_dies(tmp_path: Path, undisturbed: Path) -> None:
    write_config(tmp_path)
    write_profile(tmp_path)
    pid_file = slurm("scontrol", "show", "config").partition("SlurmdPidFile")[2].split()[1]
    node = slurm("sinfo", "--noheader", "--Node", "--format=%N").split()[0]
    slurmd = psutil.Process(int(Path(pid_file.replace("%n", node)).read_text()))
    command = slurmd.cmdline()
    with FaultyRun("run", "tiny.toml", "--cluster", "queue.toml", "--out", "run", cwd=tmp_path, faults=[SLOW]) as run:
        assert wait_until(lambda: len(finished_names(tmp_path / "run")) > 4, 60)
        lost = slurm("squeue", "--noheader", "--format=%A", f"--nodelist={node}").split()
        assert lost
        steps = [
            p
            for p in psutil.process_iter(["cmdline"])
            if any(f"[{job}." in " ".join(p.info["cmdline"] or []) for job in lost)
        ]
        assert steps
        family = [member for step in steps for member in (step, *step.children(recursive=True))]
        for process in (slurmd, *family):
            process.send_signal(signal.SIGKILL)
        try:
            assert run.end(150).returncode == 0
        finally:
            subprocess.run(command, check=True)
            assert wait_until(lambda: slurm("sinfo", "--noheader", f"--nodes={node}", "--format=%T") == "idle", 60)
    assert_same(tmp_path / "run", undisturbed)


@pytest.mark.slow
def test_a_task_of_a_driver_that_was_killed_writes_nothing_for_the_next_one(tmp_path: Path) -> None:
    write_config(tmp_path)
    write_profile(tmp_path)
    arguments = ("run", "tiny.toml", "--cluster", "queue.toml", "--out", "run")
    with FaultyRun(*arguments, cwd=tmp_path, faults=FAULTS) as killed:
        assert wait_until(killed.waits, 90)
        held = worker_processes(tmp_path / "run")
        assert held
        for process in held:
            process.suspend()  # as on a node that has lost its network
        os.kill(killed.process.pid, signal.SIGKILL)
        killed.process.communicate()
        write_config(tmp_path, CHANGED)
        with FaultyRun(*arguments, "--accept-changes", cwd=tmp_path, faults=FAULTS) as run:
            assert wait_until(lambda: TILES in finished_names(tmp_path / "run"), 120)
            killed.release()
            for process in held:
                process.resume()
            done = run.end()
    assert done.returncode == 0, done.stderr
    assert "differs from the ledger" not in done.stdout, "the stale task wrote its chunk, and only a reader noticed"
    assert pipeline("run", "tiny.toml", "--workers", "2", "--out", "fresh", cwd=tmp_path).returncode == 0
    assert_same(tmp_path / "run", tmp_path / "fresh")


@pytest.mark.slow
def test_reason_of_pending_jobs_is_reported_and_the_run_can_be_stopped(tmp_path: Path) -> None:
    write_config(tmp_path)
    write_profile(tmp_path)
    nodes = ",".join(sorted(set(slurm("sinfo", "--noheader", "--Node", "--format=%N").split())))
    slurm("scontrol", "update", f"NodeName={nodes}", "State=DRAIN", "Reason=test")
    try:
        with FaultyRun(
            "run",
            "tiny.toml",
            "--cluster",
            "queue.toml",
            "--out",
            "run",
            cwd=tmp_path,
            environment={"PYTHONUNBUFFERED": "1"},
        ) as run:
            assert run.process.stdout
            said = ""
            while "no worker for" not in said:
                said = run.process.stdout.readline()
                assert said, run.process.communicate()
            assert "PENDING" in said
            assert "DRAINED" in said.upper() or "down" in said.lower()
            os.kill(run.process.pid, signal.SIGINT)
            assert run.end(30).returncode == 130
    finally:
        slurm("scontrol", "update", f"NodeName={nodes}", "State=RESUME")
    assert not queue(WORKER)


@pytest.mark.slow
def test_submitted_sweep_is_completed_over_several_wall_times(tmp_path: Path, undisturbed: Path) -> None:
    """The wall time of the driver and its workers is one minute, less than the sweep takes."""
    write_config(tmp_path)
    write_profile(tmp_path, walltime="0:01:00")
    slow = Fault(at=TASK, do="sleep", seconds=3.0, times=ALWAYS)
    _, submitted = run_with(
        "submit", "tiny.toml", "--cluster", "queue.toml", "--out", "run", cwd=tmp_path, faults=[slow]
    )
    assert submitted.returncode == 0, submitted.stderr
    (job,) = queue(DRIVER)
    for words in (f"job {job}", "pipeline status run", f"scancel {job}"):
        assert words in submitted.stdout
    status = pipeline("status", "run", cwd=tmp_path).stdout
    assert f"job {job}" in status
    again = pipeline("submit", "tiny.toml", "--cluster", "queue.toml", "--out", "run", cwd=tmp_path)
    assert again.returncode == 4
    assert queue(DRIVER) == [job]

    output = tmp_path / "run" / "logs" / f"submitted-{job}.out"

    released: set[int] = set()

    def is_over() -> bool:
        """Check the output; start a requeued job after a few seconds, since Slurm waits about two minutes."""
        said = output.read_text() if output.exists() else ""
        starts = said.count("tasks are left")
        if starts and starts not in released and slurm("squeue", "--noheader", f"--jobs={job}", "--states=PENDING"):
            released.add(starts)
            time.sleep(REQUEUE_DELAY_S)
            slurm("scontrol", "update", f"JobId={job}", "StartTime=now")
        return "Done in" in said

    assert wait_until(is_over, 300), slurm("squeue")
    assert wait_until(lambda: not queue(), 60), slurm("squeue")
    said = output.read_text()
    assert said.count("tasks to do") >= 2, "the job was not requeued"
    assert_same(tmp_path / "run", undisturbed)
    assert "tasks are done" in pipeline("status", "run", cwd=tmp_path).stdout


@pytest.mark.slow
def test_submitted_sweep_can_be_stopped_and_resumed(tmp_path: Path, undisturbed: Path) -> None:
    write_config(tmp_path)
    write_profile(tmp_path)
    submit = ("submit", "tiny.toml", "--cluster", "queue.toml", "--out", "run")
    assert run_with(*submit, cwd=tmp_path, faults=[SLOW])[1].returncode == 0
    assert wait_until(lambda: len(finished_names(tmp_path / "run")) > 4, 90)
    (job,) = queue(DRIVER)
    slurm("scancel", job)
    assert wait_until(lambda: not queue(), 60), slurm("squeue")
    said = (tmp_path / "run" / "logs" / f"submitted-{job}.out").read_text()
    assert "Stopping: running tasks have at most 30 s to finish" in said
    assert pipeline(*submit, cwd=tmp_path).returncode == 0
    assert wait_until(lambda: not queue(), 120), slurm("squeue")
    assert_same(tmp_path / "run", undisturbed)


@pytest.mark.slow
def test_jobs_that_always_end_at_once_stop_the_run(tmp_path: Path) -> None:
    write_config(tmp_path)
    write_profile(tmp_path, setup=["exit 1"])
    done = pipeline("run", "tiny.toml", "--cluster", "queue.toml", "--out", "run", cwd=tmp_path)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "jobs in a row ended before their worker was connected" in done.stderr


@pytest.mark.parametrize(
    ("changes", "arguments", "code", "words"),
    [
        ({"queue": "nowhere"}, ["run"], 5, ["Slurm rejected the job", "invalid partition specified"]),
        ({"queue": "nowhere"}, ["submit"], 5, ["Slurm rejected the job", "invalid partition specified"]),
        ({"memory": "900 GiB"}, ["run"], 5, ["Slurm rejected the job", "Memory specification"]),
        ({"memory": "100 MiB"}, ["submit"], 2, ["may use 80 MiB"]),
    ],
)
@pytest.mark.slow
def test_rejection_by_the_queue_is_reported_verbatim(
    changes: dict[str, str], arguments: list[str], code: int, words: list[str], tmp_path: Path
) -> None:
    write_config(tmp_path, TINY)
    write_profile(tmp_path, **changes)
    done = pipeline(*arguments, "tiny.toml", "--cluster", "queue.toml", "--out", "run", cwd=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert not queue()
