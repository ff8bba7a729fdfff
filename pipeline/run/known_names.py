"""Check names that users give, such as those of datasets and methods, against the known ones."""

from collections.abc import Iterable, Sequence

from kernel_pipeline.cluster.strict_model import did_you_mean
from kernel_pipeline.errors import PipelineError
from kernel_pipeline.plan.methods import UnsupportedMethod
from kernel_pipeline.tasks.listing import list_first
from kernel_pipeline.tasks.weights.method import Method

MAX_LISTED = 10


def check_known(what: str, name: str, known: Iterable[str]) -> None:
    """Raise an error for an unknown name; its message lists the known names."""
    names = list(known)
    if name not in names:
        raise PipelineError(f"there is no {what} {name!r}. Available: {_listed(names)}.{did_you_mean(name, names)}")


def check_method(name: str, problem: str, known: Sequence[str], unsupported: Iterable[UnsupportedMethod]) -> None:
    """Raise an error for a method that is unknown, or that is left out for a problem, with the reason.

    Parameters
    ----------
    known
        Names of the methods that are used for the problem.
    unsupported
        Methods that are left out.
    """
    for left_out in unsupported:
        if (left_out.problem, left_out.method) == (problem, name):
            raise PipelineError(
                f"method {name!r} is left out for task={problem!r} of this dataset, since {left_out.reason}. "
                f"Available: {_listed(known)}"
            )
    check_known("method", name, known)


def check_weighted(name: str, known: Iterable[str], used: Sequence[Method]) -> None:
    """Raise an error for a method without kernel weights; its message lists the methods that have them.

    Parameters
    ----------
    name
        Name of the method, as in tables.
    known
        Names of all methods of the dataset.
    used
        Methods of the sweep.
    """
    without = {method.method_id for method in used if not method.gives_weights}
    if name in without:
        listed = list_first([other for other in known if other not in without], MAX_LISTED)
        raise PipelineError(f"{name!r} has no kernel weights. Methods of this dataset with weights: {listed or 'none'}")


def _listed(names: Sequence[str]) -> str:
    return list_first(list(map(repr, names)), MAX_LISTED)
