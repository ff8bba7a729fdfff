"""Define the results of the tasks that learn weights and fit cells."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Self, get_type_hints

import numpy as np

from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.store.json_object import JsonObject
from kernel_pipeline.store.reports import OK
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.learners.paths import PathResult
from kernel_pipeline.tasks.statistics.debiased import Estimates

MAX_PARAMETERS = 3
"""Largest number of parameters of one fit of a path."""
ALIGNMENTS = {
    "train": "alignment_train",
    "test": "alignment_test",
    "debiased_train": "debiased_alignment_train",
    "debiased_test": "debiased_alignment_test",
    "null_train": "null_alignment_train",
    "null_test": "null_alignment_test",
    "null_train_95": "null_alignment_train_95",
    "null_test_95": "null_alignment_test_95",
}
"""Member of a JSON object, and column of `rows.csv`, for each field of `Alignments`."""
REQUIRED = ("alignment_train", "alignment_test")
"""Those of `ALIGNMENTS` that are null if they are not defined; others are left out, as in earlier versions."""
TRIAL = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Alignments:
    """Centered alignments of a learned kernel with the labels; None if not defined."""

    train: float | None = None
    test: float | None = None
    debiased_train: float | None = None
    debiased_test: float | None = None
    null_train: float | None = None
    null_test: float | None = None
    """Means of the alignments with permuted labels."""
    null_train_95: float | None = None
    null_test_95: float | None = None
    """Their 95 % quantiles."""

    @property
    def is_within_null(self) -> bool:
        """Return whether the alignment on the test fold does not exceed the 95 % quantile for permuted labels."""
        return self.test is not None and self.null_test_95 is not None and self.test <= self.null_test_95

    @classmethod
    def of(cls, train: Estimates, test: Estimates) -> Self:
        """Return the alignments; a value that is not finite becomes None."""
        null = (train.null_mean, test.null_mean, train.null_quantile, test.null_quantile)
        found = (train.biased, test.biased, train.debiased, test.debiased, *null)
        return cls(*(float(value) if np.isfinite(value) else None for value in found))

    def to_json(self) -> dict[str, Any]:
        """Return the members of the JSON object of a cell, or of its weights, that store the alignments."""
        found = {name: getattr(self, attribute) for attribute, name in ALIGNMENTS.items()}
        return {name: value for name, value in found.items() if value is not None or name in REQUIRED}

    @classmethod
    def find(cls, found: JsonObject) -> Self | None:
        """Return the alignments in a JSON object; None if it has none."""
        if not any(name in found for name in ALIGNMENTS.values()):
            return None
        return cls(**{attribute: found.optional_number(name) for attribute, name in ALIGNMENTS.items()})


@dataclass(frozen=True)
class WeightsResult:
    """Summary of the weights of one cell. A failed solve has no certificate and no active kernels."""

    n_kernels: int
    n_active: int | None = None
    certificate: float | None = None
    alignments: Alignments | None = None
    """None if some weights are negative: the fit then reports the alignments of the positive part."""
    status: str = OK

    @classmethod
    def of(cls, weights: Floats, certificate: float, alignments: Alignments | None = None) -> Self:
        """Return the summary of the weights that a method found."""
        return cls(len(weights), int(np.count_nonzero(weights)), float(certificate), alignments)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        found: dict[str, Any] = {"certificate": self.certificate, "n_kernels": self.n_kernels}
        if self.n_active is not None:
            found["n_active"] = self.n_active
        if self.alignments:
            found |= self.alignments.to_json()
        return found if self.status == OK else found | {"status": self.status}

    @classmethod
    def from_object(cls, found: JsonObject) -> Self:
        """Return the instance that a JSON object describes."""
        return cls(
            n_kernels=found.integer("n_kernels"),
            n_active=found.integer("n_active") if found.has("n_active") else None,
            certificate=found.optional_number("certificate"),
            alignments=Alignments.find(found),
            status=found.text("status") if found.has("status") else OK,
        )


@dataclass(frozen=True)
class TrialWeights(TaskResult):
    """Result of a task that determines the weights of one method for several trials."""

    trials: Mapping[int, WeightsResult]

    def to_json(self) -> dict[str, Any]:
        return {"trials": {str(trial): weights.to_json() for trial, weights in self.trials.items()}}

    @classmethod
    def from_json(cls, value: object) -> Self:
        trials = JsonObject(value, "the result").object("trials")
        if wrong := [name for name in trials.names() if TRIAL.fullmatch(name) is None]:
            raise ValueError(f"the result: 'trials' has {wrong[0][:20]!r}, which is not the number of a trial")
        return cls({int(name): WeightsResult.from_object(trials.object(name)) for name in trials.names()})


@dataclass(frozen=True)
class Theorems:
    """Right-hand sides of the paper's theorems for a learned kernel; None for one that does not apply."""

    theorem12: float | None = None
    predictor_error: float | None = None
    """Measured error of the alignment predictor on the test fold."""
    theorem13: float | None = None
    theorem14: float | None = None
    theorem15: float | None = None
    theorem16: float | None = None
    theorem17: float | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether no theorem could be evaluated."""
        return not self.to_json()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object, which contains only the values that are defined."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_object(cls, found: JsonObject) -> Self:
        """Return the instance that a JSON object describes."""
        return cls(**{member.name: found.optional_number(member.name) for member in fields(cls)})


@dataclass(frozen=True)
class CellResult(TaskResult):
    """Result of a task that fits one cell, and for some methods also determines its weights."""

    status: str = OK
    weights: WeightsResult | None = None
    path: PathResult | None = None
    """Regularisation path with errors in the unit of the labels; None if the cell failed."""
    alignments: Alignments | None = None
    """Alignments of the positive part of a kernel with negative weights, or of the kernel of a reference method."""
    theorems: Theorems = field(default_factory=Theorems)

    @property
    def at_edge(self) -> bool | None:
        """Return whether the chosen regularisation value is at the edge of its grid; None if there is none."""
        return self.path.at_edge if self.path and self.path.regularisation is not None else None

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"status": self.status}
        if self.weights:
            found["weights"] = self.weights.to_json()
        if self.alignments:
            found |= self.alignments.to_json()
        if self.path:
            found |= {"path": _path_to_json(self.path), "at_edge": self.at_edge}
        return found if self.theorems.is_empty else found | {"theorems": self.theorems.to_json()}

    @classmethod
    def from_json(cls, value: object) -> Self:
        found = JsonObject(value, "the result")
        weights, path, theorems = map(found.optional_object, ("weights", "path", "theorems"))
        status = found.text("status")
        if status == OK and path is None:
            raise found.error("path", "an object")
        return cls(
            status=status,
            weights=WeightsResult.from_object(weights) if weights else None,
            path=_path_from_json(path) if path else None,
            alignments=Alignments.find(found),
            theorems=Theorems.from_object(theorems) if theorems else Theorems(),
        )


def _numbers_by_name(found: JsonObject, name: str) -> dict[str, float | None]:
    inner = found.object(name)
    return {key: inner.optional_number(key) for key in inner.names()}


READERS: dict[object, Callable[[JsonObject, str], Any]] = {
    bool: JsonObject.flag,
    int: JsonObject.integer,
    str: JsonObject.text,
    float | None: JsonObject.optional_number,
    list[float | None]: JsonObject.optional_numbers,
    Sequence[float | None] | None: JsonObject.optional_numbers,
    dict[str, float | None]: _numbers_by_name,
    list[tuple[float, ...]]: lambda found, name: found.number_tuples(name, MAX_PARAMETERS),
}
"""How a member of a path is read, by the type of the field."""
# All fields except the predictions, which are stored in an array.
MEMBERS = tuple(member for member in fields(PathResult) if member.name != "predictions")
READER_OF = {member.name: READERS[get_type_hints(PathResult)[member.name]] for member in MEMBERS}
ALWAYS_WRITTEN = ("certificates", "majority_only")
"""Members that are written even if they have their default value, as in the first versions."""


def _default(member: Field[Any]) -> Any:
    return member.default if member.default_factory is MISSING else member.default_factory()


def _path_to_json(path: PathResult) -> dict[str, Any]:
    """Return the members of a path; those with their default value are left out, as in results of earlier versions."""
    found: dict[str, Any] = {
        member.name: getattr(path, member.name)
        for member in MEMBERS
        if member.name in ALWAYS_WRITTEN or getattr(path, member.name) != _default(member)
    }
    return found | {"values": [list(value) for value in path.values]}


def _path_from_json(found: JsonObject) -> PathResult:
    """Return the path that a JSON object describes; members that earlier versions did not write may be missing."""
    path = PathResult(
        **{
            member.name: READER_OF[member.name](found, member.name)
            for member in MEMBERS
            if _default(member) is MISSING or found.has(member.name)
        }
    )
    if len(path.values) > 1 and not all(path.values):
        raise found.error("values", "a list of lists of numbers, none of which is empty if there are several")
    errors = (path.train_errors, path.validation_errors, path.test_errors)
    lengths = {len(path.values), *map(len, errors)}
    if path.certificates is not None:
        lengths.add(len(path.certificates))
    if len(lengths) > 1:
        raise ValueError(f"the result: 'path' has lists of different lengths: {sorted(lengths)}")
    if path.best >= len(path.values):
        raise found.error("best", f"an integer from 0 to {len(path.values) - 1}")
    if any(
        certificate is None and error is not None
        for certificate, error in zip(path.certificates or (), path.validation_errors, strict=False)
    ):
        raise found.error("certificates", "a list of numbers, with null only where the validation error is null")
    return path
