"""Format and parse the lines of a ledger: JSON objects, each with a checksum of itself as its last member."""

from kernel_pipeline.store.digests import content_digest
from kernel_pipeline.store.json_object import JsonObject
from kernel_pipeline.store.json_text import dump_json, parse_json
from kernel_pipeline.store.ledger_entries import (
    CLEANED,
    DATA,
    SWEEP,
    TABLES,
    CleanedEntry,
    DataEntry,
    LedgerEntry,
    SweepEntry,
    TablesEntry,
)
from kernel_pipeline.store.reports import TaskReport

CHECK = b', "check": "'
MEMBERS = {"name", "identity", "digests", "result", "seconds", "peak_memory", "failed", "inputs"}
KINDS: dict[str, type[LedgerEntry]] = {
    SWEEP: SweepEntry,
    TABLES: TablesEntry,
    CLEANED: CleanedEntry,
    DATA: DataEntry,
}
"""The kind of an entry by the first part of its name; all others are reports of tasks."""


def format_line(entry: LedgerEntry) -> bytes:
    """Return the line of an entry, including the line ending."""
    body = dump_json(entry.to_json()).removesuffix(b"}")
    return body + CHECK + content_digest(body).encode() + b'"}\n'


def parse_line(line: bytes) -> LedgerEntry | None:
    """Return the entry of a line without line ending; None if the checksum is wrong or no run can have written it."""
    body, _, check = line.rpartition(CHECK)
    if check != content_digest(body).encode() + b'"}':
        return None
    try:
        return _parse_entry(JsonObject(parse_json(body + b"}"), "the line"))
    except (ValueError, TypeError):
        return None


def _parse_entry(line: JsonObject) -> LedgerEntry:
    name = line.text("name")
    kind = KINDS.get(name.partition("/")[0], TaskReport)
    entry = kind.from_json(line)
    if entry.name != name or not MEMBERS.issuperset(line.names()):
        raise ValueError("the name or the members of the line do not match its kind of entry")
    if kind is not TaskReport and (line.text("failed", "") or "inputs" in line):
        raise ValueError("only the report of a task can have inputs or a failure")
    return entry
