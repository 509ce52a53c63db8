"""A smaller support leaves the adversary fewer places: values never rise, nor become infinite.

Under a radius this holds of every model, whose distributions lie among those of a larger support.
Under a price it holds without entropy. With entropy the price counts from the least discrepant
distribution, which is another one on another support.
"""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr

X, Y = np.array([[-1.0], [0.2], [1.1]]), np.array([2.0, 3.0, 5.0])
LOSSES = {
    "newsvendor": hr.Newsvendor(0.6, 1.0),
    "below a line": hr.MaxAffine([0.0, 0.0], [[-1.0], [0.6]], [[1.0], [-0.6]]),
}
MODELS = {
    "a price": hr.CausalWasserstein(1.2),
    "a radius": hr.CausalWasserstein(radius=0.7),
    "a radius, pairs": hr.Wasserstein(radius=0.7),
    "entropy in a radius": hr.CausalSinkhorn(radius=1.3, epsilon=0.2),
    "entropy and pairs in a radius": hr.Sinkhorn(radius=1.3, epsilon=0.2),
}


def value(model, support, loss=LOSSES["newsvendor"], tolerance=1e-4):
    """Of one rule, which no support changes; and what it may be off by."""
    loss = loss.set_params(outcome_support=support)
    policy = hr.RobustPolicy.from_function(lambda x: 3 + jnp.sin(2 * x[:1]), loss, X, Y)
    found = hr.robust_value(policy, X, Y, ambiguity=model, tolerance=tolerance)
    assert np.isfinite([found.value, found.expected_loss, found.discrepancy]).all()
    return found.value, found.stderr + found.bias + 1e-6


def never_rises(model, supports, **given):
    """Along supports of which each lies in the one before."""
    found = [value(model, support, **given) for support in supports]
    for (larger, much), (smaller, little) in itertools.pairwise(found):
        assert smaller <= larger + much + little
    return [one for one, _ in found]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_values_never_rise_as_outcomes_have_less_room(name):
    """Of order 1.5, down to supports that hold little more than the data."""
    model = MODELS[name].replace(order=1.5)
    values = never_rises(model, [None, (-50, 50), (0, 5.5), (1.5, 5.1)])
    assert values[1] == pytest.approx(values[0], rel=1e-3)  # 50 is far from everything
    assert values[-1] < values[0] - 1e-3


@pytest.mark.slow
def test_an_open_support_has_derivatives():
    """In the penalty: 0·∞ once made them NaN, and a radius kept the penalty it began with."""
    open_, wide = (value(hr.Sinkhorn(1.2, 0.2, order=1.5), end) for end in (None, (-1e3, 1e3)))
    assert open_[0] == pytest.approx(wide[0], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("order", [1, 1.5, 2, 3])
def test_an_end_far_away_never_makes_a_value_infinite(order, loss):
    """It once did, of a loss whose growth was measured on rays that end."""
    model = hr.CausalWasserstein(1.2, order=order)
    never_rises(model, [None, (0, 50), (0, 8)], loss=LOSSES[loss])


@pytest.mark.slow
@given(st.floats(5.2, 50.0), st.floats(0.0, 1.0), st.sampled_from([1.3, 1.5, 2.5]))
@settings(max_examples=4, deadline=None)
def test_any_ends_and_orders(high, share, order):
    smaller = (2 * share, 5.1 + share * (high - 5.1))
    model = hr.CausalSinkhorn(radius=1.5, epsilon=0.2, order=order)
    never_rises(model, [(0, high), smaller], tolerance=1e-3)
