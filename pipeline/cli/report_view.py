"""Show where the report of a run is, or open it in a browser."""

import tempfile
import webbrowser
from pathlib import Path

from rich.console import Console

from kernel_pipeline.cli.terminal import print_line
from kernel_pipeline.run.report import WrittenReport
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.paths import REPORT


def print_report(console: Console, written: WrittenReport) -> None:
    """Print where the report is, and whether the run is finished."""
    print_line(console, f"The report is {written.root}/{REPORT}.")
    if not written.is_complete:
        print_line(
            console,
            "The run is not finished, so the report is not complete. `pipeline resume "
            f"{quoted(written.root)}` resumes the run.",
        )


def open_report(console: Console, written: WrittenReport) -> None:
    """Open the report in a browser; one in an object store is copied to a temporary file."""
    if isinstance(written.root, LocalStorage):
        file = Path(written.root.address) / REPORT
    else:
        file = Path(tempfile.mkdtemp(prefix="pipeline-")) / REPORT
        file.write_bytes(written.root.read(REPORT))
    if not webbrowser.open(file.absolute().as_uri()):
        print_line(console, f"No browser was found. Open {file.absolute()} yourself.")
