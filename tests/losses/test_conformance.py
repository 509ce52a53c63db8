"""What every loss promises, whoever wrote it; and that what it may offer is what it says."""

import json
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone

import hedgerow as hr
from hedgerow.decisions import DecisionSet
from hedgerow.decisions.base import mapped
from hedgerow.kernels import Kernel
from hedgerow.losses import Loss
from hedgerow.losses.joint_cvar import JointCVaR
from hedgerow.policy_file import Known, describe
from tests.extending.parts import Ordered, Pinball
from tests.oracles import double, nodes_in_double


def absolute(z, y):
    return jnp.sum(jnp.abs(z - y))


@dataclass(frozen=True)
class Example:
    """A loss on so many outcomes, with decisions of about the outcomes' size."""

    loss: Loss
    outcomes: int = 1

    @property
    def decision_set(self) -> DecisionSet:
        return self.loss.decisions_for(self.outcomes)

    def history(self, rows=60, seed=0):
        """Outcomes within the support, and weights."""
        rng = np.random.default_rng(seed)
        return rng.gamma(4, 0.5, (rows, self.outcomes)), rng.uniform(0.2, 3.0, rows)

    def decisions(self, *shape, seed=1):
        raw = 2 * np.random.default_rng(seed).normal(size=(*shape, self.decision_set.dimension))
        return mapped(self.decision_set, raw)

    @property
    def working(self) -> Loss:
        """As compiled programs see it: in working units, which here are the user's."""
        units = np.ones(self.outcomes), np.ones(self.decision_set.dimension), 1.0
        return self.loss.in_units(*units)


BENT = [[-1.0, 0.5], [2.0, 0.0], [0.3, -1.5]], [[1.0], [-1.0], [0.5]]
EXAMPLES = [
    Example(hr.Newsvendor(0.6, 1.0)),
    Example(hr.Newsvendor([0.6, 2.0], 1.0, outcome_support=(0.0, np.inf)), 2),
    Example(hr.Newsvendor(1.0, 3.0, decision_set=hr.Box(1.0, 2.0))),
    Example(hr.InventorySubstitution([1.0, 0.7], [1.8, 1.6], [[0.0, 1.2], [np.inf, 0.0]], 0.1), 2),
    Example(
        hr.TwoStageLP([1.0, 3.0], [[1.0, -1.0]], [[-1.0]], [[-1.0]], decision_set=hr.Nonnegative(1))
    ),
    Example(hr.MaxAffine([0.1, -0.2, 0.0], *BENT), 2),
    Example(hr.MeanVariance(0.5), 2),
    Example(hr.MeanCVaR(0.5, tail=0.2), 2),
    Example(hr.CustomLoss(absolute, hr.Box([0.0, 0.0], [3.0, 4.0]), (0.0, 30.0)), 2),
    Example(Pinball((0.3, 0.8), Ordered(2))),
    Example(hr.CVaR(hr.Newsvendor(0.6, 1.0), 0.2, mean_weight=0.3, threshold=0.5)),
    Example(JointCVaR(hr.CVaR(hr.Newsvendor(0.6, 1.0), 0.3))),
    Example(JointCVaR(hr.CVaR(hr.MaxAffine([0.1, -0.2, 0.0], *BENT), 0.3, mean_weight=0.5)), 2),
]
EVERY = pytest.mark.parametrize(
    "example", EXAMPLES, ids=lambda e: f"{type(e.loss).__name__}-{e.outcomes}"
)
COSTS = {"order 1": (1, None), "order 2": (2, None), "order 1, bounded": (1, (0.0, 9.0))}
AROUND = pytest.mark.parametrize("around", COSTS.values(), ids=COSTS)
evaluated = double(lambda loss, z, y: loss(z, y))
log_moment = double(lambda loss, kernel, z, y, t: loss.closed_moments(kernel).log_moment(z, y, t))
tilted_outcome = double(
    lambda loss, kernel, u, z, y, t: loss.closed_moments(kernel).tilted_outcome(u, z, y, t)
)
respond = double(lambda loss, cost, z, y, penalty: loss.best_response(cost)(z, y, penalty))


