from tests.faults.conftest import undisturbed

__all__ = ["undisturbed"]
