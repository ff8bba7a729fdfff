"""Which tasks may run now: the stages of a dataset follow each other, datasets do not wait for one another."""

from collections import deque
from collections.abc import Callable, Container

from distributed import Client, as_completed

from pipeline.errors import PipelineError
from pipeline.plan import Plan
from pipeline.store import RunStore
from pipeline.task import STAGES, Finished, Task
from pipeline.worker import run_task

# Enough tasks wait at each worker to hide the way to the driver and back; the rest stay with the driver.
WAITING_A_WORKER = 3


class TaskFailedError(PipelineError):
    """A task that raised: not the user's mistake, or a fault of the machine."""

    exit_code = 1


class Schedule:
    """The order of tasks: `take` gives one that may run, `finish` says that one is done."""

    def __init__(self, plan: Plan, done: Container[str]) -> None:
        self._done = done
        self._ready: deque[Task] = deque()
        self._stages = {
            dataset.name: deque(tuple(dataset.stages[stage]) for stage in STAGES) for dataset in plan.datasets
        }
        self._open = dict.fromkeys(self._stages, 0)
        for dataset in self._stages:
            self._advance(dataset)

    def take(self) -> Task | None:
        """A task whose inputs are there, or None if all such tasks are taken."""
        return self._ready.popleft() if self._ready else None

    def finish(self, task: Task) -> None:
        """Say that a task is done."""
        self._open[task.dataset] -= 1
        self._advance(task.dataset)

    def _advance(self, dataset: str) -> None:
        """Once a stage is done, make the tasks of the next one ready that still have to run."""
        stages = self._stages[dataset]
        while not self._open[dataset] and stages:
            waiting = [task for task in stages.popleft() if task.name not in self._done]
            self._open[dataset] = len(waiting)
            self._ready.extend(waiting)


def execute(
    client: Client, workers: int, schedule: Schedule, store: RunStore, finished: Callable[[Finished], None]
) -> None:
    """Run all tasks of a schedule and hand each result on as it comes."""
    running: dict[str, Task] = {}
    completed = as_completed()

    def submit_more() -> None:
        while len(running) < workers * WAITING_A_WORKER and (task := schedule.take()):
            future = client.submit(run_task, task, store, key=task.name, pure=False)
            running[task.name] = task
            completed.add(future)

    submit_more()
    if not running:
        return
    for future in completed:
        task = running.pop(str(future.key))
        if future.status != "finished":
            error = future.exception()
            raise TaskFailedError(f"task {task.name} failed: {type(error).__name__}: {error}") from error
        finished(future.result())
        future.release()
        schedule.finish(task)
        submit_more()
