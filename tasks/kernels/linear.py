"""The linear kernel."""

from collections.abc import Sequence
from dataclasses import dataclass

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import FAMILIES, Fill, GramFamily, Samples
from kernel_pipeline.tasks.kernels.inner_products import check_size, inner_products


@FAMILIES.register("linear")
@dataclass(frozen=True)
class LinearFamily(GramFamily):
    """The linear kernel x.z, like scikit-learn's `linear_kernel`."""

    def names(self) -> tuple[str, ...]:
        """Return the name of the kernel."""
        return ("linear",)

    def check(self, samples: Samples, columns: Sequence[str]) -> None:
        """Raise an `UnsuitableFeaturesError` if kernel values are too large to compute with."""
        check_size("linear", samples)

    def prepare(self, samples: Samples) -> Fill:
        """Return a function that computes blocks of the kernel."""
        products = inner_products(samples.features)

        def fill(rows: slice, columns: slice, out: Floats) -> None:
            out[0] = products(rows, columns)

        return fill
