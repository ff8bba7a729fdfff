"""Real components: a test whose component is missing says how to get it."""

from tests.faults.conftest import undisturbed

__all__ = ["undisturbed"]
