"""`report.html` of a run is recorded, verified and restored, and can be written at any time."""

import shutil
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kernel_pipeline.cli.main import main
from kernel_pipeline.errors import RefusedError
from kernel_pipeline.run import report as reports
from kernel_pipeline.run.manifest import Manifest, read_manifest
from kernel_pipeline.run.repair import verify_run
from kernel_pipeline.run.report import write_report
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.sweeps import entries_of, fail, forget, plan_in, resume_here, run_here, smaller_config

ASSETS = Path(__file__).parents[2] / "assets"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("finished")
    run_here(root, smaller_config())
    assert resume_here(root)[0] == 0
    return root


@pytest.fixture
def root(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of the finished run."""
    return shutil.copytree(finished, tmp_path / "run")


def command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def report(root: Path) -> Path:
    return root / "report.html"


def test_the_report_of_a_finished_run_is_recorded_and_not_written_again(root: Path) -> None:
    tables = entries_of(root)["tables"]
    assert "report.html" in tables.digests
    before = report(root).stat().st_mtime_ns
    assert write_report(LocalStorage(root)).is_complete
    assert report(root).stat().st_mtime_ns == before
    assert not verify_run(LocalStorage(root)).findings


def test_a_damaged_or_missing_report_is_found_and_restored(root: Path) -> None:
    content = report(root).read_bytes()
    report(root).write_bytes(content.replace(b"best", b"last"))
    assert [str(finding) for finding in verify_run(LocalStorage(root)).findings] == ["report.html is damaged"]
    write_report(LocalStorage(root))
    assert report(root).read_bytes() == content
    report(root).unlink()
    assert resume_here(root)[0] == 0
    assert report(root).read_bytes() == content


def test_a_report_that_other_libraries_would_draw_differently_is_not_replaced(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report(root).unlink()
    monkeypatch.setattr(reports, "_build", lambda manifest, refresh_s: (b"other", True))
    with pytest.raises(RefusedError, match="another version of this package or its libraries"):
        write_report(LocalStorage(root))
    assert not report(root).exists()


def test_the_report_of_an_unfinished_run_is_marked_until_the_run_is_finished(root: Path) -> None:
    content = report(root).read_bytes()
    names = [name for name in entries_of(root) if name.startswith("fits/flowers/")]
    forget(root, "tables", *names)
    written = write_report(LocalStorage(root))
    assert not written.is_complete
    assert f"{len(names)} of ".encode() in report(root).read_bytes()
    assert b"This report is not complete" in report(root).read_bytes()
    run_here(root, smaller_config())
    assert resume_here(root)[0] == 0
    assert b"This report is not complete" not in report(root).read_bytes()
    assert len(report(root).read_bytes()) == pytest.approx(len(content), rel=0.02)  # times differ


def test_a_run_that_ends_while_its_report_is_written_gets_its_own_report(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, ledger = report(root).read_bytes(), (root / "ledger.jsonl").read_bytes()
    forget(root, "tables", next(name for name in entries_of(root) if name.startswith("fits/")))
    build = reports._build

    def build_slowly(manifest: Manifest, refresh_s: int) -> tuple[bytes, bool]:
        built = build(manifest, refresh_s)
        (root / "ledger.jsonl").write_bytes(ledger)  # as if the driver had written its last lines
        return built

    monkeypatch.setattr(reports, "_build", build_slowly)
    assert write_report(LocalStorage(root)).is_complete
    assert report(root).read_bytes() == content


def test_a_run_with_failures_and_one_without_data(root: Path, tmp_path: Path) -> None:
    plan = read_manifest(LocalStorage(root)).plan()
    assert plan
    fail(root, plan, next(task.name for task in plan.datasets[0].stages["reduce"]), "<b>bad luck</b>")
    forget(root, "tables")
    assert write_report(LocalStorage(root)).is_complete
    text = report(root).read_text()
    assert "&lt;b&gt;bad luck&lt;/b&gt;" in text
    assert "<b>bad luck" not in text
    started = tmp_path / "started"
    plan_in(started, smaller_config())
    forget(started, "data/wave")
    assert not write_report(LocalStorage(started)).is_complete
    assert "the data of the run are not stored yet" in report(started).read_text()


@pytest.mark.parametrize("name", ["run-format-2", "run-format-3", "run"])
def test_runs_of_earlier_versions_have_a_report_or_a_message_with_the_reason(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(ASSETS / f"{name}.zip") as archive:
        archive.extractall(tmp_path)
    (root,) = (path.parent for path in tmp_path.rglob("ledger.jsonl"))
    done = command("report", root)
    if done.exit_code:
        assert "was written by an earlier version" in done.output
        assert "`pipeline resume" in done.output
        assert not report(root).exists()
    else:
        assert "<h1>" in report(root).read_text()


def test_the_command(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_browser(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", open_browser)
    done = command("report", root, "--open")
    assert done.exit_code == 0
    assert f"The report is {root}/report.html." in done.output
    assert opened == [report(root).as_uri()]
    forget(root, "tables", next(name for name in entries_of(root) if name.startswith("fits/")))
    assert "The run is not finished" in command("report", root).output
    refused = command("report", root / "results")
    assert refused.exit_code == 4
    assert "is not a run directory" in refused.output
