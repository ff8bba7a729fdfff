"""Define registries of named entries, to which users and maintainers add an entry with one new file."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Protocol, TypeVar

from kernel_pipeline.tasks.plugins import Plugin, find_plugins

T = TypeVar("T")


class Named(Protocol):
    """An entry with a name."""

    @property
    def name(self) -> str:
        """Name of the entry."""


N = TypeVar("N", bound=Named)


class Registry(Mapping[str, T]):
    """Mapping from names to entries of one kind, such as all kernel families.

    The modules of the built-in entries are imported when the registry is first read, so that importing the registry
    itself is fast. Built-in entries come first, in the order of their modules, regardless of import order. Other
    entries follow in the order in which they were registered, and plug-ins come last. A plug-in is imported when it is
    read by its name, so that a broken one does not affect sweeps that do not use it.

    Parameters
    ----------
    kind
        Name of this kind of entry in error messages, such as "kernel family".
    modules
        Names of the modules that register the built-in entries.
    group
        The entry point group by which other packages declare plug-ins; empty for none.
    unsuitable_reason
        Function that returns the reason why an object of a plug-in cannot be an entry; an empty string if it can.

    Examples
    --------
    >>> colors: Registry[str] = Registry("color")
    >>> colors.register("red")("#f00")
    '#f00'
    >>> colors["red"], list(colors)
    ('#f00', ['red'])
    """

    def __init__(
        self,
        kind: str,
        modules: tuple[str, ...] = (),
        group: str = "",
        unsuitable_reason: Callable[[Any], str] = lambda entry: "",
    ) -> None:
        self.kind = kind
        self._modules = modules
        self._group, self._unsuitable_reason = group, unsuitable_reason
        self._entries: dict[str, T] = {}
        self._plugins: dict[str, Plugin] | None = None
        self._loaded: dict[str, T] = {}
        """The plug-ins that have been imported."""

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that adds an entry under a name.

        Raises
        ------
        ValueError
            If the name is taken by another entry.
        """

        def add(entry: T) -> T:
            if self._entries.get(name, entry) is not entry:
                raise ValueError(f"there is already a {self.kind} {name!r}")
            self.check(name, entry)
            self._entries[name] = entry
            return entry

        return add

    def check(self, name: str, entry: T) -> None:
        """Raise a `ValueError` if an entry cannot be registered under a name; override this to restrict entries."""

    def unregister(self, name: str) -> None:
        """Remove an entry, for example one that a test has registered."""
        del self._entries[name]

    def unknown_message(self, name: object) -> str:
        """Return the error message for a name that is not registered."""
        nearest = get_close_matches(str(name), self, n=1)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        return f"there is no {self.kind} {name!r}. Available: {', '.join(self)}.{hint}"

    def loaded(self) -> dict[str, T]:
        """Return all entries except plug-ins that have not been imported."""
        return {**self._loaded, **self.registered}

    @property
    def registered(self) -> Mapping[str, T]:
        """The entries that are not plug-ins."""
        self._load()
        return self._entries

    @property
    def plugins(self) -> Mapping[str, Plugin]:
        """The plug-ins of installed packages; a plug-in is ignored if its name is registered."""
        if self._plugins is None:
            self._plugins = find_plugins(self._group, self.kind) if self._group else {}
        return self._plugins

    def __getitem__(self, name: str) -> T:
        if name in self.registered:
            return self._entries[name]
        if name not in self._loaded:
            self._loaded[name] = self.plugins[name].load(self._unsuitable_reason)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def __iter__(self) -> Iterator[str]:
        return iter([*self.registered, *(name for name in self.plugins if name not in self._entries)])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _load(self) -> None:
        """Import the modules of the built-in entries; entries that were registered before the import follow them."""
        modules, self._modules = self._modules, ()
        if modules:
            added, self._entries = self._entries, {}
            position: dict[str, int] = {}
            for number, module in enumerate(modules):
                import_module(module)
                # A module that was imported before has registered its entries already.
                self._entries |= {
                    name: entry for name, entry in added.items() if getattr(entry, "__module__", "") == module
                }
                for name in self._entries.keys() - position.keys():
                    # A module may import one that follows it.
                    found = getattr(self._entries[name], "__module__", "")
                    position[name] = modules.index(found) if found in modules else number
            self._entries = dict(sorted(self._entries.items(), key=lambda item: position[item[0]]))
            self._entries |= {name: entry for name, entry in added.items() if name not in self._entries}


class NamedRegistry(Registry[N]):
    """Registry of entries that have a name, which must be an identifier, since files or columns are named after it."""

    def check(self, name: str, entry: N) -> None:
        """Raise a `ValueError` if the name is not an identifier."""
        if not name.isidentifier():
            raise ValueError(f"the name of a {self.kind} must be an identifier; got {name!r}")

    def add(self, entry: N) -> N:
        """Add an entry under its own name.

        Raises
        ------
        ValueError
            If the name is taken, or the entry cannot be registered.
        """
        return self.register(entry.name)(entry)
