"""Comparison of the versions of workers with those of the driver."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.cluster.versions import check_versions, installed


def check(answers: Mapping[str, object]) -> None:
    """Check workers that give these answers."""

    def run(*_: object, **options: Any) -> dict[str, object]:
        assert options["on_error"] == "return"
        return {worker: answers[worker] for worker in options["workers"]}

    check_versions(SimpleNamespace(run=run), list(answers))  # type: ignore[arg-type]


def test_workers_with_equal_versions_and_lost_workers_are_accepted() -> None:
    check({"same": installed(), "left": OSError("closed")})


def test_worker_that_cannot_answer_is_refused() -> None:
    with pytest.raises(ClusterError, match=r"the worker old cannot run functions of this driver .*bad marshal data"):
        check({"same": installed(), "old": ValueError("bad marshal data")})


def test_workers_with_equal_differences_share_a_column() -> None:
    other = installed() | {"numpy": "1.0"}
    with pytest.raises(ClusterError, match="2 of 3 workers") as caught:
        check({"a": other, "b": installed(), "c": other})
    head, row = (line.split() for line in str(caught.value).splitlines()[1:3])
    assert head == ["driver", "a", "and", "1", "more"]
    assert row == ["numpy", installed()["numpy"], "1.0"]
