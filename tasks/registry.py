"""Registries: named sets that users and maintainers extend with one new file each."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TypeVar

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Entries of one kind by name, such as all kernel families.

    The modules of the built-in entries are imported when the registry is first read, so that importing the registry
    itself costs nothing. They come first, in the order of their modules, whatever was imported before; other entries
    follow in the order in which they are registered.

    Parameters
    ----------
    kind
        What an entry is called in error messages, such as "kernel family".
    modules
        Names of the modules that register the built-in entries.

    Examples
    --------
    >>> colors: Registry[str] = Registry("color")
    >>> colors.register("red")("#f00")
    '#f00'
    >>> colors["red"], list(colors)
    ('#f00', ['red'])
    """

    def __init__(self, kind: str, modules: tuple[str, ...] = ()) -> None:
        self.kind = kind
        self._modules = modules
        self._entries: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that adds an entry under a name.

        Raises
        ------
        ValueError
            If the name is taken by another entry.
        """

        def add(entry: T) -> T:
            if self._entries.get(name, entry) is not entry:
                raise ValueError(f"there already is a {self.kind} {name!r}")
            self._entries[name] = entry
            return entry

        return add

    def unregister(self, name: str) -> None:
        """Remove an entry, such as that of a test."""
        del self._entries[name]

    def unknown(self, name: object) -> str:
        """Return the error message for a name that is not registered."""
        nearest = get_close_matches(str(name), self, n=1)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        return f"there is no {self.kind} {name!r}; there are: {', '.join(self)}.{hint}"

    def __getitem__(self, name: str) -> T:
        self._load()
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(self._entries)

    def __len__(self) -> int:
        self._load()
        return len(self._entries)

    def _load(self) -> None:
        """Import the modules of the built-in entries; entries that were registered before the import follow them."""
        modules, self._modules = self._modules, ()
        if modules:
            added, self._entries = self._entries, {}
            for module in modules:
                import_module(module)
                # A module that was imported before has registered its entries already.
                self._entries |= {
                    name: entry for name, entry in added.items() if getattr(entry, "__module__", "") == module
                }
            self._entries |= {name: entry for name, entry in added.items() if name not in self._entries}
