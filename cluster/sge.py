"""Jobs of SGE."""

from kernel_pipeline.cluster.backend import BACKENDS
from kernel_pipeline.cluster.jobqueue import TimedJobQueue
from kernel_pipeline.cluster.profile import Profile


@BACKENDS.register("sge")
class SGE(TimedJobQueue[Profile]):
    """Jobs of SGE."""

    TITLE = "SGE"
    CLUSTER_CLASS = "SGECluster"
    LIST_JOBS = ("qstat",)
    ACCOUNT = "project"
