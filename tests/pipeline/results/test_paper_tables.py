"""The data file with the paper's numbers is complete, consistent, and equal to values that were typed separately."""

from collections import Counter

import pytest

from kernel_pipeline.config.loading import read_config
from kernel_pipeline.results.paper_tables import NumberKey, paper_numbers
from tests.paper import test_gaussian, test_sentiment

CELLS = {cell.key: cell for cell in paper_numbers()}
ENTRIES = [cell for cell in paper_numbers() if cell.key.measure == "other_is_better"]


def test_every_cell_of_the_five_tables_occurs_once() -> None:
    assert Counter((cell.table, cell.key.measure) for cell in paper_numbers()) == {
        (1, "correlation"): 2 * 5,
        (2, "error"): 4 * 5,
        (2, "alignment"): 4 * 5,
        (3, "error"): 2 * 3 * 4,
        (3, "alignment"): 2 * 3 * 4,
        (4, "other_is_better"): 5 * 4 * 3,
        (5, "other_is_better"): 2 * 4 * 3 * 2,
    }
    assert len(CELLS) == len(paper_numbers())


@pytest.mark.parametrize(
    ("table", "key", "value", "sd"),
    [
        (2, NumberKey("kinematics", "regression", "alignment", "unif"), 0.158, 0.013),
        (2, NumberKey("ionosphere", "regression", "alignment", "alignf"), 0.278, 0.057),
        (2, NumberKey("german", "classification", "alignment", "l1-svm"), 0.082, 0.003),
        (2, NumberKey("splice", "classification", "alignment", "align"), 0.123, 0.011),
        (3, NumberKey("books", "regression", "error", "unif"), 1.442, 0.015),
        (3, NumberKey("dvd", "regression", "alignment", "l2-krr"), 0.036, 0.009),
        (3, NumberKey("electronics", "classification", "error", "align"), 0.166, 0.016),
    ],
)
def test_numbers_with_standard_deviations(table: int, key: NumberKey, value: float, sd: float) -> None:
    assert (CELLS[key].table, CELLS[key].value, CELLS[key].sd) == (table, value, sd)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (NumberKey("splice", "classification", "correlation", "uncentered"), -0.4484),
        (NumberKey("german", "classification", "correlation", "centered"), 0.9439),
        (NumberKey("spambase", "classification", "other_is_better", "l1-svm", "align"), 1),
        (NumberKey("splice", "classification", "other_is_better", "align", "alignf"), 0),
        (NumberKey("dvd", "regression", "other_is_better", "l2-krr", "align"), 0),
        (NumberKey("books", "classification", "other_is_better", "unif", "align"), 1),
    ],
)
def test_numbers_without_standard_deviations(key: NumberKey, value: float) -> None:
    assert CELLS[key].value == value
    assert CELLS[key].sd != CELLS[key].sd


def test_numbers_equal_those_of_the_tests_on_the_paper_s_datasets() -> None:
    for dataset, methods in test_gaussian.PAPER.items():
        for method, expected in methods.items():
            problem = "regression" if "l2-krr" in methods else "classification"
            cell = CELLS[NumberKey(dataset, problem, "error", method)]
            assert (cell.value, cell.sd) == expected
    for (problem, method), pair in test_sentiment.PAPER.items():
        for measure, expected in zip(("error", "alignment"), pair, strict=True):
            cell = CELLS[NumberKey(test_sentiment.DOMAIN, problem, measure, method)]
            assert (cell.value, cell.sd) == expected


def test_numbers_are_in_their_range() -> None:
    for cell in paper_numbers():
        if cell.table in (2, 3):
            assert 0 < cell.sd < cell.value < 1.5
        else:
            assert abs(cell.value) <= 1
    assert all(cell.value in (0, 1) for cell in ENTRIES)


def test_a_method_that_is_significantly_better_has_a_smaller_error() -> None:
    for cell in ENTRIES:
        key = cell.key
        worse, better = (
            CELLS[NumberKey(key.dataset, key.problem, "error", method)].value for method in (key.method, key.other)
        )
        if cell.value == 1:
            assert better < worse, key
            assert CELLS[NumberKey(key.dataset, key.problem, "other_is_better", key.other, key.method)].value == 0


@pytest.mark.parametrize(("config", "tables"), [("paper-gaussian", {1, 2, 4}), ("paper-sentiment", {3, 5})])
def test_names_are_those_of_the_shipped_configs(config: str, tables: set[int]) -> None:
    shipped = read_config(config)[0]
    expected = {(dataset.name, problem) for dataset in shipped.dataset for problem in dataset.task}
    keys = [cell.key for cell in paper_numbers() if cell.table in tables]
    assert {(key.dataset, key.problem) for key in keys} == expected
    methods = {name for key in keys if key.measure != "correlation" for name in (key.method, key.other) if name}
    assert methods <= {method.method_id for method in shipped.methods}
