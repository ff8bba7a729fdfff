"""Tables that are read from a run directory have the types of the registered columns."""

from pathlib import Path

import pytest

from kernel_pipeline.errors import RefusedError
from kernel_pipeline.results.columns import COLUMNS, Column, columns
from kernel_pipeline.results.stored_tables import read_table
from kernel_pipeline.store.local_storage import LocalStorage
from tests.pipeline.test_extensions.registering import registered

TEXT = "method,n_active,at_edge,error,steps\nunif,3,True,0.5,7\nalignf,,,,\n"


def test_integers_and_booleans_with_gaps_have_their_registered_type(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(TEXT)
    with registered(COLUMNS, "steps", Column("steps", "integer", nullable=True)):
        table = read_table(LocalStorage(tmp_path), "rows.csv", columns("method"))
    types = {"n_active": "Int64", "at_edge": "boolean", "error": "float64", "steps": "Int64"}
    assert {name: str(table[name].dtype) for name in types} == types
    assert table["n_active"].to_list()[0] == 3
    assert table.iloc[1][list(types)].isna().all()


def test_a_value_of_another_type_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(TEXT.replace("3", "many"))
    with pytest.raises(RefusedError, match=r"rows.csv is not a valid table of a run: .*many"):
        read_table(LocalStorage(tmp_path), "rows.csv", ())
