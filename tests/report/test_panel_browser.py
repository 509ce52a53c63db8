"""A panel's page in a browser: quiet, sortable, searchable, and readable on a phone."""

import re

import pytest

from hedgerow.report import write_panel_report
from tests.report.panels import features, panel, sales, split
from tests.report.test_accessible import violations

HOSTILE = '<img src=x onerror="alert(2)">'
WIDTH = 375


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    table = sales(stores=("1", "2", HOSTILE))
    history, test = split(table)
    fitted = panel(features=features()).fit(history)
    path = tmp_path_factory.mktemp("panel") / "page.html"
    settings = {"against": {"<b>now</b>": "current"}, "unit": "loaves", "title": HOSTILE}
    return write_panel_report(fitted, test, path, history=history, **settings)


def test_names_stay_text(look, page):
    opened = look(page)
    assert opened.inner_text("h1") == HOSTILE
    names = opened.locator("#series-rows th").all_text_contents()
    assert f"{HOSTILE} · a" in names
    assert opened.locator("main img, main b").count() == 0
    assert opened.locator("#series-rows tr").count() == 6


def test_the_table_is_sorted_and_searched(look, page):
    opened = look(page)

    def values(column):
        names = opened.locator("#series-rows th").all_text_contents()
        return [opened.evaluate(f"(n) => hedgerow.series(n).{column}", name) for name in names]

    assert values("relative") == sorted(values("relative"), reverse=True)
    opened.click("#by-cost")
    assert values("cost") == sorted(values("cost"), reverse=True)
    assert opened.get_attribute("th:has(#by-cost)", "aria-sort") == "descending"
    opened.click("#by-cost")
    assert values("cost") == sorted(values("cost"))
    opened.fill("#find", "2 ·")
    assert opened.locator("#series-rows tr").count() == 2
    opened.fill("#find", "nobody")
    assert opened.inner_text("#series-said") == "No series is called so."
    opened.fill("#find", "")
    before = values("gap")
    opened.select_option("#reference", label="Seasonal naive")
    assert values("gap") != before
    assert "Against Seasonal naive" in opened.inner_text("#series-head")
    opened.select_option("#status", "learned")
    assert opened.locator("#series-rows tr").count() == 6


def test_charts_are_drawn_and_tell_what_one_points_at(look, page):
    opened = look(page)
    for chart in ("period-chart", "step-chart", "orders-0", "sums-0"):
        assert opened.locator(f"#{chart} > svg").count() == 1
    assert opened.locator("#orders-3 > svg").count() == 0
    opened.click("#series-3 summary")
    assert opened.locator("#orders-3 > svg").count() == 1
    opened.hover("#orders-0 > svg")
    said = opened.inner_text("#orders-0-said")
    assert said.startswith("2024-")
    assert "This policy" in said
    opened.hover("#step-chart > svg")
    assert "against <b>now</b>" in opened.inner_text("#step-said")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(look, page, scheme):
    opened = look(page, color_scheme=scheme)
    colour = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, colour[4:-1].split(",")))
    assert (brightness < 200) == (scheme == "dark")


def test_a_phone_scrolls_one_way_only(look, page):
    opened = look(page, viewport={"width": WIDTH, "height": 720})
    assert opened.evaluate("document.documentElement.scrollWidth") == WIDTH


@pytest.mark.slow
def test_numbered_times_and_nothing_to_compare_with(look, tmp_path):
    table = sales(days=60)
    table["date"] = (table["date"] - table["date"].min()).dt.days
    settings = features(step=1, calendar=False, same_weekday=())
    fitted = panel(features=settings, levels=("demand_level",)).fit(table)
    path = write_panel_report(fitted, table[table["date"] > 30], tmp_path / "p.html", history=table)
    opened = look(path)
    assert "need daily or weekly dates" in opened.inner_text("#costs")
    assert opened.locator("#step-chart > svg").count() == 0
    assert "Against" not in opened.inner_text("#series-head")
    opened.hover("#orders-0 > svg")
    assert opened.inner_text("#orders-0-said").split(":")[0] in {str(day) for day in range(31, 60)}
    assert not opened.is_visible("#reference-field")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(look, page, scheme):
    assert violations(look(page, color_scheme=scheme)) == []


@pytest.mark.slow
def test_the_summary_is_one_sheet(look, page):
    opened = look(page)
    opened.evaluate("document.documentElement.dataset.print = 'summary'")
    assert len(re.findall(rb"/Type\s*/Page\b", opened.pdf(format="A4"))) == 1
