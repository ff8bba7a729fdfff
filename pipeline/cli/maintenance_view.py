"""Print the results of the commands that maintain run directories."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernel_pipeline.cli.terminal import print_line
from kernel_pipeline.run.environment import FORMAT
from kernel_pipeline.run.maintenance import Cleaning, ListedRun
from kernel_pipeline.run.repair import Repair, Verification
from kernel_pipeline.run.submission import Submission
from kernel_pipeline.store.files import quoted
from kernel_pipeline.text import counted, format_bytes, printable

HOUR, DAY = 3600.0, 86400.0


def print_runs(console: Console, folder: str, runs: list[ListedRun]) -> None:
    """Print the runs of a folder as a table."""
    if not runs:
        print_line(console, f"There are no runs in {folder}.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("run", "state", "size", "age"):
        table.add_column(heading, justify="right" if heading in ("size", "age") else "left", no_wrap=True)
    for run in runs:
        texts = (escape(printable(text)) for text in (run.location, run.state))
        table.add_row(*texts, format_bytes(run.size), _age(run.age))
    console.print(table)


def print_cleaning(console: Console, cleaning: Cleaning) -> None:
    """Print the freed space, and the files that were left in place."""
    for key in cleaning.foreign:
        print_line(console, f"{key} does not belong to this run, and is left in place")
    print_line(console, f"Freed {format_bytes(cleaning.freed)}; tables, statistics, weights and the ledger are kept.")


def print_verification(console: Console, found: Verification) -> None:
    """Print all problems that were found, and the command that repairs them."""
    for finding in found.findings:
        print_line(console, str(finding))
    if not found.findings:
        print_line(console, f"All {found.files:,} files are intact.")
        if found.outdated:
            print_line(console, _outdated(found))
        return
    one, several = "file does not belong to this run, and is", "files do not belong to this run, and are"
    foreign = f" {counted(found.foreign, one, several)} left in place." if found.foreign else ""
    repair = (
        f"`pipeline verify {quoted(found.root)} --repair` recomputes what is affected"
        if found.is_current
        else f"`pipeline resume {quoted(found.root)}` computes the whole run again, in format {FORMAT}"
    )
    print_line(
        console,
        f"Found {counted(len(found.findings), 'problem')}; {counted(found.files, 'file is', 'files are')} intact. "
        f"{repair}.{foreign}",
    )


def _outdated(found: Verification) -> str:
    """Return what resuming the run would recompute."""
    tasks = tuple(f"{noun} whose files were removed and are needed again" for noun in ("task", "tasks"))
    removed = f", and {counted(found.removed, *tasks)}" if found.removed else ""
    outdated = counted(found.outdated, "task is", "tasks are")
    them = "it" if found.outdated == 1 else "them"
    return (
        f"{outdated} outdated by a change of config, data or algorithm. "
        f"`pipeline resume {quoted(found.root)}` recomputes {them}{removed}."
    )


def print_repair(console: Console, repair: Repair) -> None:
    """Print the number of repaired problems, and what could not be repaired."""
    for name, reason in repair.failed.items():
        print_line(console, f"{name} {reason}")
    failed = f" {counted(len(repair.failed), 'recomputed task')} failed." if repair.failed else ""
    print_line(console, f"Repaired {counted(repair.repaired, 'problem')}.{failed}")
    if repair.foreign:
        one, several = "file that does not belong to this run is", "files that do not belong to this run are"
        them = "it" if repair.foreign == 1 else "them"
        print_line(
            console,
            f"{counted(repair.foreign, one, several)} left in place. You can remove {them}; no result depends on "
            f"{them}.",
        )


def print_submission(console: Console, submission: Submission) -> None:
    """Print the number of a job, and the commands that show and stop it."""
    root, job = quoted(submission.root), submission.job
    print_line(
        console,
        f"Submitted as job {job}. You can log out: the job continues, and returns to the queue at the end of its wall "
        "time until the run is finished.\n"
        f"Status: `pipeline status {root}`; the output is in {submission.output}.\n"
        f"Stop: `scancel {job}`; finished tasks are kept, and `pipeline submit` resumes the run.",
    )


def _age(seconds: float) -> str:
    """Format a time span in minutes, hours or days."""
    if seconds < HOUR:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / HOUR:.0f} h" if seconds < 2 * DAY else f"{seconds / DAY:.0f} days"
