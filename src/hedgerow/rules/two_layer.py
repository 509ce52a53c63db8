"""The paper's two-layer network, then the map onto Z.

    f_k(x) = (1/m) Σ_i a_ik · ReLU(w_ik·x + b_ik)

Each decision has its own m hidden units (paper: 2NN). An offset c_k is added so that the network
starts at the best constant decision; it costs one parameter per decision.
"""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow import _checks
from hedgerow.decisions import DecisionSet
from hedgerow.rules.base import FittedRule, Rule, Slopes, through


class TwoLayerNetwork(FittedRule):
    """The fitted network."""

    trainable: ClassVar[tuple[str, ...]] = ("hidden", "bias", "output", "offset")
    hidden: Float[Array, "k m d"]
    bias: Float[Array, "k m"]
    output: Float[Array, "k m"]
    offset: Float[Array, " k"]
    decision_set: DecisionSet

    def __call__(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Decide for every column of x."""
        decisions, width, features = self.hidden.shape
        units = self.hidden.reshape(-1, features) @ x
        units = jax.nn.relu(units.reshape(decisions, width, -1) + self.bias[:, :, None])
        raw = jnp.einsum("km,kmr->kr", self.output, units) / width + self.offset[:, None]
        return through(self.decision_set, raw)


class TwoLayer(Rule):
    """Two-layer ReLU network.

    Parameters
    ----------
    width : int or None
        Hidden units per decision; None: 64 per feature, as in the paper.
    """

    def __init__(self, width: int | None = None) -> None:
        self.width = width
        self.check()

    def check(self) -> None:
        """Width is a positive whole number."""
        if self.width is not None:
            _checks.count("width", self.width)

    def build(
        self,
        key: PRNGKeyArray,
        n_features: int,
        decision_set: DecisionSet,
        start: Float[Array, " k"],
        slopes: Slopes | None = None,
    ) -> FittedRule:
        """Random hidden layer with unit-size activations, zero output layer."""
        offset = decision_set.start_raw(start)
        width = self.width or 64 * n_features
        shape = (decision_set.dimension, width)
        key_hidden, key_bias = jax.random.split(key)
        hidden = jax.random.normal(key_hidden, (*shape, n_features), offset.dtype)
        return TwoLayerNetwork(
            hidden=hidden / n_features**0.5,
            bias=jax.random.normal(key_bias, shape, offset.dtype),
            output=jnp.zeros(shape, offset.dtype),
            offset=offset,
            decision_set=decision_set,
        )
