"""Run workers in PBS jobs."""

from kernel_pipeline.cluster.backend import register
from kernel_pipeline.cluster.jobqueue import TimedJobQueue
from kernel_pipeline.cluster.profile import Profile


@register("pbs")
class PBS(TimedJobQueue[Profile]):
    """Workers in PBS jobs."""

    TITLE = "PBS"
    CLUSTER_CLASS = "PBSCluster"
    LIST_JOBS = ("qstat",)
