"""Families whose kernels are functions of one generator, such as distances, that is computed once for all of them."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Self

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import Fill, FillEach, GramFamily, Samples

Generate = Callable[[slice, slice], Floats]
"""`generate(rows, columns)` returns the generator of a block of samples, (rows, columns)."""
Evaluate = Callable[[Floats, Floats], None]
"""`evaluate(block, out)` writes all kernels of a block of the generator into `out`, (p, rows, columns)."""


class GeneratorFamily(GramFamily):
    """Base class of families that share one generator with all families of their class."""

    @classmethod
    @abstractmethod
    def generator(cls, families: Sequence[Self], samples: Samples) -> Generate:
        """Return a function that computes blocks of the generator, accurate enough for these fitted families."""

    @abstractmethod
    def evaluator(self) -> Evaluate:
        """Return a function that computes the kernels of this fitted family from a block of the generator."""

    def prepare(self, samples: Samples) -> Fill:
        """Return a function that computes blocks of this family alone."""
        fill_each = self.prepare_together([self], samples)
        return lambda rows, columns, out: fill_each(rows, columns, [out])

    @classmethod
    def prepare_together(cls, families: Sequence[Self], samples: Samples) -> FillEach:
        """Return a function that computes blocks of all families from one block of the generator."""
        generate = cls.generator(families, samples)
        evaluators = [family.evaluator() for family in families]

        def fill_each(rows: slice, columns: slice, outs: Sequence[Floats]) -> None:
            block = generate(rows, columns)
            for evaluate, out in zip(evaluators, outs, strict=True):
                evaluate(block, out)

        return fill_each


def format_number(value: float) -> str:
    """Return the shortest text that represents a number exactly, for the name of a kernel.

    >>> format_number(0.01), format_number(2.0), format_number(1e-7)
    ('0.01', '2', '1e-07')
    """
    return repr(float(value)).removesuffix(".0")
