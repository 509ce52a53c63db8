"""Any loss that JAX can trace.

The function takes one decision z (k,) and one outcome y (d,) and returns a number; hedgerow
vectorises it. Inner expectations are taken over sampled nodes, since no closed form is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hedgerow import _checks
from hedgerow.decisions import DecisionSet
from hedgerow.losses.base import Loss


class CustomLoss(Loss):
    """A loss given as a function.

    Parameters
    ----------
    function : callable
        ``function(z, y)`` for one decision vector and one outcome vector, written with
        ``jax.numpy``, returning a scalar.
    decision_set : DecisionSet
        Where decisions lie; its dimension is the length of z.
    outcome_support : (low, high) or None
        Where outcomes may lie; None: everywhere.

    Examples
    --------
    >>> import jax.numpy as jnp, hedgerow as hr
    >>> loss = hr.CustomLoss(lambda z, y: jnp.sum((z - y) ** 2), hr.Free(1))
    >>> float(loss([1.0], [3.0]))
    4.0
    """

    traced = ("decision_set",)

    def __init__(
        self,
        function: Callable[[Any, Any], Any],
        decision_set: DecisionSet,
        outcome_support: tuple[Any, Any] | None = None,
    ) -> None:
        self.function = function
        self.decision_set = decision_set
        self.outcome_support = outcome_support
        self.check()

    def check(self) -> None:
        """The function is callable and the decision set is one."""
        if not callable(self.function):
            raise TypeError(f"function must be callable as function(z, y), got {self.function!r}.")
        _checks.instance(
            "decision_set",
            self.decision_set,
            DecisionSet,
            "a decision set such as hedgerow.Free(1)",
        )

    def __call__(self, z: Any, y: Any) -> Any:
        """Vectorise the function over leading batch axes."""
        vectorised = jnp.vectorize(self.function, signature="(k),(d)->()")
        if any(isinstance(array, jax.Array) for array in (z, y)):
            return vectorised(jnp.asarray(z), jnp.asarray(y))
        with jax.enable_x64(True):
            return np.asarray(vectorised(jnp.asarray(z), jnp.asarray(y)))

    def decisions_for(self, n_outcomes: int) -> DecisionSet:
        """Return the declared set, whatever the number of outcomes."""
        return self.decision_set
