"""Plan the arrays of a dataset from the schema and the sizes of the dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from kernel_pipeline.store.array_metadata import ArrayPlan
from kernel_pipeline.store.array_spec import ArraySpec, FamilyKind, Per, Sizes
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.store.paths import fitted_group, repeat_group
from kernel_pipeline.store.schema import ARRAYS
from kernel_pipeline.tasks.kernels.family import GramFamily, kernel_shifts

MethodKeys = Sequence[tuple[str, str]]
"""Method keys: pairs of a problem and the name of a method."""
Owners = dict[Per, list[dict[str, str]]]
"""Owners of arrays by kind; each owner gives the fields of the patterns that name its arrays."""


@dataclass(frozen=True)
class ArrayOwners:
    """The problems and method keys of a dataset that have arrays of their own."""

    problems: Sequence[str] = ()
    predicted: MethodKeys = ()
    """Method keys that have predictions."""
    weighted: MethodKeys = ()
    """Method keys that have weights."""
    combined: MethodKeys = ()
    """Method keys whose combined kernels are stored."""
    single: Sequence[str] = ()
    """Problems for which a predictor is fitted with each base kernel separately."""
    in_parts: MethodKeys = ()
    """Method keys whose ridges are solved in parts."""

    def by_kind(self, info: DatasetInfo, sizes: Sizes) -> Owners:
        """Return all owners of arrays of a dataset."""
        trials = info.fitted_trials(sizes.length("trial"))
        return {
            Per.DATASET: [{}],
            Per.FITTED: [{"fitted": fitted_group(info.name, trial)} for trial in trials],
            Per.SUMS: [{"fitted": group} for group in sums_groups(info, sizes)],
            Per.REPEATED: [{}] if sizes.repeat > 1 else [],
            Per.PERMUTED_SUMS: [{"fitted": group} for group in sums_groups(info, sizes) if sizes.permutation],
            Per.PERMUTED: _by_problem(self.problems) if sizes.permutation else [],
            Per.PRECOMPUTED: [{}] if sizes.precomputed else [],
            Per.COMBINED: _by_method(self.combined),
            Per.PROBLEM: _by_problem(self.problems),
            Per.SINGLE: _by_problem(self.single),
            Per.IN_PARTS: _by_method(self.in_parts),
            Per.WEIGHTS: _by_method(self.weighted),
            Per.PREDICTED: _by_method(self.predicted),
        }


def planned_arrays(
    info: DatasetInfo, families: Sequence[GramFamily], sizes: Sizes, owners: ArrayOwners, recompute: bool = False
) -> tuple[ArrayPlan, ...]:
    """Return all arrays of a dataset, in the order in which they are created.

    Parameters
    ----------
    families
        The Gram families; empty for a rank-one family.
    owners
        The problems and methods that have arrays of their own.
    recompute
        Whether Gram matrices are not stored.

    Returns
    -------
    tuple of ArrayPlan
        The arrays, without values.
    """
    kind = FamilyKind.GRAM if families else FamilyKind.RANK_ONE
    by_kind = owners.by_kind(info, sizes)
    attributes = {"kernels": list(info.kernels), "shift": list(kernel_shifts(families))}
    return tuple(
        _array_plan(
            spec,
            spec.pattern.format(dataset=info.name, **owner),
            replace(sizes, problem_label=info.label_columns(owner.get("problem", ""))),
            attributes,
        )
        for per, specs in _by_owner(kind)
        for owner in by_kind[per]
        for spec in specs
        if not (recompute and spec.is_optional)
    )


def sums_groups(info: DatasetInfo, sizes: Sizes) -> list[str]:
    """Return the groups of the sums of tiles: one per repeat, or per trial if kernels differ by trial."""
    if sizes.repeat > 1 and not info.per_trial:
        return [repeat_group(info.name, repeat) for repeat in range(sizes.repeat)]
    return [fitted_group(info.name, trial) for trial in info.fitted_trials(sizes.length("trial"))]


def kept_bytes(info: DatasetInfo, families: Sequence[GramFamily], sizes: Sizes, combined: MethodKeys) -> int:
    """Return the stored size of the Gram matrices and combined kernels of a dataset, if they are stored."""
    arrays = planned_arrays(info, families, sizes, ArrayOwners(combined=combined))
    return sum(array.stored_bytes for array in arrays if array.is_optional)


def _by_problem(problems: Sequence[str]) -> list[dict[str, str]]:
    return [{"problem": problem} for problem in problems]


def _by_method(keys: MethodKeys) -> list[dict[str, str]]:
    return [{"problem": problem, "method": method} for problem, method in keys]


def _by_owner(kind: FamilyKind) -> list[tuple[Per, list[ArraySpec]]]:
    """Return the specs of a kind of families in order; consecutive specs with the same owner are grouped."""
    chosen = (spec for spec in ARRAYS if kind in spec.family_kinds)
    return [(per, list(specs)) for per, specs in groupby(chosen, key=lambda spec: spec.per)]


def _array_plan(spec: ArraySpec, name: str, sizes: Sizes, attributes: Mapping[str, Any]) -> ArrayPlan:
    """Return the plan of one array from its spec."""
    return ArrayPlan(
        spec.group,
        name,
        spec.shape(sizes),
        spec.chunks(sizes),
        spec.about,
        spec.dtype,
        attributes={key: attributes[key] for key in spec.attributes},
        has_variable_length=spec.has_variable_length,
        is_symmetric=spec.is_symmetric,
        is_optional=spec.is_optional,
    )
