"""Hide this package from Python: copied to the `sitecustomize.py` of a worker, which Python imports at startup."""

import importlib.metadata
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

PACKAGE = "kernel_pipeline"
known_version = importlib.metadata.version


class Without(PathFinder):
    """Path finder that does not find this package."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return None if fullname == PACKAGE else super().find_spec(fullname, path, target)


def version(distribution_name: str) -> str:
    """Return the version of a distribution as if this package were not installed."""
    if distribution_name == "kernel-pipeline":
        raise importlib.metadata.PackageNotFoundError(distribution_name)
    return known_version(distribution_name)


# Editable installs add a separate finder.
others = [finder for finder in sys.meta_path if "editable" not in getattr(finder, "__module__", "")]
sys.meta_path = [Without if finder is PathFinder else finder for finder in others]
importlib.metadata.version = version
