"""Censored rows: product limits against SciPy's, redistribution, and what nominals make of it."""

import numpy as np
import pytest
from scipy import stats

import hedgerow as hr
from hedgerow.data.censoring import (
    EQUAL_PARTS,
    MOST_PARTS,
    among_all,
    among_near,
    product_limits,
    weights_of_seen,
)
from tests.data.nominals import check_shape, joint
from tests.extending.parts import RecentNominal

NOMINALS = [hr.EmpiricalNominal(), hr.AdaptedNominal(5), hr.NeighbourNominal(4)]
EVERY = pytest.mark.parametrize("nominal", NOMINALS, ids=repr)


def cut_off(rows=40, seed=0, digits=1):
    """Rounded outcomes, so that there are ties, cut off at random levels."""
    rng = np.random.default_rng(seed)
    demand, stock = rng.gamma(4, 1, rows).round(digits), rng.gamma(5, 1, rows).round(digits)
    return np.minimum(demand, stock), demand > stock


def oracle(y, censored):
    """Points and distribution function of the product-limit estimator, by SciPy."""
    return stats.ecdf(stats.CensoredData(uncensored=y[~censored], right=y[censored])).cdf


def distribution(nominal, points):
    """Mass at or below points, what is still censored at its own place left out."""
    outcomes = nominal.outcomes[nominal.entry_outcome, 0]
    known = outcomes > nominal.entry_low[:, 0]
    mass = nominal.joint_mass() * known
    return np.array([mass[outcomes <= point].sum() for point in points])


@pytest.mark.parametrize("seed", range(6))
def test_product_limits_are_those_of_scipy(seed):
    y, censored = cut_off(60, seed)
    found = product_limits(y, np.ones(60), censored)
    cdf = oracle(y, censored)
    seen = ~censored[found.order]
    for point, level in zip(cdf.quantiles, cdf.probabilities, strict=True):
        below = found.mass[seen & (y[found.order] <= point)].sum()
        np.testing.assert_allclose(below, level, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.mass.sum(), 1, rtol=1e-14)


@pytest.mark.parametrize("nominal", [hr.EmpiricalNominal(), hr.AdaptedNominal(1)], ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_with_one_context_a_nominal_is_the_kaplan_meier_estimator(nominal, seed):
    y, censored = cut_off(MOST_PARTS, seed)
    built = nominal.build_censored(np.ones((len(y), 1)), y[:, None], np.ones(len(y)), censored)
    check_shape(built)
    cdf = oracle(y, censored)
    np.testing.assert_allclose(
        distribution(built, cdf.quantiles), cdf.probabilities, rtol=0, atol=1e-12
    )


def test_four_rows_by_hand():
    """Seen 1, cut off at 2, seen 3, cut off at 4: 1/4, and half of the rest each at 3 and 4+."""
    y, censored = np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, True, False, True])
    built = hr.EmpiricalNominal().build_censored(np.zeros((4, 1)), y[:, None], np.ones(4), censored)
    entries = zip(
        built.outcomes[built.entry_outcome, 0],
        built.entry_low[:, 0],
        built.joint_mass(),
        strict=True,
    )
    assert sorted(entries) == [
        (1.0, -np.inf, 0.25),
        (3.0, -np.inf, 0.25),
        (3.0, 2.0, 0.125),
        (4.0, 4.0, 0.125),
        (4.0, 4.0, 0.25),
    ]


def test_a_weight_counts_as_so_many_rows():
    y, censored = cut_off(30)
    times = np.random.default_rng(1).integers(1, 4, 30)
    first = product_limits(y, times.astype(float), censored)
    second = product_limits(*(np.repeat(part, times) for part in (y, np.ones(30), censored)))
    for value in np.unique(y):
        masses = [
            found.mass[limits_y[found.order] == value].sum()
            for found, limits_y in ((first, y), (second, np.repeat(y, times)))
        ]
        np.testing.assert_allclose(*masses, rtol=1e-12, atol=1e-15)


def test_parts_of_a_row_lie_to_its_right_and_are_all_of_it():
    rng = np.random.default_rng(0)
    y, censored = cut_off(200)
    parts = among_near(rng.normal(size=(200, 2)), y, np.ones(200), censored)
    np.testing.assert_allclose(np.bincount(parts.row, parts.share), 1, rtol=1e-12)
    assert np.all(np.isneginf(parts.low[~censored[parts.row]]))
    own = censored[parts.row]
    assert np.all(parts.low[own] >= y[parts.row][own])
    assert np.all(y[parts.outcome] >= parts.low)
    assert np.bincount(parts.row).max() == MOST_PARTS
    stays = censored[parts.outcome]
    np.testing.assert_array_equal(parts.low[stays], y[parts.outcome][stays])


