"""The tasks of one dataset by stage, with their projected memory and the sizes of their arrays."""

from dataclasses import dataclass

from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.array_spec import Sizes


@dataclass(frozen=True)
class StagePlan:
    """The tasks of one dataset by stage, their projected memory and the sizes of their arrays."""

    stages: dict[str, tuple[Task, ...]]
    memory: dict[str, int]
    """Projected peak bytes of a worker process, by stage."""
    sizes: Sizes
    """Lengths of the dimensions of its arrays."""
