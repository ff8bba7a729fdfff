"""Run directories are created, restored after crashes, and refused if they cannot be used."""

from pathlib import Path

import pytest

from kernel_pipeline.errors import RefusedError
from kernel_pipeline.plan.plan import Plan, make_plan
from kernel_pipeline.run.directory import check_directory, is_run_directory
from kernel_pipeline.run.environment import FORMAT
from kernel_pipeline.run.manifest import check_same_sweep, read_manifest, restore_manifest, write_manifest
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.paths import CONFIG, LEDGER, LOCK
from tests.helpers.sweeps import entries_of, plan_in, small_config


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_in(tmp_path_factory.mktemp("elsewhere"), small_config())[0]


def begin(root: Path, plan: Plan) -> None:
    ledger = Ledger(LocalStorage(root))
    try:
        write_manifest(LocalStorage(root), plan, root, ledger)
    finally:
        ledger.close()


@pytest.mark.parametrize("files_before_the_crash", [None, 0, 1])
def test_a_crash_during_creation_leaves_a_directory_that_can_be_resumed(
    files_before_the_crash: int | None, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = 0

    def crash(*_: object) -> None:
        raise MemoryError

    def write(path: Path, content: str, _sync: bool) -> None:
        nonlocal written
        if written == files_before_the_crash:
            crash()
        written += 1
        path.write_text(content)

    with monkeypatch.context() as patch:
        patch.setattr("kernel_pipeline.store.local_storage.write_whole", write)
        if files_before_the_crash is None:  # the ledger exists, but has no line
            patch.setattr("kernel_pipeline.store.journal.FileJournal.check_not_moved", crash)
        with pytest.raises(MemoryError):
            begin(tmp_path, plan)
    check_directory(LocalStorage(tmp_path))
    assert (tmp_path / LEDGER).exists()
    assert is_run_directory(LocalStorage(tmp_path)) == (files_before_the_crash is not None)
    if is_run_directory(LocalStorage(tmp_path)):
        record = read_manifest(LocalStorage(tmp_path))
        assert [entry.name for entry in record.finished.entries()] == ["sweep"]
        assert record.plan() is None
        check_same_sweep(record, plan.config, [dataset.info for dataset in plan.datasets])
    begin(tmp_path, plan)
    assert list(entries_of(tmp_path)) == ["sweep"]
    assert (tmp_path / CONFIG).exists()


@pytest.mark.parametrize("name", ["config.toml", "environment.json"])
@pytest.mark.parametrize("content", [None, "", "{}\n", "name = 'another'\n"])
def test_config_and_environment_are_restored_from_the_ledger(
    name: str, content: str | None, plan: Plan, tmp_path: Path
) -> None:
    begin(tmp_path, plan)
    before = (tmp_path / name).read_bytes()
    assert restore_manifest(LocalStorage(tmp_path), Ledger(LocalStorage(tmp_path))) == []
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content)
    assert read_manifest(LocalStorage(tmp_path)).config == plan.config  # the ledger takes precedence over the file
    assert restore_manifest(LocalStorage(tmp_path), Ledger(LocalStorage(tmp_path))) == [name]
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize(
    ("version", "words"), [(1, "an older version .* --out"), (FORMAT + 1, "a newer version .* Update this package")]
)
def test_a_directory_of_another_format_is_refused(version: int, words: str, plan: Plan, tmp_path: Path) -> None:
    begin(tmp_path, plan)
    path = tmp_path / "environment.json"
    path.write_text(path.read_text().replace(f'"format": {FORMAT}', f'"format": {version}'))
    with pytest.raises(RefusedError, match=f"has format {version}, which {words}"):
        read_manifest(LocalStorage(tmp_path))


def test_a_name_that_the_file_system_refuses(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="File name too long"):
        check_directory(LocalStorage(tmp_path / ("x" * 300)))


def test_a_partial_file_of_a_killed_process_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".config.toml.77.partial").touch()
    check_directory(LocalStorage(tmp_path))


def test_a_directory_may_have_any_name(plan: Plan, tmp_path: Path) -> None:
    root = tmp_path / "mine.zarr"
    root.mkdir()
    begin(root, plan)
    assert read_manifest(LocalStorage(root)).config == plan.config


def test_a_crash_while_changes_are_accepted_leaves_a_directory_that_can_be_resumed(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path, plan)
    changed = make_plan(small_config(seed=4), [dataset.info for dataset in plan.datasets])

    def crash(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "append", crash)
        with pytest.raises(MemoryError):
            begin(tmp_path, changed)
    assert read_manifest(LocalStorage(tmp_path)).config in (plan.config, changed.config)


def test_an_empty_directory_and_one_with_only_a_lock_can_be_used(tmp_path: Path) -> None:
    check_directory(LocalStorage(tmp_path))
    (tmp_path / LOCK).touch()
    check_directory(LocalStorage(tmp_path))
    (tmp_path / "notes.txt").touch()
    with pytest.raises(RefusedError, match="not empty and is not a run directory"):
        check_directory(LocalStorage(tmp_path))
