"""A run directory is compared with its ledger; missing, damaged, swapped, foreign and outdated files are found."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_pipeline.plan.plan import Plan, make_plan
from kernel_pipeline.run.foreign_files import foreign_files, remove_temporary_files
from kernel_pipeline.run.verification import CheckReport, check, large_arrays
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.task import Task
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.ledger_entries import CleanedEntry, LedgerEntry
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.sweeps import SMALL, entries_of, flip, note, run_here, smaller_config

GRAM = "gram.zarr/wave/gram/c/0/0/0"
WEIGHTS = "weights.zarr/wave/regression/alignf/c/1/0"
FILES = {
    "data.zarr/wave/features/c/0/0": "data/wave",
    "gram.zarr/wave/fold/c/0": "data/wave",
    "combined.zarr/wave/regression/unif/zarr.json": "data/wave",
    GRAM: "tiles/wave/0",
    "statistics.zarr/wave/regression/M/c/2/0/0": "reduce/wave/regression",
    WEIGHTS: "weights/wave/regression/alignf/0-2",
    "combined.zarr/wave/regression/unif/c/2/0/1": "combine/wave/regression/unif/0",
}
"""One file of each kind, and the ledger entry that wrote it."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Plan]:
    root = tmp_path_factory.mktemp("run")
    return root, run_here(root, smaller_config())[0]


def report_of(root: Path, plan: Plan, full: bool = True) -> CheckReport:
    return check(plan, Ledger(LocalStorage(root)).read(), LocalStorage(root), full)


def by_name(report: CheckReport) -> dict[str, LedgerEntry]:
    return {entry.name: entry for entry in report.valid.entries()}


def found(root: Path, plan: Plan, full: bool = True) -> list[str]:
    """Return the findings, and check that all other entries are valid."""
    report = report_of(root, plan, full)
    assert report.outdated == []
    wrong = {finding.entry for finding in report.findings}
    others = {"sweep", "cleaned", *report.removed}
    assert by_name(report) == {name: entry for name, entry in entries_of(root).items() if name not in wrong | others}
    return [str(finding) for finding in report.findings]


@pytest.mark.parametrize("full", [False, True])
def test_an_unchanged_directory_has_no_findings(root: Path, plan: Plan, full: bool) -> None:
    assert found(root, plan, full) == []
    assert by_name(report_of(root, plan, full)).keys() == {
        "data/wave",
        "data/flowers",
        *(task.name for task in plan.tasks),
    }
    assert foreign_files(LocalStorage(root), LocalStorage(root), Ledger(LocalStorage(root)).named_files()) == []


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("key", FILES)
def test_a_missing_file_is_named_with_the_entry_that_wrote_it(key: str, full: bool, root: Path, plan: Plan) -> None:
    (root / key).unlink()
    assert found(root, plan, full) == [f"{key} is missing"]
    assert [finding.entry for finding in report_of(root, plan, full).findings] == [FILES[key]]


@pytest.mark.parametrize("key", FILES)
def test_a_flipped_bit_is_found_by_a_full_check_and_in_descriptions_by_any_check(
    key: str, root: Path, plan: Plan
) -> None:
    flip(root / key)
    assert found(root, plan) == [f"{key} is damaged"]
    assert found(root, plan, full=False) == ([f"{key} is damaged"] if key.endswith("zarr.json") else [])


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("kept", [0, 1, 5, -1])
@pytest.mark.parametrize("key", FILES)
def test_a_truncated_file_is_named_with_its_sizes(key: str, kept: int, full: bool, root: Path, plan: Plan) -> None:
    content = (root / key).read_bytes()
    (root / key).write_bytes(content[:kept])
    assert found(root, plan, full) == [f"{key} is damaged: {len(content[:kept])} bytes, not {len(content)}"]


@pytest.mark.parametrize("full", [False, True])
def test_swapped_files_are_reported_with_each_other(full: bool, root: Path, plan: Plan) -> None:
    other = WEIGHTS.replace("alignf/c/1", "alignf/c/2")
    first, second = (root / WEIGHTS).read_bytes(), (root / other).read_bytes()
    (root / WEIGHTS).write_bytes(second)
    (root / other).write_bytes(first)
    assert found(root, plan, full) == [
        f"{WEIGHTS} holds the content of {other}",
        f"{other} holds the content of {WEIGHTS}",
    ]


