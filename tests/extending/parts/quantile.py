"""A loss: the pinball loss of docs/extending.md, which knows nothing of rows.

Ψ(z, y) = level·(y − z)⁺ + (1 − level)·(z − y)⁺
"""

import jax
import jax.numpy as jnp
import numpy as np

from hedgerow import Free
from hedgerow.losses import Loss


class Quantile(Loss):
    """Decisions are quantiles of the outcomes."""

    level: float = 0.5

    def check(self):
        if not 0 < self.level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {self.level:g}.")

    def __call__(self, z, y):
        xp = jnp if any(isinstance(a, jax.Array) for a in (z, y)) else np
        gap = xp.asarray(y) - xp.asarray(z)
        return (self.level * xp.maximum(gap, 0) + (1 - self.level) * xp.maximum(-gap, 0)).sum(
            axis=-1
        )

    def decisions_for(self, n_outcomes):
        return Free(n_outcomes)
