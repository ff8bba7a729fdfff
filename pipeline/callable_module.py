"""Subpackages that share their name with a function of the public API, and can be called like it.

Importing a submodule sets it as an attribute of its package. `kernel_pipeline.run` is therefore the subpackage once
anything of it was imported, so the subpackage itself has to be callable.
"""

import sys
from importlib import import_module
from inspect import Signature, signature
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A module that can be called like the function of the same name in `kernel_pipeline.api`."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function."""
        return self._function(*arguments, **options)

    @property
    def __signature__(self) -> Signature:
        return signature(self._function)

    @property
    def _function(self) -> Any:
        return getattr(import_module("kernel_pipeline.api"), self.__name__.rpartition(".")[2])


def make_callable(module: str) -> None:
    """Make a module callable.

    Parameters
    ----------
    module
        Name of the module, as `__name__` has it.
    """
    sys.modules[module].__class__ = CallableModule
