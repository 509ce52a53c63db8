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

from hedgerow import _checks, plain
from hedgerow._components import double
from hedgerow.decisions import DecisionSet
from hedgerow.rules.base import FittedRule, Rule, Start
from hedgerow.rules.expansion import Expansion
from hedgerow.rules.mapped import MappedRule
from hedgerow.rules.network_paths import CELLS, integrals_on_grid


class TwoLayerNetwork(MappedRule):
    """The fitted network."""

    trainable: ClassVar[tuple[str, ...]] = ("hidden", "bias", "output", "offset")
    hidden: Float[Array, "k m d"]
    bias: Float[Array, "k m"]
    output: Float[Array, "k m"]
    offset: Float[Array, " k"]
    decision_set: DecisionSet

    def raw(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Both layers and the offset."""
        decisions, width, features = self.hidden.shape
        units = self.hidden.reshape(-1, features) @ x
        units = jax.nn.relu(units.reshape(decisions, width, -1) + self.bias[:, :, None])
        return jnp.einsum("km,kmr->kr", self.output, units) / width + self.offset[:, None]

    def plain_raw(self) -> plain.Network:
        """The same in float64."""
        parts = (self.hidden, self.bias, self.output, self.offset)
        return plain.Network(*(np.asarray(part, np.float64) for part in parts))

    def words(self) -> str:
        """What kind of rule it is."""
        return f"A small neural network with {self.bias.shape[1]:,} hidden units per decision"

    def raw_bounds(self, centre: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interval by interval through the layers."""
        hidden, output = (np.asarray(part, np.float64) for part in (self.hidden, self.output))
        middle, reach = hidden @ centre + np.asarray(self.bias), np.abs(hidden) @ width
        least, most = np.maximum(middle - reach, 0), np.maximum(middle + reach, 0)
        up, down = np.maximum(output, 0), np.minimum(output, 0)
        offset = np.asarray(self.offset, np.float64)
        low = offset + np.sum(up * least + down * most, axis=1) / hidden.shape[1]
        high = offset + np.sum(up * most + down * least, axis=1) / hidden.shape[1]
        return low, high

    def raw_expansion(self, n_features: int) -> Expansion:
        """No tangent, for it has kinks, but a Lipschitz constant.

        Of ‖Σ_i a_i w_i‖ over any of the units, the smaller of Σ|a_i|·‖w_i‖ and ‖a‖·‖W‖.
        """
        hidden, output = (np.asarray(part, np.float64) for part in (self.hidden, self.output))
        one_by_one = np.sum(np.abs(output) * np.linalg.norm(hidden, axis=2), axis=1)
        together = np.linalg.norm(output, axis=1) * np.linalg.norm(hidden, ord=2, axis=(1, 2))
        steepness = np.minimum(one_by_one, together) / hidden.shape[1]
        bias, offset = (np.asarray(part, np.float64) for part in (self.bias, self.offset))

        def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            units = np.maximum(np.einsum("kmd,rd->rkm", hidden, x) + bias, 0.0)
            values = np.einsum("km,rkm->rk", output, units) / hidden.shape[1] + offset
            return values, np.zeros((*values.shape, hidden.shape[2]))

        features = hidden.shape[2]
        flat = np.zeros((len(output), features, features))
        ends = np.where(steepness > 0, np.inf, 0.0)
        by_feature = np.einsum("km,kmd->kd", np.abs(output), np.abs(hidden)) / hidden.shape[1]
        return Expansion(at, flat, steepness, by_feature, offset - ends, offset + ends)

    def path_integrals(
        self, starts: np.ndarray, end: np.ndarray, weights: np.ndarray, tolerance: np.ndarray
    ) -> np.ndarray:
        """From kink to kink, on grids refined until that makes no difference."""
        found = np.full((len(tolerance), len(end)), np.inf)
        with jax.enable_x64(True):
            exact, given = double(self), [jnp.asarray(part) for part in (starts, end, weights)]
            for cells in CELLS:
                coarse, found = found, np.asarray(integrals_on_grid(exact, *given, cells))
                if np.all(np.abs(found - coarse).max(axis=1) <= tolerance):
                    break
        return found

    def hidden_units(self) -> int:
        """Those of all decisions."""
        return self.bias.size


class TwoLayer(Rule):
    """Two-layer ReLU network.

    Parameters
    ----------
    width : int or None
        Hidden units per decision; None: 64 per feature, as in the paper.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(loss, hr.ERM(), hr.TwoLayer(width=8), solver=hr.SCSC(steps=50))
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    width: int | None = None

    def check(self) -> None:
        """Width is a positive whole number."""
        if self.width is not None:
            _checks.count("width", self.width)

    def build(self, key: PRNGKeyArray, start: Start) -> FittedRule:
        """Random hidden layer with unit-size activations, zero output layer."""
        offset, n_features = start.raw, len(start.looked_at)
        shape = (len(offset), self.width or 64 * n_features)
        key_hidden, key_bias = jax.random.split(key)
        hidden = jax.random.normal(key_hidden, (*shape, n_features), offset.dtype)
        everywhere = jnp.zeros((*shape, start.n_features), offset.dtype)
        return TwoLayerNetwork(
            hidden=everywhere.at[..., np.array(start.looked_at)].set(hidden / n_features**0.5),
            bias=jax.random.normal(key_bias, shape, offset.dtype),
            output=jnp.zeros(shape, offset.dtype),
            offset=offset,
            decision_set=start.decision_set,
        )
