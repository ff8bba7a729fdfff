"""Why a cell has no result. Each becomes a row that says so, never a number."""


class NoResultError(ValueError):
    """Learning gave nothing that may stand in a table."""


class NoWeightsError(NoResultError):
    """There is nothing to choose weights by."""

    def __init__(self) -> None:
        super().__init__("no kernel varies on the training set and is aligned with its labels")


class NotSolvedError(NoResultError):
    """A solver stopped before its certificate was good enough."""


class NotPositiveDefiniteError(NoResultError):
    """A kernel has a negative eigenvalue that no ridge makes up for."""


class NotConvergedError(NoResultError):
    """libsvm stopped before it reached its tolerance."""
