"""Routes: probabilities, and derivatives against automatic and finite differences."""

import numpy as np
import pytest

from hedgerow import explain
from tests.explain.policies import data, decide, forest, other, route_derivatives
from tests.oracles import double

FORESTS = [
    pytest.param({}, id="one decision"),
    pytest.param({"depth": 1, "trees": 1}, id="one gate"),
    pytest.param({"features_per_tree": 2}, id="two features per tree"),
    pytest.param({"decisions": 2, "depth": 4, "trees": 2}, id="two decisions"),
]
route_of = double(lambda rule, x: rule.route_probabilities(x))


@pytest.mark.parametrize("settings", FORESTS)
class TestDerivatives:
    def test_probabilities_are_the_rules(self, settings):
        policy, X = forest(**settings), data()[0][:9]
        found = explain.routes(policy, X).probabilities
        rules = route_of(policy.rule_, policy.units_.contexts(X, np.float64).T)
        np.testing.assert_allclose(found, rules.transpose(2, 0, 1), rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(found.sum(axis=-1), 1, rtol=1e-12)

    def test_gradients_are_those_of_automatic_differentiation(self, settings):
        policy, X = forest(**settings), data()[0][:9]
        found, expected = explain.route_gradients(policy, X), route_derivatives(policy, X, 1)
        scale = policy.units_.x_factor  # features are of very different size
        np.testing.assert_allclose(found / scale, expected / scale, atol=1e-12)

    def test_hessians_are_those_of_automatic_differentiation(self, settings):
        policy, X = forest(**settings), data()[0][:9]
        found, expected = explain.route_hessians(policy, X), route_derivatives(policy, X, 2)
        scale = policy.units_.x_factor[:, None] * policy.units_.x_factor
        np.testing.assert_allclose(found / scale, expected / scale, atol=1e-11)

    def test_derivatives_are_those_of_finite_differences(self, settings):
        policy, X = forest(**settings), data()[0][:5]
        spread = policy.units_.x_spread
        for j in range(X.shape[1]):
            step = np.zeros(X.shape[1])
            step[j] = 1e-4 * spread[j]
            there, back = X + step, X - step
            for function, derivative in (
                (lambda rows: explain.routes(policy, rows).probabilities, explain.route_gradients),
                (lambda rows: explain.route_gradients(policy, rows), explain.route_hessians),
            ):
                slopes = (function(there) - function(back)) / 2e-4
                exact = derivative(policy, X)[..., j] * spread[j]
                size = np.abs(exact).max() or 1.0
                np.testing.assert_allclose(slopes, exact, atol=1e-6 * size)


def test_routes_mix_leaves_into_the_decision():
    policy, X = forest(decisions=2), data()[0]
    routes = explain.routes(policy, X)
    mixed = np.einsum("rtl,tlk->rk", routes.probabilities, routes.decisions) / 3
    np.testing.assert_allclose(mixed, decide(policy, X), rtol=1e-9)
    np.testing.assert_allclose(mixed, policy.predict(X), rtol=1e-5)  # predict is in float32


def test_few_routes_carry_the_mass_of_a_crisp_forest():
    X = data()[0]
    crisp, soft = (explain.routes(forest(steepness=s), X) for s in (1e3, 1.0))
    assert np.all(crisp.needed(0.99) <= 2)
    assert np.mean(soft.needed(0.99)) > 4
    assert np.all(crisp.needed(1.0) <= 8)
    leaves = crisp.dominant(0, 1)
    assert sum(p for _, p in leaves) >= 0.99
    assert leaves[0][0] == np.argmax(crisp.probabilities[0, 1])


def test_routes_are_counted_up_to_the_asked_mass():
    probabilities = np.array([[[0.6, 0.3, 0.06, 0.04]]])
    routes = explain.Routes(probabilities, np.zeros((1, 4, 1)))
    assert [int(routes.needed(mass)[0, 0]) for mass in (0.5, 0.6, 0.89, 0.95, 1.0)] == [
        1,
        1,
        2,
        3,
        4,
    ]


@pytest.mark.parametrize(("kind", "rule"), [("affine", "AffineRule"), ("network", "TwoLayerN")])
def test_only_rules_with_trees_have_routes(kind, rule):
    with pytest.raises(TypeError, match=rf"Only rules with trees .* \(write {rule}\w*\.trees\)"):
        explain.routes(other(kind), data()[0])


def test_wrong_contexts_get_one_sentence():
    with pytest.raises(ValueError, match=r"X has 2 feature\(s\), but the policy was fitted with 4"):
        explain.routes(forest(), np.ones((3, 2)))
    with pytest.raises(ValueError, match="NaN"):
        explain.routes(forest(), np.full((3, 4), np.nan))
    with pytest.raises(TypeError, match="must be a fitted"):
        explain.routes("policy", np.ones((3, 2)))
