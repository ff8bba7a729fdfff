"""The installed wheel, outside of any source tree."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.sweeps import pipeline


def test_the_wheel_runs_the_default_sweep_from_another_directory(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="77", reason="builds the wheel: pip install 'setuptools>=77'")
    source, wheels, site, elsewhere = (
        Path(__file__).parents[1],
        tmp_path / "wheels",
        tmp_path / "site",
        tmp_path / "elsewhere",
    )
    elsewhere.mkdir()
    copied = tmp_path / "source"  # setuptools builds in the source tree, and would pack files of earlier builds
    for name in ("pipeline", "tasks", "cluster", "configs"):
        shutil.copytree(source / name, copied / name)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(source / name, copied)
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(copied)]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True, capture_output=True)
    (wheel,) = wheels.iterdir()
    install = ["install", "--quiet", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, capture_output=True)
    folders = sorted(entry.name for entry in site.iterdir() if entry.is_dir() and entry.suffix == "")
    assert folders == ["bin", "kernel_pipeline"]
    assert (site / "kernel_pipeline/configs/paper-tables.csv").is_file()
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
        "--set",
        "dataset.digits.rows=100",
        cwd=elsewhere,
        root=site,
    )
    assert done.returncode == 0, done.stderr
    assert "breast-cancer" in done.stdout
    assert list(elsewhere.glob("runs/default-*/results/summary.md"))
