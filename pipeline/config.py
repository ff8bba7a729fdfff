"""The config as values: every field, its default and what it allows.

Each field is written once, here; the schema, the resolved config and the error messages all follow from it.
"""

from collections import Counter
from difflib import get_close_matches
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, field_validator, model_validator

from tasks.gaussian import kernel_names

Method = Literal["unif", "align", "alignf", "best-kernel"]
TaskName = Literal["regression", "classification"]
# Names become parts of paths and of task names.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
Exponent = Annotated[int, Field(ge=-1000, le=1000)]
Tasks = Annotated[
    list[TaskName],
    Field(min_length=1, description="one task, or a list of both"),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(get_args(TaskName))},
                {"type": "array", "minItems": 1, "items": {"enum": list(get_args(TaskName))}},
            ]
        }
    ),
]


class Model(BaseModel):
    """Strict, closed and unchangeable: a misspelt key or a text for a number is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: object) -> object:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in data if isinstance(data, dict) else ():
            if key not in known:
                nearest = get_close_matches(str(key), known, n=1)
                hint = f"; did you mean {nearest[0]!r}?" if nearest else "."
                raise ValueError(f"unknown key {key!r}{hint} Allowed: {', '.join(known)}")
        return data


class Grid(Model):
    """Regularisation values 2 ** (from..to)."""

    start: Exponent = Field(alias="from", description="the least exponent")
    stop: Exponent = Field(alias="to", description="the greatest exponent")
    step: int = Field(2, ge=1, description="between exponents")

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if self.start > self.stop:
            raise ValueError(f"goes from {self.start} to {self.stop}; 'from' must not be above 'to'")
        return self

    def values(self) -> list[float]:
        """The values, ascending."""
        return [2.0**exponent for exponent in range(self.start, self.stop + 1, self.step)]


class Fit(Model):
    """The regularisation paths, for kernels scaled to trace one."""

    krr: Grid = Field(Grid(**{"from": -30, "to": 0}), description="ridges of kernel ridge regression")
    svm: Grid = Field(Grid(**{"from": -4, "to": 18}), description="C of the support vector machine")

    def path(self, task: str) -> list[float]:
        """The values for a task, from the most to the least regularised."""
        return self.krr.values()[::-1] if task == "regression" else self.svm.values()


class Protocol(Model):
    """Cross-validation: a trial tests on one fold, validates on the next and trains on the rest."""

    folds: int = Field(5, ge=3, le=100, description="parts that the samples are dealt into; as many trials")


class Storage(Model):
    """How Gram matrices are cut."""

    tile: int = Field(512, ge=1, le=8192, description="side of a tile: one zarr chunk holds it for all kernels")


class GaussianFamily(Model):
    """Gaussian kernels exp(-gamma ||x - z||^2) with gamma = 2 ** (lo..hi)."""

    family: Literal["gaussian"]
    log2_gamma: tuple[Exponent, Exponent] = Field(description="[lo, hi], both included", strict=False)

    @field_validator("log2_gamma")
    @classmethod
    def _ascending(cls, value: tuple[int, int]) -> tuple[int, int]:
        if value[0] > value[1]:
            raise ValueError(f"{list(value)} is backwards; write [{value[1]}, {value[0]}]")
        return value

    @property
    def names(self) -> list[str]:
        """One name a kernel."""
        return kernel_names(self.log2_gamma)


class DatasetBase(Model):
    """What all sources share."""

    name: Name = Field(description="of the rows in the tables and the groups of the arrays")
    task: Tasks
    rows: int | None = Field(None, ge=1, description="a seeded sample of so many rows; all without it")
    scale: Literal["none", "standard", "minmax"] = Field("none", description="how feature columns are scaled")
    kernels: list[GaussianFamily] = Field(min_length=1, description="families of base kernels")

    @field_validator("task", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @field_validator("task")
    @classmethod
    def _no_repeats(cls, value: list[str]) -> list[str]:
        return _distinct(value)

    @field_validator("name")
    @classmethod
    def _not_zarrs(cls, value: str) -> str:
        if value == "zarr.json":
            raise ValueError("'zarr.json' is a name that zarr keeps for itself")
        return value

    @field_validator("kernels")
    @classmethod
    def _no_kernel_twice(cls, value: list[GaussianFamily]) -> list[GaussianFamily]:
        _distinct([name for family in value for name in family.names])
        return value

    @property
    def kernel_names(self) -> list[str]:
        """One name a kernel, family after family."""
        return [name for family in self.kernels for name in family.names]


class TableDataset(DatasetBase):
    """What sources with columns share: which one is the target, and how text becomes numbers."""

    target: int | str = Field(-1, description="column number (-1 is the last) or name")
    positive: list[str] | None = Field(
        None, min_length=1, description="labels that become +1, all others -1; without it the greater of two"
    )
    drop: list[int | str] = Field([], description="columns to leave out")
    encode: Literal["onehot"] | dict[str, Annotated[float, Field(allow_inf_nan=False)]] | None = Field(
        None,
        description="text columns: 'onehot', or a number for each word or letter; a column of words "
        "over coded letters becomes a feature a letter",
    )
    missing: Literal["error", "drop"] = Field(
        "error", description="rows with an empty cell or a text without a code: refuse them or leave them out"
    )


class FileDataset(TableDataset):
    """A file under the data directory; .gz is read as it is."""

    source: Literal["file"]
    path: str = Field(min_length=1, description="under --data-dir, else PIPELINE_DATA_DIR, else the config's folder")
    format: Literal["csv", "table", "libsvm", "arff", "npz"] = Field(
        description="'table' has columns split by blanks; npz holds 'features' and 'target'"
    )
    header: bool | None = Field(
        None, description="csv and table: the first line names the columns; without it, if 'target' is a name"
    )

    @model_validator(mode="after")
    def _target_is_marked(self) -> Self:
        if self.format in ("libsvm", "npz") and self.target != -1:
            raise ValueError(f"target = {self.target!r}: a file of format {self.format!r} marks its target itself")
        return self


class OpenmlDataset(TableDataset):
    """A dataset of openml.org, fetched once and cached by scikit-learn."""

    source: Literal["openml"]
    id: int | str = Field(description="data id or name")
    target: int | str = Field("", description="column name; the dataset's own without it")


class SklearnDataset(DatasetBase):
    """A dataset that scikit-learn carries."""

    source: Literal["sklearn"]
    id: Literal["breast_cancer", "diabetes", "digits", "iris", "wine"]
    positive: list[str] | None = Field(None, min_length=1, description="labels that become +1, all others -1")


class SyntheticDataset(DatasetBase):
    """Friedman's first regression problem; classification asks for the side of its median."""

    source: Literal["synthetic"]
    task: list[TaskName] = Field(min_length=1, max_length=1, description="one task")
    rows: int = Field(1000, ge=1, description="samples to make")
    features: int = Field(10, ge=5, description="columns; the target depends on the first five")
    noise: float = Field(1.0, ge=0, allow_inf_nan=False, description="standard deviation of what is added to it")


Dataset = Annotated[FileDataset | OpenmlDataset | SklearnDataset | SyntheticDataset, Field(discriminator="source")]


class Config(Model):
    """A sweep: datasets x methods x trials x regularisation values."""

    name: Name = Field(description="of the sweep, and of its run directory")
    description: str = Field("", description="one line for `pipeline configs`")
    seed: int = Field(0, ge=0, description="of samples and folds")
    methods: list[Method] = Field(min_length=1, description="rules that give the weights")
    protocol: Protocol = Protocol()
    fit: Fit = Fit()
    storage: Storage = Storage()
    dataset: list[Dataset] = Field(min_length=1)

    @field_validator("methods")
    @classmethod
    def _no_repeats(cls, value: list[str]) -> list[str]:
        return _distinct(value)

    @field_validator("dataset")
    @classmethod
    def _one_name_a_dataset(cls, value: list[Dataset]) -> list[Dataset]:
        _distinct([dataset.name for dataset in value])
        return value


def _distinct(names: list[str]) -> list[str]:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"names {repeated[0]!r} twice")
    return names
