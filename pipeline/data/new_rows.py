"""Define the interface that encodes new rows of a source as the features of a dataset, and its result."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self

import pandas as pd
import scipy.sparse

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers

RowForm = Literal["documents", "sparse", "table"]
"""Form of a file of new rows: one document per line, sparse rows, or a table."""


@dataclass(frozen=True)
class NewRows:
    """New rows as features, before the steps that are fitted to data."""

    features: Floats | scipy.sparse.csr_array
    """Features of the rows, (q, d), with NaN for values that are to be imputed."""
    usable: Booleans
    """Whether each row has usable features, (q,); a sweep drops the other rows."""
    notes: tuple[str, ...] = ()
    """Remarks for the user, one sentence each."""
    index: pd.Series | None = None
    """The index of the source, if a file of new rows has it."""


class RowEncoder(Protocol):
    """Interface of encoders, which encode new rows of a source in the same way as the rows of the dataset."""

    @property
    def form(self) -> RowForm:
        """Form of a file of new rows."""

    @property
    def has_column_names(self) -> bool | None:
        """Whether the columns of the source have names; None if the question does not arise, as for sparse rows."""

    def encode(self, rows: Any) -> NewRows:
        """Return the features of new rows.

        Raises
        ------
        DataError
            If the rows do not have the form of the source.
        """

    def only(self, indices: Integers) -> Self:
        """Return an encoder of only the features with the given indices."""
