"""Sums over windows are those of a loop, stay within their series, and forget what lies before."""

import numpy as np
import pytest

from hedgerow.data.time_windows import brought_back, shifted, window_sums

LENGTHS = (9, 1, 40, 3)
OFFSET = np.concatenate([np.arange(n) for n in LENGTHS])


def by_loop(values, size, stride):
    return [
        sum(values[i - j * stride] for j in range(size) if j * stride <= OFFSET[i])
        for i in range(len(values))
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 13, 53, 1000])
@pytest.mark.parametrize("stride", [1, 7])
def test_sums_are_those_of_a_loop(size, stride):
    values = np.random.default_rng(0).integers(-9, 9, len(OFFSET)).astype(float)
    np.testing.assert_array_equal(
        window_sums(values, size, OFFSET, stride), by_loop(values, size, stride)
    )


def test_a_sum_depends_on_its_window_to_the_last_digit_and_on_nothing_else():
    rng = np.random.default_rng(1)
    values = rng.normal(0, 1, 200) * 10.0 ** rng.integers(-8, 8, 200)
    for size in (3, 28, 61):
        all_of_it = window_sums(values, size, np.arange(200))
        for cut in (1, 17, 200 - size):
            recent = window_sums(values[cut:], size, np.arange(200 - cut))
            np.testing.assert_array_equal(recent[size - 1 :], all_of_it[cut + size - 1 :])


@pytest.mark.parametrize("by", [0, 1, 3, 60])
def test_shifts_stay_within_their_series(by):
    values = np.arange(1.0, len(OFFSET) + 1)
    expected = np.where(by <= OFFSET, values - by, 0.0)
    np.testing.assert_array_equal(shifted(values, by, OFFSET), expected)
    length = np.repeat(LENGTHS, LENGTHS)
    expected = np.where(OFFSET + by < length, values + by, 0.0)
    np.testing.assert_array_equal(brought_back(values, by, OFFSET), expected)
