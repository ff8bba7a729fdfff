"""Projected memory and disk space of a plan, and the limits it is checked against."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel_pipeline.errors import TooLargeError
from kernel_pipeline.plan.memory import GramMemoryInputs, gram_projection, rank_one_projection
from kernel_pipeline.plan.memory_parts import RESERVED
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.text import format_bytes
from tests.helpers.build import parsed, synthetic_values
from tests.pipeline.plan.small_plans import plan_of, small, unhurried


def test_largest_is_the_maximum_over_all_stages_and_datasets() -> None:
    values = synthetic_values()
    values["dataset"].append({**values["dataset"][0], "name": "larger", "rows": 200})
    plan = plan_of(parsed(values))
    size, stage, dataset = plan.largest
    assert dataset.name == "larger"
    assert size == dataset.memory[stage] == max(max(each.memory.values()) for each in plan.datasets)


def test_each_trial_has_its_own_tasks_if_steps_are_fitted_to_its_training_set() -> None:
    shared, fitted = (small(scale="standard", fit_on=fit_on).datasets[0] for fit_on in ("all", "train"))
    counts = {stage: (len(shared.stages[stage]), len(tasks)) for stage, tasks in fitted.stages.items()}
    assert counts == {"tiles": (1, 3), "reduce": (1, 3), "weights": (2, 6), "combine": (2, 6), "fits": (6, 6)}
    m, d, p, tiles = 10, 5, 2, 6
    once = 8 * tiles * p * 16 + 4 * tiles + 8 * (m * d + 3 * 3 * (p * p + p) + (3 + 1) * p * m) + 4 * 5
    assert fitted.disk_bytes - shared.disk_bytes == 2 * once  # Gram matrices, features and sums of two more trials
    assert all(fitted.memory[stage] <= size for stage, size in shared.memory.items())
    for name in fitted.graph.ancestors(["combine/made/regression/alignf/0/1"]):
        assert name in {"tiles/made/0/1", "weights/made/regression/alignf/1-1", "reduce/made/regression/1"}


def test_parts_of_each_trial_count() -> None:
    config = parsed(synthetic_values(scale="standard", rows=2000, fit_on="train") | {"storage": {"tile": 2}})
    with pytest.raises(TooLargeError, match=r"Set tile = "):
        plan_of(config)
    plan_of(parsed(synthetic_values(scale="standard", rows=40, fit_on="train")))


def test_memory_that_just_suffices() -> None:
    plan = small()
    size, stage, _ = plan.largest
    plan.check_memory(size, 2)
    with pytest.raises(TooLargeError) as caught:
        plan.check_memory(size - 1, 2)
    for word in (repr(stage), format_bytes(size), "2 worker(s)", "--workers 1"):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("workers", "advice"), [(1, "Use workers with"), (2, "Use workers with"), (3, "Use fewer workers (--workers 1), ")]
)
def test_fewer_workers_are_recommended_only_if_their_memory_suffices(workers: int, advice: str) -> None:
    dataset = replace(small().datasets[0], memory={"fits": 5 << 30})
    assert f"may use 2 GiB. {advice}" in dataset.memory_shortage(2 << 30, workers)


@pytest.mark.parametrize(
    ("stage", "advice"),
    [
        ("tiles", "a smaller [storage] tile"),
        ("reduce", "fewer kernels (2 now)"),
        ("weights", "fewer kernels (2 now)"),
        ("combine", "a smaller [storage] tile"),
        ("fits", "fewer rows (10 now; about 5 would fit)"),
    ],
)
def test_advice_depends_on_the_stage_that_needs_too_much_memory(stage: str, advice: str) -> None:
    dataset = replace(small().datasets[0], memory={stage: RESERVED + (4 << 30)})
    assert f"each, or {advice}" in dataset.memory_shortage(RESERVED + (1 << 30), 1)


def test_disk_that_just_suffices() -> None:
    plan = small()
    plan.check_disk(plan.disk_bytes, "there")
    with pytest.raises(TooLargeError, match=r"need 9.85 KiB, but there has 9.85 KiB free"):
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
    def of(samples: int, features: int, kernels: int, tile: int, views: int = 0, labels: int = 1) -> dict[str, int]:
        lengths: dict[str, Any] = {"sample": samples, "feature": features, "kernel": kernels, "tile": tile}
        sizes = Sizes(**lengths, label=labels, entry=samples * features, fold=folds, batch=1)
        train = samples - 2 * (samples // folds)
        inputs = GramMemoryInputs(
            sizes=sizes,
            train=train,
            problems=["regression"],
            square_problems=["regression"],
            predictions=16 * labels,
            rules=2,
            singles=True,
            reads_features=True,
            view_columns=views,
        )
        return gram_projection(inputs)

    base = of(samples, features, kernels, tile)
    assert set(base) == set(STAGES)
    assert min(base.values()) >= RESERVED
    for larger in (
        of(2 * samples, features, kernels, tile),
        of(samples, features + 1, kernels, tile),
        of(samples, features, kernels + 1, tile),
        of(samples, features, kernels, tile + 1),
        of(samples, features, kernels, tile, views=1),
        of(samples, features, kernels, tile, labels=2),
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
    def train_of(samples: int) -> int:
        return samples - 2 * (samples // folds)

    def of(samples: int, entries: int, kernels: int, needs_m: bool, labels: int = 1) -> dict[str, int]:
        lengths: dict[str, Any] = {"sample": samples, "feature": kernels, "entry": entries, "kernel": kernels}
        sizes = Sizes(**lengths, label=labels, fold=folds, batch=0, tile=1)
        return rank_one_projection(sizes, train_of(samples), ["classification"], 12 * labels, needs_m)

    base = of(samples, entries, kernels, needs_m)
    assert set(base) == {"reduce", "fits"}
    assert min(base.values()) >= RESERVED
    more = [
        of(samples, entries + 1, kernels, needs_m),
        of(samples, entries, kernels, True),
        of(samples, entries, kernels, needs_m, labels=3),
    ]
    # With fewer kernels than training samples, a fit holds the columns instead of the kernel, which needs less memory.
    if (kernels < train_of(samples)) == (kernels < train_of(2 * samples)):
        more.append(of(2 * samples, entries, kernels, needs_m))
    if (kernels < train_of(samples)) == (kernels + 1 < train_of(samples)):
        more.append(of(samples, entries, kernels + 1, needs_m))
    for larger in more:
        assert all(larger[stage] >= base[stage] for stage in base)
    # No p x p matrix is created if no method needs one.
    assert needs_m or base["fits"] < RESERVED + (200 << 20) + 8 * (
        12 * entries + 23 * kernels + 18 * samples**2 + 80 * samples
    )