def test_quantiles_of_many_parts_have_their_mean():
    """Sixteen quantiles at a place that differs from row to row; together they are unbiased."""
    y, censored = cut_off(500, digits=6)
    parts = among_all(y, np.ones(500), censored)
    limits = product_limits(y, np.ones(500), censored)
    exact = limits.mass @ y[limits.order]
    np.testing.assert_allclose(parts.expected(y).mean(), exact, rtol=2e-3)  # of 250 rows
    outcomes, low = parts.equal_parts(y)
    assert outcomes.shape == low.shape == (500, EQUAL_PARTS)
    np.testing.assert_allclose(outcomes.mean(), exact, rtol=3e-3)
    np.testing.assert_array_equal(outcomes[~censored], y[~censored, None] * np.ones(EQUAL_PARTS))
    assert np.all(outcomes >= low)


def test_inverse_chances_of_being_seen_are_the_kaplan_meier_masses():
    """Satten & Datta 2001: in one context both estimators are the same."""
    y, censored = cut_off(40)
    counted = weights_of_seen(np.zeros((40, 1)), y, np.ones(40), censored)
    limits = product_limits(y, np.ones(40), censored)
    mass = np.empty(40)
    mass[limits.order] = limits.mass
    assert limits.uncut.min() > 0.1
    np.testing.assert_allclose(counted[~censored] / 40, mass[~censored], rtol=1e-12)
    np.testing.assert_array_equal(counted[censored], 0)


def test_no_row_stands_for_more_than_ten():
    y = np.arange(100.0)
    counted = weights_of_seen(np.zeros((100, 1)), y, np.ones(100), y < 99)
    assert counted[-1] == 10


@EVERY
def test_rows_in_another_order_or_without_weight_change_nothing(nominal):
    rng = np.random.default_rng(0)
    y, censored = cut_off(60)
    X, weights = rng.normal(size=(60, 2)).round(1), rng.integers(0, 3, 60).astype(float)
    built = nominal.build_censored(X, y[:, None], weights, censored)
    check_shape(built)
    assert built.entry_low.shape == (len(built.entry_outcome), 1)
    assert np.all(built.outcomes[built.entry_outcome] >= built.entry_low)
    order = rng.permutation(np.flatnonzero(weights > 0))
    again = nominal.build_censored(X[order], y[order, None], weights[order], censored[order])
    for name in vars(built):
        np.testing.assert_array_equal(getattr(built, name), getattr(again, name))


@EVERY
def test_rows_that_were_all_seen_are_what_they_are(nominal):
    y, _ = cut_off(60)
    X = np.random.default_rng(0).normal(size=(60, 2))
    plain = nominal.build(X, y[:, None], np.ones(60))
    built = nominal.build_censored(X, y[:, None], np.ones(60), np.zeros(60, bool))
    assert plain.entry_low is None
    assert np.all(np.isneginf(built.entry_low))
    np.testing.assert_allclose(joint(built), joint(plain), rtol=1e-12)


@EVERY
def test_censored_rows_no_longer_pull_the_mean_down(nominal):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 1))
    demand, stock = 6 + X[:, 0] + rng.normal(size=800), rng.uniform(4, 11, 800)
    sales, censored = np.minimum(demand, stock), demand > stock
    built = nominal.build_censored(X, sales[:, None], np.ones(800), censored)
    mean = float((built.joint_mass() @ built.outcomes[built.entry_outcome])[0])
    assert 0.3 < censored.mean() < 0.45
    assert demand.mean() - sales.mean() > 0.4
    assert abs(mean - demand.mean()) < 0.1  # twice the standard error of the mean


def test_bounds_stay_within_the_support():
    y, censored = cut_off(20)
    built = hr.EmpiricalNominal().build_censored(
        np.zeros((20, 1)), y[:, None], np.ones(20), censored
    )
    within = built.within((np.array([0.0]), np.array([3.0])))
    assert within.entry_low.max() <= 3
    assert within.outcomes.max() <= 3
    assert np.all(within.outcomes[within.entry_outcome] >= within.entry_low)


@pytest.mark.parametrize(
    "nominal", [RecentNominal(20.0), hr.ScenarioNominal(np.zeros((1, 1)), np.ones((1, 2, 1)))]
)
def test_a_nominal_that_does_not_offer_it_is_told_which_method_to_write(nominal):
    y, censored = cut_off(10)
    name = type(nominal).__name__
    with pytest.raises(NotImplementedError, match=rf"write {name}\.build_censored"):
        nominal.build_censored(np.zeros((10, 1)), y[:, None], np.ones(10), censored)
