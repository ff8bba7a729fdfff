"""Determine the families to compute from the kernels of a config and the feature columns of the data."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate

from kernel_pipeline.cluster.strict_model import nearest_name
from kernel_pipeline.config.datasets import DatasetBase
from kernel_pipeline.config.families import (
    KernelEntry,
    ViewSpec,
    check_distinct,
    family_of,
    precomputed_name,
    spec_of,
)
from kernel_pipeline.config.feature_columns import FeatureColumns
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.tasks.kernels.family import GramFamily, family_name, kernel_names
from kernel_pipeline.tasks.kernels.precomputed import StoredFamily
from kernel_pipeline.tasks.kernels.view import View
from kernel_pipeline.tasks.listing import list_first

MAX_COLUMN_KERNELS = 500
"""Maximum number of Gram matrices of single columns, for `each`, and for rank-one families combined with others."""
MAX_LISTED = 20
"""Maximum number of column names in an error message."""
MAX_NAMED = 5
"""Maximum number of column names in a line of a plan."""
RANGE = re.compile(r"(\d{1,15})-(\d{1,15})")
PATTERN = re.compile(r"[*?\[]")


def gram_families(
    dataset: DatasetBase, features: FeatureColumns | None, precomputed: Sequence[tuple[float, ...]] = ()
) -> tuple[GramFamily, ...]:
    """Return the families of Gram matrices of a dataset; none if a rank-one family is the only one.

    A family without the keys of a view is returned unchanged.

    Parameters
    ----------
    features
        The feature columns; required if the dataset has views, or a rank-one family and other families.
    precomputed
        The shifts of the kernels of each precomputed family.

    Raises
    ------
    ConfigError
        If columns do not exist, kernels have the same name, or there are too many kernels of single columns.
    """
    if dataset.column_family is not None:
        return ()
    return entry_families(dataset.kernels, features, f"dataset {dataset.name!r}", precomputed)


def entry_families(
    entries: Sequence[KernelEntry],
    features: FeatureColumns | None,
    owner: str,
    precomputed: Sequence[tuple[float, ...]] = (),
) -> tuple[GramFamily, ...]:
    """Return the families of Gram matrices of a list of kernels, as `gram_families` does.

    Parameters
    ----------
    owner
        Description of what these kernels belong to, for error messages.
    """
    families: list[GramFamily] = []
    columns_used = 0
    stored = _stored_families(entries, owner, precomputed)
    for number, entry in enumerate(entries):
        spec = spec_of(entry)
        if not spec.family.needs_features:
            families.append(stored.pop(0))
            continue
        if not spec.is_view:
            families.append(spec.family.gram_family())
            continue
        if features is None or not features.names:
            raise ConfigError(f"{owner}: its feature columns are not known, so it cannot have views")
        where = f"{owner}: kernels[{number}]"
        if spec.is_per_column:
            indices = chosen_columns(entry, features, where)
            columns_used += len(indices)
            _check_count(columns_used, where, spec)
            families += _single_columns(spec, indices, features)
        else:
            columns = None if spec.columns is None else tuple(chosen_columns(entry, features, where))
            families.append(View(spec.family.gram_family(), columns, spec.name or ""))
    try:
        check_distinct(kernel_names(families))
    except ValueError as error:
        raise ConfigError(f"{owner}: kernels: {error}") from None
    return tuple(families)


def has_views(dataset: DatasetBase) -> bool:
    """Return whether any entry of `kernels` is a view, for which the feature columns must be known."""
    return any(spec_of(entry).is_view for entry in dataset.kernels)


def describe_views(dataset: DatasetBase, features: FeatureColumns | None) -> list[str]:
    """Return one line per view, which lists its columns."""
    if features is None:
        return []
    lines = []
    for number, entry in enumerate(dataset.kernels):
        spec = spec_of(entry)
        if not spec.is_view:
            continue
        names = [features.names[index] for index in chosen_columns(entry, features, dataset.name)]
        listed = ", ".join(names[:MAX_NAMED]) + (", ..." if len(names) > MAX_NAMED else "")
        each = "each of " if spec.is_per_column else ""
        called = f" ({spec.name})" if spec.name else ""
        lines.append(
            f"kernels[{number}]{called}: {family_name(spec.family)} on {each}{len(names):,} of {len(features.names):,} "
            f"columns: {listed}"
        )
    return lines


def chosen_columns(entry: KernelEntry, features: FeatureColumns, where: str) -> Sequence[int]:
    """Return the indices of the feature columns of a view, ascending and distinct; all without the key `columns`.

    Parameters
    ----------
    where
        The dataset and the entry, for error messages.
    """
    columns = spec_of(entry).columns
    if columns is None:
        return range(len(features.names))
    return sorted({index for key in columns for index in _matching(key, features, f"{where}.columns")})


def used_columns(dataset: DatasetBase, features: FeatureColumns) -> Sequence[int]:
    """Return the indices of the feature columns that at least one kernel uses, in ascending order."""
    used: set[int] = set()
    for number, entry in enumerate(dataset.kernels):
        if not family_of(entry).needs_features:
            continue
        if spec_of(entry).columns is None:
            return range(len(features.names))
        used.update(chosen_columns(entry, features, f"dataset {dataset.name!r}: kernels[{number}]"))
    return sorted(used)


def rank_one_names(entry: KernelEntry, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the kernels of a rank-one family that is the only family, given the names of its columns.

    >>> from kernel_pipeline.tasks.kernels.linear import LinearFamily
    >>> rank_one_names(ViewSpec(LinearFamily(), name="genes"), ["x", "y"])
    ('genes:x', 'genes:y')
    """
    prefix = spec_of(entry).prefix
    return tuple(prefix + name for name in names) if prefix else tuple(names)


