"""Datasets in a config: the fields that several sources share, and the registry of the sources."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, get_args

from pydantic import Field, WithJsonSchema, field_validator

from kernel_pipeline.config.families import Family, GaussianFamily, RankOneFamily
from kernel_pipeline.config.methods import Method
from kernel_pipeline.config.open_sets import ModelIn
from kernel_pipeline.config.strict_model import Name, StrictModel, distinct
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
    """Values that `features` of a rank-one family may have."""

    name: Name = Field(description="name of the dataset in the tables and in the store")
    task: Tasks
    rows: int | None = Field(None, ge=1, description="size of a random sample of the rows; default: all rows")
    kernels: list[Family] = Field(min_length=1, description="families of base kernels; a rank-one family stands alone")

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
        rank_one = [family for family in value if isinstance(family, RankOneFamily)]
        if rank_one and len(value) > 1:
            raise ValueError("a rank-one family stands alone; put other families into a dataset of their own")
        for family in rank_one:
            if family.features not in cls.columns:
                raise ValueError(
                    f"features = {family.features!r} is not what this source has; it has: {', '.join(cls.columns)}"
                )
        distinct([name for family in value if isinstance(family, GaussianFamily) for name in family.names])
        return value

    @property
    def scaling(self) -> Scaling:
        """How feature columns are scaled."""
        return "none"

    def source_files(self) -> list[str]:
        """Return the files that the dataset is read from, as paths relative to the data directory."""
        return []

    @property
    def rank_one(self) -> RankOneFamily | None:
        """The rank-one family, if the dataset has one."""
        first = self.kernels[0]
        return first if isinstance(first, RankOneFamily) else None

    @property
    def gaussians(self) -> list[GaussianFamily]:
        """The Gaussian families."""
        return [family for family in self.kernels if isinstance(family, GaussianFamily)]


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
    def _only_rank_one(cls, value: list[Family]) -> list[Family]:
        if not all(isinstance(family, RankOneFamily) for family in value):
            raise ValueError("documents take one family of rank-one kernels: family = 'rank-one'")
        return value

    @property
    def rank_one(self) -> RankOneFamily:
        """The rank-one family."""
        (family,) = (family for family in self.kernels if isinstance(family, RankOneFamily))
        return family

    @property
    def counted(self) -> str:
        """The words that are counted: unigrams or bigrams."""
        return self.rank_one.features


SOURCES: Registry[type[DatasetBase]] = Registry("data source", modules=("kernel_pipeline.data.sources",))
"""Models of datasets by the name that the key `source` holds.

The module of a source registers its model here and its reader in `kernel_pipeline.data.raw_table.READERS`.
"""

Dataset = Annotated[DatasetBase, ModelIn(SOURCES, "source")]

# Pairs of a task of a dataset and a method that supports it.
Fitting = list[tuple[TaskName, Method]]