def test_files_that_no_task_wrote_are_foreign(root: Path, plan: Plan) -> None:
    strange = ["data.zarr/notes.txt", "gram.zarr/wave/gram/c/0/9/9", "results/mine.csv"]
    for key in strange:
        (root / key).parent.mkdir(parents=True, exist_ok=True)
        (root / key).write_text("mine")
    findings = foreign_files(LocalStorage(root), LocalStorage(root), Ledger(LocalStorage(root)).named_files())
    assert [(finding.key, finding.entry) for finding in findings] == [(key, "") for key in strange]
    assert {finding.what for finding in findings} == {"is not recorded in the ledger"}
    assert found(root, plan) == []


def test_another_grid_outdates_only_the_fits_that_use_it(root: Path, plan: Plan) -> None:
    fit = SMALL["fit"] | {"svm": {"from": 0, "to": 8, "step": 4}}
    changed = make_plan(smaller_config(fit=fit), [dataset.info for dataset in plan.datasets])
    report = report_of(root, changed)
    assert report.findings == []
    assert set(report.outdated) == {t.name for t in plan.tasks if t.stage == "fits" and "classification" in t.name}
    assert by_name(report).keys() == entries_of(root).keys() - {"sweep"} - set(report.outdated)


def test_other_data_outdate_the_entries_of_their_dataset_only(root: Path, plan: Plan) -> None:
    wave, flowers = (dataset.info for dataset in plan.datasets)
    report = report_of(root, make_plan(plan.config, [replace(wave, fingerprint="other"), flowers]))
    assert report.outdated == ["data/wave", *(task.name for task in plan.datasets[0].tasks)]
    assert by_name(report).keys() == {"data/flowers", *(task.name for task in plan.datasets[1].tasks)}


@pytest.mark.parametrize(
    ("kind", "stages"), [(FitTask, {"fits"}), (WeightsTask, {"weights", "combine", "fits"})], ids=["fits", "weights"]
)
def test_a_newer_algorithm_outdates_its_results_and_their_dependents(
    kind: type[Task], stages: set[str], root: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "version", kind.version + 1)
    assert set(report_of(root, plan).outdated) == {task.name for task in plan.tasks if task.stage in stages}


@pytest.fixture
def cleaned(root: Path) -> Path:
    """Return a run directory without the large arrays of one of its datasets."""
    note(root, CleanedEntry(datasets=("wave",)))
    for place in large_arrays("wave"):
        shutil.rmtree(root / place, ignore_errors=True)  # some exist only if steps are fitted per trial
    return root


@pytest.mark.parametrize("full", [False, True])
def test_cleaned_arrays_are_not_missing_if_no_task_needs_them(full: bool, cleaned: Path, plan: Plan) -> None:
    assert found(cleaned, plan, full) == []


def test_cleaned_arrays_that_a_task_needs_again_are_not_damage(cleaned: Path, plan: Plan) -> None:
    (cleaned / WEIGHTS).unlink()
    assert found(cleaned, plan) == [f"{WEIGHTS} is missing"]
    report = report_of(cleaned, plan)
    big = {
        name
        for name, entry in entries_of(cleaned).items()
        if any(key.startswith(large_arrays("wave")) for key in entry.digests)
    }
    assert "tiles/wave/0" in big
    assert set(report.removed) == big
    assert report.lost.keys() == big | {FILES[WEIGHTS]}


def test_cleaned_arrays_are_not_missing_if_another_dataset_is_damaged(cleaned: Path, plan: Plan) -> None:
    key = GRAM.replace("wave", "flowers")
    (cleaned / key).unlink()
    assert found(cleaned, plan) == [f"{key} is missing"]


def test_only_temporary_files_of_killed_processes_are_removed(root: Path) -> None:
    for key in ("thesis.partial", "weights.zarr/x.partial"):  # files of the user
        (root / key).touch()
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    of_zarr = f"weights.zarr/0.{'0a' * 16}.partial"
    for key in (".config.toml.77.partial", "gram.zarr/wave/gram/c/0/0/.0.ab12.partial", of_zarr):
        (root / key).touch()
    remove_temporary_files(LocalStorage(root), LocalStorage(root))
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
