"""The family of rank-one kernels of feature columns; the module `rank_one` contains the computations."""

from dataclasses import dataclass
from typing import Literal

from kernel_pipeline.tasks.kernels.family import FAMILIES, ColumnChoice, ColumnFamily
from kernel_pipeline.tasks.parameters import ParameterError, parameter


@FAMILIES.register("rank-one")
@dataclass(frozen=True)
class RankOneFamily(ColumnFamily):
    """Kernels v v' of single feature columns v: the columns of a table, or the unigrams or bigrams of documents."""

    features: Literal["columns", "unigrams", "bigrams"] | tuple[Literal["unigrams", "bigrams"], ...] = parameter(
        "'columns' of a table; 'unigrams' (single words) or 'bigrams' (pairs of successive words) of documents, or a "
        "list of both",
        default="columns",
    )
    top: int | None = parameter(
        "maximum number of unigrams or bigrams, of which the most frequent are used; default: all",
        ge=1,
        default=None,
    )

    def __post_init__(self) -> None:
        kinds = self.choice().kinds
        if not kinds:
            raise ParameterError("features", "is an empty list; name 'unigrams', 'bigrams' or both")
        if repeated := [kind for kind in kinds if kinds.count(kind) > 1]:
            raise ParameterError("features", f"{repeated[0]!r} is listed more than once")
        if self.features == "columns" and self.top is not None:
            raise ParameterError(
                "top", "applies to unigrams and bigrams only, since all columns of a table are used; remove this key"
            )

    def choice(self) -> ColumnChoice:
        """Return which columns become kernels."""
        kinds = (self.features,) if isinstance(self.features, str) else self.features
        return ColumnChoice(kinds, self.top)
