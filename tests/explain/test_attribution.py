"""Attribution: complete, equal to brute-force quadrature, and what it must be in simple cases."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.special import ndtr

import hedgerow as hr
from hedgerow import explain
from hedgerow.explain.quadrature import integrate
from tests.explain.policies import data, decide, derivatives, forest, other, portfolio

EVERY = [
    pytest.param(lambda: forest(), id="forest"),
    pytest.param(lambda: forest(steepness=60.0), id="crisp forest"),
    pytest.param(lambda: forest(features_per_tree=2, decisions=2), id="two decisions"),
    pytest.param(lambda: other("affine"), id="affine"),
    pytest.param(lambda: other("constant"), id="constant"),
    pytest.param(lambda: other("network"), id="network"),
    pytest.param(lambda: other("network", 2), id="network of two", marks=pytest.mark.slow),
    pytest.param(lambda: portfolio("affine"), id="shares"),
    pytest.param(lambda: portfolio("network"), id="network of shares", marks=pytest.mark.slow),
    pytest.param(lambda: portfolio("forest"), id="forest of shares", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("make", EVERY)
def test_values_add_up_to_the_decision(make):
    policy, X = make(), data()[0]
    found = explain.attribute(policy, X[3], X)
    decisions = decide(policy, X)
    size = np.abs(decisions).max()
    np.testing.assert_allclose(found.decision, decisions[3], rtol=1e-9)
    np.testing.assert_allclose(found.baseline, decisions.mean(axis=0), rtol=1e-9)
    gaps = found.values.sum(axis=1) - (found.decision - found.baseline)
    assert found.completeness_error == pytest.approx(np.abs(gaps).max(), abs=1e-15)
    assert found.completeness_error < 1e-6 * size


@pytest.mark.parametrize("make", [EVERY[0], EVERY[2], EVERY[6], EVERY[8]])
def test_values_are_integrals_of_gradients(make):
    """Each value against SciPy's quadrature of JAX's gradients, line by line."""
    policy, X = make(), data()[0]
    background, x = X[:2], X[7]

    def integrand(alpha):
        points = background + alpha * (x - background)
        return np.mean(derivatives(policy, points) * (x - background)[:, None, :], axis=0)

    points = np.linspace(0, 1, 21)  # kinks of networks lie anywhere
    expected = sum(quad_vec(integrand, a, b, epsabs=1e-7, limit=40)[0] for a, b in pairwise(points))
    found = explain.attribute(policy, x, background)
    size = np.abs(found.decision).max()
    np.testing.assert_allclose(found.values, expected, atol=2e-6 * size)


def test_an_affine_rule_is_taken_apart_exactly():
    X, y = data()
    loss = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1))
    policy = hr.RobustPolicy(loss, hr.ERM(), hr.Affine(), random_state=0).fit(X, y)
    found = explain.attribute(policy, X[0], X)
    slopes = np.asarray(policy.rule_.matrix, np.float64)[0] * policy.units_.x_factor
    expected = slopes * (X[0] - X.mean(axis=0)) * policy.units_.z_unit
    np.testing.assert_allclose(found.values[0], expected, rtol=1e-9, atol=1e-12)


def test_weights_are_repetitions():
    policy, X = forest(), data()[0]
    counts = np.arange(5)
    weighted = explain.attribute(policy, X[9], X[:5], sample_weight=counts)
    repeated = explain.attribute(policy, X[9], np.repeat(X[:5], counts, axis=0))
    np.testing.assert_allclose(weighted.values, repeated.values, rtol=1e-7)
    np.testing.assert_allclose(weighted.baseline, repeated.baseline, rtol=1e-12)


def test_units_of_features_do_not_matter():
    X, y = data()
    scale, shift = np.array([1000.0, 0.01, 5.0, 1.0]), np.array([3.0, -7.0, 0.0, 0.0])
    fits = [
        hr.RobustPolicy(hr.Newsvendor(1, 2), hr.ERM(), hr.SoftForest(2, 2), random_state=0).fit(
            A, y
        )
        for A in (X, X * scale + shift)
    ]
    one = explain.attribute(fits[0], X[0], X)
    two = explain.attribute(fits[1], X[0] * scale + shift, X * scale + shift)
    np.testing.assert_allclose(one.values, two.values, rtol=1e-4, atol=1e-6)  # trained in float32


@pytest.mark.slow
def test_pieces_make_no_difference(monkeypatch):
    policy, X = forest(decisions=2), data()[0]
    whole = explain.attribute(policy, X[0], X)
    monkeypatch.setattr("hedgerow.explain.lens.NUMBERS_AT_ONCE", 5000)
    np.testing.assert_allclose(explain.attribute(policy, X[0], X).values, whole.values, atol=1e-12)


def test_ranking_and_totals():
    found = explain.Attribution(
        np.array([[1.0, -3.0, 2.0]]), np.zeros(1), np.zeros(1), np.zeros(3), 0.0, ("a", "b", "c")
    )
    assert list(found.ranked()) == [1, 2, 0]
    assert list(found.total) == [1.0, -3.0, 2.0]


def test_quadrature_is_adaptive():
    """A bump so narrow that no node of the first panel sees it, beside smooth functions."""
    calls = []

    def integrand(alpha):
        calls.append(len(alpha))
        bump = np.exp(-(((alpha - 0.37) / 1e-3) ** 2)) / (1e-3 * np.sqrt(np.pi))
        return np.stack([bump, alpha**5, np.exp(alpha)], axis=1)[:, None, :]

    def total(alpha):
        return (ndtr(np.sqrt(2) * (alpha - 0.37) / 1e-3) + alpha**6 / 6 + np.exp(alpha))[:, None]

    found = integrate(integrand, total, 1e-9)
    np.testing.assert_allclose(found[0], [1.0, 1 / 6, np.e - 1], atol=1e-8)
    assert sum(calls) < 1500


@pytest.mark.slow
def test_a_gate_that_opens_between_nodes_is_found():
    """One row of background, one gate a thousand times crisper than the way is long."""
    policy, X = forest(trees=1, depth=1, steepness=5000.0), data()[0]
    decisions = decide(policy, X)[:, 0]
    low, high = X[np.argmin(decisions)], X[np.argmax(decisions)]
    found = explain.attribute(policy, high, low[None])
    assert np.ptp(decisions) > 0.1
    assert found.completeness_error < 1e-6


def test_a_row_of_a_table_will_do():
    pandas = pytest.importorskip("pandas")
    X, y = data()
    table = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    policy = hr.RobustPolicy(
        hr.Newsvendor(1, 2), hr.ERM(), hr.SoftForest(2, 2), random_state=0
    ).fit(table, y)
    found = explain.attribute(policy, table.iloc[3], table)
    assert found.names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(found.values, explain.attribute(policy, X[3], X).values)
