import numpy as np
import pytest

from kernel_pipeline.tasks.learners.kernel_rows import CachedRows
from tests.tasks.dense import Floats, Integers
from tests.tasks.square_rows import SquareRows


class CountedRows(SquareRows):
    """Rows that record which of them are computed."""

    computed: list[int]

    def __init__(self, kernel: Floats) -> None:
        super().__init__(kernel)
        object.__setattr__(self, "computed", [])

    def rows(self, indices: Integers) -> Floats:
        self.computed.extend(indices.tolist())
        return super().rows(indices)


@pytest.fixture
def square() -> Floats:
    values = np.random.default_rng(0).normal(size=(20, 20))
    return np.asarray(values + values.T)


def test_rows_of_chosen_samples(square: Floats) -> None:
    chosen = np.array([3, 11, 4, 19])
    rows = SquareRows(square).only(chosen)
    assert rows.n_columns == 4
    np.testing.assert_array_equal(rows.rows(np.array([2, 0])), square[[4, 3]][:, chosen])
    inner = rows.only(np.array([1, 3]))
    np.testing.assert_array_equal(inner.rows(np.array([1])), square[np.ix_([19], [11, 19])])
    assert SquareRows(square).kernel is square


def test_rows_are_computed_once_while_they_are_kept(square: Floats) -> None:
    source = CountedRows(square)
    cache = CachedRows(source, max_bytes=5 * 20 * 8)
    assert (cache.capacity, cache.n_columns) == (5, 20)
    for wanted in ([1, 2, 3], [3, 1, 4], [2, 4]):
        np.testing.assert_array_equal(cache.rows(np.array(wanted)), square[wanted])
    assert source.computed == [1, 2, 3, 4]
    assert cache.computed == 4


def test_the_least_recently_used_row_is_replaced(square: Floats) -> None:
    source = CountedRows(square)
    cache = CachedRows(source, max_bytes=3 * 20 * 8)
    for wanted in ([0, 1, 2], [0], [3], [0, 2, 3], [1]):
        np.testing.assert_array_equal(cache.rows(np.array(wanted)), square[wanted])
    assert source.computed == [0, 1, 2, 3, 1]


def test_the_cache_never_holds_more_than_its_size(square: Floats) -> None:
    cache = CachedRows(SquareRows(square), max_bytes=1000)
    for wanted in (np.arange(20), np.arange(19, -1, -1), np.arange(3)):
        np.testing.assert_array_equal(cache.rows(wanted), square[wanted])
    assert cache._kept.nbytes == 6 * 20 * 8 <= 1000
    assert len(cache._slots) == 6
    tiny = CachedRows(SquareRows(square), max_bytes=1)
    assert tiny.capacity == 1
    np.testing.assert_array_equal(tiny.rows(np.array([5, 6])), square[[5, 6]])


def test_a_cache_of_chosen_samples_is_separate(square: Floats) -> None:
    chosen = np.array([2, 7])
    np.testing.assert_array_equal(
        CachedRows(SquareRows(square), 1000).only(chosen).rows(np.array([1])), square[np.ix_([7], [2, 7])]
    )
