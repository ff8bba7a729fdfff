"""Kernel families: what a family of base kernels provides, and the registry of all families.

A family is a frozen dataclass whose fields are the parameters that a config sets. To add one, write a module that
registers a subclass of `GramFamily` in `FAMILIES`, and list the module there.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Self

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.registry import Registry

Fill = Callable[[slice, slice, Floats], None]
"""`fill(rows, columns, out)` writes all kernels of a block of samples into `out`, (p, rows, columns).

Rows and columns may be the same samples, but never overlap otherwise.
"""
FillEach = Callable[[slice, slice, Sequence[Floats]], None]
"""The same for several families, with one output array per family."""


class Family:
    """Base kernels that share a generator, such as squared distances or feature columns.

    Subclass `GramFamily` or `ColumnFamily`, which say in what form the kernels are computed.
    """


class GramFamily(Family, ABC):
    """A family whose kernels are computed as Gram matrices, block by block.

    The kernels must be positive semi-definite. What is computed and stored is `E = K - shift`: centering ignores the
    shift (Lemma 1 of the paper), and a family in which `K` is close to a constant keeps its digits in `E`.

    Examples
    --------
    A family of one kernel, as a module of its own would register it:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @dataclass(frozen=True)
    ... class LinearFamily(GramFamily):
    ...     def names(self):
    ...         return ("linear",)
    ...     def prepare(self, features):
    ...         def fill(rows, columns, out):
    ...             np.matmul(features[rows], features[columns].T, out=out[0])
    ...         return fill
    >>> gram = np.empty((1, 2, 2))
    >>> prepare_families([LinearFamily()], np.array([[1.0], [2.0]]))(slice(0, 2), slice(0, 2), gram)
    >>> gram.tolist()
    [[[1.0, 2.0], [2.0, 4.0]]]
    """

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Return the names of the kernels, which no other kernel of a dataset may have."""

    @property
    def shift(self) -> float:
        """The constant that is subtracted from all kernels of the family; 0 unless a subclass says otherwise."""
        return 0.0

    @abstractmethod
    def prepare(self, features: Floats) -> Fill:
        """Return a function that computes blocks of `E = K - shift` for these samples.

        Parameters
        ----------
        features
            (m, d), not to be changed.
        """

    @classmethod
    def prepare_together(cls, families: Sequence[Self], features: Floats) -> FillEach:
        """Prepare all families of this class that a dataset has; override it where they share work."""
        fills = [family.prepare(features) for family in families]

        def fill_each(rows: slice, columns: slice, outs: Sequence[Floats]) -> None:
            for fill, out in zip(fills, outs, strict=True):
                fill(rows, columns, out)

        return fill_each

    @classmethod
    def notes_together(cls, families: Sequence[Self], features: Floats, columns: Sequence[str]) -> tuple[str, ...]:
        """Return what a user should know about these families on these data before a run, one sentence each.

        Parameters
        ----------
        families
            All families of this class that a dataset has.
        columns
            The names of the feature columns.
        """
        return ()


@dataclass(frozen=True)
class ColumnChoice:
    """The columns of a dataset that become kernels."""

    kind: str
    """'columns' of a table, or the 'unigrams' or 'bigrams' of documents."""
    top: int | None = None
    """How many of the most frequent ones; None for all."""


class ColumnFamily(Family, ABC):
    """A family of rank-one kernels `v v'` of feature columns `v`, which are named after them.

    Columns may be sparse and very many. No Gram matrix is computed, and no other family may stand beside it.
    """

    @abstractmethod
    def choice(self) -> ColumnChoice:
        """Return which columns become kernels."""


FAMILIES: Registry[type[Family]] = Registry(
    "kernel family",
    modules=(
        "kernel_pipeline.tasks.kernels.gaussian",
        "kernel_pipeline.tasks.kernels.rank_one_family",
    ),
)


def family_name(family: Family) -> str:
    """Return the name under which the class of a family is registered."""
    return next(name for name, kind in FAMILIES.items() if kind is type(family))


def kernel_names(families: Sequence[GramFamily]) -> tuple[str, ...]:
    """Return the names of the kernels of all families, in their order."""
    return tuple(name for family in families for name in family.names())


def kernel_shifts(families: Sequence[GramFamily]) -> tuple[float, ...]:
    """Return the shift of each kernel of all families."""
    return tuple(family.shift for family in families for _ in family.names())


def prepare_families(families: Sequence[GramFamily], features: Floats) -> Fill:
    """Return a function that computes blocks of the kernels of all families, in their order.

    Families of the same class are computed together, wherever they stand among the others.
    """
    stops = accumulate((len(family.names()) for family in families), initial=0)
    spans = [slice(*ends) for ends in pairwise(stops)]
    groups = [
        (kind.prepare_together([families[place] for place in places], features), [spans[place] for place in places])
        for kind, places in _by_class(families).items()
    ]

    def fill(rows: slice, columns: slice, out: Floats) -> None:
        for fill_each, own in groups:
            fill_each(rows, columns, [out[span] for span in own])

    return fill


def family_notes(families: Sequence[GramFamily], features: Floats, columns: Sequence[str]) -> tuple[str, ...]:
    """Return what a user should know about the families of a dataset before a run."""
    return tuple(
        note
        for kind, places in _by_class(families).items()
        for note in kind.notes_together([families[place] for place in places], features, columns)
    )


def _by_class(families: Sequence[GramFamily]) -> dict[type[GramFamily], list[int]]:
    """Return the places of the families of each class."""
    groups: dict[type[GramFamily], list[int]] = {}
    for place, family in enumerate(families):
        groups.setdefault(type(family), []).append(place)
    return groups
