"""Views: the columns that a config selects, and the kernel families that result."""

import re
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel_pipeline.config.families import ViewSpec
from kernel_pipeline.config.feature_columns import FeatureColumns
from kernel_pipeline.config.views import MAX_COLUMN_KERNELS, chosen_columns, describe_views, gram_families
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.tasks.kernels.family import GramFamily, kernel_names
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.kernels.linear import LinearFamily
from kernel_pipeline.tasks.kernels.view import View
from tests.helpers.build import GAUSSIAN, parsed, synthetic_values
from tests.pipeline.config.full_config import message

# A table whose columns are age, color (text), the target, gene_1, gene_2, a dropped one, and 3-4.
COLUMNS = FeatureColumns.of(
    ["age", "color_green", "color_red", "gene_1", "gene_2", "3-4"],
    ["age", "color", "color", "gene_1", "gene_2", "3-4"],
    [0, 1, 1, 3, 4, 6],
)
LINEAR = {"family": "linear"}


def families(kernels: list[dict[str, Any]], columns: FeatureColumns = COLUMNS) -> tuple[GramFamily, ...]:
    return gram_families(parsed(synthetic_values(kernels=kernels)).dataset[0], columns)


def places(*keys: int | str) -> list[int]:
    return list(chosen_columns(ViewSpec(LinearFamily(), keys), COLUMNS, "here"))


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["age"], [0]),
        (["color_red"], [2]),
        (["color"], [1, 2]),
        (["gene_*"], [3, 4]),
        (["gene_?", "age"], [0, 3, 4]),
        (["colo[r]"], [1, 2]),
        (["*"], [0, 1, 2, 3, 4, 5]),
        ([0], [0]),
        ([1], [1, 2]),
        ([3, 6], [3, 5]),
        (["0-3"], [0, 1, 2, 3]),
        (["4-6"], [4, 5]),
        (["3-3"], [3]),
        (["3-4"], [5]),  # the name of a column
        (["gene_2", "gene_*", 4, "3-6"], [3, 4, 5]),
    ],
)
def test_columns_are_names_patterns_numbers_and_ranges(keys: list[int | str], expected: list[int]) -> None:
    assert places(*keys) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("gen_1", "'gen_1' is not a feature column; did you mean 'gene_1'? The feature columns are: 'age', 'color_"),
        ("colour", "did you mean 'color'?"),
        ("Age", "'Age' is not a feature column; did you mean 'age'?"),
        ("zzz", "'zzz' is not a feature column. The feature columns are"),
        ("protein_*", "'protein_*' matches no feature column"),
        ("2", "'2' is not a feature column (for column number 2, leave the quotes out). The"),
        (2, "2 is not the number of a feature column: numbers count the columns of the source from 0, and the"),
        (7, "the features are columns 0 to 6, except for the target and dropped columns"),
        ("4-3", "'4-3' is backwards; write '3-4'"),
        ("2-4", "'2-4' begins or ends at column 2, which is not a feature"),
        ("3-9", "'3-9' begins or ends at column 9, which is not a feature"),
    ],
)
def test_columns_that_do_not_exist_are_refused(key: int | str, expected: str) -> None:
    with pytest.raises(ConfigError, match=f"^here.columns: {re.escape(repr(key))}") as caught:
        places(key)
    assert expected in str(caught.value)
    assert "'gene_1'" in str(caught.value)


def test_a_message_lists_twenty_columns() -> None:
    many = FeatureColumns(tuple(f"x{number}" for number in range(1000)))
    with pytest.raises(ConfigError, match=r"'x19' and 980 more$") as caught:
        families([LINEAR | {"columns": ["y"]}], many)
    assert str(caught.value).startswith("dataset 'made': kernels[0].columns: 'y'")


