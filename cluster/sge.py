"""Run workers in jobs of SGE."""

from kernel_pipeline.cluster.backend import register
from kernel_pipeline.cluster.jobqueue import TimedJobQueue
from kernel_pipeline.cluster.profile import Profile


@register("sge")
class SGE(TimedJobQueue[Profile]):
    """Workers in jobs of SGE."""

    TITLE = "SGE"
    CLUSTER_CLASS = "SGECluster"
    LIST_JOBS = ("qstat",)
    ACCOUNT = "project"
