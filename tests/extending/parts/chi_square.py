"""An ambiguity model: distributions within a χ²-divergence of the nominal one.

    sup_w { Σ m_i·(w_i·Ψ_i − λ·(w_i − 1)²) : w ≥ 0, Σ m_i·w_i = 1 }

is attained at w_i = (1 + (Ψ_i − η)/(2λ))⁺, where η makes the weights average to 1. Their average
falls in η, from at least 1 at the mean loss to at most 1 at the largest, so bisection finds it.
"""

import jax
import jax.numpy as jnp

from hedgerow.ambiguity import Reweighting


class ChiSquare(Reweighting):
    """Divergence D(P ‖ P̂) = E (dP/dP̂ − 1)², at a penalty λ or within a radius."""

    def risk(self, losses, mass):
        def weights(level):
            return jnp.maximum(1 + (losses - level) / (2 * self.penalty), 0.0)

        def halve(_, ends):
            middle = (ends[0] + ends[1]) / 2
            heavy = jnp.sum(mass * weights(middle)) > 1
            return jnp.where(heavy, middle, ends[0]), jnp.where(heavy, ends[1], middle)

        ends = jnp.sum(mass * losses), jnp.max(jnp.where(mass > 0, losses, -jnp.inf))
        ends = jax.lax.stop_gradient(jax.lax.fori_loop(0, 60, halve, ends))
        worst = jax.lax.stop_gradient(weights((ends[0] + ends[1]) / 2))
        return jnp.sum(mass * (worst * losses - self.penalty * (worst - 1) ** 2))
