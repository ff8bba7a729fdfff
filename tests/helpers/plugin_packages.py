"""Create packages with plug-ins, with the files that pip would install."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kernel_pipeline.tasks.kernels.family import FAMILIES

GROUP = "kernel_pipeline.families"
# A family of one kernel, whose body can be replaced.
FAMILY = '''
from dataclasses import dataclass
from kernel_pipeline.tasks.kernels.family import GramFamily

@dataclass(frozen=True)
class Mine(GramFamily):
    """Inner products."""

    def names(self):
        return ("mine",)

    def prepare(self, samples):
        x = samples.features

        def fill(rows, columns, out):
            out[0] = x[rows] @ x[columns].T

        return fill
'''


def install(
    folder: Path, source: str = FAMILY, *, package: str = "my-kernels", family: str = "mine", version: str = "1.0"
) -> Path:
    """Write the files of an installed package with one module and one family; return the folder."""
    module = package.replace("-", "_")
    facts = folder / f"{module}-{version}.dist-info"
    facts.mkdir(parents=True)
    (folder / f"{module}.py").write_text(source)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (facts / "entry_points.txt").write_text(f"[{GROUP}]\n{family} = {module}:Mine\n")
    return folder


@contextmanager
def plugin_folders(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Provide a function that adds a folder to search for plug-ins; all changes are undone after the block."""
    before = set(sys.modules)

    def add(folder: Path) -> None:
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.setattr(FAMILIES, "_plugins", None)

    monkeypatch.setattr(FAMILIES, "_loaded", {})
    yield add
    for name in set(sys.modules) - before:
        if name.startswith(("my_", "other_")):
            del sys.modules[name]
