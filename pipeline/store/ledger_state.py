"""Hold the current entries of a ledger by kind."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from kernel_pipeline.store.ledger_entries import CleanedEntry, DataEntry, LedgerEntry, SweepEntry, TablesEntry
from kernel_pipeline.store.reports import TaskReport


@dataclass
class LedgerState:
    """The latest entry of each name in a ledger, or a subset of these entries.

    Examples
    --------
    >>> state = LedgerState()
    >>> state.add(TaskReport(task="tiles/wave/0"))
    >>> list(state.tasks), state.sweep
    (['tiles/wave/0'], None)
    """

    tasks: dict[str, TaskReport] = field(default_factory=dict)
    """The reports of tasks, by the name of the task."""
    data: dict[str, DataEntry] = field(default_factory=dict)
    """The entries of stored data, by dataset."""
    sweep: SweepEntry | None = None
    tables: TablesEntry | None = None
    cleaned: CleanedEntry | None = None

    def add(self, entry: LedgerEntry) -> LedgerEntry | None:
        """Add an entry, and return the one of the same name that it replaces."""
        before: LedgerEntry | None
        match entry:
            case TaskReport():
                before, self.tasks[entry.task] = self.tasks.get(entry.task), entry
            case DataEntry():
                before, self.data[entry.info.name] = self.data.get(entry.info.name), entry
            case SweepEntry():
                before, self.sweep = self.sweep, entry
            case TablesEntry():
                before, self.tables = self.tables, entry
            case CleanedEntry():
                before, self.cleaned = self.cleaned, entry
            case _:
                raise TypeError(f"{type(entry).__name__} is not a kind of ledger entry")
        return before

    def update(self, other: "LedgerState") -> None:
        """Add all entries of another state."""
        for entry in other.entries():
            self.add(entry)

    def entries(self) -> Iterator[LedgerEntry]:
        """Yield all entries: those of the run, then the stored data, then the tasks."""
        yield from (entry for entry in (self.sweep, self.tables, self.cleaned) if entry)
        yield from self.data.values()
        yield from self.tasks.values()

    def copy(self) -> "LedgerState":
        """Return a state that changes independently of this one."""
        return replace(self, tasks=dict(self.tasks), data=dict(self.data))
