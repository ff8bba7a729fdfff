"""Sweeps that are too large for memory or disk: one message, its exit code, and nothing written."""

from pathlib import Path

import pytest

from kernel_pipeline.text import format_bytes
from tests.helpers.build import ROWS, changed, config_values, put, put_config
from tests.pipeline.cli.refusals import GAMMA, refused


def test_a_sweep_too_large_for_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, ROWS)
    put_config(folder, config_values())
    monkeypatch.setattr("kernel_pipeline.run.options.worker_limits", lambda profile: (7, 100 << 20))
    text = refused(folder, "sweep.toml")
    for word in ("Error: dataset 'things'", "stage", "MiB", "7 worker(s)", "100 MiB", "--workers 1"):
        assert word in text
    assert "fewer rows (9 now" in text or "a smaller [storage] tile" in text


@pytest.mark.parametrize(
    ("rows", "tile", "stage", "advice"),
    [(1000, 10, "fits", "fewer rows (1000 now"), (1000, 1000, "tiles", "a smaller [storage] tile")],
)
def test_what_to_change_depends_on_the_stage_that_is_too_large(
    rows: int, tile: int, stage: str, advice: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = changed(config_values(task="regression"), GAMMA, [-9, 9] if stage == "tiles" else [0, 1])
    put(folder, "".join(f"{i},{i * i % 97}\n" for i in range(rows)))
    put_config(folder, values | {"storage": {"tile": tile}})
    monkeypatch.setattr("kernel_pipeline.run.options.worker_limits", lambda profile: (1, 1 << 20))
    text = refused(folder, "sweep.toml")
    assert f"stage {stage!r}" in text
    assert advice in text


def test_a_sweep_too_large_for_the_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, ROWS)
    put_config(folder, config_values())
    monkeypatch.setattr("kernel_pipeline.store.local_storage.LocalStorage.free_bytes", lambda root: 900)
    text = refused(folder, "sweep.toml", "--out", "there")
    # One tile of 9 x 9, for two kernels and for one method in three trials; the sums; two features, a label, the order
    # and the folds; the statistics, weights, certificate and predictions of each trial. Each of the 78 chunks has a
    # checksum.
    floats = 9 * 9 * (2 + 3) + (3 * 3 * 2 * (2 + 1) + (3 + 1) * 2 * 9) + 9 * 5
    floats += 3 * (4 * 4 + 13 * 2 + 4 + 2 + 1 + 9)
    assert 8 * floats + 4 * 78 == 6312
    for word in ("6.16 KiB", "there has 900 B free", "--out"):
        assert word in text


def test_the_message_about_a_full_disk_states_the_needs_of_recomputing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, ROWS)
    put_config(folder, config_values())
    monkeypatch.setattr("kernel_pipeline.store.local_storage.LocalStorage.free_bytes", lambda root: 900)
    text = refused(folder, "sweep.toml")
    # Without the four chunks of 9 x 9 numbers, for two kernels together and for three trials.
    assert "[storage] gram = 'recompute', or a smaller keep_up_to" in text
    assert f"then {format_bytes(6312 - 8 * 9 * 9 * (2 + 3) - 4 * 4)} are needed" in text
    text = refused(folder, "sweep.toml", "--set", "storage.gram=recompute")
    assert "keep_up_to" not in text
