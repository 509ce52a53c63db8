"""The value of a rule under its ambiguity model, evaluated with care after training.

    F_λ(θ) = λε Σ_k m_k log E_ξ1 exp( Σ_i p̂_ki G_ki(f_θ(x̂_k + ξ1)) )

(paper: soft-causal-sdro-dual).

Nodes are randomly shifted scrambled Sobol points in float64, in independent replicates. Their
pooled log-sum-exp is the value; the replicates' spread gives its standard error; and since the
logarithm of an average of m nodes is low by about variance/(2m), the gap between pooled and single
replicates measures the bias that pooling has left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hedgerow.ambiguity import Ambiguity, Setting
from hedgerow.ambiguity.base import losses_at_contexts
from hedgerow.losses import Loss
from hedgerow.nodes import MonteCarlo, Sobol
from hedgerow.nominal import NominalDistribution
from hedgerow.rules import FittedRule
from hedgerow.solvers import TrainingTable
from hedgerow.units import Units

REPLICATES = 8
NODES = 64
MOST_CONTEXTS = 4096
CONTEXTS_AT_ONCE = 256


@dataclass(frozen=True)
class RobustValue:
    """How bad it can get on average, in the loss's units.

    Attributes
    ----------
    value : float
        The worst expected loss less the price of reaching it, at the model's penalty.
    stderr : float
        Standard error from nodes and, where contexts were sampled, from contexts.
    bias : float
        Estimate of how much the finite number of nodes still understates the value.
    nominal : float
        Expected loss under the nominal distribution itself.
    penalty : float or None
        λ in the loss's units; None without ambiguity.
    nodes, contexts : int
        Effort spent: nodes per context, and contexts.
    """

    value: float
    stderr: float
    bias: float
    nominal: float
    penalty: float | None
    nodes: int
    contexts: int

    def __float__(self) -> float:
        """Return the value."""
        return self.value


def evaluate(
    rule: FittedRule,
    nominal: NominalDistribution,
    units: Units,
    loss: Loss,
    ambiguity: Ambiguity,
    key: PRNGKeyArray,
) -> RobustValue:
    """Evaluate a rule in working units under a resolved ambiguity model (user's units)."""
    chosen, share = _choose_contexts(nominal.context_mass)
    working = ambiguity.in_units(units)
    working_loss = loss.in_units(units.y_unit, units.z_unit, units.loss_unit)
    with jax.enable_x64(True):
        setting = Setting(
            loss=working_loss,
            neighbourhood=ambiguity.neighbourhood(units, loss),
            context_nodes=Sobol(NODES),
            outcome_nodes=None if working_loss.has_log_moment else MonteCarlo(NODES),
        )
        table = TrainingTable.build(nominal, units, nominal.most_outcomes)
        rule, table, setting, working = jax.tree_util.tree_map(
            _double, (rule, table, setting, working)
        )
        pieces = [
            _context_values(rule, table, setting, working, piece, jax.random.fold_in(key, i))
            for i, piece in enumerate(_pieces(chosen))
        ]
        replicates, pooled, losses = (
            np.concatenate([np.asarray(piece[i]) for piece in pieces], axis=-1)[..., : len(chosen)]
            for i in range(3)
        )
        temperature = float(working.temperature) * units.loss_unit

    def total(values: np.ndarray) -> np.ndarray:
        if ambiguity.pooled:
            peak = values.max(axis=-1)
            return temperature * (peak + np.log(np.exp(values - peak[..., None]) @ share))
        return temperature * (values @ share)

    value = float(total(pooled))
    by_replicate = total(replicates)
    variance = by_replicate.var(ddof=1) / REPLICATES
    if len(chosen) < len(nominal.contexts):
        variance += (temperature * pooled).var(ddof=1) / len(chosen)
    penalty = getattr(ambiguity, "penalty", None)
    return RobustValue(
        value=value,
        stderr=float(math.sqrt(variance)),
        bias=max(0.0, (value - float(by_replicate.mean())) / (REPLICATES - 1)),
        nominal=float(losses @ share) * units.loss_unit,
        penalty=None if penalty is None else float(working.penalty) * units.loss_unit,
        nodes=REPLICATES * NODES if setting.neighbourhood is not None else 1,
        contexts=len(chosen),
    )


@jax.jit
def _context_values(
    rule: FittedRule,
    table: TrainingTable,
    setting: Setting,
    ambiguity: Ambiguity,
    contexts: Int[Array, " c"],
    key: PRNGKeyArray,
) -> tuple[Float[Array, "r c"], Float[Array, " c"], Float[Array, " c"]]:
    """Values by replicate, values pooled over replicates, and nominal losses, per context."""
    batch = table.gather(contexts)

    def replicate(key: PRNGKeyArray) -> Array:
        return ambiguity.tilt(rule, setting, batch, key).log_moments()

    moments = jax.lax.map(replicate, jax.random.split(key, REPLICATES))
    pooled = jax.nn.logsumexp(moments, axis=0) - math.log(REPLICATES)
    mass = ambiguity.tilt(rule, setting, batch, key).group_mass
    if ambiguity.pooled:
        values = [jax.nn.logsumexp(m + jnp.log(mass), axis=-1) for m in (moments, pooled)]
    else:
        values = [jnp.sum(m * mass, axis=-1) for m in (moments, pooled)]
    losses = losses_at_contexts(rule, setting.loss, batch)
    return values[0], values[1], jnp.sum(losses * batch.outcome_mass, axis=-1)


def _choose_contexts(mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All contexts with their masses, or a systematic sample by mass with equal shares."""
    if len(mass) <= MOST_CONTEXTS:
        return np.arange(len(mass)), mass
    positions = (np.arange(MOST_CONTEXTS) + 0.5) / MOST_CONTEXTS
    cumulative = np.cumsum(mass)
    chosen = np.searchsorted(cumulative / cumulative[-1], positions)
    return chosen, np.full(MOST_CONTEXTS, 1 / MOST_CONTEXTS)


def _pieces(chosen: np.ndarray) -> list[np.ndarray]:
    """Cut into pieces of one length (the last one padded), so that one program serves all."""
    size = min(CONTEXTS_AT_ONCE, len(chosen))
    padded = np.pad(chosen, (0, -len(chosen) % size), mode="edge")
    return list(padded.reshape(-1, size).astype(np.int32))


def _double(leaf: Array) -> Array:
    array = jnp.asarray(leaf)
    return array.astype(jnp.float64) if jnp.issubdtype(array.dtype, jnp.floating) else array
