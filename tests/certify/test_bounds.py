"""Two-sided values: the truth lies between, known from quadrature or from a conic primal."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

import hedgerow as hr
from hedgerow.certify.bounds.gains import Gains
from hedgerow.certify.bounds.smearing import atoms, chord_weights
from tests.problems import AUTO, history

LOSS = hr.Newsvendor(0.6, 1.0)
MODELS = {
    "causal": hr.CausalSinkhorn(3.0, 0.1, **AUTO),
    "plain": hr.Sinkhorn(3.0, 0.1, **AUTO),
    "radius": hr.CausalSinkhorn(radius=0.9, epsilon=0.1, **AUTO),
    "order 1": hr.CausalSinkhorn(6.0, 0.1, order=1, **AUTO),
    "moved": hr.CausalWasserstein(3.0, **AUTO),
    "moved within": hr.CausalWasserstein(radius=0.3, **AUTO),
    "reweighted": hr.KL(3.0, loss_scale="auto"),
}
RULES = {
    "forest": hr.SoftForest(trees=3, depth=2),
    "affine": hr.Affine(),
    "network": hr.TwoLayer(width=4),
}


@pytest.fixture(scope="module")
def one_feature():
    """Policies on one feature, where the value is known to 1e-8."""
    X, y = history(40, 1)
    X = np.repeat(X, 3, axis=0)
    y = np.concatenate([y[:, None], y[:, None] + 1, 0.5 * y[:, None]], axis=1).ravel()
    solver = hr.NestedSGD(steps=100, batch=24)
    return {
        name: hr.RobustPolicy(
            LOSS, hr.ERM(), rule, nominal=hr.EmpiricalNominal(), solver=solver, random_state=0
        ).fit(X, y)
        for name, rule in RULES.items()
    }, (X, y)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.slow
def test_the_truth_lies_between(one_feature, rule, model):
    policies, data = one_feature
    found = hr.robust_value(policies[rule], *data, ambiguity=MODELS[model], tolerance=1e-8)
    slack = 2e-6 * found.value  # of quadrature, and of the penalty under a radius
    assert found.lower - slack <= found.value <= found.upper + slack
    if not (rule == "network" and model.startswith("moved")):
        assert found.upper - found.lower <= 0.06 * found.value


def test_a_forest_is_bounded_from_both_sides(one_feature):
    policies, data = one_feature
    found = hr.robust_value(policies["forest"], *data, ambiguity=MODELS["causal"])
    assert found.lower < found.value < found.upper <= 1.06 * found.lower
    assert found.guarantee("€").startswith("proved to lie between")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["causal", "plain", "moved"])
def test_features_that_do_not_matter_change_no_guarantee(one_feature, model):
    """With more features the value of one stays the truth, though nobody can integrate it."""
    (policies, (X, y)), ambiguity = one_feature, MODELS[model]
    truth = hr.robust_value(policies["forest"], X, y, ambiguity=ambiguity, tolerance=1e-8).value
    own = policies["forest"].rule_
    others = np.repeat(np.random.default_rng(1).normal(size=(len(X) // 3, 4)), 3, axis=0)
    wide = np.concatenate([X, others], axis=1)
    units = policies["forest"].units_
    centre, factor = float(units.x_centre[0]), float(units.x_factor[0])
    unit = float(units.z_unit[0])
    policy = hr.RobustPolicy(LOSS, hr.ERM(), RULES["forest"], nominal=hr.EmpiricalNominal())
    policy = policy.set_params(solver=hr.NestedSGD(steps=1, batch=24), random_state=0).fit(wide, y)
    weights = jnp.zeros((*own.gate_weights.shape[:2], 5)).at[:, :, 0].set(own.gate_weights[..., 0])
    policy.rule_ = type(own)(
        gate_weights=weights,
        gate_biases=own.gate_biases,
        leaves=own.leaves,
        features=None,
        temperature=own.temperature,
        decision_set=own.decision_set,
    )
    assert np.allclose(policy.predict(wide), policies["forest"].predict(X), rtol=1e-5)
    assert (centre, factor, unit) == pytest.approx(
        (policy.units_.x_centre[0], policy.units_.x_factor[0], policy.units_.z_unit[0])
    )
    found = hr.robust_value(policy, wide, y, ambiguity=ambiguity)
    assert found.lower <= truth * (1 + 1e-6)
    assert found.upper >= truth * (1 - 1e-6)
    assert found.upper <= 1.1 * truth


def test_what_is_not_known_is_said():
    X, y = history(30, 2)
    policy = hr.RobustPolicy.from_function(lambda x: 4 + x[0], LOSS, X, y)
    found = hr.robust_value(policy, X, y, ambiguity=MODELS["causal"])
    assert found.upper == math.inf
    assert math.isfinite(found.lower)
    assert "GivenRule.expansion" in found.unproved
    assert found.unproved in found.guarantee()


class TestChords:
    def test_atoms_lie_above_every_convex_function(self):
        places, log_weights = atoms(np.array([0.0, 1.5]))
        for growth, weights in zip((0.0, 1.5), np.exp(log_weights), strict=True):
            for kink in (-1.0, 0.3, 4.0):
                values = np.exp(growth * np.maximum(places - kink, 0))
                exact = norm.cdf(kink) + math.exp(growth**2 / 2 - growth * kink) * norm.sf(
                    kink - growth
                )
                assert exact <= weights @ values <= 1.05 * exact  # chords of 48 panels

    def test_weights_keep_mass_and_mean(self):
        places = np.linspace(-9, 9, 60)
        weights = chord_weights(places)
        assert weights.sum() == pytest.approx(1, abs=1e-14)
        assert weights @ places == pytest.approx(0, abs=1e-14)
        assert weights @ places**2 >= 1

    def test_tables_lie_above_convex_functions(self):
        z = np.linspace(-1, 2, 31)
        table = Gains.of(-1.0, 2.0, np.abs(z - 0.77)[None])
        at = np.linspace(-3, 4, 400)[None]
        assert np.all(table.at(at) >= np.abs(np.clip(at, -1, 2) - 0.77) - 1e-12)
        assert np.all(np.diff(table.at(at)[0], 2) >= -1e-12)


def test_files_keep_bounds(one_feature, tmp_path):
    policies, _ = one_feature
    policy = policies["forest"]
    bounds = policy.robust_value_.lower, policy.robust_value_.upper
    policy.save(tmp_path / "p.hedgerow")
    loaded = hr.load(tmp_path / "p.hedgerow").robust_value_
    assert (loaded.lower, loaded.upper) == bounds
