"""Python without this package: copied to `sitecustomize.py` of a worker, which Python imports as it starts."""

import importlib.metadata
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

PACKAGE = "kernel_pipeline"
known_version = importlib.metadata.version


class Without(PathFinder):
    """Finds what is on the path, but for this package."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return None if fullname == PACKAGE else super().find_spec(fullname, path, target)


def version(distribution_name: str) -> str:
    """As of all that is installed, but for this package."""
    if distribution_name == "kernel-pipeline":
        raise importlib.metadata.PackageNotFoundError(distribution_name)
    return known_version(distribution_name)


# An editable install has a finder of its own.
others = [finder for finder in sys.meta_path if "editable" not in getattr(finder, "__module__", "")]
sys.meta_path = [Without if finder is PathFinder else finder for finder in others]
importlib.metadata.version = version
