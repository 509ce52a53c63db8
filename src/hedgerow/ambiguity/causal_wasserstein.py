"""Causal Wasserstein DRO, the limit ε → 0: the adversary moves whole points, not clouds.

    E_x̂ sup_x { E_ŷ|x̂ sup_y [ Ψ(f(x), y) − λ‖(y − ŷ)/s_y‖_p^p ] − λ‖(x − x̂)/s_x‖_p^p }

(paper: Causal-WDRO-dual)

The suprema over x and over one y per outcome are one joint supremum. It is climbed from several
starting points around each context by proximal gradient ascent with a step size per start; where
the loss knows its worst outcome, only x is climbed. By Danskin's theorem gradients in the rule and
in λ are those at the maximisers, held fixed.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.ambiguity.base import Setting, Spread, Tilt, decide
from hedgerow.ambiguity.transport import TransportAmbiguity, kernels_of
from hedgerow.data.training_table import Batch
from hedgerow.kernels.kernel import Kernel
from hedgerow.rules import FittedRule

SPENT = 1e-6
"""An ascent whose step has shrunk to this, in units of 1/λ, is over."""


class CausalWasserstein(TransportAmbiguity):
    """Ambiguity by causal transport distance, without entropy.

    Parameters
    ----------
    penalty : float or None
        λ, the price of transport in units of ``loss_scale``.
    order : {1, 2}
        p of the transport cost.
    radius : float or None
        ρ, instead of a penalty: the largest causal transport distance C_p that is guarded against.
    x_scale, y_scale, loss_scale
        As for ``CausalSinkhorn``.

    Notes
    -----
    The maximisers are found by ascent from the context and from as many starting points around it
    as the solver has nodes: a lower bound on the supremum, exact if one start finds the summit.
    """

    traced = ("penalty", "radius", "x_scale", "y_scale", "loss_scale")
    compositional: ClassVar[bool] = False
    ascends: ClassVar[bool] = True
    spreads_by_penalty: ClassVar[bool] = True
    plain: ClassVar[str | None] = "Wasserstein DRO"

    def __init__(
        self,
        penalty: float | None = None,
        order: int = 2,
        *,
        radius: float | None = None,
        x_scale: Any = 1.0,
        y_scale: Any = 1.0,
        loss_scale: Any = 1.0,
    ) -> None:
        self.penalty = penalty
        self.order = order
        self.radius = radius
        self.x_scale = x_scale
        self.y_scale = y_scale
        self.loss_scale = loss_scale
        self.check()

    @property
    def temperature(self) -> Any:
        """1: a single node makes the logarithm cancel the exponential."""
        return 1.0

    def spread(self, rule: FittedRule, setting: Setting, batch: Batch, key: PRNGKeyArray) -> Spread:
        """Find the maximisers: one point per context, one outcome per nominal outcome."""
        penalty = jnp.asarray(self.penalty, batch.contexts.dtype)
        frozen, penalty = jax.lax.stop_gradient((rule, penalty))  # nothing of the way is kept
        summit = _climb(frozen, setting, batch, penalty, _start(setting, batch, penalty, key))
        heights = _heights(frozen, setting, batch, penalty, summit)
        best = jnp.argmax(heights, axis=1)[:, None, None]
        points = jnp.take_along_axis(summit.x, best, axis=1)
        outcomes = jnp.take_along_axis(summit.y, best[..., None], axis=1)
        points, outcomes = jax.lax.stop_gradient((points, outcomes))
        one = jnp.zeros_like(points[:, :, 0])
        return Spread(points, decide(rule, points), one, jnp.swapaxes(outcomes, 1, 2))

    def tilt_of(self, spread: Spread, setting: Setting, batch: Batch) -> Tilt:
        """Return the gain at the maximisers less what it cost to get there, one per context."""
        if spread.outcomes is None:
            raise ValueError("Causal Wasserstein needs maximisers in the outcome; got none.")
        around = kernels_of(setting)
        y = spread.outcomes[:, :, 0]
        losses = setting.loss(spread.decisions, y)
        paid = around.outcome.cost(batch.outcomes, y)
        paid = paid + around.context.cost(batch.contexts, spread.points[:, 0])[:, None]
        gains = jnp.sum(batch.outcome_mass * (losses - self.penalty * paid), axis=1)
        one = jnp.ones_like(batch.outcome_mass[:, :1])
        slots = jnp.zeros_like(batch.context_slot[:, None])
        return Tilt(gains[:, None, None], spread.log_weights[:, None], one, slots)


def summits(
    rule: FittedRule, setting: Setting, batch: Batch, penalty: Float[Array, ""], key: PRNGKeyArray
) -> tuple[Float[Array, "b m d"], Float[Array, "b m"]]:
    """Where the ascents of each context end, and how high."""
    summit = _climb(rule, setting, batch, penalty, _start(setting, batch, penalty, key))
    return summit.x, _heights(rule, setting, batch, penalty, summit)


class _Point(NamedTuple):
    """Where the ascent stands: contexts, and one outcome for every nominal outcome."""

    x: Float[Array, "b m d"]
    y: Float[Array, "b m n y"]


def _start(setting: Setting, batch: Batch, penalty: Array, key: PRNGKeyArray) -> _Point:
    """The contexts themselves and points around them, outcomes at home."""
    kernel = kernels_of(setting).context
    # a gain of one unit of loss pays for a cost of 1/λ: that is how far to look
    wide = eqx.tree_at(lambda k: k.epsilon, kernel, 1 / penalty)
    starts, _ = setting.context_nodes(wide, batch.contexts, key)
    x = jnp.concatenate([batch.contexts[:, None], starts], axis=1)
    y = jnp.broadcast_to(batch.outcomes[:, None], (*x.shape[:2], *batch.outcomes.shape[1:]))
    return _Point(x, y)


def _climb(
    rule: FittedRule, setting: Setting, batch: Batch, penalty: Array, start: _Point
) -> _Point:
    """Proximal gradient ascent; a start's step grows while it gains and is halved when it fails."""
    around = kernels_of(setting)

    def gain(point: _Point) -> Array:
        return jnp.sum(_gains(rule, setting, batch, point))

    def going(carry: tuple[Array, _Point, Array, Array]) -> Array:
        return (carry[0] < setting.climbs) & jnp.any(carry[3] > SPENT / penalty)

    def attempt(carry: tuple[Array, _Point, Array, Array]) -> tuple[Array, _Point, Array, Array]:
        attempts, point, height, size = carry
        uphill = jax.grad(gain)(point)
        step_x, step_y = size[..., None], size[..., None, None]
        x = _proximal(around.context, batch.contexts[:, None], point.x, uphill.x, step_x, penalty)
        y = point.y
        if not setting.loss.has_worst_outcome(around.outcome):
            # a rare outcome's share of the gradient is small, but so is that of its cost
            mass = jnp.maximum(batch.outcome_mass, 1e-12)[:, None, :, None]
            home = batch.outcomes[:, None]
            y = _proximal(around.outcome, home, y, uphill.y / mass, step_y, penalty)
        candidate = _settle(rule, setting, batch, penalty, _Point(x, y))
        reached = _heights(rule, setting, batch, penalty, candidate)
        better = reached > height
        point = _Point(
            jnp.where(better[..., None], candidate.x, point.x),
            jnp.where(better[..., None, None], candidate.y, point.y),
        )
        size = size * jnp.where(better, 1.5, 0.5)
        return attempts + 1, point, jnp.maximum(reached, height), size

    start = _settle(rule, setting, batch, penalty, start)
    height = _heights(rule, setting, batch, penalty, start)
    size = jnp.full_like(height, 0.5) / penalty
    return jax.lax.while_loop(going, attempt, (jnp.zeros((), jnp.int32), start, height, size))[1]


