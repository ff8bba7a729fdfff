"""Check names that users give, such as those of datasets and methods, against the known ones."""

from collections.abc import Iterable

from kernel_pipeline.cluster.strict_model import did_you_mean
from kernel_pipeline.errors import PipelineError
from kernel_pipeline.tasks.listing import list_first

MAX_LISTED = 10


def check_known(what: str, name: str, known: Iterable[str]) -> None:
    """Raise an error for an unknown name; its message lists the known names."""
    names = list(known)
    if name not in names:
        listed = list_first(list(map(repr, names)), MAX_LISTED)
        raise PipelineError(f"there is no {what} {name!r}. Available: {listed}.{did_you_mean(name, names)}")
