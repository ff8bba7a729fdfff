"""A side-by-side comparison with other programs: time, peak memory and quality of the answer, with one thread each.

    python -m tests.benchmarks.bench_peers --out DIR [--only mklpy himalaya] [--sizes 500 1000x20] [--repeats 3]

Writes `peers.csv` and `peers.md` to DIR, and updates them after every problem. Each peer is installed in a virtual
environment of its own, below a cache folder, with pip. Every run is a process of its own. All programs get the same
data, generated from a fixed seed; ours and theirs run in turn, so that other load on the machine affects both. A peer
that cannot be installed, fails, or exceeds a limit has a row with the reason. Peers: `tests/benchmarks/peers`.
"""

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.peers.environments import (
    StepError,
    default_cache,
    environment_python,
    installed_version,
    run_step,
)
from tests.benchmarks.peers.peer import NAMES, Peer, Problem, Size, load_peer
from tests.benchmarks.peers.table import Row, write_csv, write_markdown

# Programs that take longer than this are run once.
REPEATED_SECONDS = 20.0
PREPARATION_SECONDS = 600.0


@dataclass(frozen=True)
class Installed:
    """A peer in its environment."""

    peer: Peer
    module: str
    python: str
    version: str
    failure: str = ""
    """Why it could not be installed."""


@dataclass(frozen=True)
class Limits:
    """Limits of one run, and the number of runs."""

    seconds: float
    gib: float
    repeats: int


def install(module: str, cache: Path) -> Installed:
    """Install a peer, unless it is installed."""
    peer = load_peer(module)
    try:
        python = environment_python(cache.absolute() / module, peer.requirements)
        return Installed(peer, module, python, installed_version(python, peer.package))
    except StepError as error:
        return Installed(peer, module, "", "", str(error))


def compare(found: Installed, number: int, size: Size, limits: Limits) -> list[Row]:
    """Run all programs on one problem in turn; return one row per program."""
    problem = found.peer.problems[number]
    titles = [program.title.format(version=found.version or "(not installed)") for program in problem.programs]
    rows = [Row(found.peer.name, problem.title, size, title) for title in titles]
    for row, program in zip(rows, problem.programs, strict=True):
        row.failure = "" if program.is_ours else found.failure
    head = [found.module, str(number)]
    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/data.npz"
        try:
            run_step(sys.executable, ["data", *head, "-", f"{size.n},{size.p}", data], PREPARATION_SECONDS)
        except StepError as error:
            for row in rows:
                row.failure = f"no data: {error}"
            return rows
        for turn in range(limits.repeats):
            for place, (row, program) in enumerate(zip(rows, problem.programs, strict=True)):
                if row.failure or (turn and row.seconds[-1] > REPEATED_SECONDS):
                    continue
                try:
                    python = sys.executable if program.is_ours else found.python
                    _measure(row, python, [*head, str(place), data], limits)
                except StepError as error:
                    row.failure = str(error)
                    print(f"  {row.program:40} {row.failure}", flush=True)
            for row in rows:  # programs that run once are compared with the round in which they ran
                if len(row.seconds) == len(rows[0].seconds) == turn + 1:
                    row.ratios.append(row.seconds[-1] / rows[0].seconds[-1])
                    row.cpu_ratios.append(row.cpu[-1] / rows[0].cpu[-1])
    return rows


def _measure(row: Row, python: str, arguments: list[str], limits: Limits) -> None:
    """Run a program once, and add the results to its row; the answer of the first run is scored."""
    answer = f"{arguments[-1]}-answer.npz"
    found = run_step(python, ["run", *arguments, answer], limits.seconds, limits.gib)
    if not row.quality:
        module, problem, _, data = arguments
        row.quality = run_step(sys.executable, ["score", module, problem, "-", data, answer], PREPARATION_SECONDS)
    row.seconds.append(found["seconds"])
    row.cpu.append(found["cpu"])
    row.mib.append(found["mib"])
    print(f"  {row.program:40} {row.seconds[-1]:9.3f} s {row.mib[-1]:7.0f} MiB  {row.quality_text}", flush=True)


def sizes_of(problem: Problem, chosen: Sequence[str]) -> list[Size]:
    """Return the default sizes, or those that are given as a number of samples, N, or with that of kernels, NxP."""
    if not chosen:
        return list(problem.sizes)
    parts = [text.partition("x") for text in chosen]
    return [Size(int(n), int(p) if p else problem.sizes[0].p) for n, _, p in parts]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the tables")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="PEER", help=", ".join(NAMES))
    parser.add_argument("--sizes", nargs="+", default=[], metavar="N", help="numbers of samples, or NxP with kernels")
    parser.add_argument("--repeats", type=int, default=3, help="runs of programs that take less than 20 s")
    parser.add_argument("--seconds", type=float, default=300.0, help="time limit of a run")
    parser.add_argument("--memory", type=float, default=10.0, metavar="GIB", help="limit of the address space of a run")
    parser.add_argument("--cache", type=Path, default=default_cache(), metavar="DIR", help="folder of the environments")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    limits = Limits(arguments.seconds, arguments.memory, arguments.repeats)
    command = shlex.join(["python", "-m", "tests.benchmarks.bench_peers", *sys.argv[1:]])
    rows: list[Row] = []
    for module in arguments.only:
        found = install(module, arguments.cache)
        for number, problem in enumerate(found.peer.problems):
            for size in sizes_of(problem, arguments.sizes):
                print(f"{found.peer.name}: {problem.title}, {size}", flush=True)
                rows += compare(found, number, size, limits)
                write_csv(arguments.out / "peers.csv", rows)
                write_markdown(arguments.out / "peers.md", rows, command)
    print(f"wrote {arguments.out / 'peers.csv'} and {arguments.out / 'peers.md'}")


if __name__ == "__main__":
    main()
