"""Tables that do not fit into memory are refused before they are created."""

import pytest

from kernel_pipeline.data.table_size import check_table
from kernel_pipeline.errors import TooLargeError


@pytest.mark.parametrize("limit", [1 << 30, 1 << 20])
def test_the_limit_is_the_memory_of_the_machine(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.system.MEMORY_LIMIT", limit)
    check_table(1000, 8000, "small")  # 244 MiB with all copies: not checked
    rows = (1 << 30) // (8 * 4 * 1000)
    if limit == 1 << 30:
        check_table(rows, 1000, "things")
    with pytest.raises(TooLargeError, match=r"dataset 'things': .* rows with 1,000 features .* this machine has"):
        check_table(rows + 1, 1000, "things")
