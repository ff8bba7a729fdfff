import pytest

from kernel_pipeline.tasks.learners.svm_cost import choose_svm_approach

GIB = 1 << 30


def test_libsvm_is_used_as_long_as_the_kernel_fits() -> None:
    fits = choose_svm_approach(30_000, 12, 2, 8 * GIB, 20.0)
    assert fits.is_libsvm
    assert fits.cache_bytes == 0
    larger = choose_svm_approach(33_000, 12, 2, 8 * GIB, 20.0)
    assert not larger.is_libsvm
    assert 0 < larger.cache_bytes < 8 * GIB
    assert "33,000" in larger.reason
    assert not choose_svm_approach(12_000, 12, 2, GIB, 20.0).is_libsvm


@pytest.mark.parametrize("memory", [GIB, 64 * GIB])
def test_costs_grow_with_the_sizes(memory: int) -> None:
    few = choose_svm_approach(20_000, 6, 2, memory, 20.0)
    assert choose_svm_approach(20_000, 12, 2, memory, 20.0).cost > few.cost
    assert choose_svm_approach(30_000, 6, 2, memory, 20.0).cost > few.cost
    assert few.cost < choose_svm_approach(20_000, 6, 5, memory, 20.0).cost < 2 * few.cost


def test_a_small_cache_costs_more() -> None:
    found = [choose_svm_approach(40_000, 12, 2, gib * GIB, 20.0) for gib in (16, 8, 4)]
    assert [approach.is_libsvm for approach in found] == [True, False, False]
    assert found[0].cost < found[1].cost <= found[2].cost
    assert found[1].cache_bytes > found[2].cache_bytes
