"""A panel's report: its numbers against pandas, what it leaves out, and what it refuses."""

import base64
import hashlib
import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import hedgerow as hr
from hedgerow.describe.numbers import number, percent
from hedgerow.report import write_panel_report
from hedgerow.report.panel import figures, ways
from hedgerow.report.panel.reasons import reasons_of
from hedgerow.report.panel.subject import PanelSubject
from tests.report.panels import BY, LOSS, features, panel, sales, split

LARGEST = 700_000
"""Bytes of a page about 2,000 series; one about 6,000 may have twice as many."""
HOSTILE = "</script><script>alert(1)</script>"
read = partial(PanelSubject.read, time=None, outcome=None, lead=1, unit="loaves", loss_unit="€")


def data_of(text):
    return json.loads(re.search(r'id="hedgerow-data">(.*?)</script>', text, re.DOTALL)[1])


def numbers(packed):
    kind = "<f4" if "f32" in packed else "<f8"
    return np.frombuffer(base64.b64decode(next(iter(packed.values()))), kind).astype(float)


@pytest.fixture(scope="module")
def table():
    return sales()


@pytest.fixture(scope="module")
def pooled(table):
    return panel(features=features()).fit(split(table)[0])


@pytest.fixture(scope="module")
def by_hand(pooled, table):
    """Every test row with orders and costs, computed apart from the report."""
    when = split(table)[1]["date"].min()
    rows = features().training(table, keep=["current"])
    rows = rows[rows["date"] >= when].reset_index(drop=True)
    rows["order"] = pooled.predict(rows)
    past = table.set_index([*BY, "date"])["demand"]
    quantile, naive = [], []
    for row in rows.itertuples():
        own = past.loc[row.store, row.item]
        same = own[(own.index < row.date) & (own.index.day_of_week == row.date.day_of_week)]
        quantile.append(np.quantile(same.iloc[-26:], 0.75))
        naive.append(same.iloc[-1])
    rows["quantile"], rows["naive"] = quantile, naive
    for way in ("order", "current", "quantile", "naive"):
        over = rows[way] - rows["demand"]
        rows[f"{way}_cost"] = over.clip(lower=0) + 3 * (-over).clip(lower=0)
    return rows


@pytest.fixture(scope="module")
def page(pooled, table, tmp_path_factory):
    history, test = split(table)
    return write_panel_report(
        pooled,
        test,
        tmp_path_factory.mktemp("panel") / "page.html",
        history=history,
        against={"what we do": "current"},
        unit="loaves",
        loss_unit="€",
        date="2024-06-01",
    ).read_text()


