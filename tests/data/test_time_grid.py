"""Every table that is no table of series gets its sentence, with the series and a row named."""

import re

import numpy as np
import pytest

import hedgerow as hr

pd = pytest.importorskip("pandas")


@pytest.fixture
def table():
    dates = pd.date_range("2020-01-01", periods=40)
    parts = [
        pd.DataFrame({"store": s, "date": dates, "demand": np.arange(40.0) + s, "promo": 0})
        for s in (4, 5, 17)
    ]
    return pd.concat(parts, ignore_index=True)


def features(**changed):
    chosen = {"time": "date", "outcome": "demand", "by": ("store",), "lags": (7,), "lead": 2}
    return hr.TimeFeatures(**chosen | changed)


def refused(made, *arguments, **named):
    with pytest.raises((TypeError, ValueError)) as caught:
        made(*arguments, **named)
    sentence = str(caught.value)
    assert sentence.count(". ") == 0, sentence
    assert sentence.endswith(".")
    return sentence


def test_two_rows_for_one_period(table):
    twice = pd.concat([table, table.iloc[[50]], table.iloc[[60]]], ignore_index=True)
    sentence = refused(features().training, twice)
    assert "store=5 has more than one row for 2020-01-11, for example rows 51 and 121" in sentence
    assert "(2 rows are one too many)" in sentence
    # by the only column that tells series apart, all of them are one
    assert "the table has more than one row for 2020-01-01" in refused(
        features(by=()).training, table
    )


def test_gaps_are_named(table):
    assert "store=5 has no row for 2020-01-11;" in refused(
        features().training, table.drop(index=50)
    )
    sentence = refused(features().training, table.drop(index=[50, 51, 52, 60, 100]))
    assert "store=5 has no row for 2020-01-11 to 2020-01-13 (and 2 more gaps, 2 series" in sentence
    assert "gaps='fill'" in sentence
    assert "gaps='missing'" in sentence
    assert "(and another gap)" in refused(features().training, table.drop(index=[50, 60]))


def test_missing_outcomes_are_named_with_their_series(table):
    table.loc[[3, 50, 51], "demand"] = np.nan
    sentence = refused(features().training, table.loc[4:])
    assert "'demand' has 2 missing values in store=5, first in row 47;" in sentence
    assert "and more in 1 other series" in refused(features().training, table)
    made = features(gaps="missing").training(table)
    # of each series 33 rows have a lag of 7; store 5 lost two outcomes and two lags, store 4 a lag
    assert made.groupby("store").size().tolist() == [32, 29, 33]


@pytest.mark.parametrize("value", ["many", np.inf, -np.inf, "1,5"])
def test_outcomes_that_are_no_numbers(table, value):
    table["demand"] = table["demand"].astype(object)
    table.loc[81, "demand"] = value
    sentence = refused(features(gaps="missing").training, table)
    assert f"row 82 (store=17) holds '{value}'" in sentence
    assert "holds dates" in refused(features(outcome="day").training, table.assign(day=table.date))


@pytest.mark.parametrize("value", ["07.11.2020", "2020-02-30", "soon", None, "2020-01-01T25:00"])
def test_dates_that_are_none(table, value):
    texts = table["date"].dt.strftime("%Y-%m-%d").astype(object)
    texts.iloc[11] = value
    sentence = refused(features().training, table.assign(date=texts))
    assert re.search(r"'date' must hold dates like 2015-11-07, but row 12 holds '", sentence)


def test_times_of_another_kind(table):
    numbers = table.assign(date=np.tile(np.arange(40), 3))
    assert "it holds numbers; where times are whole numbers, say step=1" in refused(
        features().training, numbers
    )
    assert "holds dates, but step is a whole number" in refused(features(step=1).training, table)
    numbers["date"] = numbers["date"].astype(float)
    numbers.loc[3, "date"] = 2.5
    assert "must hold whole numbers" in refused(features(step=1).training, numbers)
    numbers.loc[3, "date"] = 1e300
    assert "row 4 holds '1e+300'" in refused(features(step=1).training, numbers)
    assert "row 2 holds '2020-01-02" in refused(features(step="M").training, table)


def test_times_between_two_periods(table):
    table.loc[45, "date"] += pd.Timedelta(hours=6)
    sentence = refused(features().training, table)
    assert "Row 46 (store=5) is dated 2020-01-06T06:00, which is no whole number" in sentence
    assert "2020-01-01; correct it, or set step" in sentence


