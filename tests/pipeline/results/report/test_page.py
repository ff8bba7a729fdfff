"""The report is one self-contained page, which depends only on the results and escapes all texts."""

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_pipeline.results.report.html_table import HtmlTable
from kernel_pipeline.results.report.page import DatasetSection, Page, page_without_data, render_page
from tests.helpers.build import put
from tests.helpers.drawn import context_of, drawn_config, report_of
from tests.helpers.html_page import HtmlPage, sections
from tests.helpers.sweeps import run_here
from tests.pipeline.results.conftest import Drawn

HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>&amp;\x1b[31m'


@pytest.fixture(scope="module")
def text(drawn: Drawn) -> str:
    return report_of(context_of(*drawn))


@pytest.fixture(scope="module")
def page(text: str) -> HtmlPage:
    return HtmlPage(text)


def test_the_page_has_no_external_references(text: str, page: HtmlPage) -> None:
    links = [*page.values("href"), *page.values("src"), *page.values("xlink:href"), *page.values("action")]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert set(re.findall(r"url\((.)", text)) <= {"#"}
    assert "@import" not in text
    assert "://" not in text.replace("http://www.w3.org", "")


def test_identifiers_are_unique_and_links_have_targets(page: HtmlPage) -> None:
    identifiers = page.values("id")
    assert len(identifiers) == len(set(identifiers))
    links = [link for link in page.values("href") if link.startswith("#")]
    assert links
    assert {link[1:] for link in links} <= set(identifiers)
    assert set(re.findall(r"url\(#([^)]+)\)", page.text)) <= set(identifiers)


def test_the_policy_allows_only_the_script_of_the_page(page: HtmlPage) -> None:
    (policy,) = [value for value in page.values("content") if "default-src" in value]
    (script,) = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


def test_every_figure_is_on_the_page_in_the_colours_of_the_page(page: HtmlPage) -> None:
    assert page.count("svg") == page.count("figure") == page.count("figcaption") == 4 * 8 + 2
    images = "".join(re.findall(r"<svg.*?</svg>", page.text, re.DOTALL))
    (style,) = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
    classes = dict(re.findall(r"^\.(s\d+)\{(.*)\}$", style, re.MULTILINE))
    assert set(re.findall(r'class="([^"]+)"', images)) == set(classes)
    used = " ".join([images, *classes.values()])
    assert "fill: var(--ink)" in used
    assert set(re.findall(r"#[0-9a-f]{6}", used)) <= {"#000001", "#fffffe"}  # numbers inside of a heat map
    assert set(re.findall(r"var\(--([a-z-]+)\)", used)) <= set(re.findall(r"--([a-z-]+):", style))


def test_the_style_sheet_refers_only_to_parts_of_the_page(page: HtmlPage) -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
    named = {name for selectors in re.findall(r"([^{};]*)\{", style) for name in re.findall(r"#([a-z-]+)", selectors)}
    assert named
    assert named <= set(page.values("id"))


def test_results_are_stated_at_the_top(drawn: Drawn, page: HtmlPage) -> None:
    shown = " ".join(page.texts)
    rows = context_of(*drawn).required_table("rows")
    best = rows[rows["dataset"] == "wave2"].groupby("method")["error"].mean()
    assert re.search(rf"wave2 regression {best.idxmin()} \S+ is best", shown)
    assert "No task failed." in shown
    assert re.search(r"significantly better than unif|against unif", sections(page.text)["result"])
    assert "not complete" not in shown


def test_the_sentence_about_the_only_dataset_is_stated_once() -> None:
    sections = [DatasetSection(f"{name}-regression", name, "regression", f"{name} .1 is best.", ()) for name in "ab"]
    page = Page("made", "", "", (), "", HtmlTable((), []), sections=sections)
    assert render_page(page).count(b"a .1 is best.") == 2
    assert render_page(replace(page, sections=sections[:1])).count(b"a .1 is best.") == 1


def test_only_one_section_depends_on_the_machine(drawn: Drawn, tmp_path: Path) -> None:
    plan, _, finished = run_here(tmp_path, drawn_config())  # the same results with other times
    one = sections(report_of(context_of(*drawn), {"python": "3.11.4", "cpu": {"cores": 2}}))
    other = sections(report_of(context_of(tmp_path, plan, finished), {"python": "3.12.0", "host": "other"}))
    assert list(other) == list(one)
    assert {name for name in one if other[name] != one[name]} == {"timings"}
    assert "3.11.4" in one["timings"]


def test_names_and_messages_are_escaped(tmp_path: Path) -> None:
    header = "a,<b>bold</b>,target"
    lines = [f"{k},{k * k % 7},{'<i>yes</i>' if k % 2 else HOSTILE.replace(',', '')}" for k in range(30)]
    lines = [line.replace('"', "") for line in lines]
    put(tmp_path, "\n".join([header, *lines]))
    dataset = {"name": "things", "task": "classification", "source": "file", "path": "things.csv", "format": "csv"}
    config = drawn_config(
        description=HOSTILE,
        methods=["unif", "align"],
        fit={"svm": {"from": 0, "to": 4, "step": 2}},
        dataset=[dataset | {"kernels": [{"family": "rank-one"}]}],
    )
    plan, _, finished = run_here(tmp_path, config)
    name = next(name for name in finished if name.startswith("fits/"))
    broken = {**finished, name: replace(finished[name], failed=f"failed: {HOSTILE}", result_json=b"{}")}
    page = HtmlPage(report_of(context_of(tmp_path, plan, broken), {HOSTILE: HOSTILE}))
    assert page.count("img") == page.count("i") == 0
    assert page.count("script") == 1
    shown = HOSTILE.replace("\x1b", r"\x1b")
    assert sum(shown in text for text in page.texts) >= 4  # description, failure, environment (name and value)
    assert "\x1b" not in page.text


def test_an_unfinished_run_shows_what_is_finished(drawn: Drawn) -> None:
    root, plan, finished = drawn
    kept = {name: report for name, report in finished.items() if "/wave3/" not in name and "/wave2/" not in name}
    failing = next(name for name in kept if name.startswith("fits/wave0/regression/unif"))
    kept[failing] = replace(kept[failing], failed="failed: out of luck", result_json=b"{}")
    pending = finished.keys() - kept.keys()
    page = HtmlPage(report_of(context_of(root, plan, kept, pending)))
    shown = " ".join(page.texts)
    assert (
        f"This report is not complete: {len(pending)} of {len(plan.tasks)} tasks of the run have not been run" in shown
    )
    assert "failed: out of luck" in shown
    assert "not run yet" not in sections(page.text)["failures"]
    assert page.count("figure") == 2 * 8 + 1  # two datasets are too few for ranks
    assert "1 of 3 trials missing" in shown
    assert "There are no results yet." in sections(page.text)["datasets"]


def test_a_run_that_has_just_started(drawn: Drawn) -> None:
    _, plan, finished = drawn
    page = HtmlPage(page_without_data(plan.config, {"python": "3.11"}).decode())
    shown = " ".join(page.texts)
    assert "the data of the run are not stored yet" in shown
    assert "There are no results yet." in shown
    assert 'name = "drawn"' in shown
    empty = HtmlPage(report_of(context_of(drawn[0], plan, {}, finished.keys())))
    assert f"{len(plan.tasks)} of {len(plan.tasks)} tasks" in " ".join(empty.texts)
    assert empty.count("figure") == 0