class TestNumbers:
    def test_totals_and_intervals_by_week(self, page, by_hand):
        assert f"cost {number(by_hand['order_cost'].sum())} € in all" in page
        monday = by_hand["date"] - pd.to_timedelta(by_hand["date"].dt.day_of_week, unit="D")
        for way in ("current", "quantile", "naive"):
            gap = (by_hand["order_cost"] - by_hand[f"{way}_cost"]).groupby(monday).sum()
            low, high = stats.ttest_1samp(gap, 0).confidence_interval(0.95)
            ends = [number(end * len(gap), 3, signed=True) for end in (low, high)]
            assert f"{number(gap.sum(), 3, signed=True)} (" in page
            assert f"{ends[0]} to {ends[1]}" in page
            assert f"<td>{number(by_hand[f'{way}_cost'].sum())}</td>" in page

    def test_service_of_every_way(self, page, by_hand):
        rows = re.findall(r"<tr.*?</tr>", page[page.index('id="costs"') :])[1:5]
        for row, way in zip(rows, ("order", "current", "quantile", "naive"), strict=True):
            order, demand = by_hand[way], by_hand["demand"]
            left = (order - demand).clip(lower=0).sum()
            assert f"<td>{percent(np.minimum(order, demand).sum() / demand.sum())}</td>" in row
            assert f"<td>{percent(np.mean(order >= demand))}</td>" in row
            assert f"<td>{number(left)} " in row
            assert f"<td>{np.sum(order < demand):,}</td>" in row

    def test_every_series(self, page, by_hand):
        series = data_of(page)["series"]
        expected = by_hand.groupby(list(BY))
        assert sorted(series["names"]) == [" · ".join(key) for key in expected.groups]
        keys = pd.MultiIndex.from_tuples([tuple(name.split(" · ")) for name in series["names"]])
        cost = expected["order_cost"].sum().loc[keys]
        np.testing.assert_allclose(numbers(series["cost"]), cost, rtol=1e-6)
        assert series["total"] == pytest.approx(cost.sum(), rel=1e-9)
        for packed, way in zip(series["other"], ("current", "quantile", "naive"), strict=True):
            other = expected[f"{way}_cost"].sum().loc[keys]
            np.testing.assert_allclose(numbers(packed), other, rtol=1e-6)
        out = (by_hand["order"] < by_hand["demand"]).groupby([by_hand[name] for name in BY])
        np.testing.assert_array_equal(numbers(series["service"]["stockouts"]), out.sum().loc[keys])
        np.testing.assert_allclose(
            numbers(series["service"]["service_level"]), 1 - out.mean().loc[keys], rtol=1e-6
        )
        assert [series["statuses"][code] for code in series["status"]] == ["learned"] * 6

    def test_the_worst_come_first_and_are_shown(self, page, by_hand):
        series = data_of(page)["series"]
        gap = (by_hand["order_cost"] - by_hand["current_cost"]).groupby(
            [by_hand[name] for name in BY]
        )
        worst = [" · ".join(key) for key in gap.sum().sort_values(ascending=False).index]
        assert series["names"] == worst
        largest = by_hand.groupby(list(BY))["order_cost"].sum().sort_values(ascending=False)
        rest = [" · ".join(key) for key in largest.index if " · ".join(key) not in worst[:3]]
        shown = ["store {}, item {}".format(*name.split(" · ")) for name in [*worst[:3], rest[0]]]
        assert [one["name"] for one in data_of(page)["details"]] == shown

    def test_costs_over_time(self, page, by_hand):
        periods = data_of(page)["periods"]
        assert periods["word"] == "week"
        daily = by_hand.groupby("date")[["order_cost", "current_cost"]].sum()
        weekly = daily.groupby(daily.index - pd.to_timedelta(daily.index.day_of_week, "D")).mean()
        epoch = (weekly.index - pd.Timestamp("1970-01-01")).days
        np.testing.assert_array_equal(numbers(periods["starts"]), epoch)
        for packed, way in zip(periods["means"], ("order_cost", "current_cost"), strict=False):
            np.testing.assert_allclose(numbers(packed), weekly[way], rtol=1e-9)

    def test_a_series_in_detail(self, page, by_hand):
        one = data_of(page)["details"][0]
        store, item = re.fullmatch("store (.*), item (.*)", one["name"]).groups()
        rows = by_hand[(by_hand["store"] == store) & (by_hand["item"] == item)]
        np.testing.assert_allclose(numbers(one["orders"][0]), rows["order"], rtol=1e-6)
        np.testing.assert_allclose(numbers(one["demand"]), rows["demand"], rtol=1e-6)
        for packed, way in zip(one["sums"], ("order", "current", "quantile", "naive"), strict=True):
            np.testing.assert_allclose(numbers(packed), rows[f"{way}_cost"].cumsum(), rtol=1e-6)
        out = int((rows["order"] < rows["demand"]).sum())
        assert f"Stock ran out on {out} of {len(rows)} days" in page

    def test_the_area_of_the_picture_is_the_difference(self, pooled, table):
        history, test = split(table)
        subject = read(pooled, test, history)
        found, _ = ways.ways_of(subject, {"now": "current"})
        summed = figures.SeriesFigures.of(subject, found)
        for other in range(3):
            steps = figures.steps_of(summed, other)
            area = np.sum(np.diff(steps.ends, prepend=0) * steps.relative)
            gap = ways.gap(subject, found[0], found[other + 1])
            assert area == pytest.approx(gap.relative, rel=1e-9)
            assert np.all(np.diff(steps.relative) <= 0)


