"""Find and import plug-ins: entries of a registry that other installed packages declare through entry points."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any


class PluginError(ValueError):
    """A plug-in cannot be used; the message names it and its package."""


@dataclass(frozen=True)
class Plugin:
    """An entry that an installed package declares; the package is imported only by `load`."""

    kind: str
    """Name of this kind of entry in error messages, such as "kernel family"."""
    name: str
    package: str
    """Name of the distribution, such as "my-kernels"."""
    version: str
    entry_point: EntryPoint
    conflicting_packages: tuple[str, ...] = ()
    """Other packages that declare an entry of the same name."""

    @property
    def module(self) -> str:
        """Top-level module of the package."""
        return self.entry_point.module.partition(".")[0]

    def __str__(self) -> str:
        return f"the {self.kind} {self.name!r} of the package {self.package} {self.version}"

    def load(self, unsuitable_reason: Callable[[Any], str]) -> Any:
        """Import the entry.

        Parameters
        ----------
        unsuitable_reason
            Function that returns the reason why an object cannot be an entry; an empty string if it can.

        Raises
        ------
        PluginError
            If several packages declare it, the import fails, or the object is not suitable.
        """
        if self.conflicting_packages:
            raise PluginError(
                f"the {self.kind} {self.name!r} is declared by several packages: {self.package}, "
                f"{', '.join(self.conflicting_packages)}. Uninstall all but one of them"
            )
        try:
            entry = self.entry_point.load()
        except (Exception, SystemExit) as error:  # importing a module may run any code
            raise PluginError(
                f"{self} cannot be imported: {type(error).__name__}: {error}. Update the package, or do not use this "
                f"{self.kind}"
            ) from None
        if reason := unsuitable_reason(entry):
            raise PluginError(f"{self} cannot be used: {self.entry_point.value} {reason}")
        return entry


def find_plugins(group: str, kind: str) -> dict[str, Plugin]:
    """Return the plug-ins of all installed packages by name.

    Parameters
    ----------
    group
        Entry point group.
    kind
        Name of this kind of entry in error messages, such as "kernel family".
    """
    found: dict[str, dict[str, Plugin]] = {}
    for point in entry_points(group=group):
        package, version = (point.dist.name, point.dist.version) if point.dist else ("unknown", "")
        # Of several installations of a package, Python imports the first one on the path.
        found.setdefault(point.name, {}).setdefault(package, Plugin(kind, point.name, package, version, point))
    plugins = {}
    for name, by_package in sorted(found.items()):
        first, *others = by_package.values()
        conflicting_packages = tuple(other.package for other in others)
        plugins[name] = Plugin(kind, name, first.package, first.version, first.entry_point, conflicting_packages)
    return plugins
