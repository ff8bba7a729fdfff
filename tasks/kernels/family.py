"""Define the interface of kernel families, and their registry.

A family is a frozen dataclass whose fields are the parameters that a config sets. To add one, write a module that
registers a subclass of `GramFamily` in `FAMILIES`, and list the module there. Other packages add families as plug-ins,
through the entry point group `kernel_pipeline.families`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Self

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.kernels.guard import named_errors, prepare_checked
from kernel_pipeline.tasks.registry import Registry

Fill = Callable[[slice, slice, Floats], None]
"""`fill(rows, columns, out)` writes all kernels of a block of samples into `out`, (p, rows, columns).

Rows and columns are either the same samples or do not overlap.
"""
FillEach = Callable[[slice, slice, Sequence[Floats]], None]
"""Like `Fill`, for several families, with one output array per family."""
Blocks = Callable[[slice, slice, slice], Floats]
"""`blocks(kernels, rows, columns)` returns a block of precomputed kernels, which must not be changed."""


@dataclass(frozen=True)
class Samples:
    """The samples of a dataset, from which families compute their kernels."""

    features: Floats
    """Feature matrix, (m, d); it must not be changed."""
    fitted_on: Integers | None = None
    """Samples to which data-dependent parameters, such as a median distance, are fitted; None for all."""
    blocks: Blocks | None = None
    """Function that reads the precomputed kernels of the dataset; None if there are none."""

    @property
    def reference(self) -> Floats:
        """Features of the samples to which data-dependent parameters are fitted."""
        return self.features if self.fitted_on is None else self.features[self.fitted_on]

    def only(self, columns: Sequence[int]) -> Self:
        """Return the same samples with only the given feature columns."""
        return replace(self, features=self.features[:, list(columns)])


class UnsuitableFeaturesError(ValueError):
    """The kernels of a family cannot be computed from these features; the message states the reason and a remedy."""


class Family:
    """Base kernels of one kind, such as Gaussian kernels of several widths.

    Subclass `GramFamily` or `ColumnFamily`, depending on the form in which the kernels are computed.
    """

    needs_features: ClassVar[bool] = True
    """Whether the kernels are computed from feature columns, so that a config can choose these columns."""
    is_per_column: ClassVar[bool] = False
    """Whether there is always one kernel per feature column."""
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Values of the parameters that a config must set, for messages; empty if all of them have defaults."""

    def gram_family(self) -> "GramFamily":
        """Return the family that computes Gram matrices.

        If there is one kernel per column, that family is applied to each column separately.
        """
        raise TypeError(f"{type(self).__name__} computes no Gram matrices")

    def fitted_steps(self) -> tuple[str, ...]:
        """Return the data-dependent steps, such as `gamma = 'median'`, whose values `fitted` finds; none by default.

        With `fit_on = "train"`, the kernels of a family that has such steps are computed once per trial.
        """
        return ()


