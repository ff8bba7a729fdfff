"""Run workers in SGE jobs."""

from kernel_pipeline.cluster.backend import register
from kernel_pipeline.cluster.jobqueue import TimedJobQueue
from kernel_pipeline.cluster.profile import Profile


@register("sge")
class SGE(TimedJobQueue[Profile]):
    """Workers in SGE jobs."""

    TITLE = "SGE"
    CLUSTER_CLASS = "SGECluster"
    LIST_JOBS = ("qstat",)
    ACCOUNT = "project"
