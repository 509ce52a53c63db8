"""Leaves that are affine: f(x) = map( mean_t Σ_l p_l (c_l + A_l x) )."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hedgerow as hr
from hedgerow import explain
from hedgerow.rules.base import Start
from tests.oracles import double

FEATURES = 3
SETS = [hr.Nonnegative(2), hr.Product(hr.Free(1), hr.Simplex(3)), hr.Box([0, -np.inf], [2, 5])]
exactly = double(lambda rule, x: rule(x))
raw = double(lambda rule, x: rule.raw(x))
routes = double(lambda rule, x: rule.forest().route_probabilities(x))


def built(rule, decision_set, random=True):
    start = decision_set.from_raw(jnp.zeros(decision_set.dimension))
    made = jax.jit(lambda key: rule.build(key, Start(FEATURES, decision_set, start)))(
        jax.random.key(0)
    )
    rng = np.random.default_rng(0)
    fields = {
        name: jnp.asarray(rng.normal(size=getattr(made, name).shape), jnp.float32)
        for name in made.trainable
    }
    return type(made)(**(vars(made) | fields)) if random else made


@pytest.mark.parametrize("seen", [None, 2])
def test_it_is_the_sum_that_it_says(seen):
    made = built(hr.SoftForest(4, 2, leaves="linear", features_per_tree=seen), hr.Free(2))
    x = np.random.default_rng(1).normal(size=(FEATURES, 6))
    total = np.zeros((2, 6))
    for t, chances in enumerate(routes(made, x)):
        own = x if seen is None else x[np.asarray(made.features)[t]]
        for leaf, chance in enumerate(chances):
            slope = np.asarray(made.slopes, np.float64)[t, leaf]
            total += chance * (np.asarray(made.leaves)[t, leaf][:, None] + slope @ own)
    np.testing.assert_allclose(exactly(made, x), total / 4, rtol=1e-6)  # float32 parameters


@pytest.mark.parametrize("decision_set", SETS, ids=repr)
def test_decisions_are_feasible_and_within_bounds(decision_set):
    made = built(hr.SoftForest(3, (1, 2), leaves="linear"), decision_set)
    rng = np.random.default_rng(2)
    # sets check in float32
    far = exactly(made, 100 * rng.normal(size=(FEATURES, 200)))
    assert np.all(decision_set.contains(far.T, 1e-5))
    centre, width = rng.normal(size=FEATURES), np.array([0.5, 0.0, 2.0])
    low, high = made.bounds(centre, width)
    found = exactly(made, (centre + width * rng.uniform(-1, 1, (500, FEATURES))).T)
    assert np.all((found >= low[:, None] - 1e-9) & (found <= high[:, None] + 1e-9))
    still = made.bounds(centre, 0 * width)
    there = exactly(made, centre[:, None])[:, 0]
    np.testing.assert_allclose(still, [there, there], rtol=1e-6, atol=1e-7)


def test_it_begins_as_a_soft_forest():
    plain = built(hr.SoftForest(4, 2), hr.Free(1), random=False)
    linear = built(hr.SoftForest(4, 2, leaves="linear"), hr.Free(1), random=False)
    x = np.random.default_rng(1).normal(size=(FEATURES, 6))
    np.testing.assert_allclose(exactly(linear, x), exactly(plain, x), rtol=1e-12)


def test_it_goes_on_rising_and_says_so():
    made = built(hr.SoftForest(3, 2, leaves="linear"), hr.Free(1))
    assert not made.is_bounded()
    assert made.trees(FEATURES) is None
    assert made.averaged([made]) is None
    assert "weighted sum" in made.words()


@pytest.fixture(scope="module")
def line():
    """A line with noise: what constant leaves need many of, and linear ones one."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(200, 2))
    y = 20 + 6 * X[:, 0] + rng.normal(size=200)

    def fit(leaves):
        return hr.RobustPolicy(
            hr.Newsvendor(1, 1),
            hr.ERM(),
            hr.SoftForest(4, (1, 2), leaves=leaves),
            hr.EmpiricalNominal(),
            hr.NestedSGD(steps=1500),
            random_state=0,
        ).fit(X, y)

    return X, y, fit


@pytest.mark.slow
def test_a_line_is_learned_and_continued(line):
    X, y, fit = line
    linear, constant = fit("linear"), fit("constant")
    assert linear.losses(X, y).mean() < constant.losses(X, y).mean()
    # beyond all rows it goes on rising, if not as steeply as within: gates did some of the rising
    beyond = [[3.0, 0.0], [6.0, 0.0]]
    assert np.diff(linear.predict(beyond)) > 5
    assert np.diff(constant.predict(beyond)) < 1


@pytest.mark.slow
def test_it_is_saved_explained_and_hardened(line, tmp_path):
    X, _, fit = line
    policy = fit("linear")
    policy.save(tmp_path / "linear.hedgerow")
    again = hr.load(tmp_path / "linear.hedgerow")
    np.testing.assert_array_equal(again.predict(X), policy.predict(X))
    found = explain.attribute(again, X[0], X[:20])
    assert found.completeness_error < 1e-6
    assert found.ranked()[0] == 0
    bounds = explain.certificate(again, X[0], 0.2)
    assert bounds.low[0] <= bounds.decision[0] <= bounds.high[0]
    with pytest.raises(TypeError, match=r"LinearForest offers none \(write LinearForest.trees\)"):
        explain.routes(policy, X)
    hard = policy.hardened()
    assert hard.hardening_.fidelity > 0.5
    with pytest.raises(ValueError, match="both rises and jumps"):
        explain.attribute(hard, X[0], X[:20])


def test_other_leaves_are_refused():
    with pytest.raises(ValueError, match="leaves must be one of"):
        hr.SoftForest(leaves="quadratic")