def kernel_of(around, example):
    """A kernel within the loss's support; None where no penalty is admissible."""
    (order, ends), d = around, example.outcomes
    low, high = (np.full(d, end) for end in ends or (-np.inf, np.inf))
    support = example.loss.support_for(d)
    if support is not None:
        low, high = np.maximum(low, support[0]), np.minimum(high, support[1])
    ends = (None, None) if np.isinf([low, high]).all() else (low, high)
    kernel = Kernel(order, np.float64(0.2), np.linspace(0.6, 0.9, d), *ends)
    y, weights = example.history()
    least = example.loss.smallest_penalty(kernel, example.loss.best_constant(y, weights), y)
    return kernel if np.isfinite(least) else None


@EVERY
def test_values_broadcast_and_compile(example):
    """(4, 1) decisions against (1, 5) outcomes; NumPy, float64 and compiled are one."""
    z, (y, _) = example.decisions(4, 1), example.history(5)
    values = example.loss(z, y[None])
    assert values.shape == (4, 5)
    assert np.asarray(values).dtype == np.float64
    one_by_one = [[example.loss(z[i], y[j : j + 1])[0] for j in range(5)] for i in range(4)]
    np.testing.assert_allclose(values, one_by_one, rtol=1e-10, atol=1e-12)
    compiled = double(lambda z, y: example.loss(z, y))(z, y[None])
    np.testing.assert_allclose(compiled, values, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        evaluated(example.working, z, y[None]), values, rtol=1e-10, atol=1e-12
    )


@EVERY
def test_working_units_are_the_same_loss(example):
    """Ψ_w(z/u_z, y/u_y)·L = Ψ(z, y), whatever the units."""
    z, (y, weights) = example.decisions(60), example.history()
    rng, constant = np.random.default_rng(2), example.loss.best_constant(y, weights)
    outcome_unit, unit = np.exp(rng.normal(size=example.outcomes)), 3.7
    decision_unit = example.loss.decision_unit(outcome_unit, constant)
    assert decision_unit.shape == (example.decision_set.dimension,)
    np.testing.assert_array_equal(decision_unit[~example.decision_set.scalable], 1.0)
    working = example.loss.in_units(outcome_unit, decision_unit, unit)
    found = evaluated(working, z / decision_unit, y / outcome_unit)
    np.testing.assert_allclose(unit * found, example.loss(z, y), rtol=1e-10, atol=1e-12)
    assert example.loss.natural_unit(constant, y, weights / weights.sum()) >= 0


@EVERY
def test_decisions_and_outcomes_have_their_places(example):
    support = example.loss.support_for(example.outcomes)
    if support is not None:
        assert np.shape(support) == (2, example.outcomes)
    z = example.decisions(100)
    assert z.shape == (100, example.decision_set.dimension)
    assert np.all(example.decision_set.contains(z))
    assert np.all(np.isfinite(example.loss(z, example.history(100)[0])))
    names = example.loss.decision_names([f"outcome {i}" for i in range(example.outcomes)])
    assert names is None or len(names) == example.decision_set.dimension


@EVERY
def test_no_other_decision_is_better_than_the_best_constant(example):
    y, weights = example.history()
    best = example.loss.best_constant(y, weights)
    assert best.shape == (example.decision_set.dimension,)
    assert bool(example.decision_set.contains(best))

    def mean(z):
        return np.average(example.loss(z[:, None], y[None]), axis=1, weights=weights)

    least = mean(best[None])[0]
    others = mean(example.decisions(2000))
    # as far as L-BFGS goes in losses with kinks
    assert least <= others.min() + 1e-4 * np.abs(least)
    with jax.enable_x64(True):
        raw = np.asarray(example.decision_set.to_raw(jnp.asarray(best)))
    shaken = raw + 1e-2 * np.random.default_rng(3).normal(size=(200, len(raw)))
    assert least <= mean(mapped(example.decision_set, shaken)).min() + 1e-4 * np.abs(least)


