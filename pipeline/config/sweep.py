"""The config as values: every field, its default and what it allows.

Each field is written once, here and in `datasets` and `methods`; the schema, the resolved config and the error
messages all follow from it.
"""

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from kernel_pipeline.config.datasets import Dataset
from kernel_pipeline.config.methods import TASKS, Method, label
from kernel_pipeline.config.s3_address import parse_s3
from kernel_pipeline.config.strict_model import Name, StrictModel, distinct

# What regularises beyond these overflows or does nothing.
GridExponent = Annotated[int, Field(ge=-100, le=100)]


class Grid(StrictModel):
    """Regularisation values 2 ** (from..to)."""

    start: GridExponent = Field(alias="from", description="the least exponent")
    stop: GridExponent = Field(alias="to", description="the greatest exponent")
    step: int = Field(2, ge=1, description="between exponents")

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.start > self.stop:
            raise ValueError(f"goes from {self.start} to {self.stop}; 'from' must not be above 'to'")
        return self

    def values(self) -> list[float]:
        """The values, ascending."""
        return [2.0**exponent for exponent in range(self.start, self.stop + 1, self.step)]


class AlignKrrGrid(StrictModel):
    """The parameters of `align-krr`, every combination; labels have norm one, kernels trace one."""

    gamma: Grid = Field(Grid(**{"from": -6, "to": 0, "step": 6}), description="weight of the alignment")
    gamma1: Grid = Field(Grid(**{"from": -40, "to": -20, "step": 20}), description="weight of mu'mu")
    gamma2: Grid = Field(Grid(**{"from": -40, "to": -8, "step": 4}), description="weight of mu'M mu")

    def values(self) -> list[tuple[float, float, float]]:
        """(gamma, gamma1, gamma2), from the most to the least regularised in gamma2."""
        return [
            (gamma, gamma1, gamma2)
            for gamma in self.gamma.values()
            for gamma1 in self.gamma1.values()
            for gamma2 in self.gamma2.values()[::-1]
        ]


class Fit(StrictModel):
    """The regularisation paths, for kernels scaled to trace one."""

    krr: Grid = Field(Grid(**{"from": -30, "to": 0}), description="ridges of kernel ridge regression")
    svm: Grid = Field(Grid(**{"from": -4, "to": 18}), description="C of the support vector machine")
    l1_svm: Grid = Field(Grid(**{"from": -4, "to": 18}), alias="l1-svm", description="Lambda of l1-svm, whose C is 1")
    l2_krr: Grid = Field(Grid(**{"from": 0, "to": 30}), alias="l2-krr", description="Lambda of l2-krr; its ridge is 1")
    align_krr: AlignKrrGrid = Field(AlignKrrGrid(), alias="align-krr", description="the grid of align-krr")

    def grid_name(self, task: str, method: str) -> str:
        """Return the key of the grid from which a cell takes its regularisation values."""
        return {"l1-svm": "l1-svm", "l2-krr": "l2-krr", "align-krr": "align-krr gamma2"}.get(
            method, "krr" if task == "regression" else "svm"
        )

    def path(self, task: str, method: str = "") -> list[tuple[float, ...]]:
        """The values for a cell, from the most to the least regularised; one-stage methods have their own."""
        if method == "align-krr":
            return list(self.align_krr.values())
        grids = {"l1-svm": self.l1_svm.values(), "l2-krr": self.l2_krr.values()}
        values = self.krr.values()[::-1] if task == "regression" else self.svm.values()
        return [(value,) for value in grids.get(method, values)]


class Protocol(StrictModel):
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
    methods: list[Method] = Field(
        min_length=1, description="rules that give the weights; those that do not fit a task are left out there"
    )
    protocol: Protocol = Protocol()
    fit: Fit = Fit()
    storage: Storage = Storage()
    dataset: list[Dataset] = Field(min_length=1)

    @field_validator("methods")
    @classmethod
    def _no_repeats(cls, value: list[Method]) -> list[Method]:
        distinct([label(method) for method in value])
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
            wanted = TASKS.get(label(method))
            if wanted is not None and wanted not in learned:
                raise ValueError(
                    f"methods: {label(method)!r} is for {wanted}, but every dataset learns {' or '.join(learned)}; "
                    "leave the method out, or set task of a dataset"
                )
        return self
