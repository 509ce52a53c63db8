"""The page in a browser: what it computes is what Python computes, and people can get at it."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow import explain
from hedgerow.describe.text import shown
from hedgerow.report import write_report
from tests.report.conftest import invented
from tests.rules.outside import PagedTanh, Tanh

WIDTH, HEIGHT = 375, 720


def close(found, expected, tolerance=1e-6):
    """Equal relative to the largest number: float32 rounding counts against that one."""
    found, expected = np.asarray(found), np.asarray(expected)
    size = np.abs(expected).max()
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * size)


def ask(page, expression, *given):
    return page.evaluate(f"(given) => hedgerow.{expression}", list(given))


def decided(page):
    return float(page.get_attribute("#decision .big", "data-value"))


def encoded(policy, **values):
    frame = pd.DataFrame([values])
    return policy.encoder_.transform(frame)


def test_values_of_a_category_are_shown_as_shares(look, hedged_page):
    """A column for each value, its name below; how shares change is said."""
    page = look(hedged_page)
    figure = page.locator("#panels figure", has_text="sky")
    assert figure.locator("rect.column").count() == 3
    assert figure.locator("text.tick").all_text_contents() == ["fog", "rain", "sun"]
    assert "sun: " in figure.inner_text()
    assert " → " in figure.inner_text()


class TestAgreement:
    """The script against ``predict`` and ``explain``, on every kind of rule."""

    def check(self, page, policy, X, rows=(0, 1, 2), tolerance=1e-6):
        X = np.asarray(X, dtype=float)
        lens = explain.lens.lens_of(policy)
        background = ask(page, "background()")
        for x in X[list(rows)]:
            close(ask(page, "decide(given[0])", x.tolist()), lens.decide(x[None])[0], tolerance)
            found = ask(page, "attribute(given[0])", x.tolist())
            expected = explain.attribute(policy, x, background, tolerance=1e-9)
            close(found["baseline"], expected.baseline, tolerance)
            size = np.abs(expected.decision).max()
            np.testing.assert_allclose(found["values"], expected.values, atol=tolerance * size)
            assert found["gap"] < 1e-9 * size

    def test_a_trained_forest(self, look, hedged, hedged_page, table):
        page = look(hedged_page)
        X = hedged.encoder_.transform(table)
        decisions = hedged.predict(X)
        for i in (0, 3, 40, 69):
            x = X.to_numpy()[i]
            close(ask(page, "row(given[0])", i + 1), x, 0)
            close(ask(page, "decide(given[0])", x.tolist()), decisions[i : i + 1])
        self.check(page, hedged, X)
        routes = explain.routes(hedged, X[:2]).probabilities
        for tree in range(4):
            close(
                ask(page, "routes(given[0], given[1])", X.to_numpy()[1].tolist(), tree),
                routes[1, tree],
            )

    @pytest.mark.parametrize(
        "rule",
        [
            hr.SoftForest(trees=3, depth=4, temperature=0.3, features_per_tree=2),
            hr.Affine(),
            hr.TwoLayer(width=12),
            hr.Constant(),
        ],
        ids=lambda rule: type(rule).__name__,
    )
    @pytest.mark.slow
    def test_every_rule_on_every_decision_set(self, look, tmp_path, rule):
        rng = np.random.default_rng(1)
        X, Y = rng.normal(size=(40, 4)) * [1, 10, 0.1, 3] + [0, 50, 0, -2], rng.normal(size=40) + 3
        sets = hr.Product(
            hr.Free(1),
            hr.Nonnegative(1),
            hr.Box([0.0, -np.inf, 1.0, -np.inf], [2.0, 5.0, np.inf, np.inf]),
            hr.Simplex(3),
        )
        loss = hr.CustomLoss(_square, sets)
        policy = invented(loss, X, Y, rule)
        page = look(write_report(policy, X, Y, tmp_path / "page.html"))
        self.check(page, policy, X, rows=(0, 17, 39))

    @pytest.mark.slow
    def test_sharp_gates(self, look, tmp_path):
        rng = np.random.default_rng(2)
        X, Y = rng.normal(size=(40, 3)), rng.uniform(1, 2, 40)
        rule = hr.SoftForest(trees=2, depth=2, temperature=0.02)
        policy = invented(hr.Newsvendor(1, 2), X, Y, rule)
        page = look(write_report(policy, X, Y, tmp_path / "page.html"))
        self.check(page, policy, X, rows=(5, 6))

    @pytest.mark.slow
    def test_hard_gates(self, look, tmp_path):
        """Jumps, not slopes; shared as in Python, and nothing is left over."""
        rng = np.random.default_rng(2)
        X, Y = rng.normal(size=(40, 3)), rng.uniform(1, 2, 40)
        rule = hr.SoftForest(trees=3, depth=(1, 3, 2))
        policy = invented(hr.Newsvendor(1, 2), X, Y, rule).hardened()
        page = look(write_report(policy, X, Y, tmp_path / "page.html"))
        self.check(page, policy, X, rows=(5, 6))
        assert "With hard gates it decides as the soft policy" in page.inner_text("body")

    @pytest.mark.slow
    @pytest.mark.parametrize("seen", [None, 2])
    def test_linear_leaves(self, look, tmp_path, seen):
        rng = np.random.default_rng(4)
        X, Y = rng.normal(size=(40, 3)) * [1, 10, 0.1], rng.uniform(1, 2, 40)
        sets = hr.Product(hr.Free(1), hr.Nonnegative(1), hr.Simplex(3))
        rule = hr.SoftForest(trees=3, depth=2, leaves="linear", features_per_tree=seen)
        policy = invented(hr.CustomLoss(_square, sets), X, Y, rule)
        page = look(write_report(policy, X, Y, tmp_path / "page.html"))
        lens, background = explain.lens.lens_of(policy), ask(page, "background()")
        for x in X[:2]:
            close(ask(page, "decide(given[0])", x.tolist()), lens.decide(x[None])[0])
            found = ask(page, "attribute(given[0])", x.tolist())
            expected = explain.attribute(policy, x, background, tolerance=1e-9)
            size = np.abs(expected.values).max()
            # central differences on 16 nodes along every line
            np.testing.assert_allclose(found["values"], expected.values, atol=1e-4 * size)

    @pytest.mark.slow
    def test_a_rule_from_outside_that_only_decides(self, look, tmp_path):
        rng = np.random.default_rng(3)
        X, Y = rng.normal(size=(40, 3)) * [1, 10, 0.1], rng.uniform(1, 2, 40)
        policy = invented(hr.CustomLoss(_square, hr.Free(2)), X, Y, PagedTanh())
        page = look(write_report(policy, X, Y, tmp_path / "page.html"))
        lens, background = explain.lens.lens_of(policy), ask(page, "background()")
        for x in X[:2]:
            decision = lens.decide(x[None])[0]
            close(ask(page, "decide(given[0])", x.tolist()), decision)
            found = ask(page, "attribute(given[0])", x.tolist())
            expected = explain.attribute(policy, x, background, tolerance=1e-9)
            size = np.abs(expected.values).max()
            # central differences on 16 nodes along every line
            np.testing.assert_allclose(found["values"], expected.values, atol=1e-5 * size)
            assert found["gap"] < 1e-5 * size
        assert page.locator("#routes-card").count() == 0

    @pytest.mark.slow
    def test_a_rule_without_a_page_form_is_shown_but_not_computed(self, look, tmp_path):
        rng = np.random.default_rng(3)
        X, Y = rng.normal(size=(40, 3)), rng.uniform(1, 2, (40, 2))
        policy = invented(hr.Newsvendor(1, 2), X, Y, Tanh())
        page = look(write_report(policy, X, Y, tmp_path / "page.html"))
        assert "(write TanhRule.page_form)" in page.inner_text("#whatif")
        assert page.locator("#controls").count() == 0
        first = page.inner_html("#row-chart")
        page.locator("#costs select").select_option("1")
        assert page.inner_html("#row-chart") != first
        assert "Click a row" not in page.inner_text("#row-caption")
        assert page.locator("#cost-chart svg").count() == 1


def _square(z, y):
    return ((z - y) ** 2).sum(-1)


class TestWhatIf:
    @pytest.mark.slow
    def test_begins_at_the_row_asked_for(self, look, hedged, hedged_page, table):
        page = look(hedged_page)
        X = hedged.encoder_.transform(table)
        assert page.input_value("#row") == "7"
        close([decided(page)], hedged.predict(X[6:7]))
        assert page.inner_text("#decision .change") == "as on day 7"
        assert f"{table['demand'][6]:g} portions" in page.inner_text("#row-said")

    def test_a_slider_changes_decision_reasons_and_routes(self, look, hedged, hedged_page, table):
        page = look(hedged_page)
        before, why = decided(page), page.inner_text("#waterfall")
        tree = page.get_attribute("#tree svg", "aria-label"), page.inner_html("#tree")
        page.get_by_label("wind", exact=True).focus()
        for _ in range(40):
            page.keyboard.press("ArrowRight")
        row = table.iloc[6]
        value = float(page.input_value("[aria-label='wind, exact value']"))
        assert value > row["wind"] + 1
        x = encoded(
            hedged,
            day=row["day"],
            sky=row["sky"],
            party=row["party"],
            wind=value,
            guests=row["guests"],
        )
        close([decided(page)], hedged.predict(x))
        assert decided(page) != before
        assert "against day 7" in page.inner_text("#decision .change")
        page.wait_for_function(
            "(old) => document.getElementById('waterfall').innerText !== old", arg=why
        )
        assert f"wind: {value:g}" in page.inner_text("#waterfall")
        assert page.inner_html("#tree") != tree[1]
        page.click("#again")
        assert decided(page) == before

    @pytest.mark.slow
    def test_number_choice_switch_and_date(self, look, hedged, hedged_page, table):
        page = look(hedged_page)
        page.fill("[aria-label='wind, exact value']", "25.5")
        assert "outside the data" in page.inner_text(".control.number >> nth=0")
        page.select_option("select:near(:text('sky'))", "fog")
        page.get_by_label("party", exact=True).set_checked(not bool(table["party"][6]))
        page.get_by_label("day", exact=True).fill("2024-02-29")
        assert "Thursday" in page.inner_text(".control.date")
        party, guests = 1 - int(table["party"][6]), int(table["guests"][6])
        values = {"day": "2024-02-29", "sky": "fog", "party": party, "wind": 25.5, "guests": guests}
        x = encoded(hedged, **values)
        close(ask(page, "state().x"), x.to_numpy()[0], 0)
        close(ask(page, "encode(given[0])", values), x.to_numpy()[0], 0)
        close([decided(page)], hedged.predict(x))

    def test_the_date_moves_what_follows_from_it(self, look, tmp_path):
        rng = np.random.default_rng(0)
        days = pd.date_range("2020-01-06", periods=60)
        table = pd.DataFrame({"wind": rng.normal(size=60), "weekday": days.day_of_week + 1.0})
        table["weekend"] = (days.day_of_week > 4).astype(float)
        Y = rng.uniform(5, 9, 60)
        policy = invented(hr.Newsvendor(1, 3), table, Y, hr.SoftForest(2, 2))
        page = look(write_report(policy, table.set_index(days), Y, tmp_path / "page.html"))
        assert page.locator(".control").count() == 2  # the date and the wind
        assert "sets weekday, weekend as well" in page.inner_text(".control.date")
        page.get_by_label("date", exact=True).fill("2020-08-09")  # a Sunday
        wind = table["wind"][0]
        np.testing.assert_allclose(ask(page, "state().x"), [wind, 7, 1])
        close([decided(page)], policy.predict(pd.DataFrame([[wind, 7.0, 1.0]], columns=[*table])))
        page.click("#again")
        np.testing.assert_allclose(ask(page, "state().x"), [wind, 1, 0])
        axis = page.locator("#row-chart text.tick").all_text_contents()
        assert any("Jan" in text for text in axis)

    def test_how_bad_the_decision_can_turn_out(self, look, hedged_page):
        page = look(hedged_page)
        assert "at worst within the hedge" in page.inner_text("#today")
        assert page.get_attribute("#today", "data-known") == "true"
        page.get_by_label("party", exact=True).click()
        assert "not for changed inputs" in page.inner_text("#today")
        page.click("#again")
        assert "at worst within the hedge" in page.inner_text("#today")
        page.click("#typical")
        assert page.get_attribute("#today", "data-known") == "false"

    @pytest.mark.slow
    def test_nonsense_leaves_the_last_decision(self, look, hedged_page):
        page = look(hedged_page)
        before = decided(page)
        page.fill("[aria-label='wind, exact value']", "")
        page.get_by_label("day", exact=True).fill("")
        page.fill("#row", "")
        page.dispatch_event("#row", "change")
        assert decided(page) == before

    @pytest.mark.slow
    def test_rows_can_be_picked(self, look, hedged, hedged_page, table):
        page = look(hedged_page)
        decisions = hedged.predict(hedged.encoder_.transform(table))
        page.click("#next")
        close([decided(page)], decisions[7:8])
        page.click("#previous")
        page.click("#previous")
        close([decided(page)], decisions[5:6])
        page.fill("#row", "70")
        page.keyboard.press("Enter")
        close([decided(page)], decisions[69:])
        page.click("#next")
        assert ask(page, "state().row") == 1
        page.click("#typical")
        values = ask(page, "state().values")
        assert values[1] == table["sky"].mode()[0]
        assert values[3] == pytest.approx(table["wind"].mean(), rel=1e-12)
        assert "the typical day" in page.inner_text("#decision .change")

    @pytest.mark.slow
    def test_a_click_on_the_chart_picks_a_row(self, look, hedged_page):
        page = look(hedged_page)
        page.locator("#row-chart").scroll_into_view_if_needed()
        box = page.locator("#row-chart svg").bounding_box()
        page.mouse.click(box["x"] + box["width"] - 12, box["y"] + 100)
        assert ask(page, "state().row") == 70


@pytest.mark.slow
class TestHands:
    """Keyboard, colours, small windows, paper."""

    def test_the_tab_key_reaches_every_control(self, look, hedged_page):
        page = look(hedged_page)
        reached = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.id"))
        inputs = {f"input-{i}" for i in range(5)}
        assert inputs | {"theme", "tree-0", "tree", "previous", "row", "next", "typical"} <= reached
        page.focus("#next")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"

    def test_trees_are_chosen_by_arrow_keys(self, look, hedged_page):
        page = look(hedged_page)
        page.focus("#tree-0")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.id") == "tree-1"
        assert page.get_attribute("#tree-1", "aria-checked") == "true"
        assert page.get_attribute("#tree svg", "aria-label").startswith("Tree 2 of 4")
        assert "Tree 2 of 4" in page.inner_text("#routes")
        page.keyboard.press("End")
        page.keyboard.press("ArrowRight")
        assert ask(page, "state().tree") == 0
        assert page.locator("#tree .leaf").count() == 8

    def test_every_control_has_a_label(self, look, hedged_page):
        page = look(hedged_page)
        nameless = page.evaluate(
            "[...document.querySelectorAll('input, select, button')].filter((e) =>"
            " !e.labels?.length && !e.getAttribute('aria-label') && !e.textContent.trim()).length"
        )
        assert nameless == 0
        assert page.get_attribute("#decision", "aria-live") == "polite"

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_colours_follow_the_reader(self, look, hedged_page, scheme):
        page = look(hedged_page, color_scheme=scheme)

        def brightness():
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            return sum(map(int, colour[4:-1].split(",")))

        first = brightness()
        assert (first < 200) == (scheme == "dark")
        page.click("#theme")
        assert (brightness() < 200) != (scheme == "dark")

    def test_a_phone_scrolls_one_way_only(self, look, hedged_page):
        page = look(hedged_page, viewport={"width": WIDTH, "height": HEIGHT})
        assert page.evaluate("document.documentElement.scrollWidth") == WIDTH
        past = page.evaluate(
            "[...document.querySelectorAll('body *')].filter((e) => e.offsetParent !== null"
            " && !e.closest('.scroll, .tree, svg, .unseen, .skip')"
            f" && e.getBoundingClientRect().right > {WIDTH} + 1).length"
        )
        assert past == 0

    def test_paper_has_no_controls_and_no_dark(self, look, hedged_page):
        page = look(hedged_page, color_scheme="dark")
        page.emulate_media(media="print")
        assert not page.is_visible("#controls")
        assert not page.is_visible("#tree-buttons")
        assert page.is_visible("#waterfall")
        assert (
            page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        )
        assert (
            page.evaluate("getComputedStyle(document.getElementById('worst')).breakBefore")
            == "page"
        )


@pytest.mark.slow
class TestWide:
    """Many decisions, many features, long and hostile names."""

    HOSTILE = (
        "</script><script>alert(1)</script>",
        '<img src=x onerror="alert(2)">',
        "a & b $title ${data} 'c' \"d\" \u2028",
    )

    @pytest.fixture(scope="class")
    @classmethod
    def wide(cls, tmp_path_factory):
        rng = np.random.default_rng(3)
        names = [*cls.HOSTILE, *(f"a rather long name of a feature, number {j}" for j in range(27))]
        X = pd.DataFrame(rng.normal(size=(60, 30)), columns=names)
        Y = pd.DataFrame(
            rng.normal(size=(60, 12)), columns=[f"asset <b>{i}</b>" for i in range(12)]
        )
        policy = invented(hr.MeanVariance(1.0), X, Y, hr.SoftForest(3, 6))
        path = tmp_path_factory.mktemp("wide") / "wide.html"
        return policy, X, Y, write_report(policy, X, Y, path, title=cls.HOSTILE[0])

    def test_hostile_names_stay_text(self, look, wide):
        page = look(wide[3])
        assert page.inner_text("h1") == self.HOSTILE[0]
        assert page.title() == self.HOSTILE[0]
        labels = page.locator(".control label").all_text_contents()
        assert {shown(name) for name in self.HOSTILE} <= set(labels)
        assert page.locator("main b, main img").count() == 0

    def test_many_decisions(self, look, wide):
        policy, X, _, path = wide
        page = look(path)
        assert page.locator("#decision-list li").count() == 10
        page.click("text=Show all 13")
        assert page.locator("#decision-list li").count() == 13
        page.locator("#decision-list button.name", has_text="asset <b>4</b>").click()
        assert ask(page, "state().decision") == 5
        close([decided(page)], policy.predict(X[:1])[0, 5:6])
        assert page.inner_text("#decision .what") == "asset <b>4</b>"
        weights = ask(page, "decide(given[0])", X.to_numpy()[0].tolist())[1:]
        assert sum(weights) == pytest.approx(1, abs=1e-6)

    def test_inputs_can_be_searched(self, look, wide):
        page = look(wide[3])
        assert page.locator(".control:visible label:not(.unseen)").count() == 30
        page.fill("#find-input", "number 26")
        assert page.locator(".control:visible label:not(.unseen)").count() == 1

    def test_deep_trees_are_opened_along_the_likely_routes(self, look, wide):
        page = look(wide[3])
        assert page.locator("#tree .leaf").count() + page.locator("#tree .closed").count() == 16
        assert page.locator("#tree .closed").count() > 0

    def test_on_a_phone(self, look, wide):
        page = look(wide[3], viewport={"width": WIDTH, "height": HEIGHT})
        assert page.evaluate("document.documentElement.scrollWidth") == WIDTH
