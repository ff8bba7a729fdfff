"""The size of the report is bounded, whatever the numbers of datasets, kernels and notes are."""

import pytest

from kernel_pipeline.results.figures.rendering import Rendered
from kernel_pipeline.results.report.html_table import HtmlTable, text_cells
from kernel_pipeline.results.report.limits import MAX_IMAGE_BYTES, MAX_ROWS, limit_sentences
from kernel_pipeline.results.report.page import Page, render_page, report_page
from tests.helpers.drawn import context_of
from tests.helpers.few_figures import all_figures
from tests.helpers.html_page import HtmlPage
from tests.pipeline.results.conftest import Drawn


def images(count: int, size: int) -> list[Rendered]:
    svg = f'<svg viewBox="0 0 9 9">{"<path/>" * (size // 7)}</svg>'.encode()
    found = [Rendered("errors", f"image {number}", "", "wave0", "regression", svg) for number in range(count)]
    return [*found, Rendered("times", "Time per stage", "", svg=svg)]


def test_images_that_are_too_large_together_are_left_out(drawn: Drawn) -> None:
    page = HtmlPage(report_page(context_of(*drawn), images(60, 100_000), {}).decode())
    shown = MAX_IMAGE_BYTES // 100_000
    assert page.count("figure") == shown + 1  # the first ones, and that in the section on timings
    texts = " ".join(page.texts)
    assert f"image {shown - 1} " in texts
    assert f"image {shown} " not in texts
    assert f"{60 - shown} images are left out, since the images of a report may have at most 3 MiB together" in texts
    assert len(page.text) < 5_000_000


def test_images_that_fit_are_not_mentioned(drawn: Drawn) -> None:
    page = HtmlPage(report_page(context_of(*drawn), images(2, 1_000), {}).decode())
    assert page.count("figure") == 3
    assert "images of a report" not in " ".join(page.texts)
    assert limit_sentences(1, 0) == ""
    assert limit_sentences(1, 1).startswith("1 image is left out, ")


@pytest.mark.parametrize(("rows", "is_cut"), [(MAX_ROWS, False), (20_000, True)])
def test_long_tables_are_cut(rows: int, is_cut: bool) -> None:
    table = HtmlTable(("note",), [text_cells(f"note {number}.") for number in range(rows)])
    text = render_page(Page("made", "", "", (), "", HtmlTable((), []), notes=table)).decode()
    assert text.count("note ") >= MAX_ROWS
    assert f"note {MAX_ROWS - 1}." in text
    assert f"note {MAX_ROWS}." not in text
    assert (f"The first {MAX_ROWS} of {rows} rows are shown." in text) == is_cut


def test_figures_that_are_not_drawn_for_all_datasets_are_named() -> None:
    with all_figures():
        assert limit_sentences(20, 0) == ""
        assert "the first 20 of 21 for base_kernels, weights, " in limit_sentences(21, 0)
        assert "; the first 60 of 61 for errors, differences, alignments." in limit_sentences(61, 0)
