"""A rule: one soft tree whose leaves are affine functions of the context.

f(x) = map( Σ_l p_l(x)·(A_l x + c_l) ),    p_l the probability of reaching leaf l
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from hedgerow.decisions import DecisionSet
from hedgerow.rules import FittedRule, Rule


class FittedLinearTree(FittedRule):
    """Gates (g, features + 1) and leaves (l, decisions, features + 1), constants last."""

    trainable: ClassVar[tuple[str, ...]] = ("gates", "leaves")
    gates: Float[Array, "g e"]
    leaves: Float[Array, "l k e"]
    decision_set: DecisionSet

    def __call__(self, x):
        extended = jnp.concatenate([x, jnp.ones_like(x[:1])])
        left = jax.nn.sigmoid(self.gates @ extended)
        routes, first = jnp.ones_like(left[:1]), 0
        while len(routes) < len(self.leaves):
            gate = left[first : first + len(routes)]
            first += len(routes)
            routes = jnp.concatenate([routes * gate, routes * (1 - gate)])
        raw = jnp.einsum("lr,lke,er->rk", routes, self.leaves, extended)
        return self.decision_set.from_raw(raw).T


class LinearTree(Rule):
    """A tree of a given depth."""

    depth: int = 1

    def build(self, key, start):
        raw, leaves = start.raw, 2**self.depth
        gates = 0.5 * jax.random.normal(key, (leaves - 1, start.n_features + 1), raw.dtype)
        constant = jnp.broadcast_to(raw[:, None], (leaves, len(raw), 1))
        flat = jnp.zeros((leaves, len(raw), start.n_features), raw.dtype)
        leaves = jnp.concatenate([flat, constant], axis=-1)
        return FittedLinearTree(gates=gates, leaves=leaves, decision_set=start.decision_set)
