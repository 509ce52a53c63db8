"""A solver: stochastic gradients whose length is cut to a multiple of what is usual.

g ← g · min(1, most·n/‖g‖),     n the running mean of ‖g‖
"""

import jax
import jax.numpy as jnp
import optax

from hedgerow.solvers import Step, StochasticSolver
from hedgerow.solvers.nested import nested_step


class Clipped(StochasticSolver):
    """Nested sampling with gradients of bounded length: a bad batch cannot throw the rule off."""

    def __init__(self, steps=500, batch=64, nodes=4, most=2.0):
        self.most = most
        super().__init__(steps=steps, batch=batch, nodes=nodes)

    def init(self, objective, parameters, slots):
        return jnp.asarray(jnp.inf)

    def step(self, objective, at):
        memory, (batch, key) = at.memory, self.draw(objective, at.key)
        found = nested_step(objective, at, batch, key)
        size = optax.tree_utils.tree_norm(found.gradient)
        share = jnp.minimum(1.0, self.most * memory / jnp.maximum(size, 1e-30))
        usual = jnp.where(jnp.isinf(memory), size, 0.9 * memory + 0.1 * jnp.minimum(size, memory))
        gradient = jax.tree_util.tree_map(lambda leaf: share * leaf, found.gradient)
        return Step(gradient, found.value, usual)
