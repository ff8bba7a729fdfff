"""Write the report of a run from its directory alone, even if the run is executing or unfinished."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pipeline.errors import RefusedError, StorageError
from kernel_pipeline.results.figures.rendering import render_figures
from kernel_pipeline.results.report.comparison_section import ComparisonSection
from kernel_pipeline.results.report.page import page_without_data, report_page
from kernel_pipeline.results.view import Results
from kernel_pipeline.run.finished_tables import finished_tables
from kernel_pipeline.run.manifest import Manifest, read_manifest
from kernel_pipeline.run.tables import recorded_environment
from kernel_pipeline.run.verification import check_files
from kernel_pipeline.store.digests import content_digest
from kernel_pipeline.store.files import quoted, write_whole
from kernel_pipeline.store.paths import REPORT
from kernel_pipeline.store.storage import Storage

REFRESH_S = 10
"""Interval at which the report of a watched run reloads itself."""
MAX_ATTEMPTS = 3
"""Maximum number of times that a report is built; it is built again if the run finishes in the meantime."""


@dataclass(frozen=True)
class WrittenReport:
    """The report of a run, and whether all tasks of the run are in it."""

    root: Storage
    is_complete: bool


def write_report(root: Storage, is_watched: bool = False) -> WrittenReport:
    """Write the report of a run, unless the run is finished and its report is intact.

    No lock is needed: a report depends only on the ledger. If the run finishes while the report is being built, the
    report of the finished run is written instead.

    Parameters
    ----------
    is_watched
        Whether the report reloads itself periodically while the run is not finished.

    Raises
    ------
    RefusedError
        If `root` is not a run directory, or its results are damaged.
    """
    for _ in range(MAX_ATTEMPTS):
        manifest = read_manifest(root)
        tables = manifest.finished.tables if manifest.is_complete else None
        recorded = tables.digests.get(REPORT) if tables else None
        if tables and recorded and not any(finding.key == REPORT for finding in check_files(tables, root)):
            return WrittenReport(root, is_complete=True)
        content, is_complete = _build(manifest, REFRESH_S if is_watched else 0)
        if recorded and content_digest(content) != recorded:
            raise RefusedError(
                f"{root}/{REPORT} is damaged, and was made by another version of this package or its libraries. "
                f"`pipeline resume {quoted(root)}` writes all tables and the report again"
            )
        root.write(REPORT, content)
        if read_manifest(root).is_complete == manifest.is_complete:
            break
    return WrittenReport(root, is_complete)


def write_comparison(root: Storage, section: ComparisonSection, file: Path) -> None:
    """Write the report of a run, with a comparison added, to a file; the report in the run directory is not changed.

    Raises
    ------
    StorageError
        If the file cannot be written.
    """
    content, _ = _build(read_manifest(root), 0, [section])
    try:
        write_whole(file, content, sync=False)
    except OSError as error:
        raise StorageError(f"cannot write {file}: {error.strerror}. Choose another file with --report") from None


def _build(manifest: Manifest, refresh_s: int, comparisons: Sequence[ComparisonSection] = ()) -> tuple[bytes, bool]:
    """Return the report, and whether no task is pending."""
    plan, environment = manifest.plan(), recorded_environment(manifest.finished)
    if plan is None:
        return page_without_data(manifest.config, environment, refresh_s), False
    with finished_tables(manifest, plan) as context:
        figures = list(render_figures(Results(context), png=False))
        refresh = refresh_s if context.pending else 0
        return report_page(context, figures, environment, refresh, comparisons), not context.pending
