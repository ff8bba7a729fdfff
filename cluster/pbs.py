"""Jobs of PBS."""

from kernel_pipeline.cluster.backend import BACKENDS
from kernel_pipeline.cluster.jobqueue import TimedJobQueue
from kernel_pipeline.cluster.profile import Profile


@BACKENDS.register("pbs")
class PBS(TimedJobQueue[Profile]):
    """Jobs of PBS."""

    TITLE = "PBS"
    CLUSTER_CLASS = "PBSCluster"
    LIST_JOBS = ("qstat",)
