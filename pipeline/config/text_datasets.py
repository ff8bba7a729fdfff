"""Define the fields that are shared by all sources whose columns are words of documents."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from kernel_pipeline.config.datasets import DataPath, DatasetBase
from kernel_pipeline.config.families import KernelEntry, family_of, spec_of
from kernel_pipeline.tasks.kernels.family import FAMILIES, ColumnChoice, ColumnFamily

WORDS = ("unigrams", "bigrams")
"""The kinds of columns that documents have."""


class CountedWordsDataset(DatasetBase):
    """Base class of sources whose columns are, or may be, the counts of words in documents."""

    counts: Literal["counts", "binary", "tf-idf"] | None = Field(
        None,
        description="value of a word in a document: 'counts', its number of occurrences (the default); 'binary', 1 if "
        "it occurs; 'tf-idf', as computed by scikit-learn's TfidfTransformer with its defaults",
    )
    min_df: Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None,
        description="minimum number of documents in which a word must occur, or, below 1, the minimum fraction of "
        "the documents; words that occur in fewer documents are left out; only documents to which the vocabulary is "
        "fitted are counted; default: 1",
    )

    @field_validator("min_df", mode="before")
    @classmethod
    def _count_or_fraction(cls, value: object) -> object:
        if isinstance(value, float) and value > 1 and value.is_integer():
            return int(value)
        count = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        fraction = isinstance(value, float) and 0 < value < 1
        if value is not None and not count and not fraction:
            meant = ", which means all documents in CountVectorizer; write 1 for one document"
            raise ValueError(
                f"must be a number of documents, 1 or more, or a fraction of the documents, between 0 and 1; "
                f"got {value!r}{meant if value == 1.0 else ''}"
            )
        return value

    def fitted_steps(self) -> list[str]:
        """Return the settings whose steps are fitted to data, including the choice and the weights of words."""
        weighted = ["counts = 'tf-idf'"] if self.counts == "tf-idf" else []
        frequent = [f"min_df = {self.min_df}"] if self.min_df not in (None, 1) else []
        return [*super().fitted_steps(), *frequent, *weighted]

    @model_validator(mode="after")
    def _check_chosen_words(self) -> Self:
        columns = spec_of(self.kernels[0]).columns
        if self.fit_on == "train" and columns is not None and self.has_words and self.fitted_steps():
            raise ValueError(
                f"fit_on = 'train': columns = {list(columns)} chooses among the words of all documents; remove "
                "'columns' from the rank-one family, or set fit_on = 'all'"
            )
        return self

    @property
    def has_words(self) -> bool:
        """Whether the columns are words."""
        return True

    @property
    def column_choice(self) -> ColumnChoice:
        """Choice of the words that become columns."""
        return word_choice(self.kernels)


class RawTextDataset(CountedWordsDataset):
    """Base class of sources whose documents are text, in which words are counted."""

    stop_words: Literal["english"] | Annotated[list[str], Field(min_length=1)] | None = Field(
        None,
        description="words that are not counted: 'english' for the list of scikit-learn, or a list of words; default: "
        "all words are counted",
    )
    lowercase: bool | None = Field(
        None, description="whether words are converted to lower case before they are counted; default: true"
    )


class DocumentsDataset(CountedWordsDataset):
    """Base class of sources of documents: each feature is a word, with the value that `counts` states."""

    column_kinds: ClassVar[tuple[str, ...]] = WORDS

    path: DataPath
    missing: Literal["error", "drop"] = Field(
        "error", description="documents without any counted word: raise an error, or drop them"
    )

    @field_validator("kernels")
    @classmethod
    def _only_words(cls, value: list[KernelEntry]) -> list[KernelEntry]:
        word_choice(value)  # rejects other families
        return value


def word_choice(entries: Sequence[KernelEntry]) -> ColumnChoice:
    """Return the choice of words of the only family of a dataset of documents.

    Raises
    ------
    ValueError
        If there are other families.
    """
    family = family_of(entries[0])
    if len(entries) != 1 or not isinstance(family, ColumnFamily):
        allowed = " or ".join(repr(name) for name, kind in FAMILIES.items() if issubclass(kind, ColumnFamily))
        raise ValueError(f"documents need one family with one kernel per column: family = {allowed}")
    return family.choice()
