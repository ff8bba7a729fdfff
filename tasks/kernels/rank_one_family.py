"""The family of rank-one kernels of feature columns; `rank_one` computes with them."""

from dataclasses import dataclass
from typing import Literal

from kernel_pipeline.tasks.kernels.family import FAMILIES, ColumnChoice, ColumnFamily
from kernel_pipeline.tasks.parameters import ParameterError, parameter


@FAMILIES.register("rank-one")
@dataclass(frozen=True)
class RankOneFamily(ColumnFamily):
    """Kernels v v' of single feature columns v: the columns of a table, or the counts of words in documents."""

    features: Literal["columns", "unigrams", "bigrams"] = parameter(
        "'columns' of a table; 'unigrams' or 'bigrams' of documents", default="columns"
    )
    top: int | None = parameter(
        "number of the most frequent unigrams or bigrams to use; all without it", ge=1, default=None
    )

    def __post_init__(self) -> None:
        if self.features == "columns" and self.top is not None:
            raise ParameterError("top", "selects frequent words; all columns of a table are used. Leave it out")

    def choice(self) -> ColumnChoice:
        """Return which columns become kernels."""
        return ColumnChoice(self.features, self.top)
