"""Fitted policies of every kind to explain, with gates as crisp and as soft as they come."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import hedgerow as hr
from tests.oracles import double
from tests.problems import QUICK, history

FEATURES = 4
ROWS = hr.EmpiricalNominal()


@cache
def data():
    """Features of very different size, the last one 0 or 1."""
    X, y = history(120, FEATURES)
    X = X * [1.0, 50.0, 0.01, 1.0] + [0.0, 400.0, 0.0, 0.0]
    X[:, 3] = X[:, 3] > 0
    return X, y


def several(y):
    """Two outcomes per row."""
    return np.column_stack([y, 2 + 0.5 * y[::-1]])


@cache
def forest(trees=3, depth=3, features_per_tree=None, decisions=1, steepness=4.0):
    """A forest whose gates are much crisper than training made them."""
    X, y = data()
    rule = hr.SoftForest(trees, depth, features_per_tree=features_per_tree)
    policy = hr.RobustPolicy(
        hr.Newsvendor(0.6, 1.0), hr.ERM(), rule, ROWS, solver=QUICK, random_state=2
    )
    policy.fit(X, y if decisions == 1 else several(y))
    policy.rule_ = eqx.tree_at(
        lambda r: (r.gate_weights, r.temperature),
        policy.rule_,
        (policy.rule_.gate_weights * steepness, jnp.float32(0.7)),
    )
    return policy


@cache
def other(kind, decisions=1):
    """A policy that is not a forest."""
    X, y = data()
    rules = {"affine": hr.Affine(), "constant": hr.Constant(), "network": hr.TwoLayer(16)}
    policy = hr.RobustPolicy(
        hr.Newsvendor(0.6, 1.0), hr.ERM(), rules[kind], ROWS, solver=QUICK, random_state=1
    )
    return policy.fit(X, y if decisions == 1 else several(y))


@cache
def portfolio(kind="affine"):
    """Shares of three assets and a free number."""
    X, _ = data()
    rng = np.random.default_rng(3)
    returns = 0.1 * X[:, :1] * [1.0, -1.0, 0.5] + rng.normal(size=(len(X), 3))
    rules = {"affine": hr.Affine(), "network": hr.TwoLayer(16), "forest": hr.SoftForest(2, 2)}
    policy = hr.RobustPolicy(
        hr.MeanVariance(1.0), hr.ERM(), rules[kind], ROWS, solver=QUICK, random_state=1
    )
    return policy.fit(X, returns)


_rule = double(lambda rule, x: rule(x))


def decide(policy, X):
    """Decisions (rows, k) in float64, from the rule itself."""
    units = policy.units_
    return _rule(policy.rule_, units.contexts(np.atleast_2d(X), np.float64).T).T * units.z_unit


def _decision(rule, x):
    if hasattr(rule, "route_probabilities"):  # the fast path has no forward mode
        return jnp.einsum("tl,tlk->k", _routes(rule, x), rule.leaf_decisions()) / len(rule.leaves)
    return rule(x[:, None])[:, 0]


def _routes(rule, x):
    return rule.route_probabilities(x[:, None])[..., 0]


def _rowwise(function, order):
    for _ in range(order):
        function = jax.jacfwd(function, argnums=1)
    return double(jax.vmap(function, (None, 0)))


_DERIVATIVES = {
    (function, order): _rowwise(function, order)
    for function in (_decision, _routes)
    for order in (1, 2)
}


def derivatives(policy, X, order=1):
    """∂f/∂x or ∂²f/∂x² of the rule, by JAX; (rows, k, features[, features]) in the user's units."""
    unit = policy.units_.z_unit.reshape(-1, *(1,) * order)
    return _by_jax(_decision, policy, X, order) * unit


def route_derivatives(policy, X, order=1):
    """∂p/∂x or ∂²p/∂x² of every route, by JAX, in the user's units."""
    return _by_jax(_routes, policy, X, order)


def _by_jax(function, policy, X, order):
    units = policy.units_
    found = _DERIVATIVES[function, order](policy.rule_, units.contexts(X, np.float64))
    found = found * units.x_factor
    return found * units.x_factor[:, None] if order == 2 else found
