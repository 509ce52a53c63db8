"""Integrated gradients of a two-layer network, kink by kink.

Along a line α ↦ x^i + α(x − x^i) a hidden unit is on before or after its kink κ, or throughout, so

    ∫₀¹ ∂_j f dα = (1/m) Σ_units a·w_j · ∫_{on} J(raw(α)) dα,        J = ∂map/∂raw,

and J along the line is continuous. Its integral from 0 to every kink is read off a parabola in each
cell of a grid. Quadrature of the gradient itself, which jumps at thousands of kinks, would need
thousands of nodes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from hedgerow.decisions import DecisionSet
from hedgerow.programs import program

if TYPE_CHECKING:
    from hedgerow.rules.two_layer import TwoLayerNetwork

CELLS = (8, 32, 128)
"""Of the grids that kinks are placed on, one after the other."""


@program(static_argnames="cells")
def integrals_on_grid(
    rule: TwoLayerNetwork,
    starts: Float[Array, "n d"],
    end: Float[Array, " d"],
    weights: Float[Array, " n"],
    cells: int,
) -> Float[Array, "k d"]:
    """Weighted sum over starts of (end − start)·∫₀¹ ∂f, kinks placed on so many cells."""
    one = partial(_line_integral, rule, end, cells)
    return jnp.sum(weights[:, None, None] * jax.lax.map(one, starts, batch_size=16), axis=0)


def _line_integral(rule: TwoLayerNetwork, end: Array, cells: int, start: Array) -> Array:
    """One line: (end − start)·∫₀¹ ∂f, (k, d)."""
    first = rule.hidden @ start + rule.bias
    rise = rule.hidden @ (end - start)
    slopes = _map_slopes(rule, first, rise, jnp.linspace(0.0, 1.0, 2 * cells + 1))
    turning = jnp.where(rise == 0, 1.0, -first / jnp.where(rise == 0, 1.0, rise))
    kinks = jnp.clip(turning, 0.0, 1.0)
    # ∫₀^κ of J: (decisions out, decisions in, units)
    before = jax.vmap(lambda table, at: _integral(table, at, cells), (2, 0), 2)(slopes, kinks)
    before = jnp.moveaxis(before, 0, -1)
    whole = jax.vmap(lambda table: _integral(table, jnp.ones(1), cells), 2, 2)(slopes)[0]
    starts_on = jnp.where(rise == 0, first > 0, rise < 0)
    on = jnp.where(starts_on, before, whole[..., None] - before)
    strength = rule.output / rule.output.shape[1]
    return jnp.einsum("abm,bm,bmd->ad", on, strength, rule.hidden) * (end - start)


def _map_slopes(rule: TwoLayerNetwork, first: Array, rise: Array, alphas: Array) -> Array:
    """J at points along the line, (points, k, k)."""

    def raw(alpha: Array) -> Array:
        units = jax.nn.relu(first + alpha * rise)
        return jnp.sum(rule.output * units, axis=1) / units.shape[1] + rule.offset

    decision_set: DecisionSet = rule.decision_set
    return jax.vmap(lambda alpha: jax.jacfwd(decision_set.from_raw)(raw(alpha)))(alphas)


def _integral(table: Array, ends: Array, cells: int) -> Array:
    """∫₀^end of a function known at the ends and middles of cells, (points, k) → (ends, k)."""
    left, middle, right = table[:-1:2], table[1::2], table[2::2]
    whole = (left + 4 * middle + right) / 6
    before = jnp.concatenate([jnp.zeros_like(whole[:1]), jnp.cumsum(whole, axis=0)])
    cell = jnp.clip((ends * cells).astype(int), 0, cells - 1)
    t = (ends * cells - cell)[:, None]
    low, mid, high = left[cell], middle[cell], right[cell]
    inside = (
        low * t + (-3 * low + 4 * mid - high) * t**2 / 2 + (low - 2 * mid + high) * t**3 * 2 / 3
    )
    return (before[cell] + inside) / cells
