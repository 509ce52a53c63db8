"""The sampled objective: nodes laid out once, so that it is a plain function of the parameters.

    F̂(θ) = T · Σ_k m_k log (1/M) Σ_j exp( e_k(θ; node_kj) )                       (paper: f-saa)

In float64, with its gradient, over all contexts. With dense nodes, such as Gauss's, it is the true
objective as far as anyone can tell.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hedgerow._components import double, single
from hedgerow.ambiguity import Setting
from hedgerow.data.training_table import TrainingTable
from hedgerow.programs import program
from hedgerow.rules import FittedRule
from hedgerow.solvers.task import Learned, Priced, Task, begin

NUMBERS_AT_ONCE = 2**18
"""Contexts × nodes × outcomes × terms whose exponents are held at a time."""


class SampleAverage:
    """F̂ and its gradient as functions of one flat vector; ``start`` is where the task begins."""

    def __init__(self, task: Task, key: PRNGKeyArray) -> None:
        learned, self._fixed = begin(task)
        leaves, self._structure = jax.tree_util.tree_flatten(learned)
        self._shapes = [leaf.shape for leaf in leaves]
        self.start = _flat(learned)
        with jax.enable_x64(True):
            self._sample = _Sample.of(double(task), double(self._fixed), key)

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient, in working units."""
        with jax.enable_x64(True):
            value, gradient = _value_and_gradient(self._learned(point), self._sample)
            return float(value), _flat(gradient)

    def rule(self, point: np.ndarray) -> FittedRule:
        """Return the rule with these parameters, in float32."""
        return single(eqx.combine(self._learned(point).rule, self._fixed))

    def point(self, rule: FittedRule) -> np.ndarray:
        """Return the parameters of a rule; the penalty, if it is learned, stays at its start."""
        rule_only = _flat(Learned(rule.split()[0], None))
        return np.concatenate([rule_only, self.start[len(rule_only) :]])

    def _learned(self, point: np.ndarray) -> Learned:
        ends = np.cumsum([math.prod(shape) for shape in self._shapes])
        pieces = np.split(point, ends[:-1])
        leaves = [piece.reshape(s) for piece, s in zip(pieces, self._shapes, strict=True)]
        return jax.tree_util.tree_unflatten(self._structure, leaves)


class _Sample(NamedTuple):
    """Contexts in pieces of one length, the last padded with massless ones."""

    fixed: FittedRule
    table: TrainingTable
    setting: Setting
    priced: Priced
    pieces: Int[Array, "pieces c"]
    mass: Float[Array, "pieces c"]
    key: PRNGKeyArray

    @classmethod
    def of(cls, task: Task, fixed: FittedRule, key: PRNGKeyArray) -> _Sample:
        total = len(task.table.contexts)
        at_once = int(np.clip(NUMBERS_AT_ONCE // _effort(task, key), 1, total))
        padding = (0, -total % at_once)
        contexts = np.pad(np.arange(total, dtype=np.int32), padding, mode="edge")
        mass = np.pad(task.table.masses(), padding)
        return cls(
            fixed=fixed,
            table=task.table,
            setting=task.setting,
            priced=Priced(task.ambiguity, task.allowance),
            pieces=jnp.asarray(contexts.reshape(-1, at_once)),
            mass=jnp.asarray(mass.reshape(-1, at_once)),
            key=key,
        )

    def objective(self, parameters: Learned) -> Float[Array, ""]:
        """T·Σ mass·log-average, or T·log Σ mass·average where there is one logarithm."""
        model = self.priced.at(parameters)
        rule = eqx.combine(parameters.rule, self.fixed)

        @jax.checkpoint  # one piece's exponents at a time, in the reverse pass too
        def level_of(piece: tuple[Array, Array, Array]) -> Array:
            contexts, mass, number = piece
            batch = self.table.gather(contexts)
            tilt = model.tilt(rule, self.setting, batch, jax.random.fold_in(self.key, number))
            weight = mass[:, None] * tilt.group_mass
            each = tilt.log_moments()
            return jax.nn.logsumexp(each, b=weight) if model.pooled else jnp.sum(weight * each)

        numbers = jnp.arange(len(self.pieces))
        levels = jax.lax.map(level_of, (self.pieces, self.mass, numbers))
        level = jax.nn.logsumexp(levels) if model.pooled else jnp.sum(levels)
        return self.priced.objective(parameters, level)


@program
def _value_and_gradient(parameters: Learned, sample: _Sample) -> tuple[Array, Learned]:
    return jax.value_and_grad(sample.objective)(parameters)


def _flat(parameters: Learned) -> np.ndarray:
    leaves = jax.tree_util.tree_leaves(parameters)
    return np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in leaves])


def _effort(task: Task, key: PRNGKeyArray) -> int:
    """How many numbers one context brings."""
    tilt = jax.eval_shape(
        lambda: task.ambiguity.tilt(
            task.rule, task.setting, task.table.gather(jnp.zeros(1, jnp.int32)), key
        )
    )
    around_outcomes = getattr(task.setting.outcome_nodes, "n", 1) * task.table.most_outcomes
    return math.prod(tilt.exponents.shape) * around_outcomes * task.setting.loss.terms
