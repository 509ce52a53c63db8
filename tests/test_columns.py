"""Columns of a long table: numbers, groups and days, and the sentences about wrong ones."""

import datetime

import numpy as np
import pandas as pd
import pytest

from hedgerow import _columns


def test_a_number_is_that_of_every_row():
    np.testing.assert_array_equal(_columns.per_row("holding", 2, 3), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(_columns.per_row("holding", pd.Series([1, 2]), 2), [1.0, 2.0])


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([1.0, np.nan], "holding is nan in row 1; a finite number is needed"),
        ([1.0, None], "holding is nan in row 1"),
        (np.inf, "holding is inf; a finite"),
        ([1.0, -3.0], "holding is -3 in row 1; it must be at least 0"),
        ([1.0], r"one number, or one per row \(2\), got shape \(1,\)"),
    ],
)
def test_a_wrong_number_is_named_with_its_row(value, sentence):
    with pytest.raises(ValueError, match=sentence):
        _columns.per_row("holding", value, 2, least=0.0)
    with pytest.raises(TypeError, match="holding must hold numbers only, got 'cheap'"):
        _columns.per_row("holding", "cheap", 2)


def test_groups_are_numbered_in_the_order_of_their_labels():
    groups = _columns.grouped(["b", "a", "b"])
    assert groups.labels.tolist() == ["a", "b"]
    assert groups.codes.tolist() == [1, 0, 1]


def test_groups_of_several_columns_are_told_apart():
    table = pd.DataFrame({"store": [10, 2, 10, 2, 1], "item": ["x", "1", "x", "x", "01"]})
    groups = _columns.grouped(table)
    assert groups.codes[0] == groups.codes[2]
    assert len(set(groups.codes.tolist())) == len(groups.labels) == 4
    np.testing.assert_array_equal(groups.labels[groups.codes], table.to_numpy())
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 4, size=(200, 3))
    codes = _columns.grouped(whole).codes
    same = np.all(whole[:, None] == whole, axis=2)
    np.testing.assert_array_equal(codes[:, None] == codes, same)
    with pytest.raises(ValueError, match="one label per row"):
        _columns.grouped(3)


def test_dates_are_days_however_they_are_written():
    written = ["2024-02-28", "2024-02-29", "2024-03-01"]
    dates = [datetime.date.fromisoformat(text) for text in written]
    forms = (written, dates, np.array(written, dtype="datetime64[ns]"), pd.to_datetime(written))
    for form in (*forms, pd.Series(written), pd.Series(pd.to_datetime(written))):
        days = _columns.days("dates", form)
        np.testing.assert_array_equal(days - days[0], [0, 1, 2])
    np.testing.assert_array_equal(_columns.days("dates", [5, 3]), [5, 3])


@pytest.mark.parametrize(
    ("dates", "error", "sentence"),
    [
        (["yesterday"], TypeError, "dates must be dates"),
        ([1.5], TypeError, "dates must be dates"),
        ([None], TypeError, "dates must be dates"),
        (np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"), ValueError, "no date in row 1"),
        ([20240229], ValueError, "such as 20240229, far too large for days"),
        ([[1]], ValueError, "one date per row"),
    ],
)
def test_what_is_no_date_is_refused(dates, error, sentence):
    with pytest.raises(error, match=sentence):
        _columns.days("dates", dates)
