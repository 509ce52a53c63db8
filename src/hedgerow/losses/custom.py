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
from hedgerow.losses.base import Loss, namespace
from hedgerow.programs import refuse_in_forked_process


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
    function: Callable[[Any, Any], Any]
    decision_set: DecisionSet
    outcome_support: tuple[Any, Any] | None = None

    def check(self) -> None:
        """The function is callable and the decision set is one."""
        if not callable(self.function):
            raise TypeError(f"function must be callable as function(z, y), got {self.function!r}.")
        hint = "a decision set such as hedgerow.Free(1)"
        _checks.instance("decision_set", self.decision_set, DecisionSet, hint)

    def __call__(self, z: Any, y: Any) -> Any:
        """Vectorise the function over leading batch axes."""
        refuse_in_forked_process()
        vectorised = jnp.vectorize(self.function, signature="(k),(d)->()")
        if namespace(z, y) is jnp:
            return vectorised(jnp.asarray(z), jnp.asarray(y))
        with jax.enable_x64(True):
            return np.asarray(vectorised(jnp.asarray(z), jnp.asarray(y)))

    def decisions_for(self, n_outcomes: int) -> DecisionSet:
        """Return the declared set, whatever the number of outcomes."""
        return self.decision_set
