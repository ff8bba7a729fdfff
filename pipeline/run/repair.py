"""Verify a run directory byte by byte, and compute again what is not as it was written."""

from pathlib import Path

from rich.console import Console

from kernel_pipeline.config.loading import load_toml
from kernel_pipeline.errors import FailedError, RefusedError
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.run.directory import is_run_directory
from kernel_pipeline.run.driver import Options
from kernel_pipeline.run.environment import FORMAT
from kernel_pipeline.run.manifest import SWEEP, check_format, no_run_directory, read_record, restore_record
from kernel_pipeline.run.sweeps import open_run, storage_errors
from kernel_pipeline.run.tables import tables_identity
from kernel_pipeline.run.verification import (
    FOREIGN,
    TABLES,
    Problem,
    Verdict,
    check_files,
    examine,
    foreign_files,
    is_left,
    sweep_temporary_files,
)
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.logs import driver_log
from kernel_pipeline.store.paths import CONFIG, LEDGER, RESULTS
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.store.storage import Root


def verify_run(root: Root, console: Console) -> int:
    """Name every piece that is not as it was written; gives the exit code."""
    if not is_run_directory(root):
        raise no_run_directory(root)
    if (held := root.holder()) is not None:
        raise RefusedError(f"{root} is in use by {held}; what it is writing cannot be told from damage. Wait for it")
    record = read_record(root)
    plan = record.plan()
    arrays, ledger = record.arrays(), Ledger(root)
    verdict = (
        examine(plan, record.finished, arrays, full=True, any_version=not record.is_current) if plan else Verdict()
    )
    unfinished = _is_unfinished(plan, verdict)
    problems = [*verdict.problems, *_superseded(verdict), *_others(root, arrays, record.finished, ledger, unfinished)]
    if plan and record.is_current and not problems:
        problems += _outdated_tables(plan, verdict, record.finished)
    problems += [Problem(LEDGER, f"line {number} is lost, zeroed by a power cut", "") for number in ledger.zeroed()]
    if not ledger.journal.exists():
        problems.insert(0, Problem(LEDGER, "is missing, and with it all that says what is finished", ""))
    _print(console, problems)
    if not problems:
        console.print(f"All is well: {verdict.files:,} files are as they were written.", highlight=False)
        return 0
    foreign = sum(problem.what == FOREIGN for problem in problems)
    but = f" {foreign:,} of them are not of this run, and stay." if foreign else ""
    way_out = (
        f"`pipeline verify {quoted(root)} --repair` computes them again, and only them"
        if record.is_current
        else f"`pipeline resume {quoted(root)}` computes the whole run again, in format {FORMAT}"
    )
    console.print(
        f"{len(problems):,} pieces are not as they were written, {verdict.files:,} are. {way_out}.{but}",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )
    return RefusedError.exit_code


def restore_run(root: Root, console: Console) -> None:
    """Restore what a run directory says about itself: its ledger, its config, its environment."""
    version = check_format(root)
    if version != FORMAT:
        raise RefusedError(
            f"{root} was written by an earlier version (format {version}), whose parts cannot be repaired one by one. "
            f"`pipeline resume {quoted(root)}` computes the whole run again, in format {FORMAT}"
        )
    if not root.journal().exists():
        return
    with root.locked():
        ledger = Ledger(root)
        for number in ledger.drop_garbage():
            console.print(f"{LEDGER}, line {number} is not a ledger line and is left out", highlight=False)
        for name in restore_record(root, ledger):
            console.print(f"{name} is restored", highlight=False)


def repair_run(root: Root, data_dir: Path | None, options: Options, console: Console) -> int:
    """Compute again what is not as it was written, and nothing else; gives the exit code."""
    if not is_run_directory(root):
        raise no_run_directory(root)
    with root.locked() as token:
        run = open_run(root, data_dir, options, console, token)
        arrays = run.store.root
        sweep_temporary_files(root, arrays)
        recorded = run.ledger.read()
        # Of a run that was complete all that is missing was lost; of another some was never done.
        was_complete = read_record(root, run.ledger).is_complete or not any(map(_is_task, recorded))
        with driver_log(root), storage_errors(run), run.guarded():
            verdict = run.examine(full=True)
            others = _others(root, arrays, recorded, run.ledger, _is_unfinished(run.plan, verdict))
            _print(console, [*verdict.problems, *_superseded(verdict), *others])
            run.mending(lambda: run.finish(run.left if was_complete else run.damaged_left))
            if not run.left():
                run.mending(run.tables)
            foreign = foreign_files(root, arrays, run.ledger.named_files(), bool(run.left()))
    failed = [name for name in sorted(run.damaged & run.finished.keys()) if run.finished[name].failures]
    for name in failed:
        console.print(f"{name} {run.finished[name].failures[0]}", highlight=False, soft_wrap=True, markup=False)
    but = f", but for {len(failed):,} task(s) that failed" if failed else ""
    repaired = len(verdict.problems) + len(verdict.superseded) + len(others) - len(foreign)
    console.print(f"Repaired: {repaired:,} pieces{but}.", highlight=False)
    if foreign:
        console.print(
            f"{len(foreign):,} files that are not of this run are left in place. Move them away, or leave them: no "
            "result depends on them.",
            highlight=False,
            soft_wrap=True,
        )
    return FailedError.exit_code if failed else 0


def _is_task(name: str) -> bool:
    return name.partition("/")[0] in STAGES


def _print(console: Console, problems: list[Problem]) -> None:
    for problem in problems:
        console.print(str(problem), highlight=False, soft_wrap=True, markup=False)


def _is_unfinished(plan: Plan | None, verdict: Verdict) -> bool:
    done = {name for name, entry in verdict.valid.items() if not entry.failed}
    return plan is None or any(task.name not in done for task in plan.tasks)


def _superseded(verdict: Verdict) -> list[Problem]:
    what = "was built on something that has since been computed again with another result"
    return [Problem(name, what, name) for name in verdict.superseded]


def _outdated_tables(plan: Plan, verdict: Verdict, recorded: dict[str, Finished]) -> list[Problem]:
    """The tables of a finished run, if they were made of something else than what is finished now."""
    if TABLES not in recorded or any(is_left(dataset, verdict.valid) for dataset in plan.datasets):
        return []
    is_current = recorded[TABLES].identity == tables_identity(plan, verdict.valid)
    return [] if is_current else [Problem(RESULTS, "holds tables of an earlier state of this run", TABLES)]


def _others(root: Root, arrays: Root, recorded: dict[str, Finished], ledger: Ledger, unfinished: bool) -> list[Problem]:
    """Problems of what no task wrote: tables, and files that are no one's."""
    known = [recorded[name] for name in (SWEEP, TABLES) if name in recorded]
    problems = [problem for entry in known for problem in check_files(entry, recorded, root)]
    return problems + foreign_files(root, arrays, ledger.named_files(), unfinished, _abandoned(ledger))


def _abandoned(ledger: Ledger) -> set[str]:
    """The datasets of all configs that a run ever had, if it had several and so may have left one unfinished."""
    sweeps = ledger.versions(SWEEP)
    if len({sweep.identity for sweep in sweeps}) < 2:
        return set()
    configs = [load_toml(sweep.result["files"][CONFIG]) for sweep in sweeps]
    return {dataset["name"] for config in configs for dataset in config["dataset"]}
