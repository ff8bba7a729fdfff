"""The arrays of a plan, compared with the files of a run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.store.array_metadata import ArrayPlan
from kernel_pipeline.store.array_spec import ArraySpec, FamilyKind, Per, Sizes
from kernel_pipeline.store.arrays import STATISTICS
from kernel_pipeline.store.paths import GROUPS
from kernel_pipeline.store.schema import ARRAYS, GRAM_STATISTICS, RANK_ONE_STATISTICS, array_spec
from kernel_pipeline.tasks.statistics.sums import Sums
from tests.helpers.build import parsed, synthetic_values
from tests.helpers.sweeps import run_here
from tests.pipeline.data.kernel_matrices import kernels, save
from tests.pipeline.plan.small_plans import plan_of

GAUSSIAN = {"family": "gaussian", "log2_gamma": [-3, 1]}
SWEEP: dict[str, Any] = {
    "name": "stored",
    "baselines": False,
    "methods": ["unif", "alignf", "l2-krr", "l1-svm", "each-kernel"],
    "protocol": {"folds": 3},
    "fit": {key: {"from": 0, "to": 0} for key in ("krr", "svm", "l1-svm", "l2-krr")},
    "storage": {"tile": 64},
    "dataset": [
        {"name": "wave", "source": "synthetic", "task": "regression", "rows": 150, "kernels": [GAUSSIAN]},
        {
            "name": "flowers",
            "source": "sklearn",
            "id": "iris",
            "task": ["regression", "classification"],
            "positive": ["virginica"],
            "kernels": [GAUSSIAN],
        },
        {"name": "columns", "source": "synthetic", "task": "regression", "kernels": [{"family": "rank-one"}]},
        {
            "name": "files",
            "source": "synthetic",
            "task": "regression",
            "rows": 100,
            "kernels": [{"family": "precomputed", "path": "string.npy"}],
        },
    ],
}
SIZES = Sizes(sample=11, feature=3, entry=33, kernel=5, label=2, fold=4, batch=7, tile=6, precomputed=2, ridge=3)


REPEATED = {"repeats": 2, "permutations": 19}
ONLY_REPEATED = (Per.REPEATED, Per.PERMUTED, Per.PERMUTED_SUMS)


@pytest.fixture(scope="module", params=[{}, REPEATED], ids=["once", "repeated"])
def finished(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Path]:
    """Return a plan whose tasks have all run, and the directory of the run."""
    root = tmp_path_factory.mktemp("run")
    save(root / "string.npy", kernels(2, 100))
    plan, _, _ = run_here(root, parse_config(SWEEP | {"protocol": {"folds": 3, **request.param}}, "a test"))
    return plan, root


def stored_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.name != "zarr.json")


def test_a_finished_run_stores_the_bytes_that_its_plan_projects(finished: tuple[Plan, Path]) -> None:
    plan, root = finished
    for dataset in plan.datasets:
        stored = {array.key: stored_bytes(root / array.key / "c") for array in dataset.arrays}
        assert stored == {array.key: array.stored_bytes for array in dataset.arrays}
        assert dataset.disk_bytes == sum(stored.values())
    # Apart from these arrays, the groups contain only metadata.
    assert plan.disk_bytes == sum(stored_bytes(root / group) for group in GROUPS)


def test_metadata_add_at_most_two_percent_to_the_projection(finished: tuple[Plan, Path]) -> None:
    plan, root = finished
    total = sum(path.stat().st_size for group in GROUPS for path in (root / group).rglob("*") if path.is_file())
    assert plan.disk_bytes <= total <= 1.02 * plan.disk_bytes


def test_every_entry_of_the_table_is_an_array_of_a_run(finished: tuple[Plan, Path]) -> None:
    plan, _ = finished
    in_parts = plan_of(parsed(synthetic_values(rows=180) | {"fit": {"memory": "36 KiB"}}))
    abouts = {array.about for dataset in (*plan.datasets, *in_parts.datasets) for array in dataset.arrays}
    once = plan.config.protocol.repeats == 1
    assert abouts == {spec.about for spec in ARRAYS if not (once and spec.per in ONLY_REPEATED)}
    for dataset in plan.datasets:
        assert len({array.key for array in dataset.arrays}) == len(dataset.arrays)


@pytest.mark.parametrize("spec", ARRAYS, ids=lambda spec: f"{spec.group}/{spec.key}")
def test_chunks_have_the_dimensions_of_their_array(spec: ArraySpec) -> None:
    assert array_spec(spec.group, spec.key) is spec
    assert len(spec.chunks(SIZES)) == len(spec.shape(SIZES))
    assert all(chunk <= length for chunk, length in zip(spec.chunks(SIZES), spec.shape(SIZES), strict=True))
    assert spec.array_bytes(SIZES) == 8 * np.prod(spec.shape(SIZES))
    assert spec.chunk_bytes(SIZES) == 8 * np.prod(spec.chunks(SIZES))


def test_sums_have_the_shapes_that_tasks_write() -> None:
    shapes = Sums.shapes(SIZES.fold, SIZES.kernel, SIZES.label, SIZES.sample)
    assert {spec.key for spec in ARRAYS if spec.per is Per.SUMS} == {f"sums/{name}" for name in shapes}
    for name, shape in shapes.items():
        assert array_spec(STATISTICS, f"sums/{name}").shape(SIZES) == (SIZES.batch, *shape)


def test_rank_one_kernels_store_no_array_of_kernels_by_kernels() -> None:
    assert set(GRAM_STATISTICS) - set(RANK_ONE_STATISTICS) == {
        "M",
        "M_test",
        "a_test",
        "diagonal",
        "M_debiased",
        "a_debiased",
        "M_test_debiased",
        "a_test_debiased",
        "label_norms_debiased",
    }
    for spec in ARRAYS:
        assert FamilyKind.RANK_ONE not in spec.family_kinds or spec.dims.count("kernel") <= 1


@pytest.mark.parametrize(
    ("shape", "chunks", "is_symmetric", "count"),
    [
        ((7,), (7,), False, 1),
        ((0,), (0,), False, 0),
        ((3, 4), (1, 4), False, 3),
        ((2, 9, 9), (2, 4, 4), False, 9),
        ((2, 9, 9), (2, 4, 4), True, 6),
        ((3, 9, 9), (1, 4, 4), True, 18),
        ((3, 4, 4), (1, 4, 4), True, 3),
    ],
)
def test_stored_chunks_are_whole_and_have_a_checksum(
    shape: tuple[int, ...], chunks: tuple[int, ...], is_symmetric: bool, count: int
) -> None:
    array = ArrayPlan(STATISTICS, "made", shape, chunks, "", is_symmetric=is_symmetric)
    assert array.stored_bytes == count * (8 * int(np.prod(chunks)) + 4)
