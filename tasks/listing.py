"""List names in messages."""

from collections.abc import Sequence


def list_first(names: Sequence[str], limit: int) -> str:
    """Return the first names, separated by commas, and how many more there are.

    >>> list_first(["a", "b", "c"], limit=2), list_first(["a", "b"], limit=2)
    ('a, b and 1 more', 'a, b')
    """
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
