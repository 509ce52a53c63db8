"""Randomised multilevel Monte Carlo: gradients without bias, from few nodes on average.

Nested sampling, plus a correction of random depth. Let g_l be the gradient with effort 2^l times
the least: for logarithms of averages 2^l as many nodes, for suprema 2^l as much effort to find
them. g_0 is biased, g_∞ is not, and

    E[ g_0 + (g_l − g_{l−1}) / P(l) ] = E g_∞,       P(l) = (1 − r)·r^{l−1},  l = 1, 2, …

for a level l drawn at random (Rhee & Glynn 2015; Blanchet & Glynn 2015; for bilevel problems Hu,
Wang, Chen & He 2023). g_{l−1} is the mean over the two halves of level l's nodes, so that the
square of the difference falls like 4^−l. With r = 2^−3/2 variance and expected effort are both
finite: Σ 4^−l/r^l and Σ 2^l·r^l.

Nodes come in blocks of the least effort. Memory is that of one block at every level.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from hedgerow.ambiguity import Tilt
from hedgerow.data import Batch
from hedgerow.kernels import NEVER
from hedgerow.solvers.nested import nested_step
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.solvers.training import At, Objective, Parameters, Step, masses

RATIO = 2**-1.5

BlockAt = Callable[[Parameters, Array], tuple[Tilt, Batch]]
"""Exponents at some parameters over one block of nodes, and the contexts they are of."""


class MLMC(StochasticSolver):
    """Unbiased stochastic gradients.

    Takes the parameters of ``StochasticSolver``; ``tracking`` is not used.

    Logarithms of averages get more nodes at random, suprema (``CausalWasserstein``) more steps of
    ascent. The means are exact if each outcome's log-moment is closed form or each context has one
    outcome, and contexts bring all their outcomes; otherwise the averages over ``outcome_nodes``
    and ``outcomes_per_context`` keep a bias of their own.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(
    ...     loss, hr.Sinkhorn(penalty=3, epsilon=0.1), hr.Affine(), solver=hr.MLMC(steps=50)
    ... )
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def init(self, objective: Objective, parameters: Parameters, slots: int) -> Any:
        """Refuse objectives whose bias is of another kind."""
        reduction = objective.reduction(parameters)
        if reduction.logs() is None and not reduction.is_linear():
            name = type(objective.model).__name__
            raise TypeError(
                f"MLMC removes the bias of logarithms and of suprema, and the objective of {name} "
                f"is made of neither: use SCSC, which remembers losses (or write the `logs` of its "
                "reduction)."
            )
        return ()

    def step(self, objective: Objective, at: At) -> Step:
        """Add what a random level lacks, over its probability."""
        parameters, (batch, key) = at.parameters, self.draw(objective, at.key)
        coarse = objective.model.refined(objective.setting, 0)
        found = nested_step(objective, at, batch, key, coarse)
        key_level, key_blocks = jax.random.split(jax.random.fold_in(key, 1))
        level = draw_level(key_level)
        if coarse is not None:

            def value(parameters: Parameters, doublings: Array) -> Array:
                setting = objective.at(parameters).refined(objective.setting, doublings)
                tilt = objective.tilt(parameters, batch, key, setting)
                return objective.value(parameters, tilt, batch)

            missing = more_effort(value, parameters, level)
        elif objective.logs(parameters) is not None:

            def block(parameters: Parameters, number: Array) -> tuple[Tilt, Batch]:
                own = jax.random.fold_in(key_blocks, number)
                logs: Any = objective.logs(parameters)
                # one logarithm around everything: its average is over contexts, too
                drawn = batch
                if logs.spans_contexts():
                    drawn = objective.table.draw(own, self.batch)
                return objective.tilt(parameters, drawn, own), drawn

            missing = more_nodes(block, objective, parameters, level)
        else:
            return found
        weight = 1 / probability(level)
        gradient = jax.tree_util.tree_map(
            lambda own, more: jnp.add(own, weight * more), found.gradient, missing[0]
        )
        return Step(gradient, found.value + weight * missing[1], at.memory)


def draw_level(key: PRNGKeyArray) -> Int[Array, ""]:
    """Draw l ≥ 1 with P(l) = (1 − r)·r^(l−1); a float32 draw has 23 bits, which end at l = 16."""
    waited = jax.random.exponential(key, dtype=jnp.float32)
    return 1 + jnp.floor(waited / -math.log(RATIO)).astype(jnp.int32)


def probability(level: Array) -> Array:
    """P(l)."""
    return (1 - RATIO) * jnp.asarray(RATIO, jnp.float32) ** (level - 1)


def more_nodes(
    block_at: BlockAt, objective: Objective, parameters: Parameters, level: Array
) -> tuple[Parameters, Array]:
    """Gradient and value of level l less those of level l − 1, by blocks of nodes.

    Two passes over the same blocks: the logarithms of the averages over both halves, and, these
    being known, the gradient.
    """
    reduction: Any = objective.logs(parameters)
    blocks = 2**level
    half = blocks // 2

    def levels_at(block: Array) -> Array:
        tilt, batch = block_at(parameters, block)
        return reduction.levels(tilt.log_moments(), masses(tilt, batch))

    def log_average(first: Array) -> Array:
        def add(block: Array, total: Array) -> Array:
            return jnp.logaddexp(total, levels_at(block))

        shape = jax.eval_shape(lambda: levels_at(first))
        nothing = jnp.full(shape.shape, NEVER, shape.dtype)
        return jax.lax.fori_loop(first, first + half, add, nothing) - jnp.log(half)

    halves = jnp.stack([log_average(jnp.zeros_like(half)), log_average(half)])
    whole = jnp.logaddexp(halves[0], halves[1]) - jnp.log(2.0)
    gain = whole - jnp.mean(halves, axis=0)

    def surrogate(parameters: Parameters, block: Array) -> tuple[Array, Array]:
        """One block's part: where it differs between the halves' tilts and the whole's."""
        reduction: Any = objective.logs(parameters)
        tilt, batch = block_at(parameters, block)
        mass = masses(tilt, batch)
        tops = tilt.log_weights + tilt.exponents
        weights = jnp.exp(tops - reduction.per_node(whole))
        weights = weights - jnp.exp(tops - reduction.per_node(halves[block // half]))
        weights = jax.lax.stop_gradient(mass[:, :, None] * weights)
        temperature = jax.lax.stop_gradient(jnp.asarray(reduction.temperature))
        value = reduction.of_levels(gain, mass)
        return (value + temperature * jnp.sum(weights * tilt.exponents)) / blocks, value / blocks

    def add(block: Array, total: tuple[Parameters, Array]) -> tuple[Parameters, Array]:
        part = jax.grad(surrogate, has_aux=True)(parameters, block)
        return jax.tree_util.tree_map(jnp.add, total, part)

    nothing = jax.tree_util.tree_map(jnp.zeros_like, parameters)
    return jax.lax.fori_loop(0, blocks, add, (nothing, jnp.zeros((), jnp.float32)))


def more_effort(
    value: Callable[[Parameters, Array], Array], parameters: Parameters, level: Array
) -> tuple[Parameters, Array]:
    """Gradient and value at level l's maximisers less those at level l − 1's."""
    longer, further = jax.value_and_grad(value)(parameters, level)
    shorter, nearer = jax.value_and_grad(value)(parameters, level - 1)
    return jax.tree_util.tree_map(jnp.subtract, further, nearer), longer - shorter
