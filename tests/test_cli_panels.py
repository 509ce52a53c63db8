"""The command on panels: what it prints and writes is what the library says of the same tables."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.cli.asking_options import EvaluateRequest
from hedgerow.cli.commands import app
from hedgerow.cli.panel_options import default_windows
from hedgerow.cli.panels.trial import LAST_WEEK, POLICY, WEEKDAY_QUANTILE, put_to_the_test
from hedgerow.data.table_writing import write_table
from hedgerow.describe.numbers import number, percent

RUNNER = CliRunner(env={"COLUMNS": "80", "TERM": "dumb"})
COSTS = ["--holding", "1", "--stockout", "3"]
QUICK = ["--rule", "affine", "--steps", "50", "--model", "erm"]
BY = ["--by", "store,product", "--outcome", "demand"]
TIME = ["--time", "date", "--known", "is_holiday", "--lags", "7", "--rolling", "7"]
WINDOWS = ["--same-weekday", "2", "--level", "14"]
KEYS = ["store", "product"]


def call(*arguments):
    return RUNNER.invoke(app, [str(argument) for argument in arguments])


def flat(text):
    return " ".join(text.replace("│", " ").split())


def bakery(first, last, stores=(17, 19)):
    table = hr.datasets.load_bakery()
    table = table[table["store"].isin(stores) & table["date"].between(first, last)]
    order = (0.9 * table.groupby(KEYS)["demand"].transform("mean")).round()
    names = ["date", *KEYS, "demand", "is_holiday"]
    return table[names].assign(present=order).reset_index(drop=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("panels")
    train, test = bakery("2018-01-01", "2018-05-31"), bakery("2018-06-01", "2018-08-12")
    write_table(train, folder / "train.csv")
    write_table(test, folder / "test.csv")
    write_table(test[test["date"] == "2018-06-01"].drop(columns="demand"), folder / "new.csv")
    return folder


def fitted(folder, name, *more):
    path = folder / f"{name}.hedgerow"
    table = folder / "train.csv"
    found = call("fit", table, *BY, *TIME, *WINDOWS, *COSTS, *QUICK, "-o", path, "--force", *more)
    assert found.exit_code == 0, found.output
    return path, found


@pytest.fixture(scope="module")
def pooled(folder):
    return fitted(folder, "pooled")


@pytest.fixture(scope="module")
def separate(folder):
    return fitted(folder, "separate", "--strategy", "separate", "--resume", folder / "rules")


def tables(folder):
    return (pd.read_csv(folder / name) for name in ("train.csv", "test.csv"))


def with_features(folder, panel):
    """The rows of the test with what was known of them, made by the library."""
    train, test = tables(folder)
    made = panel.features.training(pd.concat([train, test]), keep="present")
    return made[made["date"] >= "2018-06-01"].reset_index(drop=True)


class TestFit:
    def test_facts(self, pooled, folder):
        path, found = pooled
        said, panel = flat(found.stdout), hr.load(path)
        assert max(map(len, found.stdout.splitlines())) <= 80
        assert "906 rows of" in said
        assert "2018-01-01 to 2018-05-31" in said
        assert "series 6: 6 learned" in said
        assert "known ahead is_holiday" in said
        assert "strategy pooled" in said
        assert "50 steps" in said
        rows = panel.series_["rows"]
        cost = (panel.series_["loss"] * rows).sum() / rows.sum()
        assert f"in-sample cost {number(cost)} a row, over {rows.sum():,} rows" in said
        assert panel.features == hr.TimeFeatures(
            *("date", "demand", ("store", "product"), ("is_holiday",)),
            lags=(7,),
            rolling=(7,),
            same_weekday=(2,),
            level=14,
            calendar=("weekday", "season"),
        )

    @pytest.mark.slow
    def test_defaults_are_those_of_the_library_and_are_said(self, folder):
        path = folder / "defaults.hedgerow"
        found = call("fit", folder / "train.csv", *BY, "--time", "date", *COSTS, *QUICK, "-o", path)
        assert found.exit_code == 0, found.output
        assert "lags the outcome 1, 7, 14, 21 days before (default)" in flat(found.stdout)
        panel = hr.load(path)
        assert (panel.features.lags, panel.features.level) == ((1, 7, 14, 21), 28)
        assert panel.strategy == "pooled"

    def test_separate_rules_are_kept_where_they_are_told(self, separate, folder):
        assert "separate: a rule for each of 6 series" in flat(separate[1].stdout)
        assert list((folder / "rules").glob("*.series"))

    @pytest.mark.slow
    def test_without_time_columns_are_features(self, folder, tmp_path):
        made = hr.load(fitted(folder, "pooled")[0]).features.training(
            pd.read_csv(folder / "train.csv")
        )
        path, out = tmp_path / "plain.csv", tmp_path / "plain.hedgerow"
        write_table(made.drop(columns="date"), path)
        found = call("fit", path, *BY, *COSTS, *QUICK, "--strategy", "refined", "-o", out)
        assert found.exit_code == 0, found.output
        assert "refined" in found.stdout
        decided = call("decide", out, path, "-o", tmp_path / "out.csv")
        assert decided.exit_code == 0, decided.output
        expected = hr.load(out).predict(pd.read_csv(path))
        np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv").decision, expected)

    @pytest.mark.parametrize(
        ("week", "least", "months", "lags", "level"),
        [
            (7, 1, False, (1, 7, 14, 21), (28,)),
            (7, 8, False, (8, 14, 21, 28), (28,)),
            (168, 24, False, (24, 168, 336, 504), (672,)),
            (None, 2, False, (2, 3, 5), (8,)),
            (None, 1, True, (1, 12), (12,)),
        ],
    )
    def test_default_windows(self, week, least, months, lags, level):
        found = default_windows(week, least, months)
        assert (found["lags"], found["level"]) == (lags, level)
        assert found["same_weekday"] == ((4, 8) if week else ())

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ([*BY, *COSTS, "--lags", "7"], "--lags: goes with --time"),
            ([*BY, *COSTS, "--search", "time"], "--search: is not offered with --by"),
            ([*BY, *COSTS, "--resume", "x"], "goes with --strategy separate"),
            ([*BY, *COSTS, "--strategy", "separate", "--seeds", "2"], "does not apply to"),
            ([*BY, *COSTS, "--time", "date", "--lags", "a"], "whole numbers such as 7,14"),
            ([*BY, *COSTS, "--time", "date", "--features", "a"], "with --known"),
            ([*BY, *COSTS, "--time", "date", "--censored", "a"], "does not go with --time"),
            ([*BY, *COSTS, "--group-costs", "x.csv"], "goes with --holding COLUMN"),
            ([*BY, *COSTS, "--outcome", "present"], "is one column with --by"),
            (["--outcome", "demand", *COSTS, "--time", "date"], "--time: goes with --by"),
        ],
    )
    def test_options_that_do_not_go_together(self, folder, options, words):
        found = call("fit", folder / "train.csv", *options)
        assert found.exit_code == 2
        assert words in flat(found.stderr)


def spoilt(table, kind):
    table = table.assign(demand=table["demand"].astype(float), h=1.0, b=3.0)
    if kind == "twice":
        return pd.concat([table, table.iloc[[100]]])
    if kind == "gap":
        return table.drop(index=[100])
    if kind == "empty":
        table.loc[700, "demand"] = np.nan
    if kind == "date":
        table["date"] = table["date"].astype(object)
        table.loc[5, "date"] = "07.11.2016"
    if kind == "negative":
        table.loc[811, "b"] = -2.0
    if kind == "nobody":
        table["store"] = table["store"].where(table.index != 3)
    return table


BAD_TABLES = {
    "twice": ("store=17 product=101 has more than one row for 2018-04-11", "rows 101 and 907"),
    "gap": ("store=17 product=101 has no row for 2018-04-11", "--gaps fill"),
    "empty": ("1 missing value in store=19 product=109, first in row 701", "--gaps missing"),
    "date": ("'07.11.2016' in row 6", "best as 2015-11-07"),
    "negative": ("stockout must not be negative, got -2 in row 812 of column b", ""),
    "nobody": ("Group column 'store' is empty in row 4", ""),
}


class TestBadTables:
    @pytest.mark.parametrize("kind", BAD_TABLES)
    def test_to_learn_from(self, folder, tmp_path, kind):
        path = tmp_path / "bad.csv"
        write_table(spoilt(pd.read_csv(folder / "train.csv"), kind), path)
        costs = ["--holding", "h", "--stockout", "b"]
        found = call(
            "fit", path, *BY, *TIME, *WINDOWS, *costs, *QUICK, "-o", tmp_path / "p.hedgerow"
        )
        assert found.exit_code == 1, found.output
        assert found.stderr.count("\n") == 1
        assert str(path) in found.stderr
        for words in BAD_TABLES[kind]:
            assert words in found.stderr
        assert not (tmp_path / "p.hedgerow").exists()

    def test_series_that_are_left_out(self, folder, tmp_path):
        path, out = tmp_path / "bad.csv", tmp_path / "p.hedgerow"
        write_table(spoilt(pd.read_csv(folder / "train.csv"), "empty"), path)
        more = ["--bad-series", "leave-out", "-o", out]
        found = call("fit", path, *BY, *TIME, *WINDOWS, *COSTS, *QUICK, *more)
        assert found.exit_code == 0, found.output
        said = flat(found.stdout)
        assert "series 6: 5 learned, 1 left out" in said
        assert "left out store 19, product 109: Column 'demand' has 1 missing value" in said
        assert len(hr.load(out).series_) == 5

    @pytest.mark.slow
    def test_rows_in_any_order_are_the_same(self, pooled, folder, tmp_path):
        path, out = tmp_path / "mixed.csv", tmp_path / "p.hedgerow"
        write_table(pd.read_csv(folder / "train.csv").sample(frac=1, random_state=0), path)
        assert call("fit", path, *BY, *TIME, *WINDOWS, *COSTS, *QUICK, "-o", out).exit_code == 0
        assert out.read_bytes() == pooled[0].read_bytes()

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--by", "shop", "--time", "date"], "There is no group column 'shop'"),
            (["--by", "store,product", "--time", "day"], "lacks the column day"),
            (["--by", "store,product", "--time", "date", "--known", "sky"], "lacks the column sky"),
            (["--by", "store,product", "--time", "date", "--lags", "2", "--lead", "3"], "lag of 2"),
            (["--by", "store,product", "--time", "date", "--calendar", "moon"], "none or some of"),
            (["--by", "store,product", "--time", "date", "--step", "Q"], "--step must be one of"),
        ],
    )
    def test_columns_and_settings(self, folder, options, words):
        found = call("fit", folder / "train.csv", "--outcome", "demand", *options, *COSTS)
        assert (found.exit_code, found.stderr.count("\n")) == (1, 1)
        assert words in found.stderr

    def test_to_decide_on(self, pooled, folder, tmp_path):
        new, history = folder / "new.csv", folder / "train.csv"
        late, bad = tmp_path / "late.csv", tmp_path / "bad.csv"
        write_table(pd.read_csv(new).assign(date="2018-06-03"), late)
        write_table(spoilt(pd.read_csv(history), "twice"), bad)
        twice, rows = tmp_path / "again.csv", pd.read_csv(new)
        write_table(pd.concat([rows, rows.iloc[[2]]]), twice)
        wrong = tmp_path / "wrong.csv"
        write_table(pd.read_csv(new).assign(date="soon"), wrong)
        for arguments, words in (
            ([new], f"{new} lacks date_weekday"),
            ([new], "give recent outcomes with --history"),
            ([late, "--history", history], f"Row 1 of {late}"),
            ([late, "--history", history], "or fit with a longer --lead"),
            ([new, "--history", bad], f"{bad}: store=17 product=101 has more than one row"),
            ([twice, "--history", history], f"{twice}: Rows 3 and 7 are both of store 17, product"),
            ([wrong, "--history", history], f"{wrong}: Column 'date' must hold dates"),
        ):
            found = call("decide", pooled[0], *arguments)
            assert (found.exit_code, found.stdout, found.stderr.count("\n")) == (1, "", 1)
            assert words in found.stderr

    def test_to_evaluate_on(self, pooled, folder, tmp_path):
        """Rows that are named are those of the file they are in, not of both together."""
        bad = tmp_path / "bad.csv"
        table = pd.read_csv(folder / "test.csv")
        write_table(pd.concat([table, table.iloc[[7]]]), bad)
        found = call("evaluate", pooled[0], bad, "--history", folder / "train.csv")
        assert found.exit_code == 1
        assert f"{bad}: store=17 product=101 has more than one row" in found.stderr
        assert f"rows 8 and {len(table) + 1}" in found.stderr


class TestDecide:
    @pytest.mark.parametrize("name", ["pooled", "separate"])
    def test_as_the_library_does(self, request, folder, tmp_path, name):
        path, _ = request.getfixturevalue(name)
        new, history, out = folder / "new.csv", folder / "train.csv", tmp_path / "out.csv"
        found = call("decide", path, new, "--history", history, "-o", out)
        assert found.exit_code == 0, found.output
        expected = hr.load(path).predict(pd.read_csv(new), pd.read_csv(history))
        np.testing.assert_allclose(pd.read_csv(out).decision, expected, rtol=1e-12)

    def test_new_series(self, pooled, separate, folder, tmp_path):
        new = tmp_path / "new.csv"
        rows = pd.read_csv(folder / "new.csv")
        write_table(rows[rows["store"] == 17].assign(store=99), new)
        found = call("decide", pooled[0], new, "--history", folder / "train.csv")
        assert found.exit_code == 0, found.output
        assert "3 rows of 3 new series, the first (store 99, product 101)" in flat(found.stderr)
        found = call("decide", separate[0], new, "--history", folder / "train.csv")
        assert found.exit_code == 1
        assert found.stderr.count("\n") == 1

    def test_series_that_are_not_sold_any_more_are_named(self, folder, tmp_path):
        table, new = pd.read_csv(folder / "train.csv"), folder / "new.csv"
        gone = (table["store"] == 19) & (table["product"] == 109) & (table["date"] > "2018-03-01")
        path, out = tmp_path / "gone.csv", tmp_path / "p.hedgerow"
        write_table(table.assign(demand=table["demand"].where(~gone, 0)), path)
        found = call("fit", path, *BY, *TIME, *WINDOWS, *COSTS, *QUICK, "-o", out)
        assert found.exit_code == 0, found.output
        found = call("decide", out, new, "--history", path, "-o", tmp_path / "out.csv")
        assert found.exit_code == 0, found.output
        words = "1 row of series whose last 60 outcomes in training were 0, the first store 19, "
        assert words + "product 109" in flat(found.stderr)

    def test_orders_in_lots(self, pooled, folder, tmp_path):
        new, history, out = tmp_path / "new.csv", folder / "train.csv", tmp_path / "out.csv"
        table = pd.read_csv(folder / "new.csv").assign(pack=[6, 12] * 3, stock=40.0)
        write_table(table, new)
        limits = ["--lot", "pack", "--least-order", "24", "--most-order", "120"]
        asked = (pooled[0], new, "--history", history, *limits, "--on-hand", "stock")
        found = call("decide", *asked, "-o", out)
        assert found.exit_code == 0, found.output
        lots = hr.Lots(table["pack"].to_numpy(), 24.0, 120.0)
        panel = hr.load(pooled[0])
        placed = panel.place(table, lots, pd.read_csv(history), on_hand=table["stock"].to_numpy())
        written = pd.read_csv(out)
        np.testing.assert_array_equal(written.order, placed.orders)
        assert (written.order % table["pack"] == 0).all()
        said = f"Orders cost {number(placed.expected_cost.mean())} a row in expectation, "
        assert said + number(placed.mean_rounding_cost, 3) in flat(found.stderr)
        fresh = call("decide", *asked, "--perishable", "-o", tmp_path / "fresh.csv")
        assert fresh.exit_code == 0
        assert (pd.read_csv(tmp_path / "fresh.csv").order >= written.order).all()

    def test_lots_that_make_no_sense(self, pooled, folder, tmp_path):
        new = tmp_path / "new.csv"
        write_table(pd.read_csv(folder / "new.csv").assign(pack=[6] * 5 + [0], most=5), new)
        for limits, words in (
            (["--lot", "pack"], "--lot must be above 0; got 0 in row 6 of column 'pack'"),
            (["--lot", "-1"], "--lot must be above 0; got −1."),
            (["--least-order", "6", "--most-order", "most"], "nothing could be ordered"),
            (["--on-hand", "shelf"], "There is no column 'shelf'"),
        ):
            found = call("decide", pooled[0], new, "--history", folder / "train.csv", *limits)
            assert found.exit_code == 1
            assert words in flat(found.stderr)


@pytest.fixture(scope="module")
def evaluated(pooled, folder):
    given = ["--history", folder / "train.csv", "--against-column", "present"]
    out = folder / "series.csv"
    found = call("evaluate", pooled[0], folder / "test.csv", *given, "--by-series", out)
    assert found.exit_code == 0, found.output
    panel = hr.load(pooled[0])
    return found, panel, with_features(folder, panel), pd.read_csv(out)


class TestEvaluate:
    def test_costs(self, evaluated):
        found, panel, made, series = evaluated
        said, losses = flat(found.stdout), panel.losses(made)
        assert max(map(len, found.stdout.splitlines()[:-1])) <= 80
        assert f"cost {number(losses.mean())} a row, {number(losses.sum())} in total" in said
        np.testing.assert_allclose(series.cost.sum(), losses.sum())
        gap = made["present"] - made["demand"]
        present = np.maximum(gap, 0) + 3 * np.maximum(-gap, 0)
        served = np.minimum(made["present"], made["demand"]).sum() / made["demand"].sum()
        assert re.search(rf"present {number(present.mean(), 4)[:4]}\S* {present.sum():,.0f} ", said)
        assert percent(served).replace("\u00a0", " ") in said

    def test_baselines(self, evaluated, folder):
        """One series, one weekday, by hand: from what was known on the evening before."""
        _, _, made, series = evaluated
        both = pd.concat(tables(folder)).assign(date=lambda t: pd.to_datetime(t["date"]))
        own = both[(both["store"] == 17) & (both["product"] == 101)].set_index("date")["demand"]
        orders = {}
        for day in made.loc[(made["store"] == 17) & (made["product"] == 101), "date"]:
            past = own[(own.index < day) & (own.index.day_of_week == day.day_of_week)]
            orders[day] = (np.quantile(past.iloc[-26:], 0.75), past.iloc[-1])
        quantile, last = np.array(list(orders.values())).T
        seen = own[list(orders)].to_numpy()
        row = series[(series["store"] == 17) & (series["product"] == 101)].iloc[0]
        for name, order in (("weekday_quantile", quantile), ("as_last_week", last)):
            cost = np.maximum(order - seen, 0) + 3 * np.maximum(seen - order, 0)
            np.testing.assert_allclose(row[f"mean_cost_{name}"], cost.mean())

    def test_the_conclusion_is_paired_by_week(self, evaluated):
        found, panel, made, _ = evaluated
        gap = made["present"] - made["demand"]
        saved = np.maximum(gap, 0) + 3 * np.maximum(-gap, 0) - panel.losses(made)
        weeks = saved.groupby(made["date"].dt.to_period("W")).sum()
        error = np.sqrt(len(weeks)) * weeks.std()
        other = (saved + panel.losses(made)).sum()
        words = r"cannot be told apart from [^()]*present"
        if abs(weeks.sum()) > student.ppf(0.975, len(weeks) - 1) * error:
            share, doubt = percent(abs(weeks.sum()) / other), percent(error / other)
            less = "less" if weeks.sum() > 0 else "MORE"
            words = re.escape(f"costs {share} (± {doubt}) {less} than present")
        assert re.search(flat(words), flat(found.stdout))
        assert f"{len(weeks)} weeks)" in flat(found.stdout)

    def test_history_that_holds_the_test_as_well(self, pooled, folder, tmp_path):
        both = tmp_path / "both.csv"
        write_table(pd.concat(tables(folder)), both)
        alone, all_ = (
            call("evaluate", pooled[0], folder / "test.csv", "--history", history).stdout
            for history in (folder / "train.csv", both)
        )
        assert alone == all_

    def test_nobody_looks_ahead(self, folder):
        """Decided two days ahead, for three days: what happens later changes no order."""
        path, _ = fitted(folder, "ahead", "--lead", "2", "--review", "3")
        panel, (_, test) = hr.load(path), tables(folder)
        request = EvaluateRequest(path, folder / "test.csv", history=folder / "train.csv")
        before = put_to_the_test(panel, test, request)
        later = test["date"] > "2018-07-10"
        after = put_to_the_test(
            panel, test.assign(demand=test["demand"].where(~later, 9999.0)), request
        )
        known = before.times <= np.datetime64("2018-07-12")
        for name in (POLICY, WEEKDAY_QUANTILE, LAST_WEEK):
            np.testing.assert_array_equal(before.orders[name][known], after.orders[name][known])
            assert np.any(before.orders[name][~known] != after.orders[name][~known])

    def test_separate_rules_and_sentences(self, separate, pooled, folder):
        given = (folder / "test.csv", "--history", folder / "train.csv")
        found = call("evaluate", separate[0], *given)
        assert found.exit_code == 0, found.output
        for arguments, words in (
            ((folder / "test.csv",), "with --history"),
            ((*given, "--against-column", "wish"), "There is no column 'wish'"),
            ((*given, "--outcome", "sales"), "has no column 'sales' with what then happened"),
        ):
            found = call("evaluate", pooled[0], *arguments)
            assert found.exit_code == 1
            assert words in found.stderr


class TestExplain:
    def test_one_row_in_the_tables_units(self, pooled, folder):
        given = ("--history", folder / "train.csv", "--row", 40)
        found = call("explain", pooled[0], folder / "test.csv", *given)
        assert found.exit_code == 0, found.output
        panel, said = hr.load(pooled[0]), flat(found.stdout)
        train, test = tables(folder)
        made = panel.features_for(test, pd.concat([train, test]))
        decision, rows = panel.predict(made)[39], panel.panel_.rows(made)
        usual = rows.scale[39] * panel.policy_.predict(rows.contexts).mean()
        assert "series store 17, product 101" in said
        assert f"decision {number(decision)}" in said
        assert f"usually {number(usual)}" in said
        assert f"adds up to {number(decision - usual, signed=True)}" in said
        assert f"demand_lag_7 {number(made['demand_lag_7'][39])}" in said

    def test_the_whole_rule(self, pooled, folder):
        given = (folder / "test.csv", "--history", folder / "train.csv")
        found = call("explain", pooled[0], *given, "--series", "product=101,store=17")
        assert found.exit_code == 0, found.output
        assert "rows 73 of" in flat(found.stdout)
        assert "in shares of a row's level" in flat(found.stdout)
        found = call("explain", pooled[0], *given, "--series", "store=17")
        assert "--series must name one series as store=…,product=…" in found.stderr

    def test_a_rule_of_its_own(self, separate, folder):
        given = (folder / "test.csv", "--history", folder / "train.csv")
        found = call("explain", separate[0], *given)
        assert found.exit_code == 1
        assert "name one with --series store=…,product=…" in found.stderr
        found = call("explain", separate[0], *given, "--row", 100)
        assert found.exit_code == 0, found.output
        train, test = tables(folder)
        panel = hr.load(separate[0])
        decision = panel.predict(panel.features_for(test, pd.concat([train, test])))[99]
        assert f"decision {number(decision)}" in flat(found.stdout)
        assert "the mean over 73 rows" in flat(found.stdout)


class TestReport:
    def test_overview_and_a_series_of_it(self, pooled, folder, tmp_path):
        page = tmp_path / "page.html"
        given = (folder / "test.csv", "--history", folder / "train.csv", "-o", page)
        more = ("--series", "store=17,product=101", "--against-column", "present")
        found = call("report", pooled[0], *given, *more)
        assert found.exit_code == 0, found.output
        assert "data 438 rows of" in flat(found.stdout)
        assert "present" in page.read_text()

    def test_sentences(self, pooled, folder, tmp_path):
        page = tmp_path / "page.html"
        given = (folder / "test.csv", "--history", folder / "train.csv", "-o", page)
        for more, words in (
            (("--series", "store=1,product=2"), "There is no series store 1, product 2"),
            (("--row", "3"), "--row is not understood for panels"),
        ):
            found = call("report", pooled[0], *given, *more)
            assert found.exit_code == 1
            assert words in found.stderr
        assert not page.exists()


class TestCosts:
    @pytest.mark.slow
    def test_by_group_are_those_of_columns(self, folder, tmp_path):
        costs = pd.DataFrame({"store": [19, 17], "h": [4.0, 1.0], "b": [1.0, 4.0], "note": "x"})
        groups, joined = tmp_path / "costs.csv", tmp_path / "joined.csv"
        write_table(costs, groups)
        train, _ = tables(folder)
        write_table(train.merge(costs.drop(columns="note"), on="store"), joined)
        names = ["--holding", "h", "--stockout", "b"]
        both = []
        for table, more in (
            (folder / "train.csv", ["--group-costs", groups]),
            (joined, []),
        ):
            out = tmp_path / "p.hedgerow"
            asked = (*BY, *TIME, *WINDOWS, *names, *QUICK, *more, "-o", out, "--force")
            found = call("fit", table, *asked)
            assert found.exit_code == 0, found.output
            both.append((hr.load(out), found))
        assert "costs by group from" in flat(both[0][1].stdout)
        made = with_features(folder, both[0][0])
        holding, stockout = both[0][0].unit_costs(made)
        np.testing.assert_array_equal(holding, np.where(made["store"] == 19, 4.0, 1.0))
        np.testing.assert_array_equal(stockout, np.where(made["store"] == 19, 1.0, 4.0))
        assert both[1][0].features.known == ("is_holiday", "h", "b")

    def test_tables_of_costs_that_make_no_sense(self, folder, tmp_path):
        names = ["--holding", "h", "--stockout", "3"]
        for table, words in (
            ({"store": [17, 19], "h": [1.0, -1.0]}, "'h' must not be negative, but row 2 holds −1"),
            ({"store": [17], "h": [1.0]}, "There are no costs of store 19"),
            ({"shop": [17], "h": [1.0]}, "has no group column (store, product)"),
            ({"store": [17], "cost": [1.0]}, "has no column 'h' of costs"),
        ):
            path = tmp_path / "costs.csv"
            write_table(pd.DataFrame(table), path)
            given = (*BY, *TIME, *WINDOWS, *names, *QUICK, "--group-costs", path)
            found = call("fit", folder / "train.csv", *given, "-o", tmp_path / "p.hedgerow")
            assert found.exit_code == 1
            assert words in found.stderr


class TestSinglePolicies:
    @pytest.fixture
    def single(self, folder):
        path, table = folder / "single.hedgerow", pd.read_csv(folder / "train.csv")
        encoder = hr.TableEncoder().fit(table[["is_holiday", "store"]])
        policy = hr.RobustPolicy(
            hr.Newsvendor(1, 3), hr.ERM(), hr.Affine(), solver=hr.NestedSGD(steps=20)
        ).fit(encoder.transform(table), table["demand"])
        policy.remember_columns(encoder, ["demand"]).save(path)
        return path

    def test_against_a_column(self, single, folder):
        test = folder / "test.csv"
        found = call("evaluate", single, test, "--against-column", "present")
        assert found.exit_code == 0, found.output
        table = pd.read_csv(test)
        gap = table["present"] - table["demand"]
        cost = (np.maximum(gap, 0) + 3 * np.maximum(-gap, 0)).mean()
        assert f"present {number(cost)}" in flat(found.stdout)
        assert "cannot be told apart" in found.stdout or "than present." in found.stdout

    def test_orders_in_lots(self, single, folder, tmp_path):
        out = tmp_path / "out.csv"
        found = call("decide", single, folder / "test.csv", "--lot", "12", "-o", out)
        assert found.exit_code == 0, found.output
        policy, table = hr.load(single), pd.read_csv(folder / "test.csv")
        placed = policy.place(policy.encoder_.transform(table), hr.Lots(12.0))
        np.testing.assert_array_equal(pd.read_csv(out).order, placed.orders)

    def test_what_only_panels_understand(self, single, folder):
        test = folder / "test.csv"
        for command in ("decide", "evaluate", "explain"):
            found = call(command, single, test, "--history", test)
            assert found.exit_code == 1
            assert "--history is understood for panels" in found.stderr


class TestInterrupts:
    @pytest.mark.parametrize("strategy", ["pooled", "separate"])
    def test_the_old_file_stays(self, folder, tmp_path, monkeypatch, strategy):
        """Ctrl-C saves no half a panel; rules that were learned are kept where they were told."""
        out, rules = tmp_path / "p.hedgerow", tmp_path / "rules"
        out.write_text("old")

        def interrupted(*_, **__):
            raise KeyboardInterrupt

        where = {"pooled": "learn_pooled", "separate": "learn_many"}[strategy]
        monkeypatch.setattr(f"hedgerow.panels.panel_policy.{where}", interrupted)
        more = ["--strategy", "separate", "--resume", rules] if strategy == "separate" else []
        asked = (*BY, *TIME, *WINDOWS, *COSTS, *QUICK, *more, "-o", out, "--force")
        found = call("fit", folder / "train.csv", *asked)
        words = "Stopped; nothing was saved."
        if more:
            words = f"Stopped; the same command goes on with what {rules} holds."
        assert (found.exit_code, found.stderr) == (130, f"{words}\n")
        assert (found.stdout, out.read_text()) == ("", "old")


class TestFolders:
    @pytest.fixture(scope="class")
    def parts(self, folder, tmp_path_factory):
        """The table's series in files of a folder, the last day's rows in another."""
        pytest.importorskip("pyarrow")
        out = tmp_path_factory.mktemp("parts")
        sales = pd.read_csv(folder / "train.csv", parse_dates=["date"])
        last = sales["date"].max()
        for name in ("sales", "new"):
            (out / name).mkdir()
        for store, rows in sales.groupby("store"):
            rows[rows["date"] < last].to_parquet(out / "sales" / f"{store}.parquet")
            rows[rows["date"] == last].drop(columns="demand").to_parquet(
                out / "new" / f"{store}.parquet"
            )
        return out

    def test_are_learned_from_and_decided_for(self, parts):
        path, orders = parts / "panel.hedgerow", parts / "orders"
        found = call(
            "fit", parts / "sales", *BY, *COSTS, *QUICK, "--time", "date", "--seeds", 1, "-o", path
        )
        assert found.exit_code == 0, found.output
        decided = call("decide", path, parts / "new", "--history", parts / "sales", "-o", orders)
        assert decided.exit_code == 0, decided.output
        panel = hr.load(path)
        for file in sorted((parts / "new").glob("*.parquet")):
            history = pd.read_parquet(parts / "sales" / file.name)
            expected = panel.predict(pd.read_parquet(file), history=history)
            found = pd.read_parquet(orders / file.name)["decision"]
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        printed = call("decide", path, parts / "new")
        assert printed.exit_code == 1
        assert "name a folder for decisions with --out" in flat(printed.output)

    def test_what_is_not_offered_is_said(self, parts):
        for options, words in (
            (["--strategy", "separate"], "is pooled for a folder"),
            (["--bad-series", "leave-out"], "is for one table"),
        ):
            found = call("fit", parts / "sales", *BY, *COSTS, "--time", "date", *options)
            assert found.exit_code == 2
            assert words in flat(found.output)
