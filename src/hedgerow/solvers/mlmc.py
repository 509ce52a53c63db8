"""Randomised multilevel Monte Carlo: gradients without bias, from few nodes on average.

Nested sampling, plus a correction of random depth (``multilevel.py``).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from hedgerow.ambiguity import Tilt
from hedgerow.data import Batch
from hedgerow.solvers import multilevel
from hedgerow.solvers.nested import nested_step
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.solvers.training import At, Objective, Parameters, Step


class MLMC(StochasticSolver):
    """Unbiased stochastic gradients. ``tracking`` is not used.

    Logarithms of averages get more nodes at random, suprema (``CausalWasserstein``) more steps of
    ascent. The means are exact if each outcome's log-moment is closed form or each context has one
    outcome, and contexts bring all their outcomes; otherwise the averages over ``outcome_nodes``
    and ``outcomes_per_context`` keep a bias of their own.
    """

    def init(self, objective: Objective, parameters: Parameters, slots: int) -> Any:
        """Refuse objectives whose bias is of another kind."""
        reduction = objective.reduction(parameters)
        if reduction.logs() is None and not reduction.is_linear():
            name = type(objective.model).__name__
            raise TypeError(
                f"MLMC removes the bias of logarithms and of suprema, and the objective of {name} "
                f"is made of neither: use NestedSGD (or write the `logs` of its reduction)."
            )
        return ()

    def step(self, objective: Objective, at: At) -> Step:
        """Add what a random level lacks, over its probability."""
        parameters, (batch, key) = at.parameters, self.draw(objective, at.key)
        coarse = objective.model.refined(objective.setting, 0)
        found = nested_step(objective, at, batch, key, coarse)
        key_level, key_blocks = jax.random.split(jax.random.fold_in(key, 1))
        level = multilevel.draw_level(key_level)
        if coarse is not None:

            def value(parameters: Parameters, doublings: Array) -> Array:
                setting = objective.at(parameters).refined(objective.setting, doublings)
                tilt = objective.tilt(parameters, batch, key, setting)
                return objective.value(parameters, tilt, batch)

            missing = multilevel.more_effort(value, parameters, level)
        elif objective.reduction(parameters).logs() is not None:

            def block(parameters: Parameters, number: Array) -> tuple[Tilt, Batch]:
                own = jax.random.fold_in(key_blocks, number)
                logs: Any = objective.reduction(parameters).logs()
                # one logarithm around everything: its average is over contexts, too
                drawn = batch
                if logs.spans_contexts():
                    drawn = objective.table.draw(own, self.batch)
                return objective.tilt(parameters, drawn, own), drawn

            missing = multilevel.more_nodes(block, objective, parameters, level)
        else:
            return found
        weight = 1 / multilevel.probability(level)
        gradient = jax.tree_util.tree_map(
            lambda own, more: jnp.add(own, weight * more), found.gradient, missing[0]
        )
        return Step(gradient, found.value + weight * missing[1], at.memory)
