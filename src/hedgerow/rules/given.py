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
import numpy as np
from jaxtyping import Array, Float

from hedgerow.decisions import DecisionSet
from hedgerow.programs import refuse_in_forked_process
from hedgerow.rules.base import FittedRule, decide_columns


class GivenRule(FittedRule):
    """Decisions of a function of one context (features,), restated in working units."""

    function: Callable[[Any], Any] = eqx.field(static=True)
    x_centre: Float[Array, " d"] | np.ndarray
    x_spread: Float[Array, " d"] | np.ndarray
    z_unit: Float[Array, " k"] | np.ndarray
    decision_set: DecisionSet

    def __call__(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Decide for every column of x."""
        contexts = (self.x_centre[:, None] + x * self.x_spread[:, None]).T
        decisions = jax.vmap(lambda context: jnp.atleast_1d(self.function(context)))(contexts)
        if decisions.shape[1] != len(self.z_unit):
            raise ValueError(
                f"function must return {len(self.z_unit)} decision(s), but returned "
                f"{decisions.shape[1]}."
            )
        return (decisions / self.z_unit).T

    def words(self) -> str:
        """What kind of rule it is."""
        return "A function that was given, not learned"

    def check_storable(self) -> None:
        """Files hold no functions."""
        raise ValueError("A rule given as a function cannot be saved: files hold no functions.")

    def decide(self, contexts: np.ndarray) -> np.ndarray:
        """Decisions for standardised contexts in float64: the function's numbers are the data's."""
        refuse_in_forked_process()
        with jax.enable_x64(True):
            return np.asarray(decide_columns(self, jnp.asarray(contexts.T))).T

    def check(self, contexts: np.ndarray) -> None:
        """Refuse a function that cannot be traced, or decides something else than is asked."""
        try:
            decisions = self.decide(contexts)
        except (jax.errors.JAXTypeError, TypeError) as error:
            raise TypeError(
                "function must map one context (features,) to a decision and be written with "
                f"jax.numpy; calling it failed: {str(error).splitlines()[0]}"
            ) from None
        if not np.all(np.isfinite(decisions)):
            raise ValueError(f"function must return finite decisions, but returned {decisions[0]}.")
