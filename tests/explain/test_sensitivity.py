"""Derivatives of decisions, steepness, and certificates that nothing may break."""

import numpy as np
import pytest
from scipy.optimize import minimize

import hedgerow as hr
from hedgerow import explain
from tests.explain.policies import data, decide, derivatives, forest, other, portfolio
from tests.problems import QUICK

EVERY = [
    pytest.param(lambda: forest(), id="forest"),
    pytest.param(lambda: forest(features_per_tree=2, decisions=2), id="two decisions"),
    pytest.param(lambda: other("affine"), id="affine"),
    pytest.param(lambda: other("constant"), id="constant"),
    pytest.param(lambda: other("network", 2), id="network"),
    pytest.param(lambda: portfolio("affine"), id="shares"),
    pytest.param(lambda: portfolio("forest"), id="forest of shares"),
]


@pytest.mark.parametrize("make", EVERY)
class TestDerivatives:
    def test_gradients(self, make):
        policy, X = make(), data()[0][:7]
        found, spread = explain.gradients(policy, X), policy.units_.x_spread
        np.testing.assert_allclose(
            found * spread, derivatives(policy, X) * spread, rtol=1e-9, atol=1e-11
        )
        step = 1e-5 * spread[0] * np.eye(X.shape[1])[0]
        slopes = (decide(policy, X + step) - decide(policy, X - step)) / (2 * step[0])
        size = np.abs(slopes).max() or 1.0
        np.testing.assert_allclose(found[..., 0], slopes, atol=1e-6 * size)

    def test_interactions(self, make):
        policy, X = make(), data()[0][:7]
        found, spread = explain.interactions(policy, X), policy.units_.x_spread
        unit = spread[:, None] * spread
        np.testing.assert_allclose(
            found * unit, derivatives(policy, X, 2) * unit, rtol=1e-8, atol=1e-10
        )
        np.testing.assert_allclose(found, found.swapaxes(-1, -2), atol=1e-12)

    def test_no_decision_leaves_its_certificate(self, make):
        policy, X = make(), data()[0]
        rng = np.random.default_rng(0)
        for x in X[:4]:
            for change in (0.02, 0.3, 3.0):
                bounds = explain.certificate(policy, x, change)
                room = change * policy.units_.x_spread
                corners = x + room * rng.choice([-1.0, 1.0], size=(300, 4))
                inside = x + room * rng.uniform(-1, 1, size=(300, 4))
                found = decide(policy, np.concatenate([corners, inside]))
                slack = 1e-12 * np.abs(found).max()
                assert np.all(found <= bounds.high + slack)
                assert np.all(found >= bounds.low - slack)


def test_certificates_are_close_to_what_happens():
    """Exact for one gate and for an affine rule; for small boxes never far from the gradient."""
    X = data()[0]
    for policy in (forest(trees=1, depth=1), other("affine")):
        for x in X[:5]:
            bounds = explain.certificate(policy, x, 0.5)
            room = 0.5 * policy.units_.x_spread
            corners = x + room * np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T
            found = decide(policy, corners)
            np.testing.assert_allclose(bounds.high, found.max(axis=0), rtol=1e-9)
            np.testing.assert_allclose(bounds.low, found.min(axis=0), rtol=1e-9)
    policy = forest(decisions=2)
    room = 1e-5 * policy.units_.x_spread
    moved = np.abs(explain.gradients(policy, X[:1])[0]) @ room
    bound = explain.certificate(policy, X[0], 1e-5).bound
    assert np.all(bound < 1.05 * moved)
    assert np.all(bound >= moved * (1 - 1e-3))


def test_features_that_stay_cost_nothing():
    policy, x = forest(), data()[0][0]
    everything = explain.certificate(policy, x, 0.2)
    named = explain.certificate(policy, x, {"feature 1": 10.0})
    listed = explain.certificate(policy, x, [0, 10.0, 0, 0])
    assert named.bound[0] == listed.bound[0] < everything.bound[0]
    assert "feature 1 by 10" in str(named)
    assert explain.certificate(policy, x, 0).bound[0] == 0


def test_bad_changes_get_one_sentence():
    policy, x = forest(), data()[0][0]
    with pytest.raises(ValueError, match="There is no feature 'price'"):
        explain.certificate(policy, x, {"price": 1.0})
    with pytest.raises(ValueError, match="must not be negative"):
        explain.certificate(policy, x, -1.0)
    with pytest.raises(ValueError, match="one number >= 0 for each of the 4 features"):
        explain.certificate(policy, x, [1.0, 2.0])
    with pytest.raises(ValueError, match="One context is explained at a time"):
        explain.certificate(policy, data()[0][:2], 0.1)


@pytest.mark.parametrize(
    ("trees", "depth"), [(1, 1), (1, 2), (1, 3), pytest.param(20, 2, marks=pytest.mark.slow)]
)
def test_steepness_is_never_exceeded_and_nearly_reached(trees, depth):
    """10⁵ random pairs stay below L; a search for the steepest place comes within a factor 5."""
    policy = forest(trees=trees, depth=depth)
    L = explain.lipschitz(policy).lipschitz
    X, rng = data()[0], np.random.default_rng(0)
    spread = policy.units_.x_spread
    first = X[rng.integers(len(X), size=100_000)] + spread * rng.normal(size=(100_000, 4))
    steps = spread * rng.normal(size=first.shape) * 10.0 ** rng.uniform(-4, 1, size=(100_000, 1))
    moved = decide(policy, first + steps) - decide(policy, first)
    quotients = np.linalg.norm(moved, axis=1) / np.linalg.norm(steps, axis=1)
    assert quotients.max() <= L * (1 + 1e-6)
    steep = np.linalg.norm(explain.gradients(policy, first[:20_000]), axis=(1, 2))
    starts = first[np.argsort(-steep)[:2]]
    best = max(
        -minimize(
            lambda x: -np.linalg.norm(explain.gradients(policy, x[None])), start,
            method="Nelder-Mead", options={"maxiter": 250},
        ).fun
        for start in starts
    )  # fmt: skip
    assert best <= L * (1 + 1e-6) <= 5 * best * (1 + 1e-6)


def test_functions_have_derivatives_but_no_certificate():
    X, y = data()
    import jax.numpy as jnp

    policy = hr.RobustPolicy.from_function(
        lambda x: jnp.maximum(5 + x[0] ** 2, 0), hr.Newsvendor(1, 2), X, y
    )
    np.testing.assert_allclose(explain.gradients(policy, X)[:, 0, 0], 2 * X[:, 0], rtol=1e-9)
    with pytest.raises(TypeError, match=r"a GivenRule offers none \(write GivenRule.bounds\)"):
        explain.certificate(policy, X[0], 0.1)
    with pytest.raises(TypeError, match=r"these constants; .* \(write GivenRule.trees\)"):
        explain.lipschitz(policy)


def test_a_constant_feature_moves_nothing():
    X, y = data()
    X = np.column_stack([X, np.ones(len(X))])
    with pytest.warns(UserWarning, match="never vary"):
        policy = hr.RobustPolicy(
            hr.Newsvendor(1, 2), hr.ERM(), hr.SoftForest(2, 2), solver=QUICK, random_state=0
        ).fit(X, y)
    assert np.all(explain.gradients(policy, X)[..., 4] == 0)
    assert explain.attribute(policy, X[0], X).values[0, 4] == 0
