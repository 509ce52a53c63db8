"""Everybody can read the pages: WCAG 2.1 AA by axe-core, on a phone, in the dark, on one sheet."""

import re
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.report.watching import write_watch_page

axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is missing")
ENGINE = Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


def violations(page):
    """What axe finds, as sentences: rule, where, and why."""
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    page.evaluate(ENGINE)  # by the debugger: the page itself may run nothing but its own script
    found = page.evaluate("(levels) => axe.run(document, {runOnly: levels})", LEVELS)
    assert found["passes"], "axe has looked at nothing"
    return [
        f"{one['id']}: {node['html'][:120]} ({node['failureSummary'][:300]})"
        for one in found["violations"]
        for node in one["nodes"][:3]
    ]


@pytest.fixture(scope="module")
def watch_page(tmp_path_factory):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), rng.uniform(5, 9, 60)
    policy = hr.RobustPolicy.from_function(
        lambda x: x[:1] * 0 + 7.0, hr.Newsvendor(1, 3), X, Y, ambiguity=hr.ERM()
    )
    found = hr.watch(policy, X + 3, Y, bound=5.0, history=(X, Y))
    path = tmp_path_factory.mktemp("watch") / "watch.html"
    return write_watch_page(found, path, "new.csv", date="2020-03-01")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_report(look, hedged_page, scheme):
    assert violations(look(hedged_page, color_scheme=scheme)) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_watch(look, watch_page, scheme):
    page = look(watch_page, color_scheme=scheme, viewport={"width": 360, "height": 720})
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.inner_text(".brand").split() == ["hedgerow", "watch"]


def test_axe_would_find_something(look, hedged_page):
    page = look(hedged_page)
    page.evaluate("document.querySelector('.lead').style.color = '#dddddd'")
    assert any(one.startswith("color-contrast") for one in violations(page))


def test_the_summary_is_one_sheet_and_all_of_it_more(look, hedged_page):
    page = look(hedged_page)

    def sheets():
        return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))

    everything = sheets()
    page.evaluate("document.documentElement.dataset.print = 'summary'")
    assert sheets() == 1 < everything
    page.evaluate("document.documentElement.dataset.print = 'summary'")  # taken off after printing
    page.emulate_media(media="print")
    for shown in ("h1", ".tiles", "#cost-chart", "#importance .bars"):
        assert page.locator(shown).first.is_visible()
    for hidden in ("#whatif", "#trees", "#words", "#row-chart"):
        assert not page.locator(hidden).is_visible()


def test_the_button_prints_the_summary_and_leaves_no_trace(look, hedged_page):
    page = look(hedged_page)
    page.evaluate("window.print = () => { window.asked = document.documentElement.dataset.print }")
    page.get_by_role("button", name="Print summary").click()
    assert page.evaluate("window.asked") == "summary"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.print") is None


def test_one_number_for_each_question(look, hedged_page):
    page = look(hedged_page)
    questions = page.locator(".tiles dt").all_text_contents()
    assert len(questions) == 4
    assert all(question.endswith("?") for question in questions)
    bottom = page.locator(".tiles").bounding_box()
    assert bottom["y"] + bottom["height"] < 700  # in the first window
    assert not page.locator(".facts").is_visible()
    page.get_by_text("About this policy").press("Enter")
    assert page.locator(".facts").is_visible()