NAMES = st.text("ab_1-*", min_size=1, max_size=4)


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True), st.lists(NAMES | st.integers(0, 6), min_size=1), st.data())
def test_columns_equal_those_of_a_plain_search(names: list[str], keys: list[int | str], data: st.DataObject) -> None:
    numbers = sorted(data.draw(st.sets(st.integers(0, 8), min_size=len(names), max_size=len(names))))
    columns = FeatureColumns.of(names, names, numbers)
    expected: set[int] = set()
    refused = False
    for key in keys:
        span = re.fullmatch("([0-9]+)-([0-9]+)", str(key))
        if isinstance(key, int):
            found = {place for place, number in enumerate(numbers) if number == key}
        elif key in names:
            found = {names.index(key)}
        elif span:
            first, last = map(int, span.groups())
            inside = {first, last} <= set(numbers)
            found = {place for place, number in enumerate(numbers) if inside and first <= number <= last}
        else:
            found = {place for place, name in enumerate(names) if "*" in key and fnmatchcase(name, key)}
        refused |= not found
        expected |= found
    spec = ViewSpec(LinearFamily(), tuple(dict.fromkeys(keys)))
    if refused:
        with pytest.raises(ConfigError):
            chosen_columns(spec, columns, "here")
    else:
        assert list(chosen_columns(spec, columns, "here")) == sorted(expected)
    assert FeatureColumns.from_json(columns.to_json()) == columns


def test_families_without_keys_of_a_view_are_unchanged() -> None:
    config = parsed(synthetic_values(kernels=[GAUSSIAN, LINEAR]))
    assert config.dataset[0].kernels == [GaussianFamily((-1, 0)), LinearFamily()]
    assert gram_families(config.dataset[0], None) == (GaussianFamily((-1, 0)), LinearFamily())


def test_views_have_their_columns_and_the_prefix_of_their_names() -> None:
    found = families(
        [
            GAUSSIAN | {"columns": ["gene_*"], "name": "genes"},
            GAUSSIAN | {"name": "all"},
            LINEAR | {"columns": ["age", "color"], "each": "column"},
            LINEAR | {"columns": ["gene_*"], "each": "column", "name": "genes"},
            {"family": "rank-one", "columns": ["3-4"]},
        ]
    )
    gaussian, linear = GaussianFamily((-1, 0)), LinearFamily()
    assert found == (
        View(gaussian, (3, 4), "genes"),
        View(gaussian, None, "all"),
        View(linear, (0,), "age"),
        View(linear, (1,), "color_green"),
        View(linear, (2,), "color_red"),
        View(linear, (3,), "genes:gene_1"),
        View(linear, (4,), "genes:gene_2"),
        View(linear, (5,), "3-4"),
    )
    assert kernel_names(found) == (
        "genes:gaussian(2^-1)",
        "genes:gaussian(2^0)",
        "all:gaussian(2^-1)",
        "all:gaussian(2^0)",
        "age:linear",
        "color_green:linear",
        "color_red:linear",
        "genes:gene_1:linear",
        "genes:gene_2:linear",
        "3-4:linear",
    )


def test_a_rank_one_family_beside_others_is_a_linear_kernel_of_each_column() -> None:
    each = families([GAUSSIAN, LINEAR | {"each": "column"}])
    assert families([GAUSSIAN, {"family": "rank-one"}]) == each
    assert len(each) == 1 + len(COLUMNS.names)
    assert families([{"family": "rank-one"}]) == ()
    assert families([{"family": "rank-one", "columns": ["age"], "name": "x"}]) == ()


@pytest.mark.parametrize(
    ("kernels", "name"),
    [
        ([GAUSSIAN | {"columns": ["age"]}, GAUSSIAN | {"columns": ["color"]}], "gaussian(2^-1)"),
        ([GAUSSIAN | {"name": "a"}] * 2, "a:gaussian(2^-1)"),
    ],
)
def test_equal_names_that_do_not_depend_on_the_data_are_refused_with_the_config(
    kernels: list[dict[str, Any]], name: str
) -> None:
    text = message(synthetic_values(kernels=kernels))
    assert f"dataset[0] (made).kernels: '{name}' is listed more than once" in text
    assert "set 'name' of one of the families" in text


