"""Unbiased gradients: their mean is the exact gradient, and their variance is finite."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.ambiguity.transport_ascent import FEWEST_CLIMBS
from hedgerow.solvers import At, multilevel
from hedgerow.solvers.sample_average import SampleAverage
from tests.problems import AffineNewsvendor

DRAWS = 100_000
SLOW = pytest.mark.slow


def started(model, repeats=1):
    """A problem at a rule that is not optimal, so that gradients are not small."""
    data = AffineNewsvendor(rows=12, repeats=repeats)
    loss = hr.Newsvendor(data.holding, data.stockout, decision_set=hr.Free(1))
    policy = hr.RobustPolicy(
        loss, model, hr.Affine(), solver=hr.NestedSGD(steps=20, learning_rate=0.1), random_state=0
    ).fit(data.x[:, None], data.y)
    return policy.problem(data.x[:, None], data.y), policy.rule_


def gradients(problem, solver, draws, climbs=None):
    """Independent draws of a solver's stochastic gradient, flattened, in float32."""
    objective, start, slots = solver.training(*problem)
    if climbs is not None:
        objective = eqx.tree_at(lambda o: o.setting.climbs, objective, climbs)
    memory = solver.init(objective, start, slots)

    def one(key):
        found = solver.step(objective, At(start, memory, 0, key)).gradient
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(found)])

    keys = jax.random.split(jax.random.key(1, impl="rbg"), draws)
    return np.asarray(jax.jit(lambda keys: jax.lax.map(one, keys))(keys), np.float64)


def exact(problem, nodes):
    """The gradient with dense nodes, in float64."""
    average = SampleAverage(hr.SAA(nodes=nodes).training(*problem), jax.random.key(0))
    return average(average.start)[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "repeats", "draws"),
    [
        pytest.param(hr.CausalSinkhorn(2.0, 0.3), 1, DRAWS, id="one outcome", marks=SLOW),
        pytest.param(hr.CausalSinkhorn(2.0, 0.3), 3, DRAWS, id="several outcomes", marks=SLOW),
        pytest.param(hr.KL(0.5), 1, 20_000, id="kl"),
    ],
)
def test_gradients_have_no_bias_and_nested_ones_have(model, repeats, draws):
    problem = started(model, repeats)
    truth = exact(problem, hr.GaussQuadrature(64))
    unbiased = gradients(problem, hr.MLMC(batch=4, nodes=1), draws)
    error = unbiased.std(axis=0) / np.sqrt(draws)
    assert np.all(np.abs(unbiased.mean(axis=0) - truth) < 3 * error)
    nested = gradients(problem, hr.NestedSGD(batch=4, nodes=1), 20_000)
    error = nested.std(axis=0) / np.sqrt(len(nested))
    assert np.max(np.abs(nested.mean(axis=0) - truth) / error) > 10


@SLOW
def test_variance_is_finite():
    """Squared corrections fall like 4^−l, faster than probabilities, which fall like 2^(−3l/2)."""
    problem = started(hr.CausalSinkhorn(2.0, 0.3))
    solver = hr.MLMC(batch=4, nodes=1)
    objective, start, _ = solver.training(*problem)
    batch, _ = solver.draw(objective, jax.random.key(0))

    @jax.jit
    def squares(level, keys):
        def one(key):
            def block(parameters, number):
                return objective.tilt(parameters, batch, jax.random.fold_in(key, number)), batch

            found = multilevel.more_nodes(block, objective, start, level)[0]
            return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(found))

        return jnp.mean(jax.lax.map(one, keys))

    keys = jax.random.split(jax.random.key(2, impl="rbg"), 2000)
    levels = np.arange(1, 8)
    sizes = [float(squares(level, keys)) for level in levels]
    # 2000 draws leave about 10 % of error in each; the first level is not yet asymptotic
    slope = np.polyfit(levels[1:], np.log2(sizes[1:]), 1)[0]
    assert slope < -1.7


def test_levels_are_drawn_with_their_probabilities():
    levels = np.asarray(jax.vmap(multilevel.draw_level)(jax.random.split(jax.random.key(0), 10**5)))
    assert levels.min() == 1
    for level in range(1, 5):
        share = float(multilevel.probability(jnp.asarray(level)))
        # binomial error of 10⁵ draws, four standard errors
        assert np.mean(levels == level) == pytest.approx(share, abs=4 * np.sqrt(share / 10**5))


@SLOW
def test_suprema_are_corrected_by_climbing_further():
    """Causal Wasserstein: few attempts stop below the summit, where the gradient is another one."""
    problem = started(hr.CausalWasserstein(1.2), repeats=2)
    draws, settings = 4000, {"batch": 12, "nodes": 2}
    to_the_top = gradients(problem, hr.NestedSGD(**settings), draws)
    unbiased = gradients(problem, hr.MLMC(**settings), draws)
    short = gradients(problem, hr.NestedSGD(**settings), draws, climbs=FEWEST_CLIMBS)

    def apart(found):
        """In the slope, pair by pair: batches and starts are the same."""
        gap = (found - to_the_top)[:, 0]
        return np.abs(gap.mean()) / gap.std() * np.sqrt(draws)

    assert apart(unbiased) < 3
    assert apart(short) > 10
