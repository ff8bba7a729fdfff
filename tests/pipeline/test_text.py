"""Formatted sizes in messages."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernel_pipeline.text import format_bytes


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (int(3.21 * 2**30), "3.21 GiB"),
        (5 << 40, "5 TiB"),
        (3 << 39, "1.5 TiB"),
        (2345 << 40, "2,345 TiB"),
    ],
)
def test_sizes_have_readable_units(size: int, text: str) -> None:
    assert format_bytes(size) == text


@settings(deadline=None)
@given(size=st.integers(0, 9000 << 40))
@example(size=1_023_700)
def test_sizes_have_no_exponents(size: int) -> None:
    assert "e" not in format_bytes(size)
