"""Build the API reference from docstrings: `python .ci/reference.py FOLDER`. Warnings are errors.

The public names of the package are imported when they are first used, which pdoc does not do; therefore they are
set as attributes first.
"""

import sys
import warnings
from pathlib import Path

import pdoc

import kernel_pipeline
import kernel_pipeline.api

MODULES = (
    "kernel_pipeline",
    r"!kernel_pipeline\.(plan|run)",  # subpackages that have the name of a public function
    "kernel_pipeline.events",
    "kernel_pipeline.tasks.kernels.family",
    "kernel_pipeline.tasks.parameters",
    "kernel_pipeline.tasks.weights.method",
    "kernel_pipeline.tasks.learners.one_stage",
    "kernel_pipeline.cluster.backend",
    "kernel_pipeline.results.table",
    "kernel_pipeline.results.figures.figure",
)
"""The public API, and the base classes of extensions."""


def build(folder: Path) -> None:
    """Write one HTML page per module to a folder."""
    for name in kernel_pipeline.__all__:
        public = getattr(kernel_pipeline.api, name, None) or getattr(kernel_pipeline, name)
        setattr(kernel_pipeline, name, public)
    warnings.simplefilter("error")
    pdoc.render.configure(docformat="numpy", footer_text=f"kernel-pipeline {kernel_pipeline.__version__}")
    pdoc.pdoc(*MODULES, output_directory=folder)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
