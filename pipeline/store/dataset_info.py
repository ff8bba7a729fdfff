"""Describe a dataset without its values: the sizes, names and digests that plans and run directories need."""

import math
from dataclasses import dataclass, fields
from typing import Any, Self

from kernel_pipeline.config.feature_columns import FeatureColumns
from kernel_pipeline.text import printable

MAX_COUNT = 1 << 48
"""Upper limit of the numbers of rows, columns and entries."""


@dataclass(frozen=True)
class DatasetInfo:
    """Sizes and identity of the samples of a dataset."""

    name: str
    fingerprint: str
    """Digest of all numbers that are used for learning, and of the names of kernels and of columns of views."""
    rows: int
    columns: int
    entries: int
    """Number of stored values: all of a table, the nonzero ones of sparse columns."""
    kernels: tuple[str, ...]
    """Names of the base kernels."""
    left_out: int
    """Number of rows of the source that were left out.

    These are rows with missing or unusable values, and documents without any counted word.
    """
    classes: tuple[tuple[str, ...], ...] = ()
    """The labels of each class, in the order of the classes; empty if labels are only used as numbers."""
    outputs: tuple[str, ...] = ()
    """Names of the target columns of a regression, if there are several."""
    notes: tuple[str, ...] = ()
    """Notes for the user about the data and the kernel families, one sentence each."""
    features: FeatureColumns | None = None
    """The feature columns; None in runs of earlier versions, and for rank-one kernels, which are named after them."""
    largest_train: int | None = None
    """Size of the largest training set, if groups, given folds or a fixed test set make folds uneven."""
    precomputed: tuple[tuple[float, ...], ...] = ()
    """The shifts of the kernels of each precomputed family, in the order of the config."""
    per_trial: bool = False
    """Whether data-dependent steps are fitted to the training set of each trial, so that kernels differ by trial."""
    fitted_steps: tuple[str, ...] = ()
    """Steps that are fitted to data, as in the config, such as "scale = 'standard'"."""

    def label_columns(self, problem: str) -> int:
        """Return the number of label columns of a problem: one for two classes or one output."""
        several = self.classes if problem == "classification" else self.outputs
        return len(several) if len(several) > (2 if problem == "classification" else 1) else 1

    @property
    def fit_on(self) -> str:
        """Return the samples that data-dependent steps are fitted to: "train" or "all"."""
        return "train" if self.per_trial else "all"

    def fitted_trials(self, trials: int) -> tuple[int | None, ...]:
        """Return the trials to whose training sets data-dependent steps are fitted; `(None,)` for all samples."""
        return tuple(range(trials)) if self.per_trial else (None,)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object; those that are not known or do not apply are left out."""
        optional = {
            "classes": self.classes,
            "outputs": self.outputs,
            "features": self.features.to_json() if self.features else None,
            "largest_train": self.largest_train,
            "precomputed": self.precomputed,
            "per_trial": self.per_trial,
            "fitted_steps": self.fitted_steps,
        }
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in optional}
        return values | {key: value for key, value in optional.items() if value}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Return the instance with the fields that `to_json` returned.

        Raises
        ------
        ValueError, TypeError
            If a field is missing, unknown or of another type.
        """
        values = dict(values)
        direct = _strings(values.pop("direct", ()), "direct")  # only in run directories of earlier versions
        notes = _strings(values.get("notes", ()), "notes")
        if direct:
            notes += (f"columns {', '.join(map(repr, direct))}: their differences are computed directly",)
        lists = {
            "kernels": _strings(values.get("kernels", ()), "kernels"),
            "classes": _classes(values.get("classes", ())),
            "outputs": _strings(values.get("outputs", ()), "outputs"),
            "fitted_steps": _strings(values.get("fitted_steps", ()), "fitted_steps"),
            "notes": tuple(map(printable, notes)),
        }
        features = values.pop("features", None)
        precomputed = _shifts(values.pop("precomputed", ()))
        found = cls(
            **values | lists,
            features=None if features is None else FeatureColumns.from_json(features),
            precomputed=precomputed,
        )
        if sum(map(len, precomputed)) > len(found.kernels):
            raise ValueError(f"precomputed has {sum(map(len, precomputed))} kernels, kernels has {len(found.kernels)}")
        if found.features and len(found.features.names) != found.columns:
            raise ValueError(f"features has {len(found.features.names)} names for {found.columns} columns")
        if type(found.per_trial) is not bool:
            raise ValueError("per_trial is not true or false")
        for field in fields(cls):
            value = getattr(found, field.name)
            if field.type in (str, int) and type(value) is not field.type:
                raise ValueError(f"{field.name} is not of type {field.type}")
            if field.name == "largest_train" and type(value) is not int and value is not None:
                raise ValueError(f"{field.name} is not a number")
            if type(value) is int and not 0 <= value <= MAX_COUNT:
                raise ValueError(f"{field.name} is {value}; it must be between 0 and {MAX_COUNT:,}")
        return found


def _classes(value: object) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list | tuple):
        raise ValueError("classes is not a list")
    return tuple(_strings(labels, "classes") for labels in value)


def _strings(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{name} is not a list of strings")
    return tuple(value)


def _shifts(value: object) -> tuple[tuple[float, ...], ...]:
    """Return the shifts of precomputed kernels: finite numbers, at least one per family."""
    if not isinstance(value, list | tuple) or not all(isinstance(family, list | tuple) and family for family in value):
        raise ValueError("precomputed is not a list of lists")
    if not all(type(shift) in (int, float) and math.isfinite(shift) for family in value for shift in family):
        raise ValueError("precomputed has a shift that is not a finite number")
    return tuple(tuple(map(float, family)) for family in value)
