"""Reports of the shipped sweeps, and of a partly finished run with failures, in a real browser."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from kernel_pipeline.run.report import write_report
from kernel_pipeline.store.local_storage import LocalStorage
from tests.components.browser import Page, needs_chromium, open_browser
from tests.helpers.few_figures import all_figures
from tests.helpers.sweeps import entries_of, fail, forget, pipeline, run_here, small_config

pytestmark = [pytest.mark.components, needs_chromium, pytest.mark.timeout(600)]
T = TypeVar("T")

SMALLER = {
    "default": ["--set", "dataset.digits.rows=150"],
    "paper-gaussian": [
        "--set",
        "protocol.folds=3",
        *(f"--set=dataset.{name}.rows=150" for name in ("german", "splice")),
    ],
    "paper-sentiment": [
        "--set",
        "methods=['unif', 'align', 'alignf', 'l2-krr']",
        *(f"--set=dataset.{name}.rows=150" for name in ("books", "dvd", "electronics", "kitchen")),
    ],
}
"""Settings that shorten the sweeps and keep all of their figures."""
WHOLE = {"paper-sentiment-whole": "paper-sentiment"}
"""Sweeps without such settings, by the name of the test; they run for several minutes."""
UNFINISHED_FIGURES = 14
"""Number of figures in the report of the run that is not finished, which has no files of them."""
MIN_FONT_SIZE = 8.0
"""Smallest allowed font size in pixels."""
MIN_CONTRAST = 3.0
"""Smallest allowed contrast of texts and lines with the background: the level AA of WCAG 2.2 for graphics."""

FIGURES = """[...document.querySelectorAll("figure")].map((figure) => {
  const svg = figure.querySelector("svg"), box = svg.getBoundingClientRect(), drawn = svg.getBBox();
  const scale = box.width / svg.viewBox.baseVal.width;
  const sizes = [...svg.querySelectorAll("text")].map((text) => parseFloat(getComputedStyle(text).fontSize) * scale);
  return {id: figure.id, width: box.width, height: box.height, right: box.right, drawn: drawn.width * drawn.height,
          parts: svg.querySelectorAll("path, use, image").length, letters: Math.min(...sizes)};
})"""
CONTRASTS = """(() => {
  const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).map(Number);
    return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
  const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const found = {};
  document.querySelectorAll("figure").forEach((figure) => {
    const paper = light(getComputedStyle(figure).backgroundColor);
    figure.querySelectorAll("svg text").forEach((text) => {
      const fill = getComputedStyle(text).fill;
      if (fill === "rgb(0, 0, 1)" || fill === "rgb(255, 255, 254)") return;  // on a cell of a heat map
      found[fill] = Math.min(found[fill] ?? 99, ratio(light(fill), paper));
    });
  });
  const body = getComputedStyle(document.body);
  found.body = ratio(light(body.color), light(body.backgroundColor));
  return found;
})()"""
LINKS = """[...document.querySelectorAll("nav a")].map((link) => {
  document.querySelectorAll("details").forEach((details) => details.open = true);
  document.documentElement.style.scrollBehavior = "auto";
  link.click();
  const target = document.querySelector(":target"), top = target?.getBoundingClientRect().top;
  const end = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
  return target !== null && location.hash.length > 1 && (Math.abs(top) < 40 || (end && top < innerHeight));
})"""
CUT = """[...document.querySelectorAll(".scroll")].filter((box) => box.scrollWidth > box.clientWidth + 1)
  .map((box) => box.closest("section").id)"""
ENVIRONMENT_FITS = """(() => {
  const box = [...document.querySelectorAll("#timings .scroll")].at(-1);
  return box.textContent.includes("python") && box.scrollWidth <= box.clientWidth + 1;
})()"""
CONFIG_IS_SHOWN = 'document.querySelector("#config pre").checkVisibility()'
SORTED = """(() => {
  const table = document.querySelector("#fits table"), heading = table.tHead.rows[0].cells[3];
  const order = () => [...table.tBodies[0].rows].map((row) => row.cells[2].textContent);
  const method = table.tHead.rows[0].cells[2];
  method.querySelector("button").click();
  const up = order(), first = method.getAttribute("aria-sort");
  method.querySelector("button").click();
  return {up, down: order(), first, second: method.getAttribute("aria-sort")};
})()"""


@pytest.fixture(
    scope="module",
    params=[
        *SMALLER,
        "unfinished",
        *(pytest.param(name, marks=[pytest.mark.slow, pytest.mark.timeout(3600)]) for name in WHOLE),
    ],
)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run."""
    folder = tmp_path_factory.mktemp(request.param)
    root = folder / "run"
    if request.param == "unfinished":
        plan, _, _ = run_here(root, small_config())
        fail(root, plan, "fits/wave/regression/unif/1", "<b>no</b> luck")
        forget(root, *[name for name in entries_of(root) if name.startswith("fits/flowers/regression/")])
        with all_figures():
            assert not write_report(LocalStorage(root)).is_complete
    else:
        if request.param.startswith("paper") and "PIPELINE_DATA_DIR" not in os.environ:
            pytest.skip("needs the paper's datasets: set PIPELINE_DATA_DIR (configs/README.md, 'Data')")
        config = WHOLE.get(request.param, request.param)
        arguments = ["run", config, *SMALLER.get(request.param, []), "--out", root]
        done = pipeline(*arguments, cwd=folder, root=Path(__file__).parents[2], timeout=3000)  # draws all figures
        assert done.returncode == 0, done.stderr
        drawn = {file.stem.partition("-")[0] for file in (root / "figures").glob("*.svg")}
        assert drawn >= {"errors", "differences", "alignments", "paths", "base_kernels", "times"}
        assert drawn & {"weights", "features"}
    return root / "report.html"


