"""Columns that follow from dates are found; others are not."""

import numpy as np
import pandas as pd
import pytest

from hedgerow.report.calendar import dates_in, following, parts_of, row_noun

DATES = np.arange("2014-01-01", "2015-07-01", dtype="datetime64[D]")
DAYS = pd.DatetimeIndex(DATES)


@pytest.mark.parametrize(
    ("values", "part"),
    [
        (DAYS.day_of_week.to_numpy(float) + 1, "weekday"),
        (DAYS.month.to_numpy(float), "month"),
        (DAYS.day_of_year.to_numpy(float), "day_of_year"),
        (DAYS.day_name().to_numpy().astype(str), "weekday"),
        (DAYS.month_name().to_numpy().astype(str), "month"),
        ((DAYS.day_of_week > 4).astype(float), "weekday"),
        (parts_of(DATES)["season_sin"], "season_sin"),
    ],
)
def test_what_follows_is_found_and_gives_the_values_back(values, part):
    found = following(DATES, values)
    assert found["part"] == part
    parts = parts_of(DATES)[part]
    if "table" in found:
        again = np.array([found["table"][str(int(one))] for one in parts])
    else:
        again = parts + found["offset"]
    if values.dtype.kind == "f":
        np.testing.assert_allclose(again, values, atol=1e-9)
    else:
        assert (again == values).all()


def test_parts_are_those_of_pandas():
    parts = parts_of(DATES)
    np.testing.assert_array_equal(parts["weekday"], DAYS.day_of_week)
    for name in ("month", "day", "year", "day_of_year"):
        np.testing.assert_array_equal(parts[name], getattr(DAYS, name))


def test_a_slip_is_forgiven_and_many_are_not():
    weekend = (DAYS.day_of_week > 4).astype(float)
    slipped = np.array(weekend)
    slipped[100:105] = 1 - slipped[100:105]
    assert following(DATES, slipped)["part"] == "weekday"
    slipped[100:130] = 1 - weekend[100:130]
    assert following(DATES, slipped) is None


def test_what_merely_happens_to_agree_does_not_follow():
    rng = np.random.default_rng(0)
    closed = np.zeros(len(DATES))
    closed[[3, 200]] = 1  # rare: "never" would agree with nearly all of it
    price = np.where(np.datetime64("2014-07-01") > DATES, 2.0, 2.5)
    for values in (closed, price, rng.normal(size=len(DATES)), np.ones(len(DATES))):
        assert following(DATES, values) is None
    few = slice(0, 10)  # ten days: a weekday is seen twice at most
    assert following(DATES[few], (DAYS.day_of_week > 4).astype(float)[few]) is None


def test_dates_are_found_or_named():
    table = pd.DataFrame({"a": range(3), "when": ["2024-01-01", "2024-01-02", "2024-01-03"]})
    name, dates = dates_in(table)
    assert name == "when"
    assert row_noun(dates) == "day"
    assert row_noun(dates[[0, 0, 1]]) == row_noun(None) == "row"
    assert row_noun(np.array(["2024-01-01", "2024-01-08"], "datetime64[D]")) == "week"
    assert dates_in(table[["a"]]) is None
    assert dates_in(table[["a"]].set_index(pd.DatetimeIndex(dates, name="of")))[0] == "of"
    with pytest.raises(ValueError, match="does not have"):
        dates_in(table, "day")
    with pytest.raises(ValueError, match="must hold dates"):
        dates_in(table, "a")
