"""`pipeline columns` describes every column of the tables that a run writes."""

from pathlib import Path

import pandas as pd
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.results.table import TABLES


def test_every_column_of_every_table_is_described(root: Path) -> None:
    done = CliRunner().invoke(main, ["columns"])
    assert done.exit_code == 0
    described = {tuple(line.split()[:2]) for line in done.output.splitlines()}
    for table in TABLES.values():
        assert table.files[0] in done.output
        for column in table.columns:
            assert (column.name, column.dtype) in described
            assert column.meaning
    for path in (root / "results").glob("*.csv"):
        assert set(pd.read_csv(path).columns) <= {column.name for column in TABLES[path.stem].columns}


def test_one_table_is_described() -> None:
    done = CliRunner().invoke(main, ["columns", "timings"])
    assert done.output.splitlines()[0] == "results/timings.csv:"
    assert [line.split()[:3] for line in done.output.splitlines()[2:]] == [
        ["seconds", "number", "s"],
        ["peak_memory_bytes", "integer", "bytes"],
    ]


def test_an_unknown_table_gives_one_message() -> None:
    done = CliRunner().invoke(main, ["columns", "row"])
    assert done.exit_code == 2
    assert "there is no table 'row'. Available: rows, path," in done.output
    assert "Did you mean 'rows'?" in done.output