@pytest.mark.parametrize(
    "kernels",
    [
        [LINEAR | {"each": "column"}, LINEAR | {"each": "column", "columns": ["age"]}],
        [{"family": "rank-one"}] * 2,
        [{"family": "rank-one"}, LINEAR | {"name": "age"}],
    ],
)
def test_equal_names_that_depend_on_the_data_are_refused(kernels: list[dict[str, Any]]) -> None:
    with pytest.raises(
        ConfigError, match=r"^dataset 'made': kernels: 'age:linear' is listed more than once\. .* 'name'"
    ):
        families(kernels)


@pytest.mark.parametrize(
    ("kernels", "text"),
    [
        ([LINEAR, {"family": "rank-one"}], r"kernels\[1\]: a rank-one family together with other families needs"),
        ([LINEAR | {"each": "column"}], r"kernels\[0\]: each = 'column' needs"),
    ],
)
def test_too_many_kernels_of_single_columns_are_refused(kernels: list[dict[str, Any]], text: str) -> None:
    names = tuple(f"x{number}" for number in range(MAX_COLUMN_KERNELS + 1))
    assert len(families(kernels, FeatureColumns(names[:-1]))) >= MAX_COLUMN_KERNELS
    with pytest.raises(ConfigError, match=f"{text} .* at most 500 columns of a dataset are allowed, got 501"):
        families(kernels, FeatureColumns(names))
    assert families([{"family": "rank-one"}], FeatureColumns(names)) == ()


def test_views_without_known_columns_are_refused() -> None:
    dataset = parsed(synthetic_values(kernels=[LINEAR | {"columns": ["age"]}])).dataset[0]
    with pytest.raises(ConfigError, match="its feature columns are not known"):
        gram_families(dataset, None)


def test_a_plan_names_the_columns_of_views() -> None:
    kernels = [GAUSSIAN, LINEAR | {"columns": ["gene_*"], "name": "genes"}, {"family": "rank-one"}]
    dataset = parsed(synthetic_values(kernels=kernels)).dataset[0]
    assert describe_views(dataset, COLUMNS) == [
        "kernels[1] (genes): linear on 2 of 6 columns: gene_1, gene_2",
        "kernels[2]: rank-one on each of 6 of 6 columns: age, color_green, color_red, gene_1, gene_2, ...",
    ]
    assert describe_views(dataset, None) == []


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("columns", [], ".columns: must have at least 1 item(s); got []"),
        ("columns", "age", ".columns: must be a list in brackets"),
        ("columns", [-1], ".columns[0]: must be greater than or equal to 0"),
        ("columns", [True], ".columns[0]: must be a valid integer, or a valid string; got True"),
        ("columns", [""], ".columns[0]: must be a valid integer, or must not be empty"),
        ("columns", ["a", 1, "a"], ".columns: 'a' is listed more than once"),
        ("each", "row", ".each: must be 'column'; got 'row'"),
        ("name", "a b", ".name: may contain letters, digits and . _ - only"),
        ("colums", ["a"], ": unknown key 'colums'; did you mean 'columns'?"),
    ],
)
def test_wrong_keys_of_views_are_refused(key: str, value: Any, expected: str) -> None:
    found = message(synthetic_values(kernels=[LINEAR | {key: value}]))
    where = f" ({value})" if key == "name" else ""
    assert f"dataset[0] (made).kernels[0]{where}{expected}" in found


def test_each_column_of_a_rank_one_family_is_refused_as_superfluous() -> None:
    found = message(synthetic_values(kernels=[{"family": "rank-one", "each": "column"}]))
    assert "kernels[0].each: this family always has one kernel per column; remove this key" in found
