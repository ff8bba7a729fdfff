"""Random histories of runs, crashes, damage, checks and repairs: runs that report success have correct tables."""

import os
import random
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.errors import PipelineError
from kernel_pipeline.run.driver import Options
from kernel_pipeline.run.foreign_files import stored_files
from kernel_pipeline.run.repair import repair_run, restore_run, verify_run
from kernel_pipeline.run.sweeps import resume_sweep, run_sweep
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from tests.faults.harness import CrashError, flip, no_workers

pytestmark = pytest.mark.faults

FOLDER = Path("/")
RESTORED_FILES = ("config.toml", "environment.json")
KERNEL = re.compile(r"combined\.zarr/.*/c/.*")
# Measured seconds differ between runs.
TIME_DEPENDENT_FILES = ("results/timings.csv", "report.html", "figures/times.svg", "figures/times.png")
CONFIG = parse_config(
    {
        "name": "stateful",
        "baselines": False,
        "methods": ["unif", "l2-krr"],
        "protocol": {"folds": 3},
        "fit": {"krr": {"from": -6, "to": 0, "step": 6}, "l2-krr": {"from": 0, "to": 2}},
        "storage": {"tile": 12},
        "dataset": [
            {
                "name": "wave",
                "source": "synthetic",
                "task": "regression",
                "rows": 18,
                "kernels": [{"family": "gaussian", "log2_gamma": [-3, -2]}],
            }
        ],
    },
    "a test",
)


def history_settings(steps: int) -> settings:
    """Return the settings of tests of histories; STATEFUL_EXAMPLES is the number of histories, chosen at random."""
    return settings(
        max_examples=int(os.environ.get("STATEFUL_EXAMPLES", "12")),
        stateful_step_count=steps,
        deadline=None,
        derandomize="STATEFUL_EXAMPLES" not in os.environ,
        phases=[phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)],  # shrinking would take minutes
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def contents(root: Path) -> dict[str, bytes]:
    """Return the files of a run, except combined kernels, which may have been removed or left by a crash."""
    keys = [*RESTORED_FILES, *stored_files(LocalStorage(root), LocalStorage(root))]
    needed = [key for key in keys if key not in TIME_DEPENDENT_FILES and not KERNEL.fullmatch(key)]
    return {key: (root / key).read_bytes() for key in needed if (root / key).exists()}


@cache
def reference() -> dict[str, bytes]:
    """Return the files that every run has to end with."""
    with tempfile.TemporaryDirectory() as folder, no_workers():
        assert run_sweep(CONFIG, FOLDER, LocalStorage(Path(folder) / "run"), Options()).exit_code == 0
        return contents(Path(folder) / "run")


class Histories(RuleBasedStateMachine):
    """A run directory, and whether commands have a reason to refuse it."""

    def __init__(self) -> None:
        super().__init__()
        self.expected = reference()
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "run"
        self.may_refuse = False

    def do(self, work: Any, *arguments: Any, order: int = 0, max_batches: int | None = None) -> int | None:
        """Return the exit code of an operation; None if it crashed or was rightly refused."""
        with no_workers(random.Random(order), max_batches):
            try:
                return int(work(*arguments).exit_code)
            except CrashError:
                return None
            except PipelineError:
                if not self.may_refuse:
                    raise
                return None

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.jsonl"

    def is_begun(self) -> bool:
        return self.ledger.exists() and self.ledger.read_bytes().count(b"\n") > 1

    def assert_correct_tables(self) -> None:
        found = {key: content for key, content in contents(self.root).items() if key.startswith("results/")}
        assert found == {key: content for key, content in self.expected.items() if key.startswith("results/")}

    @rule(max_batches=st.none() | st.integers(0, 12), order=st.integers(0, 9))
    def run(self, max_batches: int | None, order: int) -> None:
        if (
            self.do(run_sweep, CONFIG, FOLDER, LocalStorage(self.root), Options(), order=order, max_batches=max_batches)
            == 0
        ):
            self.assert_correct_tables()

    @precondition(is_begun)
    @rule(how=st.sampled_from(["quick", "full"]), max_batches=st.none() | st.integers(0, 3))
    def resume(self, how: Any, max_batches: int | None) -> None:
        if self.do(resume_sweep, LocalStorage(self.root), FOLDER, Options(verify=how), max_batches=max_batches) == 0:
            self.assert_correct_tables()

    @precondition(is_begun)
    @rule(cut=st.integers(1, 80))
    def tear_the_last_line(self, cut: int) -> None:
        content = self.ledger.read_bytes()
        last = content.rindex(b"\n", 0, -1) + 1
        self.ledger.write_bytes(content[: max(last, len(content) - cut)])

    @precondition(is_begun)
    @rule(line=st.integers(1, 30), garbage=st.sampled_from([b"garbage", b"", b"{}"]))
    def spoil_a_line(self, line: int, garbage: bytes) -> None:
        first, *lines = self.ledger.read_bytes().split(b"\n")
        lines[line % len(lines)] = garbage
        self.ledger.write_bytes(b"\n".join((first, *lines)))
        self.may_refuse = True

    @precondition(is_begun)
    @rule(
        number=st.integers(0, 400), how=st.sampled_from(["flip", "cut", "empty", "delete", "swap"]), at=st.floats(0, 1)
    )
    def damage(self, number: int, how: str, at: float) -> None:
        keys = sorted(key for key in stored_files(LocalStorage(self.root), LocalStorage(self.root))) + list(
            RESTORED_FILES
        )
        path, other = (self.root / keys[place % len(keys)] for place in (number, number + 1))
        if not path.exists() or not other.exists():
            return
        content, place = path.read_bytes(), int(at * path.stat().st_size)
        if how == "flip" and content:
            # Another format number would make it a directory of another version, which no command changes.
            flip(path, min(max(place, 20) if path.name == "environment.json" else place, len(content) - 1))
        elif how == "delete":
            path.unlink()
        elif how == "swap":
            path.write_bytes(other.read_bytes())
            other.write_bytes(content)
        else:
            path.write_bytes(content[: place if how == "cut" else 0])
        self.may_refuse |= {path.name, other.name} & set(RESTORED_FILES) != set()

    @precondition(is_begun)
    @rule()
    def verify(self) -> None:
        before = contents(self.root)
        refusing, self.may_refuse = self.may_refuse, True
        code = self.do(verify_run, LocalStorage(self.root))
        self.may_refuse = refusing
        assert contents(self.root) == before
        if code == 0:
            assert before == {key: self.expected[key] for key in before}
        elif not refusing:
            assert code == 4

    @precondition(is_begun)
    @rule()
    def repair(self) -> None:
        restore_run(LocalStorage(self.root))
        self.may_refuse = False
        assert self.do(repair_run, LocalStorage(self.root), FOLDER, Options()) == 0
        assert self.do(verify_run, LocalStorage(self.root)) == 0
        # Files of tasks whose ledger line is lost are overwritten when the tasks run again.
        named = Ledger(LocalStorage(self.root)).named_files() & contents(self.root).keys()
        assert all(contents(self.root)[key] == self.expected[key] for key in named)

    def teardown(self) -> None:
        """Repair and resume at the end of each history: all files equal the reference byte for byte."""
        try:
            if self.is_begun():
                self.repair()
                assert self.do(resume_sweep, LocalStorage(self.root), FOLDER, Options(verify="full")) == 0
                assert contents(self.root) == self.expected
        finally:
            shutil.rmtree(self.folder)


TestHistories = pytest.mark.faults(pytest.mark.timeout(600)(Histories.TestCase))
TestHistories.settings = history_settings(steps=12)
