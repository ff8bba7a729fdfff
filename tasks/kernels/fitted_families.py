"""Replace the data-dependent parameters of kernel families by their values for some samples."""

from collections.abc import Sequence
from dataclasses import replace

from kernel_pipeline.tasks.kernels.family import GramFamily, Samples
from kernel_pipeline.tasks.kernels.generator import GeneratorFamily
from kernel_pipeline.tasks.kernels.guard import named_errors
from kernel_pipeline.tasks.kernels.view import View


def fitted_families(families: Sequence[GramFamily], samples: Samples) -> tuple[GramFamily, ...]:
    """Return families whose data-dependent parameters, such as a median distance, are those of the given samples.

    Families that are not a `GeneratorFamily` are returned unchanged: they may fit parameters when they are prepared.

    Raises
    ------
    FamilyError
        If the code of a family that is not built in raises an error.
    """
    return tuple(_fitted(family, samples) for family in families)


def _fitted(family: GramFamily, samples: Samples) -> GramFamily:
    if isinstance(family, View):
        return replace(family, family=_fitted(family.family, family.samples(samples)))
    if not isinstance(family, GeneratorFamily):
        return family
    with named_errors(type(family)):
        return family.fitted(samples)
