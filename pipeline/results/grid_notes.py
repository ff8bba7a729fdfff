"""Write the notes about values of grids: values that are excluded from the choice, and chosen values at an edge."""

from collections.abc import Mapping, Sequence

from kernel_pipeline.config.fit import Grid
from kernel_pipeline.tasks.learners.iterative_ridge import MAX_RESIDUAL
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.learners.paths import PathResult
from kernel_pipeline.tasks.learners.svm_certificate import MAX_GAP
from kernel_pipeline.tasks.weights.method import Method

MAX_LISTED = 6
"""Maximum number of excluded values that a note lists."""


def accuracy(problem: str, method: Method) -> tuple[str, float]:
    """Return what the certificate of a method for a problem measures, and the largest certificate that is accepted."""
    if isinstance(method, OneStageMethod):
        return "relative duality gap or KKT residual", method.max_certificate
    return ("relative residual", MAX_RESIDUAL) if problem == "regression" else ("relative duality gap", MAX_GAP)


def excluded_values(
    grids: Mapping[str, Grid], measure: str, limit: float, paths: Sequence[PathResult], trials: int
) -> str:
    """Return the text of the note about values whose solutions are not certified; empty if there are none.

    Parameters
    ----------
    grids
        Grids of the method by their keys (`Fit.grids`).
    measure, limit
        What the certificates measure, and the largest one that is accepted (`accuracy`).
    paths
        Paths of the trials that have a result.
    trials
        Number of all trials.
    """
    by_trial = [set(_uncertified(path, limit)) for path in paths]
    excluded = sorted(set().union(*by_trial))
    if not excluded:
        return ""
    named = ", ".join(_named(grids, value) for value in excluded[:MAX_LISTED])
    more = f" and {len(excluded) - MAX_LISTED} more" if len(excluded) > MAX_LISTED else ""
    return (
        f"{'the value' if len(excluded) == 1 else 'values'} {named}{more} of {_common_key(grids)} "
        f"{'is' if len(excluded) == 1 else 'are'} excluded from the choice in {sum(map(bool, by_trial))} of {trials} "
        f"trials, since no solution with a {measure} of at most {limit:g} was found; {_narrower(grids, excluded)}"
    )


def _uncertified(path: PathResult, limit: float) -> list[tuple[float, ...]]:
    """Return the values whose certificate is too large, or which have no solution and therefore no certificate."""
    if path.certificates is None:
        return []
    pairs = zip(path.values, path.certificates, strict=True)
    return [value for value, certificate in pairs if certificate is None or certificate > limit]


def _common_key(grids: Mapping[str, Grid]) -> str:
    """Return the key of the only grid, or that of the table with all grids of a method."""
    key, *others = grids
    return key.rpartition(".")[0] if others else key


def _named(grids: Mapping[str, Grid], value: tuple[float, ...]) -> str:
    """Return one value, or the combination of values of several grids with their names.

    >>> grid = Grid(**{"from": 0, "to": 2})
    >>> _named({"fit.krr": grid}, (0.25,)), _named({"fit.align-krr.gamma": grid, "fit.align-krr.gamma1": grid}, (1, 4))
    ('0.25', '(gamma 1, gamma1 4)')
    """
    if len(grids) == 1:
        return f"{value[0]:g}"
    names = [key.rpartition(".")[2] for key in grids]
    return f"({', '.join(f'{name} {number:g}' for name, number in zip(names, value, strict=True))})"


def _narrower(grids: Mapping[str, Grid], excluded: Sequence[tuple[float, ...]]) -> str:
    """Return the changes of the config that leave out the excluded values; any one of the alternatives is enough."""
    changes = [
        change
        for (key, grid), values in zip(grids.items(), zip(*excluded, strict=True), strict=True)
        if (change := _without_ends(key, grid, set(values)))
    ]
    return " or ".join(changes) or f"choose other values of {_common_key(grids)}"


def _without_ends(key: str, grid: Grid, values: set[float]) -> str:
    """Return the change that leaves out values at the ends of a grid; empty if none are there, or if all values are."""
    all_values = grid.values()
    if values.issuperset(all_values):
        return ""
    raised = [f"raise {key}.from (now {grid.start})"] if all_values[0] in values else []
    lowered = [f"lower {key}.to (now {grid.stop})"] if all_values[-1] in values else []
    return " and ".join(raised + lowered)


def values_at_edge(grids: Mapping[str, Grid], paths: Sequence[PathResult], trials: int) -> str:
    """Return the text of the note about chosen regularisation values at the edge, with the keys that widen their grid.

    Parameters
    ----------
    grids
        Grids of the method by their keys; the last one has the regularisation values (`Fit.grids`).
    paths
        Paths of the trials that have a result.
    trials
        Number of all trials.
    """
    values = [path.regularisation for path in paths if path.at_edge and path.regularisation is not None]
    found = " and ".join(f"{value:g}" for value in sorted(set(values)))
    key, grid = list(grids.items())[-1]
    lower, upper = grid.values()[0], grid.values()[-1]
    remedies = [f"lower {key}.from (now {grid.start})"] if lower in values else []
    remedies += [f"raise {key}.to (now {grid.stop})"] if upper in values else []
    return (
        f"the regularisation value is at the edge of its grid in {len(values)} of {trials} trials ({found}); "
        f"{' and '.join(remedies)}"
    )
