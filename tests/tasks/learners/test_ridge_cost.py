import itertools

import numpy as np
import pytest

from kernel_pipeline.tasks.learners import ridge_cost
from kernel_pipeline.tasks.learners.ridge_cost import choose_approach, divide_ridges, max_rank
from tests.tasks.learners.ridge_problems import RIDGES


@pytest.mark.parametrize("n", [1, 100, 2760, 3000])
def test_the_sizes_of_the_paper_are_tridiagonalised(n: int) -> None:
    assert choose_approach(n, RIDGES, 1).is_tridiagonal


@pytest.mark.parametrize("n", [4000, 12_000, 30_000])
@pytest.mark.parametrize("outputs", [1, 10])
def test_large_kernels_are_iterated(n: int, outputs: int) -> None:
    approach = choose_approach(n, RIDGES, outputs)
    assert not approach.is_tridiagonal
    assert f"rank {max_rank(n)}" in approach.reason


def test_iterations_that_would_be_slower_are_not_chosen() -> None:
    # A thousand outputs in each of hundreds of steps cost more than one tridiagonalisation.
    approach = choose_approach(3500, RIDGES, 1000)
    assert approach.is_tridiagonal
    assert "not be faster" in approach.reason


@pytest.mark.parametrize("tail", [0.0, 1e-6, 1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("n", [500, 4000, 20_000])
def test_the_division_is_the_cheapest_of_all(n: int, tail: float) -> None:
    ridges = RIDGES[::2]
    found = divide_ridges(n, ridges, 2, tail)
    costs = []
    for split in range(len(ridges) + 1):
        inner = range(split + 1, len(ridges))
        for count in range(len(inner) + 1):
            for cuts in itertools.combinations(inner, count):
                bounds = sorted({split, *cuts, len(ridges)})
                groups = sum(ridge_cost.factorised_cost(n, ridges[a:b], 2) for a, b in itertools.pairwise(bounds))
                costs.append(ridge_cost._iterated_cost(n, ridges[:split], 2, tail) + groups)
    np.testing.assert_allclose(found.cost, min(costs), rtol=1e-12)
    bounds = [found.iterated, *(last for _, last in found.factorised)]
    assert bounds[-1] == len(ridges)
    assert [first for first, _ in found.factorised] == bounds[:-1]


def test_ridges_of_zero_and_equal_ridges_are_divided() -> None:
    found = divide_ridges(4000, [1.0, 1.0, 1e-9, 1e-9, 0.0], 1, 1e-4)
    assert found.iterated >= 2
    assert found.factorised[-1][1] == 5