def column_names(entry: KernelEntry, kernels: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns of a rank-one family, given the names of its kernels.

    The names of the kernels are those that `rank_one_names` returns.

    Runs store only the names of the kernels, since there may be a million columns.

    >>> from kernel_pipeline.tasks.kernels.linear import LinearFamily
    >>> column_names(ViewSpec(LinearFamily(), name="genes"), ["genes:x", "genes:y"])
    ('x', 'y')
    """
    prefix = spec_of(entry).prefix
    return tuple(name.removeprefix(prefix) for name in kernels)


def _stored_families(
    kernels: Sequence[KernelEntry], owner: str, precomputed: Sequence[tuple[float, ...]]
) -> list[StoredFamily]:
    """Return the families that are read from files, given the shifts of the kernels of each."""
    entries = [entry for entry in kernels if not family_of(entry).needs_features]
    if len(entries) != len(precomputed):
        raise ConfigError(
            f"{owner}: {len(entries)} of its families are precomputed, but the shifts of {len(precomputed)} are given"
        )
    firsts = accumulate(map(len, precomputed), initial=0)
    return [
        StoredFamily(precomputed_name(entry), first, shifts)
        for entry, first, shifts in zip(entries, firsts, precomputed, strict=False)
    ]


def _single_columns(spec: ViewSpec, indices: Sequence[int], features: FeatureColumns) -> Iterator[View]:
    """Yield a view of each column separately; for a rank-one family, it is a view of the linear kernel."""
    for index in indices:
        yield View(spec.family.gram_family(), (index,), spec.prefix + features.names[index])


def _check_count(columns: int, where: str, spec: ViewSpec) -> None:
    if columns > MAX_COLUMN_KERNELS:
        key = "each = 'column'" if spec.each else "a rank-one family together with other families"
        raise ConfigError(
            f"{where}: {key} needs one Gram matrix per column; at most {MAX_COLUMN_KERNELS} columns of a dataset are "
            f"allowed, got {columns:,}. Choose fewer with 'columns', or make a rank-one family the only family of a "
            "dataset: it needs no Gram matrices, and may have a million columns"
        )


def _matching(key: int | str, features: FeatureColumns, where: str) -> list[int]:
    """Return the indices of the columns that match a number, a name, a range or a pattern."""
    if isinstance(key, int):
        found, why = features.numbered(key), f"is not the number of a feature column: {_numbering(features)}."
    elif found := features.named(key):
        return found
    elif ends := RANGE.fullmatch(key):
        found, why = _in_range(int(ends[1]), int(ends[2]), features)
    elif PATTERN.search(key):
        texts = (features.names, features.sources)
        found = sorted({index for names in texts for index, name in enumerate(names) if fnmatchcase(name, key)})
        why = "matches no feature column."
    else:
        number = f" (for column number {key}, leave the quotes out)" if key.isdigit() else ""
        nearest = nearest_name(key, [*features.names, *features.sources])
        why = f"is not a feature column{number}" + ("." if nearest is None else f"; did you mean {nearest!r}?")
    if not found:
        listed = list_first(list(map(repr, features.names)), MAX_LISTED)
        raise ConfigError(f"{where}: {key!r} {why} The feature columns are: {listed}")
    return found


def _in_range(first: int, last: int, features: FeatureColumns) -> tuple[list[int], str]:
    """Return the indices of the columns with numbers from `first` to `last`, and the reason if there are none."""
    if first > last:
        return [], f"is backwards; write '{last}-{first}'."
    for end in (first, last):
        if not features.numbered(end):
            return [], f"begins or ends at column {end}, which is not a feature: {_numbering(features)}."
    numbers = features.numbers or range(len(features.names))
    return [index for index, number in enumerate(numbers) if first <= number <= last], ""


def _numbering(features: FeatureColumns) -> str:
    numbers = features.numbers or range(len(features.names))
    return (
        "numbers count the columns of the source from 0, and the features are columns "
        f"{min(numbers)} to {max(numbers)}, except for the target and dropped columns"
    )
