"""Results of the tasks that learn weights and fit cells."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.store.json_object import JsonObject
from kernel_pipeline.store.reports import OK
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.learners.paths import PathResult

MAX_PARAMETERS = 3
"""Largest number of parameters of one fit of a path."""
TRIAL = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Alignments:
    """Centered alignment of a learned kernel with the labels, None where it is not defined."""

    train: float | None
    test: float | None

    @classmethod
    def of(cls, train: float, test: float) -> Self:
        """Return the record of two numbers; one that is not finite is not defined."""
        return cls(*(float(value) if np.isfinite(value) else None for value in (train, test)))

    def to_json(self) -> dict[str, Any]:
        """Return the members that hold the alignments in the object of a cell or of its weights."""
        return {"alignment_train": self.train, "alignment_test": self.test}

    @classmethod
    def find(cls, found: JsonObject) -> Self | None:
        """Return the alignments that are members of an object, if it has any."""
        if "alignment_train" not in found and "alignment_test" not in found:
            return None
        return cls(found.optional_number("alignment_train"), found.optional_number("alignment_test"))


@dataclass(frozen=True)
class WeightsResult:
    """What is known about the weights of one cell; those of a failed solve have neither certificate nor kernels."""

    n_kernels: int
    n_active: int | None = None
    certificate: float | None = None
    alignments: Alignments | None = None
    """None for weights of which some are negative: the fit then reports the alignments of the positive part."""
    status: str = OK

    @classmethod
    def of(cls, weights: Floats, certificate: float, alignments: Alignments | None = None) -> Self:
        """Return the record of the weights that a method found."""
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
        """Return the record of a JSON object."""
        return cls(
            n_kernels=found.integer("n_kernels"),
            n_active=found.integer("n_active") if found.has("n_active") else None,
            certificate=found.optional_number("certificate"),
            alignments=Alignments.find(found),
            status=found.text("status") if found.has("status") else OK,
        )


@dataclass(frozen=True)
class TrialWeights(TaskResult):
    """The result of a task that finds the weights of one method for several trials."""

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
    """The right-hand sides of the paper's theorems for a learned kernel, None where one does not apply."""

    theorem12: float | None = None
    predictor_error: float | None = None
    """Measured error of the alignment predictor on the test fold."""
    theorem13: float | None = None
    theorem14: float | None = None
    theorem17: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing could be evaluated."""
        return not self.to_json()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object, which has only the values that are defined."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_object(cls, found: JsonObject) -> Self:
        """Return the record of a JSON object."""
        return cls(**{member.name: found.optional_number(member.name) for member in fields(cls)})


@dataclass(frozen=True)
class CellResult(TaskResult):
    """What a task reports about one cell: its fits, and its weights where it learns both at once."""

    status: str = OK
    weights: WeightsResult | None = None
    path: PathResult | None = None
    """Regularisation path with errors in the unit of the data; None if the cell failed."""
    alignments: Alignments | None = None
    """Alignments of the positive part of a kernel with negative weights."""
    theorems: Theorems = field(default_factory=Theorems)

    @property
    def at_edge(self) -> bool | None:
        """Whether the chosen regularisation value is at the edge of its grid; None if the cell failed."""
        return self.path.at_edge if self.path else None

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"status": self.status}
        if self.weights:
            found["weights"] = self.weights.to_json()
        if self.alignments:
            found |= self.alignments.to_json()
        if self.path:
            found |= {"path": _path_to_json(self.path), "at_edge": self.path.at_edge}
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


def _path_to_json(path: PathResult) -> dict[str, Any]:
    found: dict[str, Any] = {member.name: getattr(path, member.name) for member in fields(path)}
    found["values"] = [list(value) for value in path.values]
    if not path.metrics:
        del found["metrics"]
    return found


def _path_from_json(found: JsonObject) -> PathResult:
    values = found.number_tuples("values", MAX_PARAMETERS)
    certificates = found.numbers("certificates") if found.has("certificates") else None
    train, validation, test = map(found.optional_numbers, ("train_errors", "validation_errors", "test_errors"))
    lengths = {
        len(values),
        len(train),
        len(validation),
        len(test),
        *([] if certificates is None else [len(certificates)]),
    }
    if len(lengths) > 1:
        raise ValueError(f"the result: 'path' has lists of different lengths: {sorted(lengths)}")
    metrics = found.optional_object("metrics")
    return PathResult(
        values,
        train_errors=train,
        validation_errors=validation,
        test_errors=test,
        best=found.integer("best", below=len(values)),
        certificates=certificates,
        majority_only=found.flag("majority_only", default=False),
        metrics={name: metrics.optional_number(name) for name in metrics.names()} if metrics else {},
    )
