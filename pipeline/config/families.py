"""Families of base kernels, as a config writes them."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from kernel_pipeline.config.strict_model import Exponent, StrictModel
from kernel_pipeline.tasks.kernels.gaussian import kernel_names


class GaussianFamily(StrictModel):
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


class RankOneFamily(StrictModel):
    """Kernels v v' of single feature columns v: of a table's, or of the counts of words in documents."""

    family: Literal["rank-one"]
    features: Literal["columns", "unigrams", "bigrams"] = Field(
        "columns", description="'columns' of a table; 'unigrams' or 'bigrams' of documents"
    )
    top: int | None = Field(None, ge=1, description="of documents: the most frequent ones, so many; all without it")

    @model_validator(mode="after")
    def _top_counts_words(self) -> Self:
        if self.features == "columns" and self.top is not None:
            raise ValueError(f"top = {self.top} chooses among words; of the columns of a table all are taken")
        return self


Family = Annotated[GaussianFamily | RankOneFamily, Field(discriminator="family")]
