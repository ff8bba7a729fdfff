"""Define the datasets of a config: the fields that several sources share, and the registry of sources."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, get_args

from pydantic import Field, WithJsonSchema, field_validator, model_validator

from kernel_pipeline.config.families import (
    KernelEntry,
    KernelField,
    check_distinct,
    family_of,
    known_names,
    precomputed_families,
    requested_kinds,
)
from kernel_pipeline.config.registry_fields import ModelIn
from kernel_pipeline.config.strict_model import Name, StrictModel, refuse_sample_weights, require_distinct
from kernel_pipeline.tasks.kernels.family import ColumnFamily
from kernel_pipeline.tasks.registry import Registry

Problem = Literal["regression", "classification"]
Problems = Annotated[
    list[Problem],
    Field(min_length=1, description="one task, or a list of both tasks"),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(get_args(Problem))},
                {"type": "array", "minItems": 1, "items": {"enum": list(get_args(Problem))}},
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
TargetColumns = int | str | Annotated[list[int | str], Field(min_length=1)]
Positive = Annotated[
    list[str] | None,
    Field(min_length=1, description="labels that become +1, all others become -1; default: the larger of two labels"),
]
ScalingMethod = Literal["none", "standard", "minmax"]
ImputationStrategy = Literal["mean", "median", "most-frequent"]
FitOn = Literal["all", "train"]


class DatasetBase(StrictModel):
    """Base class of all sources.

    A source adds the field `source: Literal[NAME]` and its own fields, and registers itself in `SOURCES`.
    """

    if TYPE_CHECKING:
        source: str  # each source declares this field after its shared ones, which fixes the order of dumped keys

    column_kinds: ClassVar[tuple[str, ...]] = ("columns",)
    """Kinds of columns that the source provides, for families with one kernel per column."""

    name: Name = Field(description="name of the dataset in the tables and in the store")
    task: Problems
    rows: int | None = Field(None, ge=1, description="size of a random sample of the rows; default: all rows")
    kernels: list[KernelField] = Field(
        min_length=1,
        description="families of base kernels; if a rank-one family is combined with others, each of its columns "
        "becomes a Gram matrix (at most 500 columns)",
    )
    fit_on: FitOn = Field(
        "all",
        description="samples that scale, missing, gamma = 'median', top, min_df and tf-idf are fitted to: 'all' "
        "(validation and test folds included, one pass serves all trials), or 'train', the training folds of each "
        "trial (one pass over the Gram matrices per trial)",
    )

    @model_validator(mode="before")
    @classmethod
    def _no_sample_weights(cls, data: object) -> object:
        return refuse_sample_weights(data)

    @field_validator("task", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @field_validator("task")
    @classmethod
    def _check_distinct_tasks(cls, value: list[str]) -> list[str]:
        return require_distinct(value)

    @field_validator("name")
    @classmethod
    def _not_reserved(cls, value: str) -> str:
        if value == "zarr.json":
            raise ValueError("'zarr.json' is reserved by zarr")
        return value

    @field_validator("kernels")
    @classmethod
    def _check_families(cls, value: list[KernelEntry]) -> list[KernelEntry]:
        for kind in requested_kinds(value):
            if kind not in cls.column_kinds:
                raise ValueError(
                    f"features = {kind!r} is not available for this source. Available: {', '.join(cls.column_kinds)}"
                )
        check_distinct(known_names(value))
        return value

    @property
    def scaling(self) -> ScalingMethod:
        """Return how feature columns are scaled."""
        return "none"

    @property
    def imputing(self) -> ImputationStrategy | None:
        """Return how missing values of features are replaced; None if they are not."""
        return None

    def fitted_steps(self) -> list[str]:
        """Return the settings whose steps are fitted to data, such as "scale = 'standard'".

        Imputation is not included, since it is a step only if values are missing.
        """
        scaled = [f"scale = {self.scaling!r}"] if self.scaling != "none" and self.uses_features else []
        return scaled + [step for family in map(family_of, self.kernels) for step in family.fitted_steps()]

    @property
    def fixed_test(self) -> bool:
        """Whether the test set is fixed, so that trials vary only the training and validation sets."""
        return False

    @property
    def given_folds(self) -> int | str | None:
        """Return the column that gives the fold of each sample; None if samples are assigned at random."""
        return None

    def source_files(self) -> list[str]:
        """Return the files that the dataset is read from, as paths relative to the data directory."""
        return []

    def kernel_files(self) -> list[str]:
        """Return the files of precomputed kernels, as paths relative to the data directory."""
        return [family.path for family in precomputed_families(self.kernels)]

    @property
    def uses_features(self) -> bool:
        """Whether any kernel is computed from the features."""
        return len(self.kernel_files()) < len(self.kernels)

    @property
    def column_family(self) -> ColumnFamily | None:
        """Return the only family if it has one kernel per column, and so needs no Gram matrices; otherwise None."""
        family = family_of(self.kernels[0])
        return family if len(self.kernels) == 1 and isinstance(family, ColumnFamily) else None


class NumbersDataset(DatasetBase):
    """Base class of sources whose features are dense columns of numbers."""

    scale: ScalingMethod = Field("none", description="how feature columns are scaled")

    @property
    def scaling(self) -> ScalingMethod:
        """Return how feature columns are scaled."""
        return self.scale


class TableDataset(NumbersDataset):
    """Base class of sources with columns of several types, with keys that choose the target and encode text."""

    target: TargetColumns = Field(
        -1, description="number (-1 is the last) or name of the target column; a list for several outputs"
    )
    positive: Positive = None
    drop: list[int | str] = Field([], description="numbers or names of columns that are not features")
    index: bool | int | str | None = Field(
        None,
        description="number or name of a column that only identifies the rows and is left out; true: the first column; "
        "false: there is none, and no note is given",
    )
    groups: int | str | None = Field(
        None,
        description="number or name of a column, such as the patient; samples with equal values stay in one fold; not "
        "a feature",
    )
    folds: int | str | None = Field(
        None,
        description="number or name of a column that gives the fold of each sample, with as many values as there are "
        "folds; not a feature",
    )
    test: int | str | None = Field(
        None,
        description="number or name of a column that marks the samples of a fixed test set with true, 1, yes or test, "
        "and all others with false, 0, no or train; not a feature",
    )
    encode: Literal["onehot"] | dict[str, Annotated[float, Field(allow_inf_nan=False)]] | None = Field(
        None,
        description="encoding of text columns: 'onehot', or a number for each word or letter; with numbers for "
        "letters, a column of longer words becomes one feature per position",
    )
    categorical: list[int | str] | None = Field(
        None,
        min_length=1,
        description="numbers or names of columns of categories, which are one-hot encoded even if most or all of their "
        "values are numbers",
    )
    missing: Literal["error", "drop", "mean", "median", "most-frequent"] = Field(
        "error",
        description="what to do with rows that have an empty cell in the target or in a column that a kernel uses, or "
        "text to which 'encode' assigns no number: 'error' raises an error, 'drop' drops them; 'mean', 'median' and "
        "'most-frequent' impute features from their column, except that one-hot encoded text is always imputed with "
        "the most frequent text, and drop rows without a label",
    )
    missing_values: list[str | Annotated[float, Field(allow_inf_nan=False)]] | None = Field(
        None,
        min_length=1,
        description="values that stand for a missing value in any column, such as 'n.d.' or -999, besides empty cells",
    )

    @model_validator(mode="after")
    def _check_folds(self) -> Self:
        if self.groups is not None and self.folds is not None:
            raise ValueError(f"folds = {self.folds!r} gives the fold of every sample; remove groups = {self.groups!r}")
        return self

    @property
    def imputing(self) -> ImputationStrategy | None:
        """Return how missing values of features are replaced; None if they are not."""
        return None if self.missing == "error" or self.missing == "drop" else self.missing

    @property
    def fixed_test(self) -> bool:
        """Whether the test set is fixed, so that trials vary only the training and validation sets."""
        return self.test is not None

    @property
    def given_folds(self) -> int | str | None:
        """Return the column that gives the fold of each sample; None if samples are assigned at random."""
        return self.folds


SOURCES: Registry[type[DatasetBase]] = Registry("data source", modules=("kernel_pipeline.data.sources",))
"""Models of datasets by the value of the key `source`.

The module of a source registers its model here and its reader in `kernel_pipeline.data.raw_table.READERS`.
"""

Dataset = Annotated[DatasetBase, ModelIn(SOURCES, "source")]
