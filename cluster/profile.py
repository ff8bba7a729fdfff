"""A profile: all that decides where workers run, and changes no result."""

import re
from collections.abc import Iterator
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

Backend = Literal[
    "local", "threads", "slurm", "pbs", "lsf", "sge", "htcondor", "kubernetes", "gateway", "mpi", "address"
]
QUEUES = ("slurm", "pbs", "lsf", "sge", "htcondor")

_SCALE = {"jobs", "adapt"}
_JOB = {*_SCALE, "cores", "memory", "directives", "setup", "python", "interface", "scratch", "insecure", "dashboard"}
_TIMED_JOB = {*_JOB, "walltime", "queue", "account"}
TAKES: dict[str, set[str]] = {
    "local": {"jobs", "dashboard"},
    "threads": {"jobs", "dashboard"},
    "slurm": {*_TIMED_JOB, "driver"},
    "pbs": _TIMED_JOB,
    "lsf": _TIMED_JOB,
    "sge": _TIMED_JOB,
    "htcondor": _JOB,
    "kubernetes": {*_SCALE, "cores", "memory", "image", "namespace"},
    "gateway": {*_SCALE, "memory", "address", "options", "insecure"},
    "mpi": {"interface", "insecure", "dashboard"},
    "address": {"address", "tls", "insecure"},
}
"""The keys that a backend uses, besides `backend` and `description`."""
# Without a wall time the queue would end jobs by one of its own, and nobody could hand over in time.
NEEDS = {name: {"memory", "walltime"} & TAKES[name] for name in QUEUES} | {
    "kubernetes": {"memory", "image"},
    "address": {"address"},
}

LONGEST_MARGIN = 300.0
"""Seconds before the end of a job at which its workers hand over, unless the job is short."""


SHELL = ("setup",)
"""Fields whose values are lines of shell, in which anything may stand."""
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Table(BaseModel):
    """Strict and closed, as configs are."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @field_validator("*", mode="before")
    @classmethod
    def _without_control_characters(cls, value: Any, info: ValidationInfo) -> Any:
        """A line feed in a value would begin a line of its own in the script of a job."""
        if info.field_name not in SHELL and any(CONTROL.search(text) for text in _texts(value)):
            raise ValueError(f"must not hold control characters, such as line feeds; got {value!r}")
        return value


class Tls(Table):
    """Files of the certificates of a scheduler that asks for them; else those of Dask's own configuration."""

    ca: str = Field(description="the authority that signed the scheduler's certificate")
    cert: str = Field(description="our certificate")
    key: str = Field(description="its key")


class Driver(Table):
    """The job that `pipeline submit` runs the driver in; what is not said is as for workers."""

    cores: int = Field(1, ge=1)
    memory: str = Field("4 GiB")
    walltime: str | None = Field(None)
    directives: list[str] | None = Field(None)

    @field_validator("memory")
    @classmethod
    def _is_a_size(cls, value: str) -> str:
        return _size(value)

    @field_validator("walltime")
    @classmethod
    def _is_a_time(cls, value: str | None) -> str | None:
        return _time(value)


class Profile(Table):
    """Where workers run, how many and how large."""

    backend: Backend = Field("local", description="the kind of cluster")
    description: str = Field("", description="one line for people")
    jobs: int | None = Field(None, ge=1, description="how many jobs: of a queue, pods, processes of this machine")
    adapt: list[int] | None = Field(None, description="[least, most] jobs, as there is work")
    cores: int = Field(1, ge=1, description="of a job; each runs one worker process")
    memory: str | None = Field(None, description="of a job, such as '16 GiB'; its workers share it")
    walltime: str | None = Field(None, description="of a job, hours:minutes:seconds")
    queue: str | None = Field(None, description="queue or partition")
    account: str | None = Field(None, description="account or project that is charged")
    directives: list[str] = Field([], description="more options of the queue, such as '--constraint=haswell'")
    setup: list[str] = Field([], description="lines of shell that a job runs first, such as 'module load python'")
    python: str | None = Field(None, description="the Python of workers; without it the one that runs the driver")
    interface: str | None = Field(None, description="network interface that driver and workers share, such as 'ib0'")
    scratch: str | None = Field(None, description="a local folder of the nodes, for Dask's small files")
    image: str | None = Field(None, description="container with this package")
    namespace: str | None = Field(None, description="of Kubernetes")
    address: str | None = Field(None, description="of a scheduler or a gateway")
    options: dict[str, str | int | float | bool] = Field({}, description="cluster options that the gateway offers")
    tls: Tls | None = Field(None)
    insecure: bool = Field(False, description="connections without TLS, for networks that you trust")
    dashboard: bool = Field(False, description="serve Dask's dashboard, to every user of the driver's host")
    driver: Driver = Field(Driver())

    @field_validator("memory")
    @classmethod
    def _is_a_size(cls, value: str | None) -> str | None:
        return None if value is None else _size(value)

    @field_validator("walltime")
    @classmethod
    def _is_a_time(cls, value: str | None) -> str | None:
        return _time(value)

    @field_validator("adapt")
    @classmethod
    def _is_a_range(cls, value: list[int] | None) -> list[int] | None:
        if value is not None and (len(value) != 2 or not 1 <= value[0] <= value[1]):
            raise ValueError(f"must be [least, most] numbers of jobs, such as [2, 50]; got {value}")
        return value

    @model_validator(mode="after")
    def _fits_the_backend(self) -> Self:
        takes = TAKES[self.backend]
        if unused := sorted(self.model_fields_set - takes - {"backend", "description"}):
            raise ValueError(
                f"backend {self.backend!r} has no use for {', '.join(unused)}; it takes: {', '.join(sorted(takes))}"
            )
        if absent := sorted(key for key in NEEDS.get(self.backend, ()) if getattr(self, key) is None):
            raise ValueError(f"backend {self.backend!r} needs {', '.join(absent)}")
        if self.jobs is not None and self.adapt is not None:
            raise ValueError("give jobs or adapt, not both")
        return self

    @property
    def most_jobs(self) -> int:
        """How many jobs there will be at most."""
        return self.adapt[1] if self.adapt else self.jobs or 1

    @property
    def job_memory(self) -> int | None:
        """Bytes that the workers of a job share, where the profile says so."""
        from dask.utils import parse_bytes

        return int(parse_bytes(self.memory)) if self.memory else None

    @property
    def worker_memory(self) -> int | None:
        """Bytes that each worker may use."""
        return self.job_memory // self.cores if self.job_memory else None


def seconds(walltime: str) -> float:
    """The length of a wall time."""
    hours, minutes, rest = map(int, walltime.split(":"))
    return 3600.0 * hours + 60.0 * minutes + rest


def margin(walltime: str) -> float:
    """Seconds before the end of a job at which it has to hand over its work."""
    return min(LONGEST_MARGIN, seconds(walltime) / 4)


def _texts(value: Any) -> Iterator[str]:
    """The texts that a value is or holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])


def _size(value: str) -> str:
    from dask.utils import parse_bytes

    try:
        is_size = parse_bytes(value) > 0 and not value.strip().isdigit()
    except ValueError:
        is_size = False
    if not is_size:
        raise ValueError(f"must be a number of bytes with its unit, such as '16 GiB'; got {value!r}")
    return value


def _time(value: str | None) -> str | None:
    parts = value.split(":") if value is not None else []
    is_time = len(parts) == 3 and all(part.isdigit() for part in parts) and all(int(part) < 60 for part in parts[1:])
    if value is not None and not (is_time and seconds(value) > 0):
        raise ValueError(f"must be hours:minutes:seconds, such as '4:00:00'; got {value!r}")
    return value
