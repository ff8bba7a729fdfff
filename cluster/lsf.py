"""Run workers in LSF jobs."""

from typing import Any

from kernel_pipeline.cluster.backend import register
from kernel_pipeline.cluster.jobqueue import TimedJobQueue
from kernel_pipeline.cluster.profile import Profile


@register("lsf")
class LSF(TimedJobQueue[Profile]):
    """Workers in LSF jobs."""

    TITLE = "LSF"
    CLUSTER_CLASS = "LSFCluster"
    LIST_JOBS = ("bjobs", "-noheader")
    ACCOUNT = "project"

    def _queue_options(self) -> dict[str, Any]:
        """Return the options with the wall time as hours:minutes, as LSF requires."""
        assert self.profile.walltime is not None  # one of REQUIRED_KEYS
        return super()._queue_options() | {"walltime": self.profile.walltime.rpartition(":")[0]}
