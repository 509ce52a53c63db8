"""An input error is one sentence: what was got, what was expected."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import _checks


@pytest.mark.parametrize("value", ["x", None, hr.RobustPolicy, np.ones(3)])
def test_what_is_no_policy(value):
    with pytest.raises(TypeError, match=r"policy must be a fitted hedgerow.RobustPolicy.*; got "):
        _checks.fitted_policy(value)


def test_whether_a_policy_was_fitted_it_says_itself():
    policy = hr.RobustPolicy(hr.Newsvendor(1.0, 2.0))
    assert _checks.fitted_policy(policy) is policy


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
