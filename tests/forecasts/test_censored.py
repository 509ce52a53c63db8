"""Residual nominals of rows that were cut off: the law of demand, not that of sales."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import TimeSeriesSplit

import hedgerow as hr
from hedgerow.forecasts.censored import censored_fit
from hedgerow.forecasts.cross_fitting import splits_of
from tests.data.nominals import check_shape

LINE = LinearRegression()


def cut_line(rows=800, seed=0, wide=0.0):
    """A line with noise, cut off at random levels that rise with it: 40 % of rows or so."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 4, rows)
    demand = 10 + 2 * x + (1 + wide * x) * rng.normal(size=rows)
    stock = 10.5 + 2 * x + (1 + wide * x) * 1.5 * rng.normal(size=rows)
    return x[:, None], demand, np.minimum(demand, stock)[:, None], demand > stock


def test_the_mean_is_that_of_demand():
    X, _, Y, censored = cut_line()
    splits = splits_of(5, X)
    assert 0.3 < censored.mean() < 0.5
    found = censored_fit(LINE, "constant", X, Y, np.ones(len(X)), censored, splits)
    means = found[0].all_seen[:, 0]
    sales = LINE.fit(X, Y[:, 0]).predict(X)
    truth = 10 + 2 * X[:, 0]
    assert np.abs(means - truth).max() < 0.2  # standard error of the line at its ends: 0.08
    assert np.abs(sales - truth).max() > 0.4


@pytest.mark.parametrize(
    "nominal",
    [
        hr.ResidualNominal(LINE, "constant"),
        hr.ResidualNominal(LINE, LINE),
        hr.ResidualNominal(LINE, "constant", neighbours=150),
        hr.ResidualNominal(LINE, "constant", folds=TimeSeriesSplit(4)),
    ],
    ids=["constant", "regressor", "neighbours", "in time"],
)
def test_quantiles_around_the_mean_are_those_of_demand(nominal):
    X, demand, Y, censored = cut_line()
    found = nominal.build_censored(X, Y, np.ones(len(X)), censored)
    check_shape(found)
    assert np.all(found.outcomes >= found.entry_low)
    assert 0.2 < np.isfinite(found.entry_low).mean() < 0.6
    off = found.outcomes[:, 0] - 10 - 2 * found.contexts[found.entry_context, 0]
    levels = [0.1, 0.5, 0.8]
    truth = np.quantile(demand - 10 - 2 * X[:, 0], levels)
    # of 800 rows: a standard error of about 0.06, more where most rows are cut off
    np.testing.assert_allclose(np.quantile(off, levels), truth, atol=0.2)
    plain = nominal.build(X, Y, np.ones(len(X)))
    sales = plain.outcomes[:, 0] - 10 - 2 * plain.contexts[plain.entry_context, 0]
    assert np.quantile(sales, 0.8) < truth[2] - 0.25


def test_rows_in_another_order_change_nothing():
    X, _, Y, censored = cut_line(120)
    nominal = hr.ResidualNominal(LINE, "constant", outcomes=8)
    order = np.random.default_rng(0).permutation(120)
    first = nominal.build_censored(X, Y, np.ones(120), censored)
    second = nominal.build_censored(X[order], Y[order], np.ones(120), censored[order])
    np.testing.assert_array_equal(first.outcomes, second.outcomes)
    np.testing.assert_array_equal(first.entry_low, second.entry_low)


def test_the_scale_knows_of_what_was_cut_off():
    """Noise that widens with x: sizes of sales' residuals would be too small, and too alike."""
    X, _, Y, censored = cut_line(1500, wide=1.0)
    found = hr.ResidualNominal(LINE, LINE).build_censored(X, Y, np.ones(len(X)), censored)
    off = found.outcomes[:, 0] - 10 - 2 * found.contexts[found.entry_context, 0]
    near, far = (off[found.contexts[found.entry_context, 0] // 1 == side] for side in (0, 3))
    # standard deviations of demand are about 1.5 and 4.5 there
    assert 2.0 < far.std() / near.std() < 4.0
