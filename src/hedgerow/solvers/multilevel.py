"""What randomised multilevel Monte Carlo adds to a biased gradient so that its mean is exact.

Let g_l be the gradient with effort 2^l times the least: for logarithms of averages 2^l as many
nodes, for suprema 2^l as many attempts to climb. g_0 is biased, g_∞ is not, and

    E[ g_0 + (g_l − g_{l−1}) / P(l) ] = E g_∞,       P(l) = (1 − r)·r^{l−1},  l = 1, 2, …

for a level l drawn at random (Rhee & Glynn 2015; Blanchet & Glynn 2015; for bilevel problems Hu,
Wang, Chen & He 2023). g_{l−1} is the mean over the two halves of level l's nodes, so that the
square of the difference falls like 4^−l. With r = 2^−3/2 variance and expected effort are both
finite: Σ 4^−l/r^l and Σ 2^l·r^l.

Nodes come in blocks of the least effort. Memory is that of one block at every level.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from hedgerow.ambiguity import Tilt
from hedgerow.kernels.kernel import NEVER
from hedgerow.solvers.task import Learned, Priced, moments, shares

RATIO = 2**-1.5
FEWEST_CLIMBS = 4

TiltAt = Callable[[Learned, Array], Tilt]
"""Exponents at some parameters: over one block of nodes, or after so many attempts to climb."""


def draw_level(key: PRNGKeyArray) -> Int[Array, ""]:
    """Draw l ≥ 1 with P(l) = (1 − r)·r^(l−1); a float32 draw has 23 bits, which end at l = 16."""
    waited = jax.random.exponential(key, dtype=jnp.float32)
    return 1 + jnp.floor(waited / -math.log(RATIO)).astype(jnp.int32)


def probability(level: Array) -> Array:
    """P(l)."""
    return (1 - RATIO) * jnp.asarray(RATIO, jnp.float32) ** (level - 1)


def more_nodes(
    tilt_at: TiltAt, priced: Priced, parameters: Learned, level: Array, pooled: bool
) -> tuple[Learned, Array]:
    """Gradient and value of level l less those of level l − 1, by blocks of nodes.

    Two passes over the same blocks: the logarithms of the averages over both halves, and, these
    being known, the gradient.
    """
    blocks = 2**level
    half = blocks // 2

    def log_average(first: Array) -> Array:
        def add(block: Array, total: Array) -> Array:
            return jnp.logaddexp(total, moments(tilt_at(parameters, block), pooled))

        shape = jax.eval_shape(lambda: moments(tilt_at(parameters, first), pooled))
        nothing = jnp.full(shape.shape, NEVER, shape.dtype)
        return jax.lax.fori_loop(first, first + half, add, nothing) - jnp.log(half)

    halves = jnp.stack([log_average(jnp.zeros_like(half)), log_average(half)])
    whole = jnp.logaddexp(halves[0], halves[1]) - jnp.log(2.0)
    gain = whole - jnp.mean(halves, axis=0)
    if not pooled:
        gain = jnp.sum(shares(tilt_at(parameters, jnp.zeros_like(half))) * gain)

    def surrogate(parameters: Learned, block: Array) -> Array:
        """One block's part: where it differs between the halves' tilts and the whole's."""
        tilt = tilt_at(parameters, block)
        own = halves[block // half]
        levels = (whole, own) if pooled else (whole[:, :, None], own[:, :, None])
        tops = tilt.log_weights + tilt.exponents
        weights = jnp.exp(tops - levels[0]) - jnp.exp(tops - levels[1])
        weights = jax.lax.stop_gradient(shares(tilt)[:, :, None] * weights)
        temperature = jnp.asarray(priced.at(parameters).temperature)
        inner = jax.lax.stop_gradient(temperature) * jnp.sum(weights * tilt.exponents)
        return (temperature * gain + inner) / blocks

    def add(block: Array, total: Learned) -> Learned:
        return jax.tree_util.tree_map(jnp.add, total, jax.grad(surrogate)(parameters, block))

    nothing = jax.tree_util.tree_map(jnp.zeros_like, parameters)
    gradient = jax.lax.fori_loop(0, blocks, add, nothing)
    return gradient, jnp.asarray(priced.at(parameters).temperature) * gain


def more_climbs(
    tilt_at: TiltAt, priced: Priced, parameters: Learned, level: Array
) -> tuple[Learned, Array]:
    """Gradient and value at level l's maximisers less those at level l − 1's."""

    def value(parameters: Learned, climbs: Array) -> Array:
        tilt = tilt_at(parameters, climbs)
        level = jnp.sum(shares(tilt) * tilt.log_moments())
        return jnp.asarray(priced.at(parameters).temperature) * level

    longer, further = jax.value_and_grad(value)(parameters, FEWEST_CLIMBS * 2**level)
    shorter, nearer = jax.value_and_grad(value)(parameters, FEWEST_CLIMBS * 2 ** (level - 1))
    return jax.tree_util.tree_map(jnp.subtract, further, nearer), longer - shorter
