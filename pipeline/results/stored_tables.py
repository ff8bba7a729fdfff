"""Result tables as a run directory has them, to be shown: bounded in size and form before they are parsed."""

import io
from collections.abc import Sequence
from typing import Any

import pandas as pd

from kernel_pipeline.errors import RefusedError
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.storage import Root
from kernel_pipeline.text import printable

MAX_COLUMNS = 100
MAX_CELLS = 20_000_000


def read_table(root: Root, key: str, columns: Sequence[str], types: dict[str, str] | None = None) -> pd.DataFrame:
    """Read a table that must have certain columns; its texts come without control characters."""
    content = root.read(key)
    header = content.partition(b"\n")[0].split(b",")
    cells = content.count(b",") + content.count(b"\n")
    if len(header) > MAX_COLUMNS or cells > MAX_CELLS:
        raise _refused(root, key, f"it has {len(header):,} columns and {cells:,} cells")
    given: dict[str, Any] = {name: kind for name, kind in (types or {}).items() if name.encode() in header}
    try:
        table = pd.read_csv(io.BytesIO(content), dtype=given)
    except (ValueError, RecursionError) as error:
        raise _refused(root, key, str(error)) from None
    if missing := [name for name in columns if name not in table]:
        raise _refused(root, key, f"it has no column {missing[0]!r}")
    texts = table.select_dtypes(exclude=["number", "boolean", "bool"])
    return table.assign(**{str(name): texts[name].map(printable, na_action="ignore") for name in texts})


def _refused(root: Root, key: str, why: str) -> RefusedError:
    return RefusedError(
        f"{root}/{key} is not a table that a run wrote: {why}. `pipeline verify {quoted(root)} --repair` writes it "
        "again"
    )
