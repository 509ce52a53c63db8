"""Scales that bad rows cannot move, and the sentence that names the bad rows."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.data import spreads
from hedgerow.data.spreads import Spreads, mend

RETURNS = Path(__file__).parents[3] / "shared" / "data" / "returns.csv.gz"
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


def named(values):
    """Rows that are said to look like typos, as the warning counts them; none is none."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        mend("Y", values, np.ones(len(values)), "warn")
    return int(str(said[0].message).split()[0]) if said else 0


@pytest.mark.parametrize("rows", [60, 300, 2000])
def test_a_heavy_tail_leads_out_of_its_fence_without_typos(rows):
    """Student's t with 3 degrees of freedom, in 20 tables of 40 columns."""
    tables = [np.random.default_rng(seed).standard_t(3, (rows, 40)) for seed in range(20)]
    assert any(not measured(values).within(values).all() for values in tables)
    assert max(map(named, tables)) == 0


def test_a_gap_arises_by_chance_in_one_column_of_a_thousand():
    """P(farthest > 10 × next) = 10^−3 under a tail of x^−3, whatever the number of rows."""
    rng = np.random.default_rng(0)
    columns = [rng.pareto(3.0, (300, 1)) for _ in range(4000)]
    beyond = sum(not measured(column).within(column).all() for column in columns)
    assert beyond > 100
    assert sum(map(named, columns)) <= 12  # 4 are expected


@pytest.mark.parametrize("factor", [1e2, 1e3, 1e9])
@pytest.mark.parametrize("rows", [[7], list(range(0, 300, 30))], ids=["one", "ten"])
def test_slipped_points_are_named_among_many_columns(rows, factor):
    values = np.random.default_rng(1).normal(50.0, 10.0, (300, 30))
    values[rows, 4] *= factor
    assert named(values) == named(values[:, [4]]) == len(rows)


def test_a_typo_is_told_from_the_tail_before_it():
    """The farthest of the others lies beyond the fence too: it is not named, and not moved."""
    values = np.random.default_rng(3).standard_t(2, (2000, 1))
    assert (~measured(values).within(values)).sum() > 1
    farthest = np.abs(values).max()
    bad = np.vstack([values, [[1e3 * farthest]]])
    assert named(bad) == 1
    with pytest.warns(hr.OutlierWarning, match="row 2000 has"):
        clipped = mend("Y", bad, np.ones(2001), "clip")
    np.testing.assert_array_equal(clipped[:-1], values)
    assert clipped[-1, 0] == max(values.max(), measured(bad).high[0])


@pytest.mark.skipif(not RETURNS.exists(), reason="the file of stock returns is not here")
@pytest.mark.parametrize("days", [60, 250, 730, 1760])
def test_no_stock_return_looks_like_a_typo(days):
    """394 stocks, 2017 to 2023; most of the 21 beyond their fence are of March 2020."""
    returns = pd.read_csv(RETURNS, index_col=0).dropna(axis=1).to_numpy()
    starts = range(0, len(returns) - days + 1, 30)
    windows = [returns[start : start + days] for start in starts]
    assert any(not measured(window).within(window).all() for window in windows)
    assert max(map(named, windows)) == 0


@given(
    st.lists(st.booleans(), min_size=2, max_size=200),
    st.sampled_from([(0.0, 1.0), (-1.0, 0.0), (1.0, 2.0), (-3.0, 5.0), (0.1, 0.3)]),
)
def test_columns_of_two_values_are_counted_to_the_same_end(which, ends):
    values, mass = np.where(which, *ends), np.full(len(which), 1 / len(which))
    if values.min() < values.max():
        assert spreads._of_two(values, mass) == spreads._of_many(values, mass)
        assert spreads._of_two(np.append(values, 0.7), np.append(mass, mass[0])) is None
        assert spreads._of_two(values, mass * np.arange(len(mass))) is None
