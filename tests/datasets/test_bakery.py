"""The bakery's panel is whole, sorted and dated right, and comes with its licence."""

import sys
from importlib.resources import files

import numpy as np
import pytest

from hedgerow.datasets import bakery, load_bakery

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table():
    return load_bakery()


def test_it_is_a_full_panel_in_order(table):
    keys = table[["store", "product", "date"]]
    days = pd.date_range("2016-01-02", "2019-04-30")
    full = pd.MultiIndex.from_product([table["store"].unique(), [101, 109, 110], days])
    assert len(full) == len(table) == 25 * 3 * 1215
    assert pd.MultiIndex.from_frame(keys).equals(full)
    assert full.is_monotonic_increasing
    assert table.index.equals(pd.RangeIndex(len(table)))


def test_every_column_is_documented_and_as_documented(table):
    for name in table.columns:
        assert f"``{name}``" in load_bakery.__doc__
        assert name in bakery.__doc__
    assert table["date"].dtype.kind == "M"
    assert not table.isna().any(axis=None)
    flags = [name for name in table.columns if name.startswith(("is_", "promotion_"))]
    assert len(flags) == 5
    assert table[flags].isin([0, 1]).all(axis=None)
    assert table["demand"].min() == 0
    assert table["demand"].max() == 1783
    assert (table["demand"] % 1 != 0).sum() == 31
    assert (table["demand"] == 0).mean() == pytest.approx(0.12, abs=0.005)
    assert table["rain"].max() == 66.3


def test_the_first_row(table):
    # 2016-01-02,FRI,JAN,2016,1,0,0,4,101,11.9,2.1,0,0,4.0
    assert table.iloc[0].tolist() == [
        *(pd.Timestamp("2016-01-02"), 4, 101, 4.0),
        *(1, 0, 0, 11.9, 2.1, 0, 0),
    ]


def test_dates_are_right_where_the_weekdays_of_the_source_are_not(table):
    """Holidays are where a calendar has them, and bread is sold most on true Saturdays."""
    assert "weekday" not in table
    holidays = set(table.loc[table["is_holiday"] == 1, "date"])
    for day in ("2016-12-25", "2017-10-31", "2018-04-02", "2019-04-19"):
        assert pd.Timestamp(day) in holidays
    assert table.groupby(table["date"].dt.day_name())["demand"].mean().idxmax() == "Saturday"


def test_what_the_documentation_says_about_zeros(table):
    total = table.groupby("date")["demand"].sum()
    assert (total == 0).sum() == 16
    late = table[(table["store"] == 5) & (table["demand"] > 0)]
    assert late["date"].min() == pd.Timestamp("2018-05-03")


def test_the_file_is_small_and_its_licence_lies_beside_it():
    folder = files("hedgerow.datasets")
    assert len(folder.joinpath("bakery.csv.gz").read_bytes()) < 1_000_000
    licence = folder.joinpath("bakery.LICENSE.txt").read_text()
    assert "Copyright (c) 2007-2020 The ddop developers" in licence
    assert "BSD 3-Clause License" in licence


def test_each_call_returns_a_table_of_its_own(table):
    other = load_bakery()
    other["demand"] = 0.0
    assert load_bakery().equals(table)
    assert np.ptp(table["demand"]) > 0


def test_without_pandas_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"load_bakery.*hedgerow\[cli\]"):
        load_bakery()
