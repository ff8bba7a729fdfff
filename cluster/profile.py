"""Define cluster profiles, which determine where workers run, and do not affect results."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator

from kernel_pipeline.cluster.backend import Backend, backend_names, find_backend
from kernel_pipeline.cluster.quantities import MemorySize, Walltime, parse_memory
from kernel_pipeline.cluster.strict_model import StrictModel, did_you_mean, unknown_key

COMMON = ("backend", "description")
"""Keys that every profile may have."""
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class ProfileModel(StrictModel):
    """A table of a profile. Its values become parts of job scripts and command lines."""

    model_config = ConfigDict(defer_build=True)  # most runs use only one of the models

    SHELL: ClassVar[frozenset[str]] = frozenset({"setup"})
    """Fields that contain shell commands, in which any character is allowed."""

    @field_validator("*", mode="before")
    @classmethod
    def _check_characters(cls, value: Any, info: ValidationInfo) -> Any:
        """Reject control characters: a line feed in a value would start a new line in a job script."""
        if info.field_name not in cls.SHELL and any(CONTROL.search(text) for text in _strings(value)):
            raise ValueError(f"must not contain control characters, such as line feeds; got {value!r}")
        return value


class Profile(ProfileModel):
    """Location, number and size of the workers.

    The fields are those that several backends share; a backend with fields of its own has a subclass. `make_profile`
    selects the class.
    """

    backend: str = Field("local", description="the kind of cluster")
    description: str = Field("", description="one line that `pipeline clusters` prints")
    jobs: int | None = Field(None, ge=1, description="number of jobs, pods or local processes")
    adapt: list[int] | None = Field(
        None, description="[minimum, maximum] number of jobs, depending on the remaining work"
    )
    cores: int = Field(1, ge=1, description="cores per job; each core runs one worker process")
    memory: MemorySize | None = Field(None, description="memory per job, such as '16 GiB', shared by its workers")
    walltime: Walltime | None = Field(None, description="wall time of a job as hours:minutes:seconds")
    queue: str | None = Field(None, description="queue or partition")
    account: str | None = Field(None, description="account or project that is charged")
    directives: list[str] = Field([], description="more options of the queue, such as '--constraint=haswell'")
    setup: list[str] = Field([], description="shell commands that a job runs first, such as 'module load python'")
    python: str | None = Field(None, description="Python interpreter of the workers; by default that of the driver")
    interface: str | None = Field(None, description="network interface between driver and workers, such as 'ib0'")
    scratch: str | None = Field(None, description="a local directory of the nodes, for temporary files of Dask")
    address: str | None = Field(None, description="address of a scheduler or a gateway")
    insecure: bool = Field(False, description="allow connections without TLS, in a network that you trust")
    dashboard: bool = Field(False, description="serve Dask's dashboard to all users of the driver's host")

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, data: object) -> object:
        """Reject keys that the backend does not use."""
        if isinstance(data, dict):
            name = data.get("backend", cls.model_fields["backend"].default)
            known = allowed_keys(name) if _is_known(name) else []
            for key in data:
                if known and key not in known:
                    raise ValueError(f"backend {name!r}: {unknown_key(key, known)}")
        return data

    @field_validator("backend")
    @classmethod
    def _check_backend(cls, value: str) -> str:
        if value not in (names := backend_names()):
            known = ", ".join(names)
            raise ValueError(f"there is no cluster backend {value!r}. Available: {known}.{did_you_mean(value, names)}")
        return value

    @field_validator("adapt")
    @classmethod
    def _check_range(cls, value: list[int] | None) -> list[int] | None:
        if value is not None and (len(value) != 2 or not 1 <= value[0] <= value[1]):
            raise ValueError(f"must be [minimum, maximum] numbers of jobs, such as [2, 50]; got {value}")
        return value

    @model_validator(mode="after")
    def _check_needs(self) -> Self:
        if not isinstance(self, _model(self.backend)):
            raise ValueError(
                f"a profile of backend {self.backend!r} is a {_model(self.backend).__name__}; got {type(self).__name__}"
            )
        needed = find_backend(self.backend).REQUIRED_KEYS
        if missing := sorted(key for key in needed if getattr(self, key) is None):
            raise ValueError(f"backend {self.backend!r} needs {', '.join(missing)}, which the profile does not set")
        if self.jobs is not None and self.adapt is not None:
            raise ValueError(f"give jobs or adapt, not both; got jobs = {self.jobs} and adapt = {self.adapt}")
        return self

    @cached_property
    def implementation(self) -> Backend[Any]:
        """The backend of this profile; there is one instance, which keeps its connection and limits."""
        return find_backend(self.backend)(self)

    @property
    def max_jobs(self) -> int:
        """Maximum number of jobs."""
        return self.adapt[1] if self.adapt else self.jobs or 1

    @property
    def max_workers(self) -> int:
        """Maximum number of workers, one per core of each job."""
        return self.max_jobs * self.cores

    @property
    def job_memory(self) -> int | None:
        """Bytes that the workers of a job share; None if the profile does not state them."""
        return parse_memory(self.memory) if self.memory else None

    @property
    def worker_memory(self) -> int | None:
        """Bytes that each worker may use; None if the profile does not state them."""
        return self.job_memory // self.cores if self.job_memory else None


def make_profile(values: Mapping[str, Any]) -> Profile:
    """Validate the values of a profile, with the fields of its backend.

    Raises
    ------
    pydantic.ValidationError
        If the values are not a valid profile.
    """
    name = values.get("backend", "local")
    return (_model(name) if _is_known(name) else Profile).model_validate(values)


def allowed_keys(backend: str) -> list[str]:
    """Return the keys that a profile of a backend may have, in alphabetical order after the common ones."""
    own = _model(backend).model_fields.keys() - Profile.model_fields.keys()
    return [*COMMON, *sorted(find_backend(backend).KEYS | own)]


def _is_known(backend: object) -> bool:
    return isinstance(backend, str) and backend in backend_names()


def _model(backend: str) -> type[Profile]:
    return find_backend(backend).PROFILE or Profile


def _strings(value: Any) -> Iterator[str]:
    """Iterate over all strings in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        yield from _strings([*value, *value.values()])
