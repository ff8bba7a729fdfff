"""Read and append to the ledger of a run: an append-only list of everything that is finished.

Each entry is one line, which is valid once it is on the disk. A line has a checksum of itself and contains the digests
of the files that belong to it, so that all other files of a run directory can be checked against the ledger.
"""

from kernel_pipeline.errors import RefusedError
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.ledger_entries import LedgerEntry, SweepEntry
from kernel_pipeline.store.ledger_lines import format_line, parse_line
from kernel_pipeline.store.ledger_state import LedgerState
from kernel_pipeline.store.storage import Storage

ZEROED = bytes(512)
"""A zeroed sector, which a power cut may leave in place of lines that were being written. No valid line contains it."""


class Ledger:
    """The ledger of a run directory. Only the driver that holds the lock of the run may change it."""

    def __init__(self, root: Storage) -> None:
        self.root, self.journal = root, root.journal()
        self._state: LedgerState | None = None

    def read(self) -> LedgerState:
        """Return the current entries. Lines that a crash left incomplete or zeroed are ignored.

        The lines are read once, since no other process changes them.

        Raises
        ------
        RefusedError
            If any other line is not a ledger line.
        """
        if self._state is None:
            self._state = self._read()
        return self._state.copy()

    def sweeps(self) -> list[SweepEntry]:
        """Return the entries of all configs that the run has had, from the oldest to the latest."""
        return [entry for entry in self._all_entries() if isinstance(entry, SweepEntry)]

    def named_files(self) -> set[str]:
        """Return the keys of all files that any line names, including lines that were replaced by later ones."""
        return {key for entry in self._all_entries() for key in entry.digests}

    def _all_entries(self) -> list[LedgerEntry]:
        entries = map(parse_line, self.journal.lines())
        return [entry for entry in entries if entry]

    def _read(self) -> LedgerState:
        state = LedgerState()
        for number, line in enumerate(self.journal.lines(), 1):
            entry = parse_line(line)
            if entry is None and ZEROED in line:
                continue
            if entry is None:
                raise RefusedError(
                    f"{self.journal}, line {number} is not a ledger line: another program changed the file. "
                    f"`pipeline verify {quoted(self.root)} --repair` removes the line and recomputes what it recorded"
                )
            state.add(entry)
        return state

    def append(self, *entries: LedgerEntry) -> None:
        """Add entries; they are on the disk when this returns."""
        self.journal.append(b"".join(map(format_line, entries)))
        if self._state is not None:
            for entry in entries:
                self._state.add(entry)

    def zeroed(self) -> list[int]:
        """Return the numbers of the lines that a power cut zeroed."""
        return [number for number, line in enumerate(self.journal.lines(), 1) if ZEROED in line]

    def drop_zeroed(self) -> list[int]:
        """Remove the lines that a power cut zeroed, and return their numbers."""
        return self._drop(self.zeroed())

    def drop_garbage(self) -> list[int]:
        """Remove everything that is not a ledger line, and return the numbers of the removed lines.

        What these lines recorded is then no longer finished.
        """
        return self._drop([number for number, line in enumerate(self.journal.lines(), 1) if parse_line(line) is None])

    def _drop(self, numbers: list[int]) -> list[int]:
        if numbers:
            dropped = set(numbers)
            kept = [line for number, line in enumerate(self.journal.lines(), 1) if number not in dropped]
            self.journal.rewrite(kept)
            self._state = None
        return numbers

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()
