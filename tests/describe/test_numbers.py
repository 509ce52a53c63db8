"""Numbers, shares and lists as people read them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.describe.numbers import SPACE, counted, listed, number, percent, spanned


@pytest.mark.parametrize(
    ("value", "options", "text"),
    [
        (1234.5, {"digits": 3}, "1,234"),
        (1234.5, {}, "1,234"),
        (12345.678, {"digits": 7}, "12,345.68"),
        (-0.0123456, {"digits": 3}, "−0.0123"),
        (0.0, {"signed": True}, "0"),
        (0.5, {"signed": True}, "+0.5"),
        (0.5, {"digits": 3, "like": 0.9, "signed": True}, "+0.500"),
        (0.004, {"digits": 3, "like": 0.9}, "0.004"),
        (-1e-9, {"digits": 3, "like": 0.9}, "0.000"),
        (3.2e12, {"digits": 3}, "3.20e+12"),
        (2e-9, {"digits": 2}, "2.0e-09"),
        (9.99996, {}, "10"),
        (math.inf, {}, "∞"),
        (-math.inf, {}, "−∞"),
        (math.nan, {}, "–"),
    ],
)
def test_numbers_have_the_digits_that_matter(value, options, text):
    assert number(value, **options) == text


@given(st.floats(1e-5, 1e8), st.integers(2, 8))
def test_a_number_can_be_read_back(value, digits):
    assert float(number(value, digits).replace(",", "")) == pytest.approx(
        value, rel=0.6 * 10.0 ** (1 - digits), abs=0.5 if value >= 10 ** (digits - 1) else 0
    )


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1e-6, "< 0.1 %"), (0.034, "3.4 %"), (0.05, "5 %"), (0.5, "50 %"),
     (0.996, "99.6 %"), (0.99999, "> 99.9 %"), (1, "100 %"), (1.5, "150 %"), (-0.12, "−12 %"),
     (math.nan, "–")],
)  # fmt: skip
def test_shares_are_never_rounded_to_nothing_or_everything(share, text):
    assert percent(share) == text.replace(" ", SPACE)


def test_shares_may_have_a_sign():
    assert percent(0.25, signed=True) == f"+25{SPACE}%"
    assert percent(0.0, signed=True) == f"0{SPACE}%"


def test_things_are_counted():
    assert [counted(n, "row") for n in (0, 1, 1200)] == ["0 rows", "1 row", "1,200 rows"]


def test_lists_say_how_much_they_leave_out():
    names = [f"column {i}" for i in range(20)]
    assert listed(names, most=3) == "column 0, column 1, column 2 and 17 more"
    assert listed(names[:4], most=3) == "column 0, column 1, column 2, column 3"
    assert listed(["a" * 90, "b" * 90, "c"]) == "a" * 90 + " and 2 more"
    assert listed(["only"]) == "only"
    assert listed([]) == ""


@pytest.mark.parametrize(
    ("values", "text"), [(2.5, "2.5"), ([1, 3, 2], "1 to 3"), (np.ones((2, 2)), "1")]
)
def test_several_numbers_are_said_by_their_ends(values, text):
    assert spanned(values) == text