class GramFamily(Family, ABC):
    """A family whose kernels are computed as Gram matrices, block by block.

    The kernels must be positive semi-definite. The values computed and stored are `E = K - shift`: centering removes
    the shift (Lemma 1 of the paper), and `E` is more accurate than `K` if `K` is close to a constant.

    Examples
    --------
    A family with a single kernel:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @dataclass(frozen=True)
    ... class LinearFamily(GramFamily):
    ...     def names(self):
    ...         return ("linear",)
    ...     def prepare(self, samples):
    ...         x = samples.features
    ...         def fill(rows, columns, out):
    ...             np.matmul(x[rows], x[columns].T, out=out[0])
    ...         return fill
    >>> gram = np.empty((1, 2, 2))
    >>> fill = prepare_families([LinearFamily()], Samples(np.array([[1.0], [2.0]])))
    >>> fill(slice(0, 2), slice(0, 2), gram)
    >>> gram.tolist()
    [[[1.0, 2.0], [2.0, 4.0]]]
    """

    def gram_family(self) -> "GramFamily":
        """Return the family itself."""
        return self

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Return the names of the kernels, which must be unique within a dataset."""

    def shifts(self) -> tuple[float, ...]:
        """Return the constant that is subtracted from each kernel; 0 unless a subclass overrides this."""
        return (0.0,) * len(self.names())

    def wider(self) -> str:
        """Return which parameter makes samples more similar, such as "a smaller gamma"; empty if there is none."""
        return ""

    def narrower(self) -> str:
        """Return which parameter makes samples less similar; empty if there is none."""
        return ""

    def fitted(self, samples: Samples) -> Self:
        """Return the family with data-dependent parameters replaced by their values for `samples.reference`.

        A family without such parameters, such as one that is fitted already, must be returned unchanged. The kernels of
        a fitted family do not depend on other samples, so that single rows of them can be computed.
        """
        return self

    @abstractmethod
    def prepare(self, samples: Samples) -> Fill:
        """Return a function that computes blocks of `E = K - shift` of this fitted family for these samples."""

    def check(self, samples: Samples, columns: Sequence[str]) -> None:
        """Raise an `UnsuitableFeaturesError` if the kernels are not defined for these samples.

        Parameters
        ----------
        columns
            Names of the feature columns.
        """

    @classmethod
    def prepare_together(cls, families: Sequence[Self], samples: Samples) -> FillEach:
        """Prepare all fitted families of this class that a dataset has; override this if they can share work."""
        fills = [family.prepare(samples) for family in families]

        def fill_each(rows: slice, columns: slice, outs: Sequence[Floats]) -> None:
            for fill, out in zip(fills, outs, strict=True):
                fill(rows, columns, out)

        return fill_each

    @classmethod
    def notes_together(cls, families: Sequence[Self], samples: Samples, columns: Sequence[str]) -> tuple[str, ...]:
        """Return notes for the user about these families on these samples, one sentence each.

        Parameters
        ----------
        families
            All families of this class that a dataset has.
        columns
            Names of the feature columns.
        """
        return ()


@dataclass(frozen=True)
class ColumnChoice:
    """The columns of a dataset that become kernels."""

    kinds: tuple[str, ...]
    """Kinds of columns: 'columns' for a table; 'unigrams', 'bigrams' or both for documents."""
    top: int | None = None
    """Number of columns to use, the most frequent ones; None for all."""


class ColumnFamily(Family, ABC):
    """A family of rank-one kernels `v v'` of feature columns `v`; each kernel is named after its column.

    Columns may be sparse, and there may be very many. If this is the only family of a dataset, no Gram matrices are
    computed; otherwise the Gram matrix of a linear kernel is computed for each column.
    """

    is_per_column: ClassVar[bool] = True

    def gram_family(self) -> GramFamily:
        """Return the linear kernel."""
        from kernel_pipeline.tasks.kernels.linear import LinearFamily  # imports this module

        return LinearFamily()

    @abstractmethod
    def choice(self) -> ColumnChoice:
        """Return which columns become kernels."""

    def fitted_steps(self) -> tuple[str, ...]:
        """Return `top`, if it is set, since the most frequent columns depend on the samples."""
        top = self.choice().top
        return () if top is None else (f"top = {top}",)


def unsuitable_family_reason(entry: Any) -> str:
    """Return why an object that a plug-in declares cannot be a family; an empty string if it can.

    >>> unsuitable_family_reason(Samples)
    'is not a subclass of GramFamily or ColumnFamily of kernel_pipeline.tasks.kernels.family'
    """
    if not isinstance(entry, type) or not issubclass(entry, GramFamily | ColumnFamily):
        return f"is not a subclass of GramFamily or ColumnFamily of {__name__}"
    if missing := sorted(getattr(entry, "__abstractmethods__", ())):
        return f"does not define {' and '.join(missing)}"
    params = vars(entry).get("__dataclass_params__")
    return "" if params is not None and params.frozen else "is not decorated with @dataclass(frozen=True)"


FAMILIES: Registry[type[Family]] = Registry(
    "kernel family",
    modules=(
        "kernel_pipeline.tasks.kernels.gaussian",
        "kernel_pipeline.tasks.kernels.laplacian",
        "kernel_pipeline.tasks.kernels.matern",
        "kernel_pipeline.tasks.kernels.rational_quadratic",
        "kernel_pipeline.tasks.kernels.linear",
        "kernel_pipeline.tasks.kernels.polynomial",
        "kernel_pipeline.tasks.kernels.cosine",
        "kernel_pipeline.tasks.kernels.chi_squared",
        "kernel_pipeline.tasks.kernels.rank_one_family",
        "kernel_pipeline.tasks.kernels.precomputed",
    ),
    group="kernel_pipeline.families",
    unsuitable_reason=unsuitable_family_reason,
)


def family_name(family: Family) -> str:
    """Return the name under which the class of a family is registered."""
    return next(name for name, kind in FAMILIES.loaded().items() if kind is type(family))


def kernel_names(families: Sequence[GramFamily]) -> tuple[str, ...]:
    """Return the names of the kernels of all families, in their order."""
    return tuple(name for family in families for name in family.names())


def kernel_shifts(families: Sequence[GramFamily]) -> tuple[float, ...]:
    """Return the shift of each kernel of all families."""
    return tuple(shift for family in families for shift in family.shifts())


def prepare_families(families: Sequence[GramFamily], samples: Samples) -> Fill:
    """Fit all families to the samples, and return a function that computes blocks of their kernels, in their order.

    Families of the same class are computed together, regardless of their order.
    """
    stops = accumulate((len(family.names()) for family in families), initial=0)
    spans = [slice(*ends) for ends in pairwise(stops)]
    groups = [
        (prepare_checked(kind, [families[i] for i in indices], samples), [spans[i] for i in indices])
        for kind, indices in _by_class(families).items()
    ]

    def fill(rows: slice, columns: slice, out: Floats) -> None:
        for fill_each, own in groups:
            fill_each(rows, columns, [out[span] for span in own])

    return fill


def check_families(families: Sequence[GramFamily], samples: Samples, columns: Sequence[str]) -> None:
    """Raise an `UnsuitableFeaturesError` if the kernels of a family are not defined for these samples."""
    for family in families:
        family.check(samples, columns)


def family_notes(families: Sequence[GramFamily], samples: Samples, columns: Sequence[str]) -> tuple[str, ...]:
    """Return notes for the user about the families of a dataset, one sentence each."""
    notes: list[str] = []
    for kind, indices in _by_class(families).items():
        with named_errors(kind):
            notes += kind.notes_together([families[i] for i in indices], samples, columns)
    return tuple(notes)


def _by_class(families: Sequence[GramFamily]) -> dict[type[GramFamily], list[int]]:
    """Return the indices of the families of each class."""
    groups: dict[type[GramFamily], list[int]] = {}
    for i, family in enumerate(families):
        groups.setdefault(type(family), []).append(i)
    return groups
