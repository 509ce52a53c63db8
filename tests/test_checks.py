"""An input error is one sentence: what was got, what was expected."""

import datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import hedgerow as hr
from hedgerow import _checks


@pytest.mark.parametrize("value", ["x", None, hr.RobustPolicy, np.ones(3)])
def test_what_is_no_policy(value):
    with pytest.raises(TypeError, match=r"policy must be a fitted hedgerow.RobustPolicy.*; got "):
        _checks.fitted_policy(value)


def test_a_policy_that_was_not_fitted():
    with pytest.raises(NotFittedError, match="This RobustPolicy instance is not fitted yet"):
        _checks.fitted_policy(hr.RobustPolicy(hr.Newsvendor(1.0, 2.0)))


def test_positions_count_from_zero():
    assert _checks.position("tree", np.int64(2), 3) == 2
    for wrong in (-1, 3):
        with pytest.raises(ValueError, match=f"tree must lie between 0 and 2; got {wrong}"):
            _checks.position("tree", wrong, 3)
    for wrong in (1.0, True, "a"):
        with pytest.raises(TypeError, match="tree must be a whole number"):
            _checks.position("tree", wrong, 3)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("auto", "cost must hold numbers only, got 'auto'"),
        (None, "cost must hold numbers only, got None"),
        ([[1, 2], [3]], r"cost must hold numbers only, got \[\[1, 2\], \[3\]\]"),
        (1j, "cost must hold numbers only"),
        ([1.0, np.nan], "cost contains NaN; it must be finite"),
        (-np.inf, "cost contains inf"),
    ],
)
def test_what_is_no_parameter(value, message):
    with pytest.raises((TypeError, ValueError), match=message):
        _checks.parameter("cost", value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, r"support must be a pair \(low, high\), got 5"),
        ("ab", r"support must be a pair \(low, high\), got 'ab'"),
        ((1.0,), r"support must be a pair \(low, high\)"),
        (("a", "b"), "support needs numbers, got low='a', high='b'"),
        ((1.0, 0.0), "support needs low < high"),
        ((np.datetime64("2020-01-01"), np.datetime64("2021-01-01")), "support needs numbers"),
    ],
)
def test_what_is_no_interval(value, message):
    with pytest.raises((TypeError, ValueError), match=message):
        _checks.interval("support", value)


@pytest.mark.parametrize(
    ("value", "message"),
    [(None, "Y must be numeric, got None"), ([[1], [2, 3]], "Y must be a table, but its rows")],
)
def test_what_is_no_table_of_numbers(value, message):
    with pytest.raises((TypeError, ValueError), match=message):
        _checks.numeric("Y", value)


DAYS = np.arange("2020-01-01", "2020-01-04", dtype="datetime64[D]")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (DAYS, "^X holds dates or durations, not numbers"),
        (DAYS - DAYS[0], "^X holds dates"),
        ([[datetime.date(2020, 1, 1), 2.0]], "^X holds dates"),
        (pd.DataFrame({"a": 1.0, "day": DAYS}), "^Column 'day' of X holds dates"),
        (pd.DataFrame({"day": pd.to_datetime(DAYS).tz_localize("UTC")}), "^Column 'day' of X"),
        (pd.DataFrame({"day": DAYS, "wait": DAYS - DAYS[0]}), "^Column 'day' of X"),
    ],
)
def test_dates_are_no_numbers(value, message):
    with pytest.raises(TypeError, match=message):
        _checks.numeric("X", value)


def test_policies_take_no_dates():
    X, Y = np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(3, 2) ** 2
    dates = np.column_stack([DAYS, DAYS])
    for contexts, outcomes, name in ((dates, Y, "X"), (X, dates, "Y")):
        with pytest.raises(TypeError, match=f"^{name} holds dates"):
            hr.RobustPolicy(hr.MeanVariance()).fit(contexts, outcomes)
        with pytest.raises(TypeError, match=f"^{name} holds dates"):
            hr.RobustPolicy.from_function(lambda x: x, hr.MeanVariance(), contexts, outcomes)


def test_an_object_of_another_kind_is_named_in_one_line():
    with pytest.raises(TypeError) as caught:
        _checks.instance("market", pd.DataFrame(np.eye(40)), int, "a number")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 100
