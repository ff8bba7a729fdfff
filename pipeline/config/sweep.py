"""The config as values: every field, its default and what it allows.

Each field is written once, here and in `datasets`, `methods` and `fit`; the schema, the resolved config and the error
messages all follow from it.
"""

from typing import Self

from pydantic import Field, field_validator, model_validator

from kernel_pipeline.config.datasets import Dataset
from kernel_pipeline.config.fit import FitTable, fit_model
from kernel_pipeline.config.methods import MethodEntry
from kernel_pipeline.config.s3_address import parse_s3
from kernel_pipeline.config.strict_model import Name, StrictModel, distinct
from kernel_pipeline.tasks.weights.method import Method


class CrossValidation(StrictModel):
    """Cross-validation: a trial tests on one fold, validates on the next and trains on the rest."""

    folds: int = Field(5, ge=3, le=100, description="parts that the samples are dealt into; as many trials")


class Storage(StrictModel):
    """How Gram matrices are cut, and where arrays go."""

    tile: int = Field(512, ge=1, le=8192, description="side of a tile: one zarr chunk holds it for all kernels")
    url: str | None = Field(
        None, description="s3://bucket/prefix for the arrays of the run; they go to the run directory without it"
    )

    @field_validator("url")
    @classmethod
    def _in_an_object_store(cls, value: str | None) -> str | None:
        return None if value is None else str(parse_s3(value))


class Config(StrictModel):
    """A sweep: datasets x methods x trials x regularisation values."""

    name: Name = Field(description="of the sweep, and of its run directory")
    description: str = Field("", description="one line for `pipeline configs`")
    seed: int = Field(0, ge=0, description="of samples and folds")
    methods: list[MethodEntry] = Field(
        min_length=1, description="rules that give the weights; those that do not fit a task are left out there"
    )
    protocol: CrossValidation = CrossValidation()
    fit: FitTable = Field(default_factory=lambda: fit_model()())
    storage: Storage = Storage()
    dataset: list[Dataset] = Field(min_length=1)

    @field_validator("methods")
    @classmethod
    def _no_repeats(cls, value: list[Method]) -> list[Method]:
        distinct([method.method_id for method in value])
        return value

    @field_validator("dataset")
    @classmethod
    def _one_name_a_dataset(cls, value: list[Dataset]) -> list[Dataset]:
        distinct([dataset.name for dataset in value])
        return value

    @model_validator(mode="after")
    def _every_method_has_a_task(self) -> Self:
        learned = sorted({task for dataset in self.dataset for task in dataset.task})
        for method in self.methods:
            if not set(learned) & set(method.problems):
                raise ValueError(
                    f"methods: {method.method_id!r} is for {' and '.join(method.problems)}, but every dataset learns "
                    f"{' or '.join(learned)}; leave the method out, or set task of a dataset"
                )
        return self
