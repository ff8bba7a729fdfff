"""Define the config of a sweep: all fields with their defaults and allowed values.

Each field is defined once: here, in `datasets`, `families`, `methods` or `fit`, or in the module of a source, family or
method. The schema, the resolved config and the error messages are derived from these definitions.
"""

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from kernel_pipeline.cluster.quantities import MemorySize
from kernel_pipeline.config.datasets import Dataset
from kernel_pipeline.config.fit import FitTable, fit_model
from kernel_pipeline.config.methods import MethodEntry
from kernel_pipeline.config.s3_address import parse_s3
from kernel_pipeline.config.strict_model import Name, StrictModel, refuse_sample_weights, require_distinct
from kernel_pipeline.tasks.metrics import METRICS
from kernel_pipeline.tasks.statistics.permutations import MIN_PERMUTATIONS
from kernel_pipeline.tasks.weights.method import METHODS, Method, baseline_names

MIN_FOLDS, MAX_FOLDS = 3, 100
"""Limits on the number of folds: a trial needs a test fold, a validation fold and at least one training fold."""


class CrossValidation(StrictModel):
    """Cross-validation: each trial tests on one fold, validates on the next and trains on the others."""

    folds: int = Field(
        5, ge=MIN_FOLDS, le=MAX_FOLDS, description="number of folds, which is also the number of trials per repeat"
    )
    repeats: int = Field(
        1,
        ge=1,
        le=100,
        description="number of times that the samples are assigned to folds at random; the Gram matrices are computed "
        "once for all repeats",
    )

    permutations: int = Field(
        0,
        ge=0,
        le=1000,
        description="number of random permutations of the labels, for the level that alignments reach by chance: 0 for "
        "none, or at least 19",
    )

    @field_validator("permutations")
    @classmethod
    def _check_permutations(cls, value: int) -> int:
        if 0 < value < MIN_PERMUTATIONS:
            raise ValueError(f"must be 0, or at least {MIN_PERMUTATIONS} for a 95 % quantile; got {value}")
        return value

    @property
    def trials(self) -> int:
        """Return the number of trials of all repeats."""
        return self.repeats * self.folds


class StorageSettings(StrictModel):
    """Size of the tiles of Gram matrices, whether these are stored, and the location of all arrays."""

    tile: int = Field(512, ge=1, le=8192, description="side length of a tile, which is one zarr chunk for all kernels")
    gram: Literal["auto", "keep", "recompute"] = Field(
        "auto",
        description="'keep' stores the Gram matrices; 'recompute' computes them where they are needed, which takes "
        "no disk space; 'auto' keeps those of a dataset if they and the combined kernels fit into keep_up_to",
    )
    keep_up_to: MemorySize = Field(
        "20 GiB", description="disk space for the Gram matrices and combined kernels of a dataset, for gram = 'auto'"
    )
    keep_combined: bool = Field(
        False, description="whether the combined kernels of finished cells are kept; by default, they are removed"
    )
    url: str | None = Field(
        None, description="s3://bucket/prefix for the arrays of the run; default: the run directory"
    )

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: str | None) -> str | None:
        return None if value is None else str(parse_s3(value))


class Config(StrictModel):
    """A sweep: datasets x methods x trials x regularisation values."""

    name: Name = Field(description="name of the sweep, with which the name of its default run directory begins")
    description: str = Field("", description="one line that `pipeline configs` shows")
    seed: int = Field(
        0, ge=0, description="seed of the random choice of samples and folds, of permutations and of synthetic data"
    )
    methods: list[MethodEntry] = Field(
        min_length=1, description="methods; a method is skipped for tasks that it does not support"
    )
    # The description lists the methods that are registered when the schema is printed.
    baselines: bool = Field(True, json_schema_extra=lambda schema: schema.update(description=_about_baselines()))
    protocol: CrossValidation = CrossValidation()
    fit: FitTable = Field(default_factory=lambda: fit_model()())
    storage: StorageSettings = StorageSettings()
    dataset: list[Dataset] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _no_sample_weights(cls, data: object) -> object:
        return refuse_sample_weights(data)

    @property
    def used_methods(self) -> list[Method]:
        """Return the listed methods, followed by the baselines that are added for the tasks of the datasets."""
        listed = {method.name for method in self.methods}
        problems = {problem for dataset in self.dataset for problem in dataset.task}
        added = [METHODS[name]() for name in baseline_names() if self.baselines and name not in listed]
        return [*self.methods, *(method for method in added if problems & set(method.problems))]

    @property
    def class_weight_notes(self) -> tuple[str, ...]:
        """Return a note if class weights are set, but all tasks are regressions."""
        if self.fit.class_weight is None or any("classification" in dataset.task for dataset in self.dataset):
            return ()
        unused = f"[fit] class_weight = {self.fit.class_weight!r} is not used"
        return (f"{unused}, since no dataset has the task 'classification'",)

    @field_validator("methods")
    @classmethod
    def _check_distinct_methods(cls, value: list[Method]) -> list[Method]:
        require_distinct([method.method_id for method in value])
        return value

    @field_validator("dataset")
    @classmethod
    def _check_distinct_names(cls, value: list[Dataset]) -> list[Dataset]:
        require_distinct([dataset.name for dataset in value])
        return value

    @model_validator(mode="after")
    def _check_method_problems(self) -> Self:
        problems = sorted({problem for dataset in self.dataset for problem in dataset.task})
        for method in self.methods:
            if not set(problems) & set(method.problems):
                raise ValueError(
                    f"methods: {method.method_id!r} is for {' and '.join(method.problems)}, but the datasets have only "
                    f"the task {' and '.join(problems)}; remove the method, or change the task of a dataset"
                )
        return self

    @model_validator(mode="after")
    def _check_repeats(self) -> Self:
        for dataset in self.dataset:
            if self.protocol.repeats > 1 and dataset.given_folds is not None:
                raise ValueError(
                    f"protocol.repeats = {self.protocol.repeats}: the folds of dataset {dataset.name!r} are given by "
                    f"folds = {dataset.given_folds!r}, so there is one assignment; remove folds, or set repeats = 1"
                )
        return self

    @model_validator(mode="after")
    def _check_metric_problem(self) -> Self:
        problems = sorted({problem for dataset in self.dataset for problem in dataset.task})
        if self.fit.metric and not any(map(self.fit.metric_name, problems)):
            raise ValueError(
                f"fit.metric = {self.fit.metric!r} is for {' and '.join(METRICS[self.fit.metric].problems)}, but the "
                f"datasets have only the task {' and '.join(problems)}; choose another metric, or remove it"
            )
        return self

    @model_validator(mode="after")
    def _check_class_weight(self) -> Self:
        for method in self.methods:
            if self.fit.class_weight and "classification" in method.problems and not method.supports_class_weight:
                raise ValueError(
                    f"fit.class_weight = {self.fit.class_weight!r}: {method.method_id!r} does not support class "
                    "weights; remove the method, or remove class_weight"
                )
        return self


def _about_baselines() -> str:
    return f"whether the methods {', '.join(map(repr, baseline_names()))} are added to the list for comparison"
