"""Tests with real components; if a component is missing, the reason of the skip says how to install it."""

from tests.faults.conftest import undisturbed

__all__ = ["undisturbed"]
