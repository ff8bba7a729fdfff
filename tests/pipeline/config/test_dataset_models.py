"""Kernel families and keys that a source allows."""

from typing import Any

import pytest

from kernel_pipeline.config.views import gram_families
from kernel_pipeline.tasks.kernels.family import ColumnChoice
from tests.helpers.build import GAUSSIAN, changed, config_values, parsed, synthetic_values
from tests.pipeline.config.full_config import FULL, message


def test_grids_and_families_of_one_value() -> None:
    place = ("dataset", 3, "kernels", 0, "log2_gamma")
    assert parsed(changed(FULL, ("fit", "krr"), {"from": 1, "to": 1})).fit.krr.values() == [2.0]
    assert gram_families(parsed(changed(FULL, place, [4, 4])).dataset[3], None)[0].names() == ("gaussian(2^4)",)
    assert "goes from 1 to 0" in message(changed(FULL, ("fit", "krr"), {"from": 1, "to": 0}))
    assert "[4, 3] is backwards" in message(changed(FULL, place, [4, 3]))


@pytest.mark.parametrize(
    ("place", "kernels", "expected"),
    [
        (
            4,
            [{"family": "rank-one", "features": "unigrams"}, {"family": "rank-one", "features": "bigrams"}],
            "(words).kernels: documents need one family with one kernel per column: family = 'rank-one'",
        ),
        (
            3,
            [{"family": "rank-one", "features": "bigrams"}],
            "(made).kernels: features = 'bigrams' is not available for this source. Available: columns",
        ),
        (
            4,
            [{"family": "rank-one"}],
            "(words).kernels: features = 'columns' is not available for this source. Available: unigrams, bigrams",
        ),
        (
            3,
            [{"family": "rank-one", "top": 5}],
            "(made).kernels[0].top: applies to unigrams and bigrams only, since all columns of a table are used; "
            "remove this key",
        ),
        (
            4,
            [GAUSSIAN],
            "(words).kernels: documents need one family with one kernel per column: family = 'rank-one'",
        ),
        (
            5,
            [GAUSSIAN],
            "(reviews).kernels: documents need one family with one kernel per column: family = 'rank-one'",
        ),
        (4, [{"family": "rank-one", "log2_gamma": [0, 1]}], "(words).kernels[0]: unknown key 'log2_gamma'"),
        (4, [{"features": "bigrams"}], "(words).kernels[0]: requires the key 'family'"),
    ],
)
def test_families_that_cannot_be_combined_or_that_the_source_does_not_support(
    place: int, kernels: list[dict[str, Any]], expected: str
) -> None:
    assert f"dataset[{place}] {expected}" in message(changed(FULL, ("dataset", place, "kernels"), kernels))


def test_a_rank_one_family_of_columns() -> None:
    family = parsed(synthetic_values(kernels=[{"family": "rank-one"}])).dataset[0].column_family
    assert family is not None
    assert family.choice() == ColumnChoice(("columns",), top=None)
    assert parsed(synthetic_values()).dataset[0].column_family is None


@pytest.mark.parametrize("key", ["scale", "positive", "target", "encode"])
def test_documents_have_no_keys_of_tables(key: str) -> None:
    assert f"dataset[5] (reviews): unknown key {key!r}" in message(changed(FULL, ("dataset", 5, key), "x"))


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("drop", [0], "drop = [0]: with a rank-one family"),
        ("scale", "minmax", "scale = 'minmax': with a rank-one family"),
        ("encode", "onehot", "encode = 'onehot': with a rank-one family"),
    ],
)
def test_keys_that_change_columns_are_refused_for_rank_one_kernels_of_a_libsvm_file(
    key: str, value: Any, expected: str
) -> None:
    rank_one = {"format": "libsvm", "kernels": [{"family": "rank-one"}]}
    text = message(config_values(**rank_one, **{key: value}))
    assert f"dataset[0] (things): {expected}" in text
    assert "remove this key" in text
    parsed(config_values(format="libsvm", **{key: value}))
    parsed(config_values(**rank_one | {"format": "csv"}, **{key: value}))
