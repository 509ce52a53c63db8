"""The paper's two-layer network, then the map onto Z.

    f_k(x) = (1/m) Σ_i a_ik · ReLU(w_ik·x + b_ik)

Each decision has its own m hidden units (paper: 2NN). An offset c_k is added so that the network
starts at the best constant decision; it costs one parameter per decision.
"""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow import _checks
from hedgerow.decisions import DecisionSet
from hedgerow.describe.page_form import PageForm
from hedgerow.rules.base import FittedRule, Rule
from hedgerow.rules.mapped import image, mapped_form, through
from hedgerow.rules.network_paths import network_integrals
from hedgerow.rules.slopes import Slopes


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

    def words(self) -> str:
        """What kind of rule it is."""
        return f"A small neural network with {self.bias.shape[1]:,} hidden units per decision"

    def bounds(self, centre: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interval by interval through the layers."""
        hidden, output = (np.asarray(part, np.float64) for part in (self.hidden, self.output))
        middle, reach = hidden @ centre + np.asarray(self.bias), np.abs(hidden) @ width
        least, most = np.maximum(middle - reach, 0), np.maximum(middle + reach, 0)
        up, down = np.maximum(output, 0), np.minimum(output, 0)
        offset = np.asarray(self.offset, np.float64)
        low = offset + np.sum(up * least + down * most, axis=1) / hidden.shape[1]
        high = offset + np.sum(up * most + down * least, axis=1) / hidden.shape[1]
        return image(self.decision_set, low, high)

    def path_integrals(
        self, starts: np.ndarray, end: np.ndarray, weights: np.ndarray, tolerance: np.ndarray
    ) -> np.ndarray:
        """From kink to kink."""
        return network_integrals(self, starts, end, weights, tolerance)

    def page_form(self) -> PageForm:
        """Both layers and the map."""
        return mapped_form(
            self.decision_set,
            units=self.bias.size,
            hidden=self.hidden,
            bias=self.bias,
            output=self.output,
            offset=self.offset,
        )


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
