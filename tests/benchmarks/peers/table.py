"""The table of the comparison, as CSV and as markdown."""

import csv
import os
import platform
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from tests.benchmarks.peers.peer import Size

MEASURED = ("seconds", "cpu_seconds", "ratio", "cpu_ratio", "peak_mib", "runs", "quality")
COLUMNS = ("peer", "problem", "n", "p", "program", *MEASURED)


@dataclass
class Row:
    """One program on one problem of one size."""

    peer: str
    problem: str
    size: Size
    program: str
    seconds: list[float] = field(default_factory=list)
    """Seconds of each run."""
    cpu: list[float] = field(default_factory=list)
    mib: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    """Seconds divided by those of our program in the same round."""
    cpu_ratios: list[float] = field(default_factory=list)
    quality: dict[str, float] = field(default_factory=dict)
    failure: str = ""
    """Why there is no result."""

    @property
    def quality_text(self) -> str:
        return self.failure or ", ".join(f"{name} {number(value)}" for name, value in self.quality.items())


def number(value: float) -> str:
    """Return a number with three digits, without an exponent if it is moderate.

    >>> [number(value) for value in (0.12345, 4.5e-12, 1234.5, 0.0, 1.0)]
    ['0.123', '4.5e-12', '1234', '0', '1']
    """
    if value == 0 or 1e-3 <= abs(value) < 1e3:
        return f"{value:.3g}"
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.1e}"


def _median(values: Sequence[float]) -> str:
    return number(statistics.median(values)) if values else ""


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write one line per row; medians over the runs."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in rows:
            medians = [_median(values) for values in (row.seconds, row.cpu, row.ratios, row.cpu_ratios, row.mib)]
            head = [row.peer, row.problem, row.size.n, row.size.p, row.program]
            writer.writerow([*head, *medians, len(row.seconds), row.quality_text])


def write_markdown(path: Path, rows: Sequence[Row], command: str) -> None:
    """Write a table with the machine, the date and the command above it: one line per program that is compared."""
    lines = [
        f"Machine: {platform.machine()}, {os.cpu_count()} cores, {platform.system()}, Python "
        f"{platform.python_version()}, load {os.getloadavg()[1]:.1f}. Date: {time.strftime('%d %B %Y')}. "
        f"Command: `{command}`.",
        "",
        *markdown_lines(rows),
    ]
    path.write_text("\n".join(lines) + "\n")


def markdown_lines(rows: Sequence[Row]) -> list[str]:
    """Return a table with our numbers and those of each other program side by side."""
    columns = ("problem", "size", "program", "seconds", "ratio", "CPU ratio", "MiB", "our answer", "its answer")
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for _, group in groupby(rows, key=lambda row: (row.peer, row.problem, row.size)):
        ours, *others = group
        for row in others:
            pairs = [_pair(ours.seconds, row.seconds), _median(row.ratios), _median(row.cpu_ratios)]
            cells = [row.problem, str(row.size), row.program, *pairs, _pair(ours.mib, row.mib)]
            lines.append("| " + " | ".join([*cells, ours.quality_text, row.quality_text]) + " |")
    return lines


def _pair(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Return our median and that of the other program."""
    return f"{_median(ours) or '-'}, {_median(theirs) or '-'}"
