"""A decision set: coordinates that never fall, z_1 ≤ z_2 ≤ …, as quantiles are.

z_1 = raw_1,   z_k = z_{k−1} + softplus(raw_k)
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from hedgerow.decisions import DecisionSet


class Ordered(DecisionSet):
    """Vectors in increasing order; all coordinates are in one unit, so none can be rescaled."""

    size: int = eqx.field(static=True)

    def __init__(self, dimension=2):
        self.size = dimension

    @property
    def dimension(self):
        return self.size

    def from_raw(self, raw):
        rises = jax.nn.softplus(raw[..., 1:])
        return jnp.cumsum(jnp.concatenate([raw[..., :1], rises], axis=-1), axis=-1)

    def to_raw(self, point):
        point = jnp.asarray(point)
        rises = jnp.maximum(jnp.diff(point, axis=-1), 1e-3)
        return jnp.concatenate([point[..., :1], rises + jnp.log(-jnp.expm1(-rises))], axis=-1)

    def contains(self, point, tolerance=1e-6):
        return jnp.all(jnp.diff(jnp.asarray(point), axis=-1) >= -tolerance, axis=-1)

    @property
    def scalable(self):
        return np.zeros(self.size, dtype=bool)

    def in_units(self, unit):
        return self
