"""Replace the data-dependent parameters of kernel families by their values for some samples."""

from collections.abc import Sequence
from dataclasses import replace

from kernel_pipeline.tasks.kernels.family import GramFamily, Samples
from kernel_pipeline.tasks.kernels.generator import GeneratorFamily
from kernel_pipeline.tasks.kernels.view import View


def fixed_families(families: Sequence[GramFamily], samples: Samples) -> tuple[GramFamily, ...]:
    """Return families whose data-dependent parameters, such as a median distance, are those of the given samples."""
    return tuple(_fixed(family, samples) for family in families)


def _fixed(family: GramFamily, samples: Samples) -> GramFamily:
    if isinstance(family, View):
        return replace(family, family=_fixed(family.family, family.samples(samples)))
    return family.fitted(samples) if isinstance(family, GeneratorFamily) else family
