"""Views: kernel families on a group of feature columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import Fill, FillEach, GramFamily, Samples, prepare_families
from kernel_pipeline.tasks.kernels.guard import check_semidefinite, is_built_in, named_errors, prepare_checked

# Numbers of samples in the two blocks with which a plug-in is tested.
TRIED_ROWS, TRIED_COLUMNS = 11, 16


@dataclass(frozen=True)
class View(GramFamily):
    """A family that is applied to some of the feature columns.

    Examples
    --------
    >>> from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
    >>> View(GaussianFamily(log2_gamma=(0, 0)), columns=(2, 3), name="genes").names()
    ('genes:gaussian(2^0)',)
    """

    family: GramFamily
    columns: tuple[int, ...] | None = None
    """Indices of the columns among the features; None for all of them."""
    name: str = ""
    """Prefix of the names of the kernels; empty for none."""

    def names(self) -> tuple[str, ...]:
        """Return the names of the family's kernels, with the prefix."""
        prefix = f"{self.name}:" if self.name else ""
        return tuple(prefix + kernel for kernel in self.family.names())

    def shifts(self) -> tuple[float, ...]:
        """Return the shifts of the family's kernels."""
        return self.family.shifts()

    def wider(self) -> str:
        """Return which parameter of the family makes samples more similar."""
        return self.family.wider()

    def narrower(self) -> str:
        """Return which parameter of the family makes samples less similar."""
        return self.family.narrower()

    def samples(self, samples: Samples) -> Samples:
        """Return the samples with the columns of the view."""
        return samples if self.columns is None else samples.only(self.columns)

    def column_names(self, columns: Sequence[str]) -> Sequence[str]:
        """Return the names of the columns of the view, given the names of all feature columns."""
        return columns if self.columns is None else [columns[column] for column in self.columns]

    def check(self, samples: Samples, columns: Sequence[str]) -> None:
        """Raise an `UnsuitableFeaturesError` if the kernels are not defined for the columns of the view."""
        self.family.check(self.samples(samples), self.column_names(columns))

    def fitted(self, samples: Samples) -> Self:
        """Return the view with its family fitted to the columns of the view."""
        with named_errors(type(self.family)):
            return replace(self, family=self.family.fitted(self.samples(samples)))

    def prepare(self, samples: Samples) -> Fill:
        """Return a function that computes blocks of the family on the columns of the view."""
        return self.family.prepare(self.samples(samples))

    @classmethod
    def prepare_together(cls, families: Sequence[Self], samples: Samples) -> FillEach:
        """Prepare families of one class on the same columns together, since they may share work."""
        groups = [
            (prepare_checked(kind, [families[i].family for i in indices], first.samples(samples)), indices)
            for kind, first, indices in _by_class_and_columns(families)
        ]

        def fill_each(rows: slice, columns: slice, outs: Sequence[Floats]) -> None:
            for fill, indices in groups:
                fill(rows, columns, [outs[i] for i in indices])

        return fill_each

    @classmethod
    def notes_together(cls, families: Sequence[Self], samples: Samples, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the notes of the families on the columns of their views."""
        notes: list[str] = []
        for kind, first, indices in _by_class_and_columns(families):
            with named_errors(kind):
                own = [families[i].family for i in indices]
                notes += kind.notes_together(own, first.samples(samples), first.column_names(columns))
        return tuple(dict.fromkeys(notes))


def _by_class_and_columns(views: Sequence[View]) -> list[tuple[type[GramFamily], View, list[int]]]:
    """Return, for each class and group of columns: the class, the first view and the indices of all views."""
    groups: dict[tuple[type[GramFamily], tuple[int, ...] | None], list[int]] = {}
    for i, view in enumerate(views):
        groups.setdefault((type(view.family), view.columns), []).append(i)
    return [(kind, views[indices[0]], indices) for (kind, _), indices in groups.items()]


def columns_in_views(families: Sequence[GramFamily]) -> int:
    """Return the number of columns that `prepare_families` copies for views.

    >>> from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
    >>> wide, narrow = GaussianFamily(log2_gamma=(-2, -2)), GaussianFamily(log2_gamma=(2, 2))
    >>> columns_in_views([wide, View(wide, (0, 1), "a"), View(narrow, (0, 1), "a"), View(narrow, (3,), "b")])
    3
    """
    views = [family for family in families if isinstance(family, View)]
    return sum(len(first.columns or ()) for _, first, _ in _by_class_and_columns(views))


def try_plugins(families: Sequence[GramFamily], samples: Samples) -> None:
    """Compute two small blocks of the families that are not built in, to detect their errors early.

    Raises
    ------
    FamilyError
        If a family raises an error, or computes kernels that are not finite, symmetric and positive semi-definite.
    """
    views = [family if isinstance(family, View) else View(family) for family in families]
    tried = [view for view in views if not is_built_in(type(view.family))]
    if not tried:
        return
    few = Samples(samples.features[: TRIED_ROWS + TRIED_COLUMNS])
    rows, columns = slice(0, min(TRIED_ROWS, len(few.features))), slice(TRIED_ROWS, len(few.features))
    fill = prepare_families(tried, few)
    counts = [len(view.names()) for view in tried]
    diagonal = np.empty((sum(counts), rows.stop, rows.stop))
    fill(rows, rows, diagonal)
    for view, kernels in zip(tried, np.split(diagonal, np.cumsum(counts)[:-1]), strict=True):
        check_semidefinite(view.family, kernels)
    if columns.start < columns.stop:
        fill(rows, columns, np.empty((sum(counts), rows.stop, columns.stop - columns.start)))
