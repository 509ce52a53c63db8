"""What the page says, what it may not say, and what is refused, without a browser."""

import base64
import copy
import hashlib
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.cli.commands import app
from hedgerow.describe.numbers import number
from hedgerow.describe.page_form import PageForm
from hedgerow.report import sentences, write_report
from hedgerow.report.compared_costs import costs_of
from hedgerow.report.html import embedded, page
from hedgerow.report.inputs import inputs_of
from hedgerow.report.live import chosen_rows
from hedgerow.report.subject import Subject
from hedgerow.report.worst_world import _feature, scenario_of
from tests.report.conftest import invented
from tests.rules.outside import Tanh, in_ball

LARGEST = 3_000_000
SECTIONS = ("costs", "worst", "importance", "words", "trees", "whatif")


def data_of(text):
    return json.loads(re.search(r'id="hedgerow-data">(.*?)</script>', text, re.DOTALL)[1])


def call(*arguments):
    runner = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"})
    return runner.invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 3)), rng.uniform(5, 9, 30)
    return invented(hr.Newsvendor(1, 3), X, Y, hr.SoftForest(2, 2)), X, Y


class TestContent:
    def test_says_what_it_is_about(self, hedged, hedged_page, table):
        text = hedged_page.read_text()
        assert "<title>Kitchen</title>" in text
        assert "2020-03-01, 70 rows, hedgerow" in text
        assert "70 days of data, 2019-12-20 to 2020-02-27" in text
        for words in ("demand, in portions", "KL divergence", "Each unit left over costs 1 €"):
            assert words in text
        places = [text.index(f'<section id="{name}"') for name in SECTIONS]
        assert places == sorted(places)
        X = hedged.encoder_.transform(table)
        mean = hedged.losses(X, table["demand"]).mean()
        assert f"{number(mean)} €" in text
        assert f"{number(hedged.robust_value_.value)} €" in text
        assert "weekday of day" in text
        assert "sky = sun" in text

    def test_nothing_is_loaded_from_anywhere(self, hedged_page):
        text = hedged_page.read_text()
        assert set(re.findall(r"https?://[^\"'\s)]*", text)) == {"http://www.w3.org/2000/svg"}
        assert not re.search(r"<(link|img|iframe|object|embed)\b|@import|url\(", text)
        assert not re.search(r'\b(src|href)="(?!#)', text)
        assert "default-src 'none'" in text

    def test_the_script_is_named_by_its_hash(self, hedged_page):
        text = hedged_page.read_text()
        script = re.search(r"<script>(.*)</script>\n</body>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'" in text

    def test_the_same_policy_gives_the_same_page(self, small, tmp_path):
        policy, X, Y = small
        one, two = (
            write_report(policy, X, Y, tmp_path / name, date="2020-01-01").read_bytes()
            for name in ("one.html", "two.html")
        )
        assert one == two

    @pytest.mark.slow
    def test_fits_the_largest_forest_of_the_promise(self, tmp_path):
        rng = np.random.default_rng(0)
        X, Y = rng.normal(size=(800, 50)), rng.normal(size=(800, 50))
        policy = invented(hr.MeanVariance(1.0), X, Y, hr.SoftForest(20, None))
        assert policy.rule_.depth == 7
        path = write_report(policy, X, Y, tmp_path / "page.html")
        assert path.stat().st_size < LARGEST

    def test_many_rows_are_thinned_and_it_is_said(self, small, tmp_path):
        policy, X, Y = small
        X, Y = np.tile(X, (400, 1)), np.tile(Y, 400)
        path = write_report(policy, X, Y, tmp_path / "page.html", row=777)
        data, text = data_of(path.read_text()), path.read_text()
        assert len(data["rows"]["numbers"]) <= 2001
        assert 777 in data["rows"]["numbers"]
        assert {1, 12_000} <= set(data["rows"]["numbers"])
        assert "of the 12,000 rows, evenly spaced" in text

    def test_rules_without_trees_say_so(self, tmp_path):
        rng = np.random.default_rng(0)
        X, Y = rng.normal(size=(20, 2)), rng.uniform(5, 9, 20)
        policy = invented(hr.Newsvendor(1, 3), X, Y, hr.Affine())
        assert "has no trees" in write_report(policy, X, Y, tmp_path / "p.html").read_text()


class TestRulesFromOutside:
    """A report says what it can of any rule; what it cannot, it names."""

    def test_without_a_page_form_there_is_a_page_that_does_not_decide(self, tmp_path):
        rng = np.random.default_rng(0)
        X, Y = rng.normal(size=(20, 2)), rng.uniform(5, 9, 20)
        policy = invented(hr.Newsvendor(1, 3), X, Y, Tanh())
        text = write_report(policy, X, Y, tmp_path / "p.html").read_text()
        assert "cannot compute decisions for new inputs" in text
        assert "a TanhRule offers none (write TanhRule.page_form)." in text
        assert "A TanhRule with 3 parameters" in text
        assert 'id="controls"' not in text
        data = data_of(text)
        assert data["rule"] is None
        sent = np.frombuffer(base64.b64decode(data["rows"]["decisions"]["f64"]))
        np.testing.assert_array_equal(sent, policy.predict(X))

    def test_a_function_is_reported_on_too(self, small, tmp_path):
        _, X, Y = small
        given = hr.RobustPolicy.from_function(
            lambda x: x[:1] * 0 + 6.0, hr.Newsvendor(1, 3), X, Y, ambiguity=hr.ERM()
        )
        text = write_report(given, X, Y, tmp_path / "p.html").read_text()
        assert "write GivenRule.page_form" in text
        assert "A function that was given, not learned" in text

    def test_a_decision_set_without_its_map_is_named(self, tmp_path):
        rng = np.random.default_rng(0)
        X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
        policy = invented(in_ball(), X, Y, hr.Affine())
        text = write_report(policy, X, Y, tmp_path / "p.html").read_text()
        assert "a Ball offers none (write Ball.page_blocks)." in text

    def test_a_script_cannot_end_the_page(self):
        with pytest.raises(ValueError, match="must not contain </script"):
            page({}, {}, {}, PageForm("return { decide: () => '</SCRIPT>' };"))


def test_a_policy_without_a_robust_value_is_reported_on(hedged, table, tmp_path):
    forgetful = copy.copy(hedged)
    forgetful._robust_value = None
    del forgetful.nominal_
    page = write_report(forgetful, table, table["demand"], tmp_path / "p.html").read_text()
    assert "This policy was saved before its robust value was computed." in page
    assert "robust value is" not in page


class TestEscaping:
    def test_embedded_json_cannot_close_its_script(self):
        hostile = {"</script><!--": ["&amp;", "\u2028", float("nan"), np.float32(0.1), np.int64(3)]}
        text = embedded(hostile)
        assert not re.search(r"[<>&\u2028]", text)
        assert json.loads(text) == {
            "</script><!--": ["&amp;", "\\u2028", None, float(np.float32(0.1)), 3]
        }

    def test_names_are_text_everywhere(self, tmp_path):
        rng = np.random.default_rng(0)
        bad = "<script>alert(1)</script> $date"
        X = pd.DataFrame(rng.normal(size=(25, 2)), columns=[bad, "b"])
        Y = pd.Series(rng.uniform(1, 2, 25), name="<i>y</i>")
        policy = invented(hr.Newsvendor(1, 3), X, Y, hr.SoftForest(2, 2))
        path = write_report(
            policy, X, Y, tmp_path / "p.html", title=bad, unit="<u>", against={bad: policy}
        )
        text = path.read_text()
        assert "<script>alert" not in text
        assert "<i>" not in text
        assert "<u>" not in text
        assert data_of(text)["inputs"][0]["name"] == bad


class TestCosts:
    def test_costs_and_paired_intervals(self, hedged, trusting, table):
        subject = Subject.read(hedged, table, table["demand"])
        costs = costs_of(subject, table, {"trusting": trusting})
        own, other, fixed, hindsight, foresight = costs
        Y = table["demand"].to_numpy()
        X = trusting.encoder_.transform(table)
        orders = trusting.predict(X)
        by_hand = np.maximum(orders - Y, 0) + 3 * np.maximum(Y - orders, 0)
        np.testing.assert_allclose(other.losses, by_hand, rtol=1e-6)
        expected = stats.ttest_rel(other.losses, own.losses).confidence_interval(0.95)
        np.testing.assert_allclose(other.against(own)[1:], expected, rtol=1e-9)
        assert hindsight.mean <= fixed.mean + 1e-12
        assert foresight.mean == 0
        assert own.spread["worst"] == own.losses.max()
        assert own.spread["tail"] == pytest.approx(np.sort(own.losses)[-4:] @ [0.5, 1, 1, 1] / 3.5)

    def test_present_orders_are_compared_where_they_are_known(self, hedged, table):
        subject = Subject.read(hedged, table, table["demand"])
        own, orders, *_ = costs_of(subject, table, {"Your own orders": "ordered"})
        known = table["ordered"].notna().to_numpy()
        Y, ordered = (table[name].to_numpy()[known] for name in ("demand", "ordered"))
        by_hand = np.maximum(ordered - Y, 0) + 3 * np.maximum(Y - ordered, 0)
        np.testing.assert_allclose(orders.losses[known], by_hand, rtol=1e-6)
        assert orders.mean == pytest.approx(by_hand.mean(), rel=1e-6)
        assert orders.remark == "column ordered, on 56 of the 70 rows"
        gap = by_hand - own.losses[known]
        assert orders.against(own)[0] == pytest.approx(gap.mean(), rel=1e-6)
        assert own.against(orders)[0] == pytest.approx(-gap.mean(), rel=1e-6)
        said = sentences.verdict(subject, [own, orders])
        assert said.startswith("On the 56 days for which they are known it")
        assert "your own orders" in said

    @pytest.mark.parametrize(
        ("columns", "sentence"),
        [
            ("orders", "There is no column 'orders'"),
            (["ordered", "wind"], "one column for each of 1 decision"),
            ("nobody", "no row says what was ordered"),
            ("sky", "must hold numbers"),
        ],
    )
    def test_columns_that_cannot_be_compared_with(self, hedged, table, columns, sentence):
        table = table.assign(nobody=np.nan)
        subject = Subject.read(hedged, table, table["demand"])
        with pytest.raises(ValueError, match=sentence):
            costs_of(subject, table, {"orders": columns})

    def test_foresight_is_left_out_where_it_is_not_free(self, small):
        _, X, Y = small
        loss = hr.Newsvendor(1, 3, decision_set=hr.Box(0.0, 6.0))
        policy = invented(loss, X, Y, hr.Constant())
        names = [cost.name for cost in costs_of(Subject.read(policy, X, Y), X, {})]
        assert "Perfect foresight" not in names

    def test_other_policies_must_decide_as_much(self, small, hedged):
        policy, X, Y = small
        other = invented(hr.Newsvendor(1, 3), X, np.column_stack([Y, Y]), hr.Constant())
        with pytest.raises(ValueError, match="two makes 2 decision"):
            costs_of(Subject.read(policy, X, Y), X, {"two": other})


class TestScenario:
    def test_the_worst_case_beside_the_data(self, hedged_page, table):
        data = data_of(hedged_page.read_text())
        outcome = data["panels"][0]
        assert outcome["name"] == "demand"
        assert sum(outcome["data"]) == pytest.approx(1)
        assert sum(outcome["worst"]) == pytest.approx(1)
        assert outcome["means"][0] == pytest.approx(table["demand"].mean())
        names = [value["name"] for value in data["values"]]
        assert names[2] == "Robust value"
        assert data["values"][3]["mean"] > data["values"][2]["mean"] > data["values"][0]["mean"]

    @pytest.mark.slow
    def test_a_blurred_worst_case_is_dearer_and_wider(self, small):
        policy, X, Y = small
        hedging = copy.copy(policy)
        hedging.ambiguity = hr.CausalSinkhorn(20.0, 0.5)
        subject = Subject.read(hedging, X, Y)
        scenario = scenario_of(subject, np.array([0.0, 2.0, 1.0]))
        assert scenario.expected_loss > scenario.value > scenario.nominal
        assert scenario.nominal == pytest.approx(policy.losses(X, Y).mean(), rel=1e-5)
        assert [panel["name"] for panel in scenario.panels] == ["outcome", "feature 1", "feature 2"]
        for panel in scenario.panels:
            assert panel["spreads"][1] > panel["spreads"][0]
            assert panel["edges"] == sorted(panel["edges"])

    def test_what_has_few_values_is_shown_as_shares(self, hedged, table):
        """As far as the worst case keeps to them, as one that only weighs rows anew does."""
        subject = Subject.read(hedged, table, table["demand"])
        scenario = scenario_of(subject, np.arange(len(subject.features), 0.0, -1.0))
        panels = {panel["name"]: panel for panel in scenario.panels}
        assert panels["sky"]["values"] == ["fog", "rain", "sun"]
        shares = [np.mean(table["sky"] == value) for value in panels["sky"]["values"]]
        assert panels["sky"]["data"] == pytest.approx(shares)
        assert panels["party"]["values"] == ["0", "1"]
        for name in ("sky", "party"):
            assert sum(panels[name]["worst"]) == pytest.approx(1)
        assert "edges" in panels["weekday of day"]
        assert "near the 70 days of this report" in sentences.scenario_words(subject, scenario)[0]

    def test_what_is_shifted_by_degrees_has_no_shares(self):
        data, worst = np.array([[0.0], [1.0], [1.0]]), np.array([[0.0], [1.0], [1.3]])
        assert _feature("party", [], data, worst) is None
        assert _feature("party", [], data, worst.round())["worst"] == [1 / 3, 2 / 3]

    def test_trusting_policies_have_none(self, small):
        policy, X, Y = small
        scenario = scenario_of(Subject.read(policy, X, Y), np.ones(3))
        assert "trusts its data" in scenario.trouble
        assert scenario.panels == ()

    @pytest.mark.parametrize("kind", [ValueError, NotImplementedError])
    def test_trouble_is_said_not_raised(self, small, monkeypatch, kind):
        def refuse(*_, **__):
            raise kind("The robust value is infinite.")

        policy, X, Y = small
        monkeypatch.setattr("hedgerow.report.worst_world.certify", refuse)
        monkeypatch.setattr(policy, "ambiguity", hr.KL(1.0))
        scenario = scenario_of(Subject.read(policy, X, Y), np.ones(3))
        assert "The robust value is infinite." in scenario.trouble


class TestInputs:
    """One control for each thing that can be known."""

    @pytest.fixture(scope="class")
    @classmethod
    def subject(cls):
        rng = np.random.default_rng(0)
        days = pd.date_range("2020-01-06", periods=60)
        names = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
        weekday = {
            f"weekday_{name}": (days.day_of_week == k).astype(float) for k, name in enumerate(names)
        }
        sky = rng.integers(0, 3, 60)
        family = {
            f"sky_{k}": (sky == i).astype(float) for i, k in enumerate(("fog", "sun", "rain"))
        }
        more = {"a_1": rng.integers(0, 2, 60), "a_2": rng.integers(0, 2, 60)}
        table = pd.DataFrame({"wind": rng.normal(size=60), **weekday, **family, **more})
        table["weekend"] = (days.day_of_week > 4).astype(float)
        Y = pd.Series(rng.uniform(5, 9, 60), name="demand")
        policy = invented(hr.Newsvendor(1, 3), table, Y, hr.SoftForest(2, 2))
        return Subject.read(policy, table.set_index(days), Y)

    def test_families_are_one_choice_and_dates_move_what_follows(self, subject):
        found = {one["name"]: one for one in inputs_of(subject)}
        assert list(found) == ["date", "wind", "weekday", "sky", "a_1", "a_2", "weekend"]
        assert found["sky"]["kind"] == found["weekday"]["kind"] == "category"
        assert found["sky"]["values"] == ("fog", "sun", "rain")
        assert "follows" not in found["sky"]
        assert found["weekday"]["follows"]["table"]["5"] == "SAT"
        assert found["weekend"]["follows"]["table"] == {str(k): float(k > 4) for k in range(7)}
        assert found["date"]["used"]
        assert sorted(j for one in found.values() for j in one["features"]) == list(range(14))


class TestRefusals:
    def test_what_cannot_be_shown(self, small, tmp_path):
        policy, X, Y = small
        with pytest.raises(ValueError, match=r"must end in \.html"):
            write_report(policy, X, Y, tmp_path / "p.pdf")
        with pytest.raises(FileNotFoundError, match="There is no folder"):
            write_report(policy, X, Y, tmp_path / "none" / "p.html")
        with pytest.raises(ValueError, match="row must lie between 1 and 30"):
            write_report(policy, X, Y, tmp_path / "p.html", row=31)
        with pytest.raises(TypeError, match="fitted"):
            write_report("policy", X, Y, tmp_path / "p.html")
        assert list(tmp_path.iterdir()) == []

    def test_a_failure_leaves_the_old_page(self, small, tmp_path, monkeypatch):
        policy, X, Y = small
        path = tmp_path / "p.html"
        path.write_text("old")
        monkeypatch.setattr("hedgerow.report.write.scenario_of", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_report(policy, X, Y, path)
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]


class TestCommand:
    @pytest.fixture(scope="class")
    @classmethod
    def files(cls, hedged, trusting, table, tmp_path_factory):
        folder = tmp_path_factory.mktemp("command")
        table.to_csv(folder / "data.csv", index=False)
        hedged.save(folder / "hedged.hedgerow")
        trusting.save(folder / "trusting.hedgerow")
        return folder

    def test_writes_a_page_and_says_so(self, files, tmp_path):
        out = tmp_path / "page.html"
        result = call(
            *("report", files / "hedged.hedgerow", files / "data.csv", "-o", out, "--row", 3),
            *("--against", files / "trusting.hedgerow", "--title", "Soup", "--unit", "bowls"),
            *("--against-column", "ordered", "--time", "day"),
        )
        assert result.exit_code == 0, result.output
        assert f"{out.stat().st_size / 1e6:.2f} MB" in result.output
        data = data_of(out.read_text())
        assert data["start"] == 3
        assert data["unit"] == "bowls"
        names = [cost["name"] for cost in data["costs"]]
        assert names[:3] == ["This policy", "Your own orders", "trusting"]
        assert {one["kind"] for one in data["inputs"]} == {"date", "category", "switch", "number"}

    @pytest.mark.parametrize(
        ("dropped", "out", "sentence"),
        [
            ("demand", "p.html", "has no column 'demand'"),
            ("sky", "p.html", "The table lacks the column sky"),
            (None, "p.txt", "must end in .html"),
            (None, "none/p.html", "There is no folder"),
        ],
    )
    def test_mistakes_are_one_sentence(self, files, table, tmp_path, dropped, out, sentence):
        data = tmp_path / "data.csv"
        table.drop(columns=[dropped] if dropped else []).to_csv(data, index=False)
        result = call("report", files / "hedged.hedgerow", data, "-o", tmp_path / out)
        assert result.exit_code == 1
        assert sentence in " ".join(result.output.split())
        assert "Traceback" not in result.output
        assert not (tmp_path / out).exists()


def test_rows_are_chosen_evenly(small):
    policy, X, Y = small
    subject = Subject.read(policy, np.tile(X, (1000, 1)), np.tile(Y, 1000))
    chosen = chosen_rows(subject, 12_345)
    assert 12_344 in chosen
    assert np.ptp(np.diff(np.setdiff1d(chosen, [12_344]))) <= 16
