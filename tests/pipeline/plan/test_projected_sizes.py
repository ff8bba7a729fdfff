"""Projected memory and disk space of a plan, and the limits it is checked against."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel_pipeline.errors import TooLargeError
from kernel_pipeline.plan import memory
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.text import format_bytes
from tests.helpers.build import parsed, synthetic_values
from tests.pipeline.plan.small_plans import plan_of, small, unhurried


def test_largest_is_the_greatest_of_all_stages_and_datasets() -> None:
    values = synthetic_values()
    values["dataset"].append({**values["dataset"][0], "name": "larger", "rows": 200})
    plan = plan_of(parsed(values))
    size, stage, dataset = plan.largest
    assert dataset.name == "larger"
    assert size == dataset.memory[stage] == max(max(each.memory.values()) for each in plan.datasets)


def test_memory_that_just_suffices() -> None:
    plan = small()
    size, stage, _ = plan.largest
    plan.check_memory(size, 2)
    with pytest.raises(TooLargeError) as caught:
        plan.check_memory(size - 1, 2)
    for word in (repr(stage), format_bytes(size), "2 worker(s)", "--workers 1"):
        assert word in str(caught.value)


def test_disk_that_just_suffices() -> None:
    plan = small()
    plan.check_disk(plan.disk_bytes, "there")
    with pytest.raises(TooLargeError, match=r"need 8.85 KiB, but there has 8.85 KiB free"):
        plan.check_disk(plan.disk_bytes - 1, "there")


@unhurried
@given(
    samples=st.integers(3, 5000),
    features=st.integers(1, 100),
    kernels=st.integers(1, 50),
    folds=st.integers(3, 10),
    tile=st.integers(1, 600),
)
def test_projected_memory_grows_with_every_size(
    samples: int, features: int, kernels: int, folds: int, tile: int
) -> None:
    def of(samples: int, features: int, kernels: int, tile: int) -> dict[str, int]:
        lengths = {"sample": samples, "feature": features, "kernel": kernels, "tile": tile}
        sizes = Sizes(**lengths, entry=samples * features, problem=1, fold=folds, batch=1)
        return memory.gram_projection(sizes, ["regression"], rules=2, reads_base=False)

    base = of(samples, features, kernels, tile)
    assert set(base) == set(STAGES)
    assert min(base.values()) >= memory.RESERVED
    for larger in (
        of(2 * samples, features, kernels, tile),
        of(samples, features + 1, kernels, tile),
        of(samples, features, kernels + 1, tile),
        of(samples, features, kernels, tile + 1),
    ):
        assert all(larger[stage] >= base[stage] for stage in STAGES)


@unhurried
@given(
    samples=st.integers(3, 5000),
    entries=st.integers(1, 10**6),
    kernels=st.integers(1, 10**5),
    folds=st.integers(3, 10),
    needs_m=st.booleans(),
)
def test_projected_memory_of_rank_one_kernels_grows_with_every_size(
    samples: int, entries: int, kernels: int, folds: int, needs_m: bool
) -> None:
    def of(samples: int, entries: int, kernels: int, needs_m: bool) -> dict[str, int]:
        lengths = {"sample": samples, "feature": kernels, "entry": entries, "kernel": kernels}
        sizes = Sizes(**lengths, problem=1, fold=folds, batch=0, tile=1)
        return memory.rank_one_projection(sizes, ["classification"], needs_m)

    base = of(samples, entries, kernels, needs_m)
    assert set(base) == {"reduce", "fits"}
    assert min(base.values()) >= memory.RESERVED
    for larger in (
        of(2 * samples, entries, kernels, needs_m),
        of(samples, entries + 1, kernels, needs_m),
        of(samples, entries, kernels + 1, needs_m),
        of(samples, entries, kernels, True),
    ):
        assert all(larger[stage] >= base[stage] for stage in base)
    # No p x p matrix is made where no method asks for one.
    assert needs_m or base["fits"] < memory.RESERVED + (200 << 20) + 8 * (12 * entries + 23 * kernels + 18 * samples**2)