def browse(folder: Path, work: Callable[[Page], Awaitable[T]]) -> T:
    """Call a function with a page of a new browser."""

    async def run() -> T:
        async with open_browser(folder) as page:
            return await work(page)

    return asyncio.run(run())


def check_requests_and_console(page: Page, report: Path) -> None:
    """Check that the page has requested only itself and embedded data, and that the console is empty."""
    assert page.console_messages() == []
    assert [url for url in page.requests() if not url.startswith("data:")] == [report.absolute().as_uri()]


def check_figures(figures: list[dict[str, Any]], width: int) -> None:
    assert figures
    for figure in figures:
        assert figure["width"] > 200, figure
        assert figure["height"] > 40, figure
        assert figure["right"] <= width, figure
        assert figure["drawn"] > 1000, figure
        assert figure["parts"] > 3, figure
        assert figure["letters"] >= MIN_FONT_SIZE, figure


@pytest.mark.parametrize("width", [400, 1600])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_is_readable_and_complete(report: Path, width: int, dark: bool, tmp_path: Path) -> None:
    async def work(page: Page) -> None:
        await page.open(report, width, dark)
        figures = await page.evaluate(FIGURES)
        check_figures(figures, width)
        assert len(figures) == (len([*report.parent.glob("figures/*.svg")]) or UNFINISHED_FIGURES)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        if width == 1600 and report.parents[1].name.startswith("default"):  # sweeps with more methods may be scrolled
            assert "result" not in await page.evaluate(CUT)
        contrasts = await page.evaluate(CONTRASTS)
        assert contrasts["body"] > 7
        assert min(contrasts.values()) >= MIN_CONTRAST, contrasts
        background = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 3 * 80) == dark
        assert await page.screenshot()
        check_requests_and_console(page, report)

    browse(tmp_path, work)


def test_contents_links_and_sorting_work(report: Path, tmp_path: Path) -> None:
    async def work(page: Page) -> None:
        await page.open(report)
        links = await page.evaluate(LINKS)
        assert len(links) >= 9
        assert all(links), links
        found = await page.evaluate(SORTED)
        assert found["up"] == sorted(found["up"])
        assert found["down"] == sorted(found["up"], reverse=True)
        assert (found["first"], found["second"]) == ("ascending", "descending")
        check_requests_and_console(page, report)

    browse(tmp_path, work)


def test_the_page_works_without_scripts_and_in_print(report: Path, tmp_path: Path) -> None:
    async def work(page: Page) -> None:
        await page.open(report, scripts=False)
        document = await page.call("DOM.getDocument")
        for selector in ("figure svg", "#result table", "#fits table", "nav a"):
            assert (await page.call("DOM.querySelector", nodeId=document["root"]["nodeId"], selector=selector))[
                "nodeId"
            ]
        button = await page.call("DOM.querySelector", nodeId=document["root"]["nodeId"], selector="thead button")
        assert not button["nodeId"]
        printed = await page.pdf()
        assert printed.startswith(b"%PDF")
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 2
        check_requests_and_console(page, report)

    browse(tmp_path, work)


def test_long_texts_are_wrapped_and_all_of_the_page_is_printed(report: Path, tmp_path: Path) -> None:
    async def work(page: Page) -> None:
        await page.open(report, 400)
        assert await page.evaluate(ENVIRONMENT_FITS)
        assert not await page.evaluate(CONFIG_IS_SHOWN)
        await page.call("Emulation.setEmulatedMedia", media="print")
        assert await page.evaluate(CONFIG_IS_SHOWN)

    browse(tmp_path, work)
