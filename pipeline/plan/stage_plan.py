"""The tasks of one dataset by stage, with their projected cost."""

from dataclasses import dataclass

from kernel_pipeline.stages.task import Task


@dataclass(frozen=True)
class StagePlan:
    """The tasks of one dataset by stage, and what they cost."""

    stages: dict[str, tuple[Task, ...]]
    memory: dict[str, int]
    """Projected peak bytes of a worker process, by stage."""
    disk_bytes: int
    """What the arrays take on disk."""
