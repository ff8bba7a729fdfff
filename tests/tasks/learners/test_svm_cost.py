"""Estimated times of support vector machines."""

import pytest

from kernel_pipeline.tasks.learners.svm_cost import libsvm_path_cost, working_set_cost, working_set_entries
from kernel_pipeline.tasks.learners.svm_rows import RowMemory

GIB = 1 << 30


@pytest.mark.parametrize("cost", [libsvm_path_cost, working_set_cost])
def test_costs_grow_with_the_sizes(cost) -> None:  # type: ignore[no-untyped-def]
    few = cost(20_000, 6, 2)
    assert cost(20_000, 12, 2) == 2 * few
    assert cost(40_000, 6, 2) == 4 * few
    assert few < cost(20_000, 6, 5) < 2 * few
    assert libsvm_path_cost(20_000, 6, 2) < working_set_cost(20_000, 6, 2)


def test_a_small_cache_needs_more_rows() -> None:
    n, values = 20_000, 12
    small, large = (RowMemory.of(gib * GIB, n) for gib in (1, 8))
    assert small is not None
    assert large is not None
    assert working_set_entries(n, values, 2, small.cache_bytes) > working_set_entries(n, values, 2, large.cache_bytes)
