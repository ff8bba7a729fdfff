"""How far a run is, read from its directory with no cluster."""

from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from pipeline.directory import ledger_path, read_directory_config
from pipeline.layout import RESULTS
from pipeline.ledger import Ledger
from pipeline.methods import EACH_KERNEL, TASKS, label
from pipeline.summary import print_correlation, print_summary, summarise
from pipeline.tables import read_correlation, read_rows
from pipeline.task import STAGES


def print_status(console: Console, root: Path) -> None:
    """Print what is done by stage, and the summary if there is one."""
    config = read_directory_config(root)
    finished = Ledger(ledger_path(root)).read()
    done = Counter(name.partition("/")[0] for name in finished)
    fitted = sum(name.startswith("fits/") and f"/{EACH_KERNEL}/" not in name for name in finished)
    cells = config.protocol.folds * sum(
        label(method) != EACH_KERNEL and TASKS.get(label(method), task) == task
        for dataset in config.dataset
        for task in dataset.task
        for method in config.methods
    )
    console.print(
        f"[bold]{config.name}[/bold]: {fitted} of at most {cells} cells are fitted. Finished tasks: "
        + ", ".join(f"{stage} {done[stage]}" for stage in STAGES),
        highlight=False,
        soft_wrap=True,
    )
    if (root / RESULTS / "rows.csv").exists():
        print_summary(console, summarise(read_rows(root)))
        if (correlation := read_correlation(root)) is not None:
            print_correlation(console, correlation)
        console.print(f"The tables are in {escape(str(root / RESULTS))}.", highlight=False, soft_wrap=True)
    else:
        console.print(
            "No tables yet. To go on, give the command that began the run again; what is done is not done twice.",
            highlight=False,
            soft_wrap=True,
        )
