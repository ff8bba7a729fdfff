"""Define the notes of a sweep: one-line remarks, which are printed and written to `results/notes.csv`."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """One remark about a dataset, one of its problems, or one method on it."""

    dataset: str
    note: str
    task: str = ""
    method: str = ""


def lines(notes: Iterable[Note]) -> list[str]:
    """Return the notes as lines of text; equal notes about one method are merged into one line.

    >>> lines([Note("a", "left out", "regression", "l1-svm"), Note("b", "left out", "regression", "l1-svm")])
    ['note: l1-svm on a (regression), b (regression): left out']
    >>> lines([Note("a", "3 rows are left out")])
    ["note: dataset 'a': 3 rows are left out"]
    """
    places: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        task = f" ({note.task})" if note.task else ""
        subject = f"{note.method} on " if note.method else f"dataset {note.dataset!r}{task}"
        places.setdefault((subject, note.note), []).append(f"{note.dataset}{task}" if note.method else "")
    return [f"note: {subject}{', '.join(where)}: {text}" for (subject, text), where in places.items()]
