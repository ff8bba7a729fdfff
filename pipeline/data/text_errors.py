"""Write the error message about columns of text that are not encoded."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from kernel_pipeline.data.encoding import RefusedColumn
from kernel_pipeline.errors import DataError
from kernel_pipeline.text import counted

MAX_LISTED_COLUMNS = 20
MAX_LISTED_WORDS = 5


@dataclass(frozen=True)
class ListedInConfig:
    """What the keys of a dataset list already, so that a message can give the whole new value of a key."""

    drop: Sequence[int | str] = ()
    categorical: Sequence[int | str] = ()
    missing_values: Sequence[str | float] = ()


def text_error(refused: Mapping[Hashable, RefusedColumn], name: str, listed: ListedInConfig) -> DataError:
    """Return the error for columns that contain text and are not encoded.

    Parameters
    ----------
    refused
        The columns by name, not empty.
    name
        Name of the dataset.
    listed
        What the config lists already.
    """
    examples = [_example(column, found) for column, found in refused.items()]
    shown = "; ".join(examples[:MAX_LISTED_COLUMNS])
    more = f"; and {len(examples) - MAX_LISTED_COLUMNS} more" if len(examples) > MAX_LISTED_COLUMNS else ""
    return DataError(f"dataset {name!r}: {shown}{more}. {'. '.join(_fixes(refused, listed))}")


def _example(column: Hashable, found: RefusedColumn) -> str:
    """Describe the first cell of a column that contains text."""
    cell, row, others = str(found.text.iloc[0]), int(found.text.index[0]) + 1, len(found.text) - 1
    if not found.mostly_numbers or found.has_decimal_commas or found.has_thousands_separators:
        return f"column {column!r} contains text: {cell!r} in data row {row}"
    more = f" and text in {counted(others, 'more row')}" if others else ""
    return f"column {column!r} consists of numbers, except for {cell!r} in data row {row}{more}"


def _fixes(refused: Mapping[Hashable, RefusedColumn], listed: ListedInConfig) -> list[str]:
    """Return the ways to correct the file or the config, without the final full stop of each."""
    commas = [column for column, found in refused.items() if found.has_decimal_commas]
    thousands = [column for column, found in refused.items() if found.has_thousands_separators and column not in commas]
    numbers = [*commas, *thousands]
    mixed = [column for column, found in refused.items() if found.mostly_numbers and column not in numbers]
    words = [column for column in refused if column not in (*numbers, *mixed)]
    fixes = []
    if all(len(found.text) == 1 and found.text.index[0] == 0 for found in refused.values()):
        fixes.append("If the first line contains the names of the columns, set header = true")
    if commas:
        which = ", ".join(map(repr, commas[:MAX_LISTED_COLUMNS]))
        separates = ""
        if any(refused[column].may_be_thousands for column in commas):
            separates = "If it separates thousands, remove it from the file. "
        fixes.append(
            f"If the comma is the decimal separator in {which}, set decimal = ','. {separates}Otherwise, correct the "
            f"file, or set categorical = {[*listed.categorical, *commas]}"
        )
    if thousands:
        which = ", ".join(map(repr, thousands[:MAX_LISTED_COLUMNS]))
        fixes.append(
            f"Remove the thousands separators in {which} from the file. If it is text, set categorical = "
            f"{[*listed.categorical, *thousands]}"
        )
    if mixed:
        found = dict.fromkeys(str(cell) for column in mixed for cell in refused[column].text)
        texts = [*listed.missing_values, *found]
        shown = f"[{', '.join(map(repr, texts[:MAX_LISTED_WORDS]))}{', ...' if len(texts) > MAX_LISTED_WORDS else ''}]"
        fixes.append(
            f"Correct the file. If the text stands for a missing value, set missing_values = {shown}. If it is one of "
            f"several categories, set categorical = {[*listed.categorical, *mixed]}"
        )
    if words:
        which = "the column" if len(words) == 1 else "these columns"
        what = f"Add {which} to drop" if listed.drop else f"Drop {which}"
        fixes.append(
            f"{what} (drop = {[*listed.drop, *words]}), or encode text: encode = 'onehot', or "
            "encode = { word = number, ... }"
        )
    return fixes
