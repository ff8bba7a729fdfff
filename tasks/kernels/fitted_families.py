"""Replace the data-dependent parameters of kernel families by their values for some samples."""

from collections.abc import Sequence

from kernel_pipeline.tasks.kernels.family import GramFamily, Samples
from kernel_pipeline.tasks.kernels.guard import named_errors


def fitted_families(families: Sequence[GramFamily], samples: Samples) -> tuple[GramFamily, ...]:
    """Return families whose data-dependent parameters, such as a median distance, are those of the given samples.

    Raises
    ------
    FamilyError
        If the code of a family that is not built in raises an error.
    """
    fitted = []
    for family in families:
        with named_errors(type(family)):
            fitted.append(family.fitted(samples))
    return tuple(fitted)
