"""Texts that look like dates or numbers are read as such or refused, never taken for names."""

import numpy as np
import pandas as pd
import pytest

from hedgerow.data.columns import numeric_column
from hedgerow.data.encoder import TableEncoder
from hedgerow.data.look_alikes import is_formatted_number, is_iso_date


def encoded(*values):
    return TableEncoder().fit(pd.DataFrame({"a": values})).columns_[0]


@pytest.mark.parametrize(
    "text",
    [
        *("2024-02-29", "2024-01-01T00:00", "2024-01-01 23:59:59", "2024-01-01T08:30:00.125"),
        *("2024-01-01T08:30Z", "2024-01-01 08:30:00+09:00", "2024-01-01T08:30:00 -0330"),
    ],
)
def test_dates_with_times_that_exist(text):
    assert is_iso_date(text)
    assert encoded(text, "2024-01-02").kind == "date"


@pytest.mark.parametrize(
    "text",
    [
        *("2024-01-01T25:99", "2024-01-01T24:00", "2024-01-01 12:60", "2024-01-01T12:00:61"),
        *("2024-01-01T12:00+25:00", "2024-01-01T12:00 noon", "2024-02-30", "2024-13-01"),
    ],
)
def test_a_date_or_time_that_does_not_exist_is_named(text):
    with pytest.raises(ValueError, match="'a' holds dates, but one value is") as caught:
        encoded("2024-01-01", text, "2024-01-02")
    assert repr(text) in str(caught.value)
    encoder = TableEncoder().fit(pd.DataFrame({"a": ["2024-01-01", "2024-01-02"]}))
    with pytest.raises(ValueError, match="'a' must hold dates like 2015-11-07"):
        encoder.transform(pd.DataFrame({"a": [text]}))


@pytest.mark.parametrize(
    "text",
    [
        *("10,5", "$10.00", "5%", "5 %", "10,000", "1.234.567,89", "1'000", "€ 5", "5\u00a0€"),
        *("(3.50)", "-$4", "−7", "10 000", ",5", "£1,000.00"),
    ],
)
def test_formatted_numbers_are_refused_with_a_remedy(text):
    assert is_formatted_number(text)
    with pytest.raises(ValueError, match=r"'a' looks like numbers, but .* plain numbers") as caught:
        encoded(text, "12", text, "n.a.")
    assert repr(text) in str(caught.value)
    with pytest.raises(ValueError, match=r"must hold numbers, .*; write it as a plain number"):
        numeric_column(pd.DataFrame({"a": ["1", text]}), "a")


@pytest.mark.parametrize("text", ["07.11.2015", "11/7/2015", "2015/11/07", "7-11-2015 08:00"])
def test_dates_in_other_orders_are_refused(text):
    with pytest.raises(ValueError, match=r"'a' looks like dates, .* like 2015-11-07"):
        encoded(text, text, "soon")


@pytest.mark.parametrize(
    "text", ["A,5", "10 kg", "1.2.3", "192.168.0.1", "5-10", "1,2,3", "v5%", "555 123 4567", "$"]
)
def test_names_are_names(text):
    assert not is_formatted_number(text)
    assert encoded(text, "b", text).values == tuple(sorted({text, "b"}))


@pytest.mark.parametrize("text", ["1", "-1.5", "1e5", ".5", "5.", "+3"])
def test_plain_numbers_are_not_formatted(text):
    assert not is_formatted_number(text)


def test_a_few_such_values_among_names_are_names_too():
    assert encoded("10,5", "tall", "small", "wide").kind == "category"


def test_a_column_that_says_it_is_categorical_is_believed():
    table = pd.DataFrame({"a": pd.Categorical(["10,5", "5%", "2024-01-01T25:99"])})
    assert TableEncoder().fit_transform(table).shape == (3, 3)


@pytest.mark.parametrize("value", [10**400, "1e400", float("inf")])
def test_numbers_beyond_floats_are_refused(value):
    table = pd.DataFrame({"a": pd.Series([value, 1], dtype=object)})
    with pytest.raises(ValueError, match=r"'a' (has 1 infinite value|must hold numbers)"):
        numeric_column(table, "a")


def test_integers_beyond_64_bits_are_numbers():
    table = pd.DataFrame({"a": pd.Series([10**30, 1], dtype=object)})
    np.testing.assert_array_equal(TableEncoder().fit_transform(table)["a"], [1e30, 1])


def test_long_texts_are_no_categories():
    with pytest.raises(ValueError, match=r"the text 'xxx.*'… \(1,000 characters\), too long"):
        encoded("x" * 1000, "y")
