"""Whatever the parts: decisions are finite and allowed, and no rule loses to a constant unsaid."""

import warnings

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.fitting import NOTHING, WORSE
from tests.problems import AUTO, QUICK, SMALL

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
ONE = np.maximum(5 + X[:, :1] + RNG.normal(size=(60, 1)), 0.1)
TWO = np.column_stack([ONE, np.maximum(3 - X[:, 1] + RNG.normal(size=60), 0.1)])
RETURNS = RNG.normal(0.1, 1.0, (60, 3)) + 0.5 * X
SUBSTITUTION = [[0.0, 1.7], [np.inf, 0.0]]
LOSSES = {
    "newsvendor": (hr.Newsvendor(0.6, 1.0), ONE),
    "boxed": (hr.Newsvendor(0.6, 1.0, decision_set=hr.Box(2.0, 6.0)), ONE),
    "two products": (hr.Newsvendor([0.6, 1.0], [1.0, 2.0], outcome_support=(0, np.inf)), TWO),
    "inventory": (hr.InventorySubstitution([1.0, 0.7], [1.8, 1.6], SUBSTITUTION), TWO),
    "pieces": (hr.MaxAffine([0.0, 0.0], [[-1.0], [3.0]], [[1.0], [-3.0]]), ONE),
    "squares": (hr.CustomLoss(lambda z, y: ((z - y) ** 2).sum(), hr.Free(1)), ONE),
    "variance": (hr.MeanVariance(1.0), RETURNS),
    "tail": (hr.MeanCVaR(0.5, tail=0.2), RETURNS),
}
RULES = {"forest": SMALL, "affine": hr.Affine(), "network": hr.TwoLayer(8), "fixed": hr.Constant()}
MODELS = {
    "erm": (hr.ERM(), hr.NestedSGD(steps=40, batch=16)),
    "causal": (hr.CausalSinkhorn(5.0, 0.1, **AUTO), QUICK),
    "plain": (hr.Sinkhorn(5.0, 0.1, **AUTO), QUICK),
    "kl": (hr.KL(5.0, loss_scale="auto"), QUICK),
    "wasserstein": (hr.CausalWasserstein(5.0, **AUTO), hr.NestedSGD(steps=20, batch=16)),
}
FAST = {("newsvendor", "forest", "causal"), ("newsvendor", "affine", "erm")}
CASES = [
    pytest.param(*case, marks=() if case in FAST else pytest.mark.slow, id="-".join(case))
    for case in [
        *((loss, rule, "causal") for loss in LOSSES for rule in RULES),
        *(("newsvendor", rule, model) for rule in RULES for model in MODELS if model != "causal"),
    ]
]
FAR = np.concatenate([s * np.vstack([np.eye(3), -np.eye(3), X[:2]]) for s in (1, 1e6, 1e38)])


@pytest.mark.parametrize(("loss", "rule", "model"), CASES)
def test_decisions_are_allowed_and_no_worse_than_a_constant(loss, rule, model):
    (cost, outcomes), (ambiguity, solver) = LOSSES[loss], MODELS[model]
    policy = hr.RobustPolicy(cost, ambiguity, RULES[rule], solver=solver, random_state=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        policy.fit(X, outcomes)
    decisions = policy.predict(FAR).reshape(len(FAR), -1)
    assert np.all(np.isfinite(decisions))
    allowed = cost.decisions_for(outcomes.shape[1])
    # float32 rounds a box's ends and a simplex's sum
    assert np.all(np.asarray(allowed.contains(decisions, 1e-5)))
    units = policy.units_
    limit = units.constant_loss + WORSE * abs(units.constant_loss) + NOTHING * units.loss_unit
    worse = -policy.score(X, outcomes) > limit + 1e-5 * units.loss_unit
    told = any(issubclass(one.category, hr.UselessRuleWarning) for one in said)
    assert told or not worse
    if policy.status_ == "constant":
        assert told
        np.testing.assert_allclose(np.ptp(decisions, axis=0), 0.0, atol=1e-6)


def test_a_rule_that_loses_to_a_constant_is_replaced_by_it():
    """Steps of size 10 throw a forest to and fro: that has not "converged" to anything."""
    solver = hr.NestedSGD(steps=40, batch=16, learning_rate=10.0)
    policy = hr.RobustPolicy(
        hr.Newsvendor(0.6, 1.0), hr.ERM(), hr.TwoLayer(8), solver=solver, random_state=0
    )
    with pytest.warns(hr.UselessRuleWarning, match="used in its place"):
        policy.fit(X, ONE[:, 0])
    assert policy.status_ == "constant"
    np.testing.assert_allclose(policy.predict(FAR), policy.units_.constant[0], rtol=1e-6)


@pytest.mark.slow
def test_the_price_of_a_strong_hedge_is_told_and_the_hedge_kept():
    model = hr.CausalSinkhorn(0.05, 0.1, **AUTO)
    policy = hr.RobustPolicy(hr.Newsvendor(0.1, 1.0), model, SMALL, solver=QUICK, random_state=0)
    with pytest.warns(hr.UselessRuleWarning, match="the price of hedging this strongly"):
        policy.fit(X, ONE[:, 0])
    assert policy.status_ != "constant"


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"penalty": 1e300}, "penalty"),
        ({"penalty": 1e20}, "penalty"),
        ({"penalty": 1e-300}, "penalty"),
        ({"penalty": 10.0, "epsilon": 1e300}, "epsilon"),
        ({"penalty": 1e8, "epsilon": 1e4}, "penalty·epsilon"),
        ({"radius": 1e300}, "radius"),
    ],
)
def test_settings_out_of_reach_are_refused_with_the_range(settings, name):
    policy = hr.RobustPolicy(
        hr.Newsvendor(0.6, 1.0), hr.CausalSinkhorn(**settings, **AUTO), hr.Constant(), solver=QUICK
    )
    with pytest.raises(ValueError, match=rf"{name}=\S+ is out of reach .* must lie between"):
        policy.fit(X, ONE)


@pytest.mark.slow
def test_a_hard_radius_of_order_one_can_be_trained():
    """It leads to the smallest admissible penalty itself, where a logarithm would be −∞."""
    model = hr.CausalWasserstein(radius=0.5, order=1, **AUTO)
    solver = hr.NestedSGD(steps=60, batch=16)
    policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), model, SMALL, solver=solver, random_state=0)
    policy.fit(X, ONE)
    assert policy.status_ in ("converged", "step limit")
    assert len(policy.history_) == 60
    assert -policy.score(X, ONE) < policy.units_.constant_loss


@pytest.mark.parametrize("unit", [1e-10, 1e-7, 3e7, 1e11])
@pytest.mark.parametrize("loss", ["pieces", "squares", "inventory"])
def test_the_best_constant_is_exact_in_every_unit(loss, unit):
    cost, outcomes = LOSSES[loss]
    weights = np.ones(len(outcomes))
    # where several decisions are best, their cost is what counts
    costs = [
        np.mean(cost(np.tile(cost.best_constant(u * outcomes, weights), (60, 1)), u * outcomes)) / u
        for u in (1.0, unit)
    ]
    scale = unit if loss == "squares" else 1.0
    assert costs[1] / scale == pytest.approx(costs[0], rel=1e-6)
