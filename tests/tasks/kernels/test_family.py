from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pytest

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import (
    FAMILIES,
    ColumnChoice,
    Fill,
    FillEach,
    GramFamily,
    Samples,
    family_name,
    family_notes,
    kernel_names,
    kernel_shifts,
    prepare_families,
)
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.kernels.rank_one_family import RankOneFamily
from kernel_pipeline.tasks.parameters import ParameterError


@dataclass(frozen=True)
class Constant(GramFamily):
    """Kernels that are constant, each with its own value."""

    values: tuple[float, ...]

    def names(self) -> tuple[str, ...]:
        return tuple(map(str, self.values))

    def prepare(self, samples: Samples) -> Fill:
        def fill(rows: slice, columns: slice, out: Floats) -> None:
            for kernel, value in zip(out, self.values, strict=True):
                kernel[:] = value

        return fill


@dataclass(frozen=True)
class Counted(Constant):
    """Values in the order in which families are prepared together, and a shift."""

    def shifts(self) -> tuple[float, ...]:
        return (0.5,) * len(self.values)

    @classmethod
    def prepare_together(cls, families: Sequence[Self], samples: Samples) -> FillEach:
        def fill_each(rows: slice, columns: slice, outs: Sequence[Floats]) -> None:
            for number, out in enumerate(outs):
                out[:] = 100 * len(families) + number

        return fill_each

    @classmethod
    def notes_together(cls, families: Sequence[Self], samples: Samples, columns: Sequence[str]) -> tuple[str, ...]:
        return (f"{len(families)} families of {', '.join(columns)}",)


MIXED = [Counted((1.0, 2.0)), Constant((3.0,)), Counted((4.0,)), Constant((5.0, 6.0))]


def test_families_of_a_class_are_prepared_together_and_kernels_keep_their_order() -> None:
    out = np.full((6, 2, 3), np.nan)
    prepare_families(MIXED, Samples(np.zeros((9, 2))))(slice(0, 2), slice(4, 7), out)
    assert (out == out[:, :1, :1]).all()
    assert out[:, 0, 0].tolist() == [200.0, 200.0, 3.0, 201.0, 5.0, 6.0]


def test_names_and_shifts_have_the_order_of_the_kernels() -> None:
    assert kernel_names(MIXED) == ("1.0", "2.0", "3.0", "4.0", "5.0", "6.0")
    assert kernel_shifts(MIXED) == (0.5, 0.5, 0.0, 0.5, 0.0, 0.0)


def test_each_class_gives_its_notes_once() -> None:
    assert family_notes(MIXED, Samples(np.zeros((9, 2))), ["a", "b"]) == ("2 families of a, b",)
    assert family_notes(MIXED[1::2], Samples(np.zeros((9, 2))), ["a", "b"]) == ()


def test_built_in_families_are_in_the_same_order_for_any_order_of_imports() -> None:
    assert list(FAMILIES)[:3] == ["gaussian", "laplacian", "matern"]
    assert family_name(GaussianFamily((0, 1))) == "gaussian"
    assert family_name(RankOneFamily()) == "rank-one"


def test_a_column_family_states_which_columns_it_uses() -> None:
    assert RankOneFamily().choice() == ColumnChoice(("columns",), None)
    assert RankOneFamily("bigrams", 10).choice() == ColumnChoice(("bigrams",), 10)
    with pytest.raises(ParameterError, match=r"^top: applies to unigrams and bigrams only"):
        RankOneFamily("columns", 10)
