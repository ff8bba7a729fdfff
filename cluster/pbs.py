"""Run workers in jobs of PBS."""

from kernel_pipeline.cluster.backend import register
from kernel_pipeline.cluster.jobqueue import TimedJobQueue
from kernel_pipeline.cluster.profile import Profile


@register("pbs")
class PBS(TimedJobQueue[Profile]):
    """Workers in jobs of PBS."""

    TITLE = "PBS"
    CLUSTER_CLASS = "PBSCluster"
    LIST_JOBS = ("qstat",)