@pytest.mark.parametrize(
    "around",
    [
        COSTS["order 2"],
        *(pytest.param(COSTS[name], marks=pytest.mark.slow) for name in COSTS if name != "order 2"),
    ],
    ids=["order 2", "order 1", "order 1, bounded"],
)
@EVERY
def test_closed_moments_are_those_of_nodes(example, around):
    """Against 2 × 32 Legendre panels per outcome; Jensen; draws with the tilted mean."""
    kernel = kernel_of(around, example)
    closed = kernel and example.loss.closed_moments(kernel)
    if closed is None:
        return
    temperature, working, (y, _) = 2.5, example.working, example.history(4)
    z = example.decisions(4)
    found = log_moment(working, kernel, z[:, None], y[None], temperature)
    rule = hr.GaussQuadrature(4, panels=32 if example.outcomes == 2 else 256)
    u, log_weights = nodes_in_double(rule, kernel, y, 0)
    gains = example.loss(z[:, None, None], u[None]) / temperature
    # quadrature across kinks: in two dimensions panels are about a width long
    np.testing.assert_allclose(found, logsumexp(log_weights + gains, axis=2), atol=1e-3)
    assert np.all(found >= np.sum(np.exp(log_weights) * gains, axis=2) - 1e-6)  # Jensen
    if closed.tilted_outcome is None:
        return
    draws, each = 4000, np.arange(4)
    uniform = np.random.default_rng(4).random((4, draws, example.outcomes))
    places = (np.repeat(part[:, None], draws, axis=1) for part in (z, y))
    drawn = tilted_outcome(working, kernel, uniform, *places, temperature)
    tilted = np.exp(log_weights + gains[each, each] - found[each, each, None])
    mean = np.einsum("kn,knd->kd", tilted, u)
    error = drawn.std(axis=1) / np.sqrt(draws)
    assert np.all(np.abs(drawn.mean(axis=1) - mean) < 5 * error + 1e-3)


@AROUND
@EVERY
def test_no_outcome_is_worse_than_the_best_response(example, around):
    cost = kernel_of(around, example)
    if cost is None or example.loss.best_response(cost) is None:
        return
    penalty, (y, _) = 8.0, example.history(40)  # admissible for every example and order
    z = example.decisions(40)
    found = respond(example.working, cost, z, y, penalty)
    assert found.shape == y.shape

    def height(u):
        paid = np.sum(np.abs((u - y[:, None]) / cost.scale) ** cost.order, axis=-1)
        return example.loss(z[:, None], u) - penalty * paid

    rng = np.random.default_rng(5)
    others = y[:, None] + rng.normal(size=(40, 500, example.outcomes)) * rng.exponential(
        size=(1, 500, 1)
    )
    if cost.low is not None:
        assert np.all((found >= cost.low) & (found <= cost.high))
        others = np.clip(others, cost.low, cost.high)
    reached = height(found[:, None])[:, 0]
    assert np.all(reached >= height(others).max(axis=1) - 1e-9)
    assert np.all(reached >= height(y[:, None])[:, 0] - 1e-12)


@EVERY
def test_files_and_clones_are_the_same_loss(example):
    z, (y, _) = example.decisions(5), example.history(5)
    values = example.loss(z, y)
    np.testing.assert_array_equal(clone(example.loss)(z, y), values)
    leaves, structure = jax.tree_util.tree_flatten(example.loss)
    np.testing.assert_array_equal(jax.tree_util.tree_unflatten(structure, leaves)(z, y), values)
    hash(structure)
    named = example.loss.get_params(deep=False)
    assert set(named) >= set(example.loss.traced)
    written = json.loads(json.dumps(describe(example.loss)))
    again = Known([Pinball, Ordered]).revive(written)
    assert type(again) is type(example.loss)
    assert repr(again.decisions_for(example.outcomes)) == repr(example.decision_set)
    if type(example.loss) is hr.CustomLoss:
        with pytest.raises(hr.PolicyFileError, match=r"function \(absolute\).*not stored"):
            again(z, y)
    else:
        np.testing.assert_array_equal(again(z, y), values)


@EVERY
def test_every_loss_says_what_it_is_about(example):
    said = example.loss.description("€")
    assert said.short
    assert "lower is better" in said.costs or "€" in said.costs
