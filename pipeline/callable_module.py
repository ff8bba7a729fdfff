"""Make a subpackage callable if a function of the public API has the same name.

Importing a submodule sets it as an attribute of its package. After any import from the subpackage `run`,
`kernel_pipeline.run` is therefore the subpackage, so the subpackage itself has to be callable.
"""

import sys
from importlib import import_module
from inspect import Signature, getdoc, signature
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A module that can be called like the function of the same name in `kernel_pipeline.api`."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function of the same name."""
        return self._function(*arguments, **options)

    @property
    def __signature__(self) -> Signature:
        return signature(self._function)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        """The documentation of the function, which `help` shows."""
        return getdoc(self._function)

    @property
    def _function(self) -> Any:
        return getattr(import_module("kernel_pipeline.api"), self.__name__.rpartition(".")[2])


def make_callable(module: str) -> None:
    """Make a module callable.

    Parameters
    ----------
    module
        `__name__` of the module.
    """
    sys.modules[module].__class__ = CallableModule
