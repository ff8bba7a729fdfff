"""The installed wheel, away from any source tree."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.run.sweeps import pipeline


def test_the_wheel_runs_the_default_sweep_from_a_foreign_directory(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="builds the wheel: pip install hatchling")
    source, wheels, site, elsewhere = (
        Path(__file__).parents[2],
        tmp_path / "wheels",
        tmp_path / "site",
        tmp_path / "elsewhere",
    )
    elsewhere.mkdir()
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True, capture_output=True)
    (wheel,) = wheels.iterdir()
    install = ["install", "--quiet", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, capture_output=True)
    assert sorted(entry.name for entry in site.iterdir() if entry.is_dir() and entry.suffix == "") == [
        "bin",
        "cluster",
        "configs",
        "pipeline",
        "tasks",
    ]
    listed = pipeline("configs", cwd=elsewhere, root=site)
    assert "default" in listed.stdout
    assert "paper-gaussian" in listed.stdout
    done = pipeline(
        "run",
        "--set",
        "methods=['alignf']",
        "--set",
        "dataset.diabetes.rows=60",
        "--set",
        "dataset.breast-cancer.rows=60",
        cwd=elsewhere,
        root=site,
    )
    assert done.returncode == 0, done.stderr
    assert "breast-cancer" in done.stdout
    assert list(elsewhere.glob("runs/default-*/results/summary.md"))
