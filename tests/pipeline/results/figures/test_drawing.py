"""Every figure is drawn from the available results, with the same bytes each time."""

import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest

from kernel_pipeline.results.figures.figure import FIGURES, Drawing, Figure
from kernel_pipeline.results.figures.rendering import render_figures
from kernel_pipeline.results.figures.style import shortened
from kernel_pipeline.results.view import Results
from tests.helpers.drawn import context_of, drawn_config, figures_of
from tests.helpers.few_figures import all_figures
from tests.helpers.sweeps import run_here
from tests.pipeline.results.conftest import Drawn
from tests.pipeline.test_extensions.registering import registered

OF_THE_RUN = ("ranks-regression", "times")
OF_DATASETS = (
    "errors",
    "differences",
    "alignments",
    "base_kernels",
    "weights",
    "stages_compared",
    "paths",
    "kernel_alignments",
)


@pytest.fixture(scope="module")
def files(drawn: Drawn) -> dict[str, bytes]:
    return figures_of(context_of(*drawn))


def test_all_figures_are_drawn_as_svg_and_png(files: dict[str, bytes]) -> None:
    stems = [*OF_THE_RUN, *(f"{name}-wave{k}-regression" for name in OF_DATASETS for k in range(4))]
    assert sorted(files) == sorted(f"{stem}.{extension}" for stem in stems for extension in ("svg", "png"))
    for name, content in files.items():
        if name.endswith(".png"):
            assert content.startswith(b"\x89PNG")
            assert struct.unpack(">I", content[16:20])[0] == 800  # four inches
        else:
            assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"


def test_figures_do_not_depend_on_the_settings_of_the_user(drawn: Drawn, files: dict[str, bytes]) -> None:
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": None}):
        assert figures_of(context_of(*drawn)) == files
        assert mpl.rcParams["font.size"] == 20


def test_figures_contain_neither_dates_nor_versions(files: dict[str, bytes]) -> None:
    for content in files.values():
        assert b"Matplotlib" not in content
        assert b"dc:date" not in content
        assert b"tIME" not in content


def test_labels_are_texts_that_can_be_searched(files: dict[str, bytes]) -> None:
    texts = list(ElementTree.fromstring(files["errors-wave0-regression.svg"]).itertext())
    assert {"unif", "alignf", "best-kernel", "l2-krr", "RMSE on the test fold"} <= set(texts)


def test_a_run_without_results_has_no_figures(drawn: Drawn) -> None:
    root, plan, finished = drawn
    lost = {name: replace(report, failed="failed: lost", result_json=b"{}") for name, report in finished.items()}
    assert {name.partition(".")[0] for name in figures_of(context_of(root, plan, lost))} == {"times"}
    pending = {task.name for task in plan.tasks}
    assert not figures_of(context_of(root, plan, {}, pending))


def test_of_many_kernels_only_the_strongest_are_shown(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("many")
    dataset = {"name": "many", "source": "synthetic", "task": "regression", "rows": 60, "features": 50}
    config = drawn_config(
        methods=["unif", "align", "l2-krr"], dataset=[dataset | {"kernels": [{"family": "rank-one"}]}]
    )
    plan, _, finished = run_here(root, config)
    context = context_of(root, plan, finished)
    files = figures_of(context)
    assert "weights-many-regression.svg" not in files
    assert "kernel_alignments-many-regression.svg" not in files
    texts = list(ElementTree.fromstring(files["features-many-regression.svg"]).itertext())
    weights = Results(context).mean_weights("many", "regression")["align"]
    strongest = [plan.datasets[0].kernels[k] for k in np.argsort(-weights)[:15]]
    assert [text.lstrip("+− ") for text in texts if text.lstrip("+− ") in strongest] == strongest


def test_a_figure_that_cannot_be_drawn_is_reported_and_the_others_are_drawn(
    drawn: Drawn, files: dict[str, bytes]
) -> None:
    class Broken(Figure):
        name = "broken"

        def draw(self, results: Results) -> Iterator[Drawing]:
            raise ValueError("no such <column>")

    with registered(FIGURES, "broken", Broken()), all_figures():
        rendered = list(render_figures(Results(context_of(*drawn)), png=False))
    (broken,) = [figure for figure in rendered if not figure.svg]
    assert broken.caption == "This figure could not be drawn: ValueError: no such <column>"
    assert 2 * (len(rendered) - 1) == len(files)


def test_shortened_labels_are_never_longer() -> None:
    assert all(len(shortened("x" * length)) <= 26 for length in range(60))


def test_the_order_of_figures_does_not_depend_on_imports() -> None:
    """The report of a process that has imported other modules first must have the same bytes."""
    code = "from kernel_pipeline.results.figures.figure import BUILT_IN, FIGURES\nprint(tuple(FIGURES) == BUILT_IN)"
    for first in (
        "",
        "import kernel_pipeline.results.figures.weights\n",
        "import kernel_pipeline.results.figures.times\n",
    ):
        done = subprocess.run([sys.executable, "-c", first + code], capture_output=True, text=True, check=True)
        assert done.stdout == "True\n", first
