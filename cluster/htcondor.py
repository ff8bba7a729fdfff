"""Run workers in HTCondor jobs."""

from typing import Any

from kernel_pipeline.cluster.backend import register
from kernel_pipeline.cluster.jobqueue import JobQueue
from kernel_pipeline.cluster.profile import Profile


@register("htcondor")
class HTCondor(JobQueue[Profile]):
    """Workers in HTCondor jobs, which have no wall time, queue or account."""

    TITLE = "HTCondor"
    CLUSTER_CLASS = "HTCondorCluster"
    LIST_JOBS = ("condor_q", "-nobatch")

    def _queue_options(self) -> dict[str, Any]:
        """Return the directives as keys and values of a submit file."""
        pairs = (directive.partition("=") for directive in self.profile.directives)
        directives = {key.strip(): value.strip() for key, _, value in pairs}
        return {"job_extra_directives": directives, "disk": "1 GiB"}
