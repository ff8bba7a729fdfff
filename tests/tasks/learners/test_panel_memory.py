"""The width of panels: as many rows of tiles as half of the memory holds during a factorisation."""

import pytest

from kernel_pipeline.tasks.learners.panel_memory import FACTORISED_PANELS, FLOAT_BYTES, MAX_WIDTH, PanelMemory


@pytest.mark.parametrize("mebibytes", [110, 150, 200, 280, 370])
def test_panels_are_as_wide_as_half_of_the_memory_allows(mebibytes: int) -> None:
    samples, row_samples = 12_000, 32
    found = PanelMemory.of(mebibytes << 20, samples, row_samples, 16)
    assert found is not None
    assert found.width % row_samples == 0
    assert found.width < MAX_WIDTH
    column = 2 * FACTORISED_PANELS * FLOAT_BYTES * samples
    assert found.width * column <= mebibytes << 20 < (found.width + row_samples) * column


def test_the_width_of_panels_is_limited() -> None:
    found = PanelMemory.of(8 << 30, 12_000, 32, 16)
    assert found is not None
    assert found.width == MAX_WIDTH


def test_the_least_memory_is_that_of_panels_of_one_row_of_tiles() -> None:
    least = PanelMemory.min_bytes(12_000, 512)
    assert PanelMemory.of(least, 12_000, 512, 16) is not None
    assert PanelMemory.of(least - 1, 12_000, 512, 16) is None
