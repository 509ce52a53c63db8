"""A rule somebody else made: a function from contexts to decisions, in the data's units.

    f(x) = function(x)

It is not trained; it is there to be asked how bad it can get.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from hedgerow.decisions import DecisionSet
from hedgerow.rules.base import FittedRule


class GivenRule(FittedRule):
    """Decisions of a function of one context (features,), restated in working units."""

    function: Callable[[Any], Any] = eqx.field(static=True)
    x_centre: Float[Array, " d"]
    x_spread: Float[Array, " d"]
    z_unit: Float[Array, " k"]
    decision_set: DecisionSet

    def __call__(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Decide for every column of x."""
        contexts = (self.x_centre[:, None] + x * self.x_spread[:, None]).T
        decisions = jax.vmap(lambda context: jnp.atleast_1d(self.function(context)))(contexts)
        return (decisions / self.z_unit).T
