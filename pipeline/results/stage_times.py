"""Summarise the time, the estimated time and the peak memory of tasks by stage."""

from dataclasses import dataclass

from kernel_pipeline.results.view import Results
from kernel_pipeline.stages.task import STAGES

FOLLOW_UPS = "tasks added during the run"
"""Label of the tasks that open-ended tasks requested during the run, and which are therefore not in the plan."""


@dataclass(frozen=True)
class StageTime:
    """Time and memory of the finished tasks of one stage."""

    stage: str
    tasks: int
    seconds: float
    longest: float
    """Time of the longest task in seconds."""
    peak_memory: int
    """Largest memory of a worker process in bytes."""
    estimated: float
    """Estimated time of the same tasks in seconds, on the machine on which the cost models were measured."""


def stage_times(results: Results) -> list[StageTime]:
    """Return the times of the stages that have finished tasks, in the order of the stages."""
    timings = results.table("timings")
    if timings is None or timings.empty:
        return []
    estimates = {name: time.seconds for name, time in results.estimated_times().items()}
    stages = timings["task"].map(lambda task: results.stage_of(task) or FOLLOW_UPS)
    found = dict(iter(timings.groupby(stages, sort=False)))
    return [
        StageTime(
            stage,
            len(found[stage]),
            float(found[stage]["seconds"].sum()),
            float(found[stage]["seconds"].max()),
            int(found[stage]["peak_memory_bytes"].max()),
            float(found[stage]["task"].map(estimates).sum()),
        )
        for stage in (*STAGES, FOLLOW_UPS)
        if stage in found
    ]
