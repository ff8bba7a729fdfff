"""Run workers in Slurm jobs."""

from pydantic import Field

from kernel_pipeline.cluster.backend import register
from kernel_pipeline.cluster.jobqueue import TimedJobQueue
from kernel_pipeline.cluster.profile import Profile, ProfileModel
from kernel_pipeline.cluster.quantities import MemorySize, Walltime


class Driver(ProfileModel):
    """The job in which `pipeline submit` runs the driver."""

    cores: int = Field(1, ge=1)
    memory: MemorySize = Field("4 GiB")
    walltime: Walltime | None = Field(None, description="by default that of the workers")
    directives: list[str] | None = Field(None, description="by default those of the workers")


class SlurmProfile(Profile):
    """Profile of a Slurm cluster, with the job in which `pipeline submit` runs the driver."""

    backend: str = Field("slurm", description="the kind of cluster")
    driver: Driver = Field(Driver())


@register("slurm")
class Slurm(TimedJobQueue[SlurmProfile]):
    """Workers in Slurm jobs."""

    PROFILE = SlurmProfile
    TITLE = "Slurm"
    CLUSTER_CLASS = "SLURMCluster"
    LIST_JOBS = ("squeue", "--me", "--noheader", "--format=%A %T %r")
