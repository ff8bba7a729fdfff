"""Datasets in a config: the fields that several sources share, and the registry of the sources."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, get_args

from pydantic import Field, WithJsonSchema, field_validator

from kernel_pipeline.config.families import KernelFamily
from kernel_pipeline.config.open_sets import ModelIn
from kernel_pipeline.config.strict_model import Name, StrictModel, distinct
from kernel_pipeline.tasks.kernels.family import (
    FAMILIES,
    ColumnChoice,
    ColumnFamily,
    Family,
    GramFamily,
    family_name,
    kernel_names,
)
from kernel_pipeline.tasks.registry import Registry

TaskName = Literal["regression", "classification"]
Tasks = Annotated[
    list[TaskName],
    Field(min_length=1, description="one task, or a list of both tasks"),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(get_args(TaskName))},
                {"type": "array", "minItems": 1, "items": {"enum": list(get_args(TaskName))}},
            ]
        }
    ),
]
DataPath = Annotated[
    str,
    Field(
        min_length=1,
        description="path relative to --data-dir, else to PIPELINE_DATA_DIR, else to the directory of the config",
    ),
]
Positive = Annotated[
    list[str] | None,
    Field(min_length=1, description="labels that become +1, all others become -1; default: the larger label of two"),
]
Scaling = Literal["none", "standard", "minmax"]


class DatasetBase(StrictModel):
    """Base class of all sources.

    A source adds the field `source: Literal[NAME]` and its own fields, and registers itself in `SOURCES`.
    """

    if TYPE_CHECKING:
        source: str  # each source declares this field after its shared ones, which fixes the order of dumped keys

    columns: ClassVar[tuple[str, ...]] = ("columns",)
    """The kinds of columns that the source has, for families that make a kernel of each."""

    name: Name = Field(description="name of the dataset in the tables and in the store")
    task: Tasks
    rows: int | None = Field(None, ge=1, description="size of a random sample of the rows; default: all rows")
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
    def _not_reserved(cls, value: str) -> str:
        if value == "zarr.json":
            raise ValueError("'zarr.json' is reserved by zarr")
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
    def scaling(self) -> Scaling:
        """How feature columns are scaled."""
        return "none"

    def source_files(self) -> list[str]:
        """Return the files that the dataset is read from, as paths relative to the data directory."""
        return []

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
    """Base class of sources whose features are dense columns of numbers."""

    scale: Scaling = Field("none", description="how feature columns are scaled")

    @property
    def scaling(self) -> Scaling:
        """How feature columns are scaled."""
        return self.scale


class TableDataset(NumbersDataset):
    """Base class of sources with columns of several types: choice of the target, and encoding of text."""

    target: int | str = Field(-1, description="number (-1 is the last) or name of the target column")
    positive: Positive = None
    drop: list[int | str] = Field([], description="numbers or names of columns that are not features")
    encode: Literal["onehot"] | dict[str, Annotated[float, Field(allow_inf_nan=False)]] | None = Field(
        None,
        description="encoding of text columns: 'onehot', or a number for each word or letter; with numbers for "
        "letters, a column of longer words becomes one feature per letter",
    )
    missing: Literal["error", "drop"] = Field(
        "error", description="rows with an empty cell or with text that has no number: an error, or drop the rows"
    )


class DocumentsDataset(DatasetBase):
    """Base class of sources of documents: each feature is the number of occurrences of a word."""

    columns: ClassVar[tuple[str, ...]] = ("unigrams", "bigrams")

    path: DataPath
    missing: Literal["error", "drop"] = Field(
        "error", description="documents without any word that is counted: an error, or drop the documents"
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
        """Choice of the words that become columns."""
        (family,) = (family for family in self.kernels if isinstance(family, ColumnFamily))
        return family.choice()


SOURCES: Registry[type[DatasetBase]] = Registry("data source", modules=("kernel_pipeline.data.sources",))
"""Models of datasets by the name that the key `source` holds.

The module of a source registers its model here and its reader in `kernel_pipeline.data.raw_table.READERS`.
"""

Dataset = Annotated[DatasetBase, ModelIn(SOURCES, "source")]
