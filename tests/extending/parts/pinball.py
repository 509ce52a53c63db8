"""A loss: the pinball loss at several levels, so that decisions are quantiles of the outcome.

Ψ(z, y) = Σ_k  level_k·(y − z_k)⁺ + (1 − level_k)·(z_k − y)⁺
"""

import jax
import jax.numpy as jnp
import numpy as np

from hedgerow import Free
from hedgerow.losses import Loss


class Pinball(Loss):
    """One decision per level."""

    def __init__(self, levels=(0.5,), decision_set=None):
        self.levels = levels
        self.decision_set = decision_set
        self.check()

    traced = ("decision_set",)

    def check(self):
        if not all(0 < level < 1 for level in self.levels):
            raise ValueError(f"levels must lie between 0 and 1, got {self.levels}.")

    def __call__(self, z, y):
        xp = jnp if any(isinstance(a, jax.Array) for a in (z, y)) else np
        levels, gap = xp.asarray(self.levels), xp.asarray(y) - xp.asarray(z)
        return (levels * xp.maximum(gap, 0) + (1 - levels) * xp.maximum(-gap, 0)).sum(axis=-1)

    def decisions_for(self, n_outcomes):
        return Free(len(self.levels)) if self.decision_set is None else self.decision_set