@pytest.mark.parametrize("gaps", ["fill", "missing"])
def test_one_wild_date_asks_for_no_grid_of_ten_thousand_years(table, gaps):
    table["date"] = table["date"].astype("datetime64[s]")
    table.loc[40, "date"] = np.datetime64("0001-01-01")
    table.loc[79, "date"] = np.datetime64("9999-01-01")
    sentence = refused(features(gaps=gaps).training, table)
    assert "store=5 reaches from 0001-01-01 to 9999-01-01, 3,651,695 periods" in sentence
    history = table[table["store"] == 4]
    wanted = pd.DataFrame({"store": [4], "date": ["9999-01-01"]})
    sentence = refused(features(gaps=gaps).upcoming, history, wanted)
    assert "9999-01-01" in sentence


def test_columns_that_are_not_there(table):
    assert refused(features().training, table.drop(columns="demand")) == (
        "The table lacks the column demand; it has store, date, promo."
    )
    assert "lacks the columns store, date" in refused(features().training, table[["demand"]])
    wanted = pd.DataFrame({"store": [4], "date": ["2020-02-10"]})
    sentence = refused(features(known=("promo",)).upcoming, table, wanted)
    assert "The table of wanted rows lacks the column promo; it has store, date." in sentence
    assert "more than one column called 'store'" in refused(
        features().training, pd.concat([table, table[["store"]]], axis=1)
    )
    assert "has no rows" in refused(features().training, table.head(0))
    assert "must be a pandas DataFrame; got list" in refused(features().training, [1, 2])


def test_series_without_a_name(table):
    names = table["store"].astype(object)
    names.iloc[77] = None
    assert "'store' names series, but it is empty in row 78" in refused(
        features().training, table.assign(store=names)
    )
    wanted = pd.DataFrame({"store": [4, None], "date": ["2020-02-09"] * 2})
    assert "empty in row 2" in refused(features().upcoming, table, wanted)


def test_series_too_short_are_listed(table):
    short = pd.concat(
        [table[table["store"] == 4], table[table["store"] != 4].groupby("store").head(5)]
    )
    with pytest.warns(
        hr.ShortSeriesWarning, match=r"2 of 3 series .* \(store=5, store=17\): a row n"
    ):
        made = features().training(short)
    assert set(made["store"]) == {4}
    sentence = refused(features().training, table.groupby("store").head(7))
    assert (
        "There is no row to learn from: a row needs outcomes from 7 periods before it" in sentence
    )
    many = pd.concat([table.head(3).assign(store=s) for s in range(30)])
    wanted = pd.DataFrame({"store": range(30), "date": "2020-01-04"})
    sentence = refused(features().upcoming, many, wanted)
    assert "for 30 of the wanted series (store=0, store=1" in sentence
    assert "and 24 more): a row needs outcomes from 7 periods before it on" in sentence


def test_history_that_ends_too_early(table):
    wanted = pd.DataFrame({"store": [4, 5], "date": ["2020-02-10", "2020-02-12"]})
    sentence = refused(features().upcoming, table, wanted)
    assert "Row 2 of the wanted rows (store=5, 2020-02-12)" in sentence
    assert "up to 2020-02-10 are known, but the history ends with 2020-02-09" in sentence
    assert len(features().upcoming(table, wanted.head(1))) == 1
    # where a period without a row means nothing sold, the table's last date counts
    early = table.drop(index=[78, 79])
    wanted = pd.DataFrame({"store": [5], "date": ["2020-02-11"]})
    assert "ends with 2020-02-07" in refused(features().upcoming, early, wanted)
    filled = features(gaps="fill", lags=(2,)).upcoming(early, wanted)
    assert filled["demand_lag_2"].tolist() == [0.0]


def test_rows_wanted_off_the_steps_of_their_series(table):
    wanted = pd.DataFrame({"store": [4, 5], "date": ["2020-02-09", "2020-02-09T12:00"]})
    assert "Row 2 (store=5) is dated 2020-02-09T12:00" in refused(
        features().upcoming, table, wanted
    )


def test_names_of_series_are_shown_and_do_nothing(table):
    table["store"] = table["store"].map({4: "\x1b[2J", 5: "b", 17: "c"})
    sentence = refused(features().training, table.drop(index=10))
    assert r"store=\x1b[2J has no row" in sentence
    mixed = table.assign(store=table["store"].where(table["store"] != "b", 7))
    assert len(features().training(mixed)) == 99


def test_wanted_rows_may_repeat_and_lie_before_the_history(table):
    f = features()
    wanted = pd.DataFrame({"store": [4, 4, 4], "date": ["2019-12-01", "2020-02-09", "2020-02-09"]})
    made = f.upcoming(table, wanted, short="missing")
    assert made["demand_lag_7"].isna().tolist() == [True, False, False]
    assert "too short" in refused(f.upcoming, table, wanted)
