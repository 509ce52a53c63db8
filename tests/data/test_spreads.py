"""Scales that bad rows cannot move, and the sentence that names the bad rows."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.data.spreads import Spreads, mend

RNG = np.random.default_rng(0)
CLEAN = RNG.normal(50.0, 10.0, (300, 1))


def measured(values, mass=None):
    return Spreads.measure(values, np.ones(len(values)) if mass is None else mass)


def test_on_clean_data_spreads_are_standard_deviations():
    X = np.column_stack([CLEAN, RNG.exponential(size=300), RNG.integers(0, 7, 300)])
    found = measured(X)
    np.testing.assert_allclose(found.centre, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.deviation, X.std(axis=0), rtol=1e-12)
    assert found.within(X).all()


@pytest.mark.parametrize("factor", [30.0, 1e3, 1e9, 1e30])
def test_one_value_in_ten_may_be_anything(factor):
    bad = CLEAN.copy()
    bad[::11] *= factor
    found = measured(bad)
    rest = np.delete(bad, np.s_[::11], axis=0)
    assert found.centre[0] == pytest.approx(rest.mean(), rel=1e-12)
    assert found.deviation[0] == pytest.approx(rest.std(), rel=1e-12)
    assert np.flatnonzero(~found.within(bad)[:, 0]).tolist() == list(range(0, 300, 11))


@pytest.mark.parametrize(
    "values",
    [
        RNG.exponential(size=1000),
        RNG.lognormal(0.0, 0.7, 1000),
        (RNG.random(1000) < 0.02).astype(float),  # a rare indicator
        1.0 - (RNG.random(1000) < 0.02),
        RNG.poisson(0.05, 1000).astype(float),  # demand that is rare
        np.where(RNG.random(1000) < 0.95, 0.0, RNG.gamma(2.0, 10.0, 1000)),
        RNG.standard_t(4, 1000),
    ],
)
def test_skewed_rare_and_heavy_tailed_values_are_no_typos(values):
    assert measured(values[:, None]).within(values[:, None]).all()


def test_a_constant_column_with_a_typo_stays_constant():
    values = np.full((300, 1), 40.0)
    values[7] = 40_000.0
    found = measured(values)
    assert (found.centre[0], found.deviation[0]) == (40.0, 0.0)
    assert not found.within(values)[7, 0]


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40),
    st.floats(1e-9, 1e9),
    st.integers(1, 3),
)
def test_units_order_and_repetition_do_not_matter(values, unit, times):
    column = np.array(values)[:, None]
    one = measured(column)
    other = measured(np.repeat(unit * column[::-1], times, axis=0))
    size = max(1.0, np.abs(column).max())
    np.testing.assert_allclose(other.deviation, unit * one.deviation, atol=1e-9 * unit * size)
    np.testing.assert_allclose(other.centre, unit * one.centre, atol=1e-9 * unit * size)


def test_weights_count_as_repetition():
    weights = RNG.integers(1, 4, 300)
    one, other = measured(CLEAN, weights.astype(float)), measured(np.repeat(CLEAN, weights, axis=0))
    np.testing.assert_allclose(one.deviation, other.deviation, rtol=1e-12)
    np.testing.assert_allclose(one.high, other.high, rtol=1e-12)


def test_typos_are_named_clipped_or_refused():
    bad = np.column_stack([CLEAN, CLEAN])
    bad[[3, 8], 1] = 1e5, -1e7
    sentence = r"2 rows of X look like typos \(counted from 0: 3, 8\): row 8 has .*in column rain"
    with pytest.warns(hr.OutlierWarning, match=sentence):
        kept = mend("X", bad, np.ones(300), "warn", ["sun", "rain"])
    np.testing.assert_array_equal(kept, bad)
    with pytest.warns(hr.OutlierWarning, match="clipped"):
        clipped = mend("X", bad, np.ones(300), "clip")
    assert (np.abs(clipped) < 500).all()
    np.testing.assert_array_equal(np.delete(clipped, [3, 8], 0), np.delete(bad, [3, 8], 0))
    with pytest.raises(ValueError, match="Correct or remove them"):
        mend("X", bad, np.ones(300), "error")
    with pytest.raises(ValueError, match="outliers must be one of"):
        mend("X", bad, np.ones(300), "drop")


def test_rows_without_weight_are_no_typos():
    bad, weights = CLEAN.copy(), np.ones(300)
    bad[5], weights[5] = 1e9, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mend("Y", bad, weights, "error")
