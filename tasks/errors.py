"""Define the errors that leave a cell without a result; their messages become the status of the cell in tables."""


class NoResultError(ValueError):
    """Base class: learning did not produce a valid result."""


class NoWeightsError(NoResultError):
    """No weights can be determined, because no kernel both varies and is aligned with the labels."""

    def __init__(self) -> None:
        super().__init__("no kernel varies on the training set and is aligned with its labels")


class NotSolvedError(NoResultError):
    """A solver stopped before its certificate reached the required accuracy."""


class NotPositiveDefiniteError(NoResultError):
    """A kernel is indefinite, even with the largest ridge on its diagonal."""


class NotConvergedError(NoResultError):
    """libsvm stopped before it reached its tolerance."""
