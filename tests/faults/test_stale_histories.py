"""Random histories of changes, crashes, stale writes, resumes and repairs: `verify` accepts only correct tables."""

import random
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.run.driver import Options
from kernel_pipeline.run.manifest import read_manifest
from kernel_pipeline.run.repair import repair_run, restore_run, verify_run
from kernel_pipeline.run.sweeps import resume_sweep, run_sweep
from kernel_pipeline.store.digests import is_chunk
from kernel_pipeline.store.local_storage import LocalStorage
from tests.faults.harness import CrashError, no_workers
from tests.faults.test_stateful import CONFIG, FOLDER, contents, history_settings

pytestmark = pytest.mark.faults


def _config(**changes: Any) -> Config:
    values = CONFIG.model_dump(mode="json", exclude_unset=True, by_alias=True) | changes
    return parse_config(values, "a test")


# Their arrays have the same names and shapes, but different values.
CONFIGS = (CONFIG, _config(seed=1), _config(methods=["unif", "align", "l2-krr"]))


@cache
def reference(number: int) -> dict[str, bytes]:
    """Return the files of a finished run of a config in a fresh directory."""
    with tempfile.TemporaryDirectory() as folder, no_workers():
        root = LocalStorage(Path(folder) / "run")
        assert run_sweep(CONFIGS[number], FOLDER, root, Options()).exit_code == 0
        return contents(Path(folder) / "run")


def results(files: dict[str, bytes]) -> dict[str, bytes]:
    return {key: content for key, content in files.items() if key.startswith("results/")}


# For each stale write: the config it belongs to, the chunk, and the number of tasks after which it happens.
stale_writes = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 400), st.integers(0, 14)), max_size=3)


class StaleHistories(RuleBasedStateMachine):
    """A run directory whose config changes while tasks of earlier configs still write."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "run"
        self.config = 0
        self.writes: list[tuple[int, int, int]] = []

    def write_stale(self, config: int, number: int) -> None:
        """Overwrite a chunk by that of another config, with a valid checksum and without taking the lock."""
        chunks = sorted(key for key in reference(config) if is_chunk(key))
        key = chunks[number % len(chunks)]
        if (self.root / key).parent.exists():
            (self.root / key).write_bytes(reference(config)[key])

    def do(self, work: Any, *arguments: Any, order: int = 0, max_batches: int | None = None) -> int | None:
        """Return the exit code of an operation during which stale writes happen; None if it crashed."""

        def write(done: int) -> None:
            for config, number, when in list(self.writes):
                if when <= done:
                    self.writes.remove((config, number, when))  # each happens once
                    self.write_stale(config, number)

        with no_workers(random.Random(order), max_batches, write):
            try:
                return int(work(*arguments).exit_code)
            except CrashError:
                return None

    def is_begun(self) -> bool:
        ledger = self.root / "ledger.jsonl"
        return ledger.exists() and ledger.read_bytes().count(b"\n") > 1

    def assert_correct_tables(self) -> None:
        assert results(contents(self.root)) == results(reference(self.config))

    @rule(
        config=st.integers(0, 2),
        max_batches=st.none() | st.integers(0, 12),
        order=st.integers(0, 9),
        writes=stale_writes,
    )
    def run_a_config(
        self, config: int, max_batches: int | None, order: int, writes: list[tuple[int, int, int]]
    ) -> None:
        self.config, self.writes = config, writes
        sweep = (CONFIGS[config], FOLDER, LocalStorage(self.root), Options(accept_changes=True))
        if self.do(run_sweep, *sweep, order=order, max_batches=max_batches) == 0:
            self.assert_correct_tables()

    @precondition(is_begun)
    @rule(how=st.sampled_from(["quick", "full"]), max_batches=st.none() | st.integers(0, 6), writes=stale_writes)
    def resume(self, how: Any, max_batches: int | None, writes: list[tuple[int, int, int]]) -> None:
        self.writes = writes
        if self.do(resume_sweep, LocalStorage(self.root), FOLDER, Options(verify=how), max_batches=max_batches) == 0:
            self.assert_correct_tables()

    @precondition(is_begun)
    @rule(config=st.integers(0, 2), number=st.integers(0, 400))
    def write_between_runs(self, config: int, number: int) -> None:
        self.write_stale(config, number)

    @precondition(is_begun)
    @rule()
    def verify(self) -> None:
        code = self.do(verify_run, LocalStorage(self.root))
        assert code in (0, 4)
        if code == 0 and read_manifest(LocalStorage(self.root)).is_complete:
            self.assert_correct_tables()

    @precondition(is_begun)
    @rule(writes=stale_writes)
    def repair(self, writes: list[tuple[int, int, int]]) -> None:
        self.writes = writes
        restore_run(LocalStorage(self.root))
        assert self.do(repair_run, LocalStorage(self.root), FOLDER, Options()) == 0
        if read_manifest(LocalStorage(self.root)).is_complete:
            self.assert_correct_tables()

    def teardown(self) -> None:
        """Resume and repair at the end of each history: the tables are correct, and `verify` accepts them."""
        try:
            if self.is_begun():
                self.resume("quick", None, [])
                self.repair([])
                assert self.do(verify_run, LocalStorage(self.root)) == 0
                self.assert_correct_tables()
        finally:
            shutil.rmtree(self.folder)


TestStaleHistories = pytest.mark.faults(pytest.mark.timeout(600)(StaleHistories.TestCase))
TestStaleHistories.settings = history_settings(steps=10)