class TestWays:
    @pytest.mark.slow
    def test_nothing_after_the_lead_is_known(self, table):
        """Outcomes of the last days change the orders of those that may know them, only."""
        lead, review = 3, 2
        settings = features(lead=lead, review=review, lags=(7,))
        history, test = split(table)
        fitted = panel(features=settings).fit(history)
        subject = read(fitted, test, history)
        last = test["date"].max() - pd.Timedelta(days=7)
        changed = test.assign(demand=test["demand"].where(test["date"] < last, 1e4))
        other = read(fitted, changed, history)
        # a decision for d knows days up to d − lead; those from `last` on have changed
        early = subject.table["date"] < last + pd.Timedelta(days=lead)
        for one, two in zip(ways.ways_of(subject, {})[0], ways.ways_of(other, {})[0], strict=True):
            np.testing.assert_array_equal(one.orders[early], two.orders[early])
            assert not np.array_equal(one.orders, two.orders)
        both = test["demand"] + test.groupby(list(BY))["demand"].shift(-1)
        np.testing.assert_allclose(subject.outcomes, both.dropna().to_numpy(), rtol=1e-12)
        assert subject.incomplete == 6

    def test_history_may_overlap(self, pooled, table, tmp_path):
        history, test = split(table)
        one, two = (
            write_panel_report(
                pooled, test, tmp_path / "p.html", history=given, date="2024-06-01"
            ).read_bytes()
            for given in (history, table)
        )
        assert one == two

    def test_rows_without_an_order_are_compared_without_them(self, pooled, table):
        history, test = split(table)
        test = test.assign(current=test["current"].where(test["item"] == "a"))
        subject = read(pooled, test, history)
        found, _ = ways.ways_of(subject, {"now": "current"})
        known = subject.table["item"] == "a"
        gap = ways.gap(subject, found[0], found[1])
        assert gap.own == pytest.approx(found[0].losses[known].sum())
        assert gap.other == pytest.approx(
            LOSS(test["current"][known.to_numpy()], test["demand"][known.to_numpy()]).sum()
        )
        summed = figures.SeriesFigures.of(subject, found)
        assert np.isnan(summed.relative[0]).sum() == 3

    @pytest.mark.slow
    def test_weekly_dates_have_baselines_and_numbers_have_none(self):
        weeks = sales(days=60)
        weeks["date"] = pd.Timestamp("2020-01-06") + (weeks["date"] - weeks["date"].min()) * 7
        settings = {"lags": (2,), "same_weekday": (), "level": 4}
        for step, names in (("W", {"Same-weekday quantile", "Seasonal naive"}), (1, set())):
            rows = weeks
            if step == 1:
                rows = weeks.assign(date=(weeks["date"] - weeks["date"].min()).dt.days // 7)
            made = features(step=step, calendar=False, **settings)
            fitted = panel(features=made, levels=("demand_level",)).fit(rows)
            subject = read(fitted, rows.groupby(list(BY)).tail(20), rows)
            found, untold = ways.ways_of(subject, {})
            assert {way.name for way in found[1:]} == names
            assert bool(untold) == (step == 1)
            if step == "W":
                naive = next(way for way in found if way.name == "Seasonal naive")
                expected = rows.groupby(list(BY))["demand"].shift(1)
                expected = expected.groupby([rows[name] for name in BY]).tail(20)
                np.testing.assert_allclose(naive.orders, expected)


@pytest.mark.parametrize(
    "strategy",
    ["pooled", *(pytest.param(name, marks=pytest.mark.slow) for name in ("refined", "separate"))],
)
def test_reasons_add_up_to_the_order(strategy, table):
    history, test = split(table)
    fitted = panel(strategy, features=features()).fit(history)
    subject = read(fitted, test, history)
    place = 3
    rows = np.flatnonzero(subject.places == place)[[2, 11]]
    found = reasons_of(subject, place, rows)
    for row, reason in zip(rows, found.orders, strict=True):
        assert reason.order == pytest.approx(subject.orders[row], rel=1e-5)
        added = sum(part for _, part in reason.parts)
        assert added == pytest.approx(reason.order - reason.usual, rel=1e-5, abs=1e-5)
    assert found.counts == sorted(found.counts, key=lambda count: -count[1])
    named = {name for name, _ in found.counts}
    assert ("recent level of the series" in named) == (strategy != "separate")
    assert "size and spread of the series" not in named  # it never varies in one series


@pytest.mark.slow
class TestOtherPanels:
    def test_a_loss_that_is_no_newsvendor(self, table, tmp_path):
        history, test = split(table)
        loss = hr.CustomLoss(_square, hr.Nonnegative(1))
        fitted = panel(loss=loss, features=features()).fit(history)
        page = write_panel_report(fitted, test, tmp_path / "p.html", history=history).read_text()
        assert "Fill rate, service level, waste and stock-outs are left out" in page
        assert "The quantile of the same weekday needs the costs of a newsvendor." in page
        data = data_of(page)
        assert data["series"]["service"] == {}
        rows = features().training(table)
        rows = rows[rows["date"] >= test["date"].min()]
        paid = (fitted.predict(rows) - rows["demand"]) ** 2
        assert data["series"]["total"] == pytest.approx(paid.sum(), rel=1e-6)

    def test_costs_by_row_and_by_group(self, table, tmp_path):
        """Totals, fill rates and the quantile's level follow the costs of every row."""
        rng = np.random.default_rng(1)
        table = table.assign(leftover=rng.uniform(0.5, 2, len(table)).round(2))
        missing = pd.DataFrame({"item": ["a", "b"], "missing": [2.0, 9.0]})
        loss = hr.Newsvendor(hr.Column("leftover"), hr.Column("missing"))
        settings = features(known=("promoted", "leftover"))
        history, test = split(table)
        fitted = panel(loss=loss, features=settings, costs=missing).fit(history)
        page = write_panel_report(fitted, test, tmp_path / "p.html", history=history).read_text()
        rows = settings.training(table).merge(missing)
        rows = rows[rows["date"] >= test["date"].min()].sort_values([*BY, "date"])
        over = fitted.predict(rows) - rows["demand"]
        cost = rows["leftover"] * over.clip(lower=0) + rows["missing"] * (-over).clip(lower=0)
        series = data_of(page)["series"]
        assert series["total"] == pytest.approx(cost.sum(), rel=1e-6)
        own = cost.groupby([rows[name] for name in BY]).sum()
        keys = pd.MultiIndex.from_tuples([tuple(name.split(" · ")) for name in series["names"]])
        np.testing.assert_allclose(numbers(series["cost"]), own.loc[keys], rtol=1e-5)
        subject = read(fitted, test, history)
        quantile = next(
            way for way in ways.ways_of(subject, {})[0] if way.name == "Same-weekday quantile"
        )
        last = subject.table.iloc[-1]
        past = table[(table["store"] == last["store"]) & (table["item"] == last["item"])]
        past = past[past["date"] < last["date"]]
        past = past[past["date"].dt.day_of_week == last["date"].day_of_week]
        level = 9 / (9 + last["leftover"])
        assert quantile.orders[-1] == pytest.approx(np.quantile(past["demand"][-26:], level))

    def test_tables_that_hold_their_features(self, table, tmp_path):
        rows = table.assign(past=table.groupby(list(BY))["demand"].shift(7)).dropna()
        history, test = split(rows.rename(columns={"date": "when"}).assign(date=rows["date"]))
        history, test = (part.drop(columns="date") for part in (history, test))
        plain = panel(scaled=("past",)).fit(history.drop(columns=["when", "current"]), "demand")
        page = write_panel_report(plain, test, tmp_path / "p.html", history=history).read_text()
        orders = plain.predict(test)
        total = LOSS(orders, test["demand"].to_numpy()).sum()
        assert data_of(page)["series"]["total"] == pytest.approx(total, rel=1e-6)
        assert "Same-weekday quantile" in page
        other = test.assign(also=test["when"])
        with pytest.raises(ValueError, match=r"2 columns of dates.*say which.*time='…'"):
            write_panel_report(plain, other, tmp_path / "p.html")
        write_panel_report(plain, other, tmp_path / "p.html", time="when")

    def test_new_series_and_zero_ones_are_listed(self, table, tmp_path):
        history, test = split(table)
        zero = table[table["store"] == "1"].assign(store="7", demand=0.0)
        fitted = panel(features=features()).fit(pd.concat([history, split(zero)[0]]))
        new = test[test["store"] == "2"].assign(store="9")
        everything = pd.concat([test, split(zero)[1], new], ignore_index=True)
        page = write_panel_report(
            fitted,
            everything,
            tmp_path / "p.html",
            history=pd.concat([history, split(zero)[0]]),
            series=[("9", "a"), ("7", "b")],
        ).read_text()
        series = data_of(page)["series"]
        status = {
            name: series["statuses"][code]
            for name, code in zip(series["names"], series["status"], strict=True)
        }
        assert status["9 · a"] == "new"
        assert status["7 · b"] == "zero"
        assert [one["name"] for one in data_of(page)["details"]] == [
            "store 9, item a",
            "store 7, item b",
        ]
        assert "A new series, without any history in training." in page


def _square(z, y):
    return ((z - y) ** 2).sum(-1)


class TestSize:
    def many(self, pooled, table, count, path):
        """So many series that training never saw, three weeks each."""
        history, test = split(table)
        one = test[(test["store"] == "1") & (test["item"] == "a")].head(10)
        rows = pd.concat([one] * count, ignore_index=True)
        store = np.repeat(np.arange(count), len(one))
        rng = np.random.default_rng(0)
        rows = rows.assign(
            store=[f"shop in the street number {name}" for name in store],
            demand=rows["demand"] * rng.uniform(0.1, 2, count)[store],
        )
        return write_panel_report(
            pooled,
            rows,
            path,
            history=history,
            against={"now": "current"},
            series=[rows.iloc[0, :2]],
        )

    def test_two_thousand_series(self, pooled, table, tmp_path):
        path = self.many(pooled, table, 2_000, tmp_path / "p.html")
        assert path.stat().st_size < LARGEST
        assert len(data_of(path.read_text())["series"]["names"]) == 2_000

    def test_more_are_left_out_and_it_is_said(self, pooled, table, tmp_path, monkeypatch):
        monkeypatch.setattr(figures, "MOST_SERIES", 100)
        page = self.many(pooled, table, 700, tmp_path / "p.html").read_text()
        data = data_of(page)
        assert len(data["series"]["names"]) == 100
        assert len(numbers(data["steps"][0]["ends"])) == figures.MOST_STEPS
        assert data["steps"][0]["count"] == 700
        said = re.search(r"carries 100 of the 700 series.*?\.", page)[0]
        assert "those that cost most beyond the baseline, and the largest" in said
        cost = numbers(data["series"]["cost"])
        left = percent(1 - cost.sum() / data["series"]["total"])
        assert f"The other 600 make {left} of the cost" in page


class TestSafety:
    def test_names_are_text(self, tmp_path):
        table = sales(stores=(HOSTILE, "<img src=x onerror=alert(2)>"), items=("&amp;", "$title"))
        history, test = split(table)
        fitted = panel(features=features()).fit(history)
        page = write_panel_report(
            fitted,
            test,
            tmp_path / "p.html",
            history=history,
            against={HOSTILE: "current"},
            title=HOSTILE,
            unit="<u>",
            loss_unit="<i>",
        ).read_text()
        for markup in ("<script>alert", "<img", "<u>", "<i>"):
            assert markup not in page
        assert f"{HOSTILE} · &amp;" in data_of(page)["series"]["names"]
        assert "&lt;/script&gt;&lt;script&gt;alert(1)" in page

    def test_nothing_is_loaded_and_the_script_is_named_by_its_hash(self, page):
        assert set(re.findall(r"https?://[^\"'\s)]*", page)) == {"http://www.w3.org/2000/svg"}
        assert not re.search(r"<(link|img|iframe|object|embed)\b|@import|url\(", page)
        assert not re.search(r'\b(src|href)="(?!#)', page)
        script = re.search(r"<script>(.*)</script>\n</body>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"default-src 'none'; script-src 'sha256-{digest}'" in page


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "settings", "sentence"),
        [
            ({}, {"history": None}, "lacks date_weekday.*hand over recent rows as `history`"),
            ({}, {"against": {"now": "then"}}, "'then'} names a column that the table does not"),
            ({}, {"series": [("1", "z")]}, "There is no series store 1, item z"),
            ({"demand": None}, {}, "no column 'demand' with what then happened"),
            ({}, {"history": pd.DataFrame({"store": [1]})}, "history lacks item, date"),
        ],
    )
    def test_in_one_sentence(self, pooled, table, tmp_path, change, settings, sentence):
        history, test = split(table)
        test = test.drop(columns=list(change))
        with pytest.raises(ValueError, match=sentence):
            write_panel_report(
                pooled, test, tmp_path / "p.html", **({"history": history} | settings)
            )
        assert list(tmp_path.iterdir()) == []

    def test_rows_twice(self, pooled, table, tmp_path):
        history, test = split(table)
        test = pd.concat([test, test[:1]])
        with pytest.raises(ValueError, match="that would be ordered twice; keep one of them"):
            write_panel_report(pooled, test, tmp_path / "p.html", history=history)

    def test_what_is_no_panel(self, table, tmp_path):
        with pytest.raises(TypeError, match=r"fitted hedgerow\.PanelPolicy; got RobustPolicy"):
            write_panel_report(hr.RobustPolicy(LOSS), table, tmp_path / "p.html")
        with pytest.raises(ValueError, match=r"must end in \.html"):
            write_panel_report(None, table, tmp_path / "p.pdf")
