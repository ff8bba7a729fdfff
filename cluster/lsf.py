"""Jobs of LSF."""

from typing import Any

from kernel_pipeline.cluster.backend import BACKENDS
from kernel_pipeline.cluster.jobqueue import TimedJobQueue
from kernel_pipeline.cluster.profile import Profile


@BACKENDS.register("lsf")
class LSF(TimedJobQueue[Profile]):
    """Jobs of LSF."""

    TITLE = "LSF"
    CLUSTER_CLASS = "LSFCluster"
    LIST_JOBS = ("bjobs", "-noheader")
    ACCOUNT = "project"

    def _queue_options(self) -> dict[str, Any]:
        """Give the wall time as hours:minutes, as LSF requires."""
        assert self.profile.walltime is not None  # required by NEEDS
        return super()._queue_options() | {"walltime": self.profile.walltime.rpartition(":")[0]}
