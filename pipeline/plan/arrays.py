"""The arrays of a dataset, from the table of arrays and the sizes of the dataset."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from kernel_pipeline.store.array_metadata import ArrayPlan
from kernel_pipeline.store.array_spec import ArraySpec, Kernels, Per, Sizes
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.store.schema import ARRAYS
from kernel_pipeline.tasks.kernels.family import GramFamily, kernel_shifts

Cells = Sequence[tuple[str, str]]


def planned_arrays(
    info: DatasetInfo,
    families: Sequence[GramFamily],
    sizes: Sizes,
    problems: Sequence[str],
    weighted: Cells,
    combined: Cells,
) -> tuple[ArrayPlan, ...]:
    """Return all arrays of a dataset, in the order in which they are created.

    Parameters
    ----------
    families
        The families of Gram matrices; empty for a rank-one family.
    weighted
        Problem and method of all cells that have weights.
    combined
        Problem and method of all cells whose combined kernels are stored.

    Returns
    -------
    The arrays, without values.
    """
    kind = Kernels.GRAM if families else Kernels.RANK_ONE
    owners: dict[Per, Cells] = {
        Per.DATASET: [("", "")],
        Per.COMBINED: combined,
        Per.PROBLEM: [(problem, "") for problem in problems],
        Per.WEIGHTS: weighted,
    }
    attributes = {"kernels": list(info.kernels), "shift": list(kernel_shifts(families))}
    return tuple(
        _array_plan(spec, spec.pattern.format(dataset=info.name, problem=problem, method=method), sizes, attributes)
        for per, specs in _by_owner(kind)
        for problem, method in owners[per]
        for spec in specs
    )


def _by_owner(kind: Kernels) -> list[tuple[Per, list[ArraySpec]]]:
    """Return the lines of the table for a kind of kernels, divided where another owner begins."""
    lines = (spec for spec in ARRAYS if kind in spec.kernels)
    return [(per, list(specs)) for per, specs in groupby(lines, key=lambda spec: spec.per)]


def _array_plan(spec: ArraySpec, name: str, sizes: Sizes, attributes: Mapping[str, Any]) -> ArrayPlan:
    """Return the plan of one array of a line of the table."""
    return ArrayPlan(
        spec.group,
        name,
        spec.shape(sizes),
        spec.chunks(sizes),
        spec.about,
        spec.dtype,
        attributes={key: attributes[key] for key in spec.attributes},
        is_bound=spec.is_bound,
        is_symmetric=spec.is_symmetric,
    )
