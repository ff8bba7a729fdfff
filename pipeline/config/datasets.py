"""Datasets and their families of base kernels, as a config writes them."""

from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import Field, WithJsonSchema, field_validator, model_validator

from kernel_pipeline.config.families import KernelFamily
from kernel_pipeline.config.strict_model import Model, Name, distinct
from kernel_pipeline.tasks.kernels.family import (
    FAMILIES,
    ColumnChoice,
    ColumnFamily,
    Family,
    GramFamily,
    family_name,
    kernel_names,
)

TaskName = Literal["regression", "classification"]
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


class DatasetBase(Model):
    """What all sources share."""

    columns: ClassVar[tuple[str, ...]] = ("columns",)
    """The kinds of columns that the source has, for families that make a kernel of each."""

    name: Name = Field(description="of the rows in the tables and the groups of the arrays")
    task: Tasks
    rows: int | None = Field(None, ge=1, description="a seeded sample of so many rows; all without it")
    kernels: list[KernelFamily] = Field(
        min_length=1, description="families of base kernels; a rank-one family stands alone"
    )

    @field_validator("task", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @field_validator("task")
    @classmethod
    def _no_repeats(cls, value: list[str]) -> list[str]:
        return distinct(value)

    @field_validator("name")
    @classmethod
    def _not_zarrs(cls, value: str) -> str:
        if value == "zarr.json":
            raise ValueError("'zarr.json' is a name that zarr keeps for itself")
        return value

    @field_validator("kernels")
    @classmethod
    def _families_go_together(cls, value: list[Family]) -> list[Family]:
        for family in value:
            if not isinstance(family, ColumnFamily):
                continue
            if len(value) > 1:
                raise ValueError(
                    f"a {family_name(family)} family stands alone; put other families into a dataset of their own"
                )
            if (kind := family.choice().kind) not in cls.columns:
                raise ValueError(f"features = {kind!r} is not what this source has; it has: {', '.join(cls.columns)}")
        distinct(list(kernel_names([family for family in value if isinstance(family, GramFamily)])))
        return value

    @property
    def gram_families(self) -> tuple[GramFamily, ...]:
        """The families whose kernels are Gram matrices."""
        return tuple(family for family in self.kernels if isinstance(family, GramFamily))

    @property
    def column_family(self) -> ColumnFamily | None:
        """The family that makes a kernel of each column, if the dataset has one."""
        first = self.kernels[0]
        return first if isinstance(first, ColumnFamily) else None


class NumbersDataset(DatasetBase):
    """What sources of numbers share."""

    scale: Literal["none", "standard", "minmax"] = Field("none", description="how feature columns are scaled")


class TableDataset(NumbersDataset):
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

    @model_validator(mode="after")
    def _sparse_columns_stay(self) -> Self:
        if self.sparse and self.drop:
            raise ValueError(f"drop = {self.drop}: of a libsvm file a rank-one family takes every column; leave it out")
        if self.sparse and self.encode is not None:
            raise ValueError(f"encode = {self.encode!r}: a libsvm file holds numbers only; leave it out")
        if self.sparse and self.scale != "none":
            raise ValueError(
                f"scale = {self.scale!r}: rank-one kernels are centered and scaled to trace one in any case; leave it "
                "out for a libsvm file, which stays sparse"
            )
        return self

    @property
    def sparse(self) -> bool:
        """Whether the columns stay sparse."""
        return self.format == "libsvm" and self.column_family is not None


class OpenmlDataset(TableDataset):
    """A dataset of openml.org, fetched once and cached by scikit-learn."""

    source: Literal["openml"]
    id: int | str = Field(description="data id or name")
    target: int | str = Field("", description="column name; the dataset's own without it")


class SklearnDataset(NumbersDataset):
    """A dataset that scikit-learn carries."""

    source: Literal["sklearn"]
    id: Literal["breast_cancer", "diabetes", "digits", "iris", "wine"]
    positive: list[str] | None = Field(None, min_length=1, description="labels that become +1, all others -1")


class SyntheticDataset(NumbersDataset):
    """Friedman's first regression problem; classification asks for the side of its median."""

    source: Literal["synthetic"]
    task: list[TaskName] = Field(min_length=1, max_length=1, description="one task")
    rows: int = Field(1000, ge=1, description="samples to make")
    features: int = Field(10, ge=5, description="columns; the target depends on the first five")
    noise: float = Field(1.0, ge=0, allow_inf_nan=False, description="standard deviation of what is added to it")


class DocumentsDataset(DatasetBase):
    """What sources of documents share: their words are counted, and each count is a column."""

    columns: ClassVar[tuple[str, ...]] = ("unigrams", "bigrams")

    path: str = Field(min_length=1, description="under --data-dir, else PIPELINE_DATA_DIR, else the config's folder")
    missing: Literal["error", "drop"] = Field(
        "error", description="documents without a word to count: refuse them or leave them out"
    )

    @field_validator("kernels")
    @classmethod
    def _only_columns(cls, value: list[Family]) -> list[Family]:
        if not all(isinstance(family, ColumnFamily) for family in value):
            allowed = " or ".join(repr(name) for name, kind in FAMILIES.items() if issubclass(kind, ColumnFamily))
            raise ValueError(f"documents take one family that makes a kernel of each column: family = {allowed}")
        return value

    @property
    def column_choice(self) -> ColumnChoice:
        """Which words become columns."""
        (family,) = (family for family in self.kernels if isinstance(family, ColumnFamily))
        return family.choice()


class TextDataset(DocumentsDataset):
    """A file of documents, one a line, its label first; .gz is read as it is."""

    source: Literal["text"]
    positive: list[str] | None = Field(None, min_length=1, description="labels that become +1, all others -1")


class SentimentDataset(DocumentsDataset):
    """One domain of the multi-domain sentiment reviews (Blitzer et al. 2007): `processed_acl` counts and ratings.

    A regression learns the rating, a classification tells ratings of 4 and more from those of 2 and less.
    """

    source: Literal["sentiment"]
    domain: str = Field(min_length=1, description="a folder of processed_acl, such as 'books'")


NumbersSource = FileDataset | OpenmlDataset | SklearnDataset | SyntheticDataset
Dataset = Annotated[NumbersSource | TextDataset | SentimentDataset, Field(discriminator="source")]
