"""Create run.zip in this folder: a small finished run directory, which all later versions must be able to read.

When the format changes, rename the old archive and run `python -m tests.assets.make_run`.
"""

import tempfile
import zipfile
from pathlib import Path
from typing import Any

import tomli_w

from tests.helpers.sweeps import pipeline

CONFIG: dict[str, Any] = {
    "name": "small-run",
    "methods": ["unif", "alignf"],
    "protocol": {"folds": 3},
    "fit": {"krr": {"from": -8, "to": 0, "step": 4}},
    "storage": {"tile": 16},
    "dataset": [
        {
            "name": "wave",
            "source": "synthetic",
            "task": "regression",
            "rows": 30,
            "kernels": [{"family": "gaussian", "log2_gamma": [-3, -2]}],
        },
        {
            "name": "columns",
            "source": "synthetic",
            "task": "regression",
            "rows": 30,
            "kernels": [{"family": "rank-one"}],
        },
    ],
}


def make(archive: Path) -> None:
    """Run the sweep, and pack its directory without the logs."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "small.toml").write_text(tomli_w.dumps(CONFIG))
        done = pipeline("run", "small.toml", "--workers", "1", "--out", CONFIG["name"], cwd=Path(folder))
        assert done.returncode == 0, done.stderr
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted((Path(folder) / CONFIG["name"]).rglob("*")):
                if path.is_file() and path.parent.name != "logs":
                    packed.write(path, path.relative_to(folder))


if __name__ == "__main__":
    make(Path(__file__).with_name("run.zip"))