def _settle(
    rule: FittedRule, setting: Setting, batch: Batch, penalty: Array, point: _Point
) -> _Point:
    """Put outcomes at their worst, where the loss knows it."""
    cost = kernels_of(setting).outcome
    if not setting.loss.has_worst_outcome(cost):
        return point
    z = decide(rule, point.x)[:, :, None, :]
    return point._replace(y=setting.loss.worst_outcome(z, batch.outcomes[:, None], cost, penalty))


def _gains(rule: FittedRule, setting: Setting, batch: Batch, point: _Point) -> Float[Array, "b m"]:
    """E Ψ over a context's outcomes."""
    z = decide(rule, point.x)[:, :, None, :]
    return jnp.sum(batch.outcome_mass[:, None] * setting.loss(z, point.y), axis=-1)


def _heights(
    rule: FittedRule, setting: Setting, batch: Batch, penalty: Array, point: _Point
) -> Float[Array, "b m"]:
    """Gain less cost."""
    around = kernels_of(setting)
    outcome_cost = around.outcome.cost(batch.outcomes[:, None], point.y)
    cost = jnp.sum(batch.outcome_mass[:, None] * outcome_cost, axis=-1)
    cost = cost + around.context.cost(batch.contexts[:, None], point.x)
    return _gains(rule, setting, batch, point) - penalty * cost


def _proximal(
    kernel: Kernel, home: Array, point: Array, uphill: Array, size: Array, penalty: Array
) -> Array:
    """Step uphill in units of the scales, then shrink towards home as the cost asks."""
    scale = kernel.scale
    moved = (point - home + size * scale**2 * uphill) / jnp.where(scale > 0, scale, 1.0)
    if kernel.order == 2:
        shrunk = moved / (1 + 2 * size * penalty)
    else:
        shrunk = jnp.sign(moved) * jnp.maximum(jnp.abs(moved) - size * penalty, 0.0)
    low, high = kernel.bounds(home)
    return home + jnp.clip(shrunk * scale, low, high)
