"""Nested sampling: the objective as one batch and its few nodes have it.

Biased where there are logarithms (that of an average underestimates), by O(1/nodes); nothing is
remembered. Where the objective is a plain mean, as for ERM, there is no bias.
"""

from __future__ import annotations

import jax
from jaxtyping import Array, PRNGKeyArray

from hedgerow.ambiguity import Setting
from hedgerow.data import Batch
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.solvers.training import At, Objective, Parameters, Step


class NestedSGD(StochasticSolver):
    """Stochastic gradients of the nested, biased estimate.

    Takes the parameters of ``StochasticSolver``; ``tracking`` is not used.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(loss, hr.ERM(), hr.Affine(), solver=hr.NestedSGD(steps=50))
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def step(self, objective: Objective, at: At) -> Step:
        """Differentiate a batch's value."""
        batch, key = self.draw(objective, at.key)
        return nested_step(objective, at, batch, key)


def nested_step(
    objective: Objective, at: At, batch: Batch, key: PRNGKeyArray, setting: Setting | None = None
) -> Step:
    """Return gradient and value of the objective as one batch has it."""

    def value(parameters: Parameters) -> Array:
        return objective.value(parameters, objective.tilt(parameters, batch, key, setting), batch)

    found, gradient = jax.value_and_grad(value)(at.parameters)
    return Step(gradient, found, at.memory)
