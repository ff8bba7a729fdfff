"""Define the kinds of ledger entries, except for the reports of tasks.

A ledger may be damaged or forged, so `from_json` of each kind accepts only what a run can have written.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self, TypedDict

from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.store.json_object import JsonObject
from kernel_pipeline.store.keys import is_digest, is_key, is_name
from kernel_pipeline.store.paths import CONFIG, ENVIRONMENT, FIGURES, GROUPS, REPORT, RESULTS

SWEEP, TABLES, CLEANED, DATA = "sweep", "tables", "cleaned", "data"
ARRAY_KEYS = tuple(f"{group}/" for group in GROUPS)
"""Prefixes of the keys of array files."""
TABLE_KEYS = (f"{RESULTS}/", f"{FIGURES}/", REPORT)
"""Prefixes of the keys of tables and figures, and the key of the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry(ABC):
    """A finished step of a run, with the digests of the files that it wrote.

    A later entry replaces an earlier one of the same name.
    """

    identity: str = ""
    """Digest of everything that the files depend on."""
    digests: dict[str, str] = field(default_factory=dict)
    """Digests of the files, by key."""
    seconds: float = 0.0
    peak_memory: int = 0
    """Peak memory of the process in bytes."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the entry, unique among the current entries of a run."""

    @abstractmethod
    def _own_json(self) -> dict[str, Any]:
        """Return the fields that only this kind of entry has, as a JSON object."""

    @classmethod
    @abstractmethod
    def from_json(cls, line: JsonObject) -> Self:
        """Return the entry of a ledger line.

        Raises
        ------
        ValueError, TypeError
            If no run can have written it.
        """

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of a ledger line."""
        return {
            "name": self.name,
            "identity": self.identity,
            "digests": self.digests,
            "result": self._own_json(),
            "seconds": self.seconds,
            "peak_memory": self.peak_memory,
            "failed": "",
        }


class SharedFields(TypedDict):
    """The fields that all kinds of entries have."""

    identity: str
    digests: dict[str, str]
    seconds: float
    peak_memory: int


def read_shared_fields(line: JsonObject, allowed: tuple[str, ...]) -> SharedFields:
    """Read the fields that all kinds of entries have.

    Parameters
    ----------
    allowed
        Prefixes of the keys of files that this kind of entry may name.
    """
    digests = dict(line.object("digests").members)
    for key, digest in digests.items():
        if not (is_key(key) and key.startswith(allowed) and is_digest(digest)):
            raise ValueError(f"no run writes a file with the key {key!r} and the digest {digest!r} here")
    return {
        "identity": line.text("identity"),
        "digests": digests,
        "seconds": line.number("seconds"),
        "peak_memory": line.integer("peak_memory"),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepEntry(LedgerEntry):
    """The start of a run, or a change of its config; the config and environment files can be restored from it."""

    config: str
    """Text of the config file."""
    environment: str
    """Text of the environment file."""
    arrays: str = ""
    """Address of the arrays; empty if they are in the run directory."""
    run: str = ""
    """Random id of the run, with which arrays outside the run directory are marked."""

    @property
    def name(self) -> str:
        return SWEEP

    @property
    def files(self) -> dict[str, str]:
        """Texts of the config file and the environment file, by name."""
        return {CONFIG: self.config, ENVIRONMENT: self.environment}

    def _own_json(self) -> dict[str, Any]:
        location = {"arrays": self.arrays, "run": self.run}
        return {"files": self.files} | {key: text for key, text in location.items() if text}

    @classmethod
    def from_json(cls, line: JsonObject) -> Self:
        result = line.object("result")
        files = result.object("files")
        if sorted(files.names()) != sorted((CONFIG, ENVIRONMENT)):
            raise result.error("files", f"an object with {CONFIG} and {ENVIRONMENT}")
        return cls(
            config=files.text(CONFIG),
            environment=files.text(ENVIRONMENT),
            arrays=result.text("arrays", ""),
            run=result.text("run", ""),
            **read_shared_fields(line, (CONFIG, ENVIRONMENT)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DataEntry(LedgerEntry):
    """The stored data of a dataset, and the metadata of the arrays that its tasks fill."""

    info: DatasetInfo

    @property
    def name(self) -> str:
        return f"{DATA}/{self.info.name}"

    def _own_json(self) -> dict[str, Any]:
        return {"outline": self.info.to_json()}

    @classmethod
    def from_json(cls, line: JsonObject) -> Self:
        info = DatasetInfo.from_json(dict(line.object("result").object("outline").members))
        if not is_name(info.name):
            raise ValueError(f"{info.name!r} is not the name of a dataset")
        return cls(info=info, **read_shared_fields(line, ARRAY_KEYS))


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesEntry(LedgerEntry):
    """The tables, the figures and the report of a run."""

    sweep: str
    """Identity of the sweep that they belong to."""

    @property
    def name(self) -> str:
        return TABLES

    def _own_json(self) -> dict[str, Any]:
        return {"sweep": self.sweep}

    @classmethod
    def from_json(cls, line: JsonObject) -> Self:
        return cls(sweep=line.object("result").text("sweep"), **read_shared_fields(line, TABLE_KEYS))


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedEntry(LedgerEntry):
    """The datasets whose large arrays were removed on request."""

    datasets: tuple[str, ...]

    @property
    def name(self) -> str:
        return CLEANED

    def _own_json(self) -> dict[str, Any]:
        return {"datasets": list(self.datasets)}

    @classmethod
    def from_json(cls, line: JsonObject) -> Self:
        result = line.object("result")
        datasets = tuple(result.texts("datasets"))
        if not all(map(is_name, datasets)):
            raise result.error("datasets", "a list of names of datasets")
        return cls(datasets=datasets, **read_shared_fields(line, ()))
