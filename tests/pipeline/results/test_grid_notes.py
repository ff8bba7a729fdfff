"""Texts of the notes about values that are excluded from the choice of a regularisation value."""

from collections.abc import Mapping

from kernel_pipeline.config.fit import Grid, make_grid
from kernel_pipeline.results.grid_notes import excluded_values
from kernel_pipeline.tasks.learners.paths import PathResult

RIDGES = {"fit.krr": make_grid(-4, 4, 2)}
TWO = {"fit.toy.a": make_grid(0, 1, 1), "fit.toy.b": make_grid(0, 2, 1)}


def path(certificates: Mapping[tuple[float, ...], float | None]) -> PathResult:
    errors = [None if found is None or found > 1e-6 else 0.1 for found in certificates.values()]
    best = errors.index(0.1)
    return PathResult(list(certificates), errors, errors, errors, best, list(certificates.values()))


def note(grids: dict[str, Grid], *certificates: Mapping[tuple[float, ...], float | None]) -> str:
    return excluded_values(grids, "residual", 1e-6, [path(found) for found in certificates], 3)


def test_values_without_a_solution_and_at_the_limit() -> None:
    assert note(RIDGES, {(1.0,): 1e-6, (4.0,): 0.0}) == ""
    assert note(RIDGES, {(0.0625,): None, (1.0,): 0.0}, {(0.0625,): 0.0, (1.0,): 0.0}) == (
        "the value 0.0625 of fit.krr is excluded from the choice in 1 of 3 trials, since no solution with a residual "
        "of at most 1e-06 was found; raise fit.krr.from (now -4)"
    )


def test_values_at_both_ends_and_inside_of_a_grid() -> None:
    ends = note(RIDGES, {(0.0625,): 1.0, (1.0,): 0.0}, {(16.0,): 1.0, (1.0,): 0.0})
    assert ends.startswith("values 0.0625, 16 of fit.krr are excluded from the choice in 2 of 3 trials, ")
    assert ends.endswith("; raise fit.krr.from (now -4) and lower fit.krr.to (now 4)")
    assert note(RIDGES, {(4.0,): 1.0, (1.0,): 0.0}).endswith("; choose other values of fit.krr")


def test_combinations_of_the_values_of_two_grids() -> None:
    one = note(TWO, {(1.0, 1.0): 0.0, (2.0, 4.0): 1.0})
    assert one.startswith("the value (a 2, b 4) of fit.toy is excluded")
    assert one.endswith("; lower fit.toy.a.to (now 1) or lower fit.toy.b.to (now 2)")
    for_all_a = note(TWO, {(1.0, 1.0): 0.0, (1.0, 4.0): 1.0, (2.0, 4.0): 1.0})
    assert for_all_a.endswith("; lower fit.toy.b.to (now 2)")  # leaving out a value of a would not be enough


def test_a_long_list_is_cut() -> None:
    grid = {"fit.krr": make_grid(0, 20, 1)}
    text = note(grid, {(2.0**k,): float(k > 10) for k in range(21)})
    assert text.startswith("values 2048, 4096, 8192, 16384, 32768, 65536 and 4 more of fit.krr are excluded")
