"""Outcomes of censored rows: kernels that are cut entry by entry, against quadrature."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

import hedgerow as hr
from hedgerow._components import double
from hedgerow.ambiguity.base import Kernels, Setting
from hedgerow.ambiguity.outcome_moves import (
    best_responses,
    closed_log_moments,
    outcome_nodes,
    tilted_outcomes,
)
from hedgerow.data import Batch
from hedgerow.kernels import GaussQuadrature, Kernel, MonteCarlo, Reference, Sobol

HOLDING, STOCKOUT, EPSILON, TEMPERATURE = 0.6, 1.0, 0.3, 0.8
LOSS = hr.Newsvendor(HOLDING, STOCKOUT)
Z = np.array([[[2.0], [4.5]]])
Y = np.array([[[3.0], [3.0], [5.0]]])
LOW = np.array([[[-np.inf], [3.0], [4.2]]])


def batch(low=LOW):
    return Batch(
        contexts=jnp.zeros((1, 1)),
        mass=jnp.ones(1),
        outcomes=jnp.asarray(Y),
        outcome_mass=jnp.full((1, 3), 1 / 3),
        context_slot=jnp.zeros(1, jnp.int32),
        entry_slot=jnp.arange(3)[None],
        low=None if low is None else jnp.asarray(low),
    )


def setting(order, nodes=None, loss=LOSS, support=(None, None)):
    low, high = (None if end is None else np.array([end]) for end in support)
    context = Kernel(order, np.float64(EPSILON), np.ones(1))
    outcome = Kernel(order, np.float64(EPSILON), np.full(1, 0.9), low, high).with_ends()
    return double(Setting(loss, Kernels(context, outcome), MonteCarlo(1), nodes))


def density(order, y, low):
    """The kernel around y on [low, ∞), not normalised, and its ends."""
    reach = 12 if order == 2 else 25
    return (lambda u: np.exp(-(np.abs((u - y) / 0.9) ** order) / EPSILON)), max(low, y - reach)


def expected(order, function, y, low):
    """E function(u) under the cut kernel, by quadrature split at the centre and the kinks."""
    weight, start = density(order, y, low)
    ends = np.unique([start, *(p for p in (y, 2.0, 4.5) if p > start), y + 25])

    def integral(f):
        return sum(
            quad(lambda u: f(u) * weight(u), *piece, epsabs=0, epsrel=1e-12)[0]
            for piece in pairwise(ends)
        )

    return integral(function) / integral(lambda u: 1.0)


@pytest.fixture(autouse=True)
def in_float64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("nodes", [None, GaussQuadrature(64)])
def test_log_moments_of_every_entry_are_those_of_its_own_kernel(order, nodes):
    found = setting(order, nodes)
    if nodes is None:
        moments = closed_log_moments(found, jnp.asarray(Z), batch(), TEMPERATURE)
    else:
        y, log_weights = outcome_nodes(found, batch(), jax.random.key(0))
        gains = LOSS(jnp.asarray(Z)[:, :, None, None, :], y[:, None]) / TEMPERATURE
        moments = jax.nn.logsumexp(gains + log_weights[:, None], axis=-1)
    for m, z in enumerate(Z[0, :, 0]):
        for n, (y, low) in enumerate(zip(Y[0, :, 0], LOW[0, :, 0], strict=True)):
            exact = expected(
                order,
                lambda u, z=z: np.exp(
                    (HOLDING * max(z - u, 0) + STOCKOUT * max(u - z, 0)) / TEMPERATURE
                ),
                y,
                low,
            )
            tolerance = 1e-9 if nodes is None else 1e-3  # panels do not know of the kink
            np.testing.assert_allclose(moments[0, m, n], np.log(exact), rtol=tolerance)


@pytest.mark.parametrize("order", [1, 2])
def test_bounds_at_minus_infinity_are_none(order):
    """And gradients through them are finite."""
    free = setting(order)
    cut = closed_log_moments(free, jnp.asarray(Z), batch(np.full_like(LOW, -np.inf)), TEMPERATURE)
    plain = closed_log_moments(free, jnp.asarray(Z), batch(None), TEMPERATURE)
    np.testing.assert_allclose(cut, plain, rtol=1e-12)

    def total(z):
        return jnp.sum(closed_log_moments(free, z, batch(), TEMPERATURE))

    slopes = jax.grad(total)(jnp.asarray(Z))
    for m in range(2):
        step = np.zeros_like(Z)
        step[0, m] = 1e-5
        numeric = (total(jnp.asarray(Z + step)) - total(jnp.asarray(Z - step))) / 2e-5
        np.testing.assert_allclose(slopes[0, m, 0], numeric, rtol=1e-5)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("nodes", [MonteCarlo(500), Sobol(512)])
def test_nodes_never_lie_below_and_have_the_mean_of_their_kernel(order, nodes):
    y, log_weights = outcome_nodes(setting(order, nodes), batch(), jax.random.key(0))
    assert np.all(y[0] >= LOW[0, :, None])
    means = np.sum(np.exp(log_weights)[0] * y[0, :, :, 0], axis=1)
    exact = [
        expected(order, lambda u: u, y, low)
        for y, low in zip(Y[0, :, 0], LOW[0, :, 0], strict=True)
    ]
    np.testing.assert_allclose(means, exact, atol=0.08)  # 500 draws of deviation 0.4


@pytest.mark.parametrize("order", [1, 2])
def test_drawn_outcomes_never_lie_below(order):
    uniform = jnp.asarray(np.random.default_rng(0).uniform(size=(900, 1)))
    rows = np.repeat(np.arange(3), 300)
    home, low = (jnp.asarray(part[0, rows]) for part in (Y, LOW))
    z = jnp.full((900, 1), 4.5)
    drawn = np.asarray(tilted_outcomes(setting(order), uniform, z, home, low, TEMPERATURE))
    assert np.all(drawn >= np.asarray(low))
    assert np.any(drawn[:300] < 3)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("support", [(None, None), (0.0, 6.0)])
def test_best_responses_are_the_best_above_the_bound(order, support):
    penalty = 1.3
    setting_here = setting(order, support=support)
    found = best_responses(setting_here, jnp.asarray(Z), batch(), penalty)
    assert np.all(np.asarray(found) >= LOW[:, None])
    ends = [-20, 30] if support[0] is None else support

    def height(u, z, y):
        gain = HOLDING * np.maximum(z - u, 0) + STOCKOUT * np.maximum(u - z, 0)
        return gain - penalty * np.abs((u - y) / 0.9) ** order

    for m, z in enumerate(Z[0, :, 0]):
        for n, (y, low) in enumerate(zip(Y[0, :, 0], LOW[0, :, 0], strict=True)):
            grid = np.linspace(max(low, ends[0]), ends[1], 20_001)
            reached = height(float(found[0, m, n, 0]), z, y)
            assert reached >= height(grid, z, y).max() - 1e-9


def test_pieces_respond_above_the_bound_too():
    """A maximum of affine functions has axes of its own between entries and coordinates."""
    pieces = hr.losses.MaxAffine(
        constant=np.zeros(2),
        outcome_slope=np.array([[-HOLDING], [STOCKOUT]]),
        decision_slope=np.array([[HOLDING], [-STOCKOUT]]),
        decision_set=hr.Free(1),
    )
    mine = best_responses(setting(2, loss=pieces), jnp.asarray(Z), batch(), 1.3)
    other = best_responses(setting(2), jnp.asarray(Z), batch(), 1.3)
    np.testing.assert_allclose(mine, other, rtol=1e-12)


def test_a_reference_measure_cannot_be_cut():
    nodes = Reference(np.array([[1.0], [6.0]]))
    with pytest.raises(ValueError, match="leave reference out"):
        outcome_nodes(setting(2, nodes), batch(), jax.random.key(0))


def test_only_a_kernel_with_ends_can_be_cut():
    with pytest.raises(ValueError, match="with_ends"):
        Kernel(2, jnp.ones(()), jnp.ones(1)).above(jnp.zeros(1))
