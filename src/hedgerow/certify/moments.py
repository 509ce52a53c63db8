"""The log-moments of a fixed rule, in float64, as functions of the penalty.

    F_λ = T(λ) · Σ_k m_k Σ_g q_kg · log-moment_kg(λ)

Training moves the rule and keeps the penalty; here the rule stands still. What is seen around each
context (``Spread``) is laid out once, in independent replicates where nodes are random; every
penalty after that costs exponents only. F is convex in λ and, by the envelope theorem,

    −dF/dλ = how far the worst case lies from the least discrepant distribution,

which is what both the search for the best penalty and the worst case's expected loss need.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow._components import double
from hedgerow.ambiguity import Ambiguity, Setting, Spread
from hedgerow.ambiguity.base import decide
from hedgerow.ambiguity.causal_wasserstein import summits
from hedgerow.ambiguity.problem import Problem
from hedgerow.ambiguity.transport import kernels_of
from hedgerow.data.training_table import Batch, TrainingTable
from hedgerow.kernels.nodes import Scattered, Sobol
from hedgerow.programs import program
from hedgerow.rules import FittedRule

EXPONENTS_AT_ONCE = 2**21
STARTS, MOST_PLACES = 8, 4


class Levels(NamedTuple):
    """The moments at one penalty, in working units.

    ``value`` is F, ``slope`` its derivative in the penalty; ``replicates`` are values from single
    replicates of the nodes, ``by_context`` what each context brings to the value.
    """

    value: float
    slope: float
    replicates: np.ndarray
    by_context: np.ndarray
    log_moments: np.ndarray
    group_mass: np.ndarray


class Bulk(NamedTuple):
    """At which penalty to look for where mass gathers, and from which places besides nearby.

    ``seed`` varies the starts nearby.
    """

    penalty: float
    places: np.ndarray
    moved: np.ndarray
    seed: int


class Moments:
    """Log-moments of some contexts over nodes that stay the same for every penalty.

    ``bulk`` puts nodes also where contexts would be moved, for temperatures so low that few nodes
    of the kernel alone would be near.
    """

    def __init__(
        self,
        problem: Problem,
        contexts: np.ndarray,
        share: np.ndarray,
        setting: Setting,
        replicates: int,
        key: PRNGKeyArray,
        bulk: Bulk | None = None,
    ) -> None:
        self.share = share
        self.setting = setting
        self.model = double(problem.resolved().in_units(problem.units))
        self.contexts = contexts
        self.replicates = replicates
        self._rule = double(problem.rule)
        nominal = problem.nominal
        self._table = TrainingTable.build(nominal, problem.units, nominal.most_outcomes, np.float64)
        self.nodes, self._at_once = self._effort()
        self._batches = [self.gather(contexts[rows]) for rows in self._rows()]
        if bulk is not None:
            self._batches = [
                _with_bulk(self._rule, self.model, setting, batch, bulk, key)
                for batch in self._batches
            ]
            self.nodes *= 1 + MOST_PLACES
        keys = [jax.random.fold_in(key, i) for i in range(len(self._batches))]
        self._keys = [jax.random.split(piece_key, replicates) for piece_key in keys]
        self._seen: list[Spread] | None = None
        self._known: dict[float | None, Levels] = {}

    def at(self, penalty: float | None) -> Levels:
        """Return the moments at a penalty in working units; None for a model without one."""
        if penalty not in self._known:
            self._known[penalty] = self._evaluate(penalty)
        return self._known[penalty]

    def _evaluate(self, penalty: float | None) -> Levels:
        pieces = [
            _levels(penalty, self.model, self.setting, batch, spread)
            for batch, spread in zip(self._batches, self._look(penalty), strict=True)
        ]
        pooled, slopes, mass, replicates = (
            np.concatenate([np.asarray(piece[i]) for piece in pieces], axis=-2) for i in range(4)
        )
        n = len(self.contexts)
        pooled, slopes, mass = pooled[:n], slopes[:n], mass[:n]
        temperature, growth = (float(part) for part in _temperature(penalty, self.model))
        weight = self.share[:, None] * mass
        if self.model.pooled:
            level, tilted = _pooled(pooled, weight)
            by_replicate = np.array([_pooled(each[:n], weight)[0] for each in replicates])
        else:
            level, tilted = float(np.sum(weight * pooled)), weight
            by_replicate = np.sum(weight * replicates[:, :n], axis=(1, 2))
        return Levels(
            value=temperature * level,
            slope=growth * level + temperature * float(np.sum(tilted * slopes)),
            replicates=temperature * by_replicate,
            by_context=temperature * np.sum(mass * pooled, axis=1),
            log_moments=pooled,
            group_mass=mass,
        )

    def gather(self, contexts: np.ndarray) -> Batch:
        """Return the given contexts of the nominal distribution as a batch."""
        return _gather(self._table, contexts.astype(np.int32))

    def pieces(
        self, penalty: float | None
    ) -> Iterator[tuple[np.ndarray, Float[Array, " c"], Batch, Spread]]:
        """Yield positions, shares, outcomes and surroundings of some contexts at a time.

        The last piece is padded to the length of the others with contexts that have no share.
        """
        seen = self._look(penalty)
        for i, rows in enumerate(self._rows()):
            whole = i * self._at_once + np.arange(len(rows)) < len(self.contexts)
            share = jnp.asarray(np.where(whole, self.share[rows], 0.0))
            yield rows, share, self._batches[i], seen[i]

    def _look(self, penalty: float | None) -> list[Spread]:
        """What the model sees around every context: the same at every penalty, for most models."""
        if self._seen is not None:
            return self._seen
        model = self.model if penalty is None else self.model.replace(penalty=jnp.asarray(penalty))
        seen = [
            _spreads(self._rule, model, self.setting, batch, keys)
            for batch, keys in zip(self._batches, self._keys, strict=True)
        ]
        if not model.spreads_by_penalty:
            self._seen = seen
        return seen

    def _rows(self) -> list[np.ndarray]:
        """Positions of contexts in pieces of one length, the last one padded: one program."""
        rows = np.arange(len(self.contexts))
        return list(
            np.pad(rows, (0, -len(rows) % self._at_once), mode="edge").reshape(-1, self._at_once)
        )

    def _effort(self) -> tuple[int, int]:
        """Nodes per context in a replicate, and how many contexts to take at a time."""
        model = self.model.replace(penalty=1.0)  # any will do: only shapes are asked for
        seen = jax.eval_shape(
            lambda batch: model.spread(self._rule, self.setting, batch, jax.random.key(0)),
            jax.eval_shape(self._table.gather, np.zeros(1, np.int32)),
        )
        nodes = seen.log_weights.shape[1]
        loss, around = self.setting.loss, self.setting.neighbourhood
        if seen.outcomes is not None:
            terms = seen.outcomes.shape[2] * loss.terms
        elif around is not None and loss.has_log_moment(around.outcome):
            terms = loss.moment_terms(around.outcome)
        else:
            terms = loss.terms
        exponents = nodes * self._table.most_outcomes * terms
        return nodes, int(np.clip(EXPONENTS_AT_ONCE // exponents, 1, len(self.contexts)))


@program
def _gather(table: TrainingTable, contexts: Array) -> Batch:
    return table.gather(contexts)


@program
def _with_bulk(
    rule: FittedRule,
    model: Ambiguity,
    setting: Setting,
    batch: Batch,
    bulk: Bulk,
    key: PRNGKeyArray,
) -> Batch:
    """Find the highest distinct summits of what moving without entropy brings.

    The given places follow, as far as there is room: a summit that is lower than home but broad
    holds mass as well, and ascents with their first long steps leave it for home.
    Contexts move as one if the model is causal; else each of a few outcomes moves on its own.
    """
    groups, asked = 1, batch
    if model.plain is None:
        groups = min(MOST_PLACES, batch.outcomes.shape[1])
        some = np.linspace(0, batch.outcomes.shape[1] - 1, groups).astype(int)
        asked = Batch(
            contexts=jnp.repeat(batch.contexts, groups, axis=0),
            outcomes=batch.outcomes[:, some].reshape(-1, 1, batch.outcomes.shape[2]),
            outcome_mass=jnp.ones((len(batch.contexts) * groups, 1)),
            context_slot=jnp.repeat(batch.context_slot, groups),
            entry_slot=batch.entry_slot[:, some].reshape(-1, 1),
        )
    scattered = Scattered(Sobol(STARTS), bulk.places, bulk.moved)
    starts = eqx.tree_at(lambda s: s.context_nodes, setting, scattered)
    key = jax.random.fold_in(key, bulk.seed)
    found, heights = summits(rule, starts, asked, jnp.asarray(bulk.penalty), key)
    kernel = kernels_of(setting).context
    places = scattered(kernel, asked.contexts, key)[0][:, STARTS:]
    losses = setting.loss(decide(rule, places)[:, :, None, :], asked.outcomes[:, None])
    brought = jnp.sum(asked.outcome_mass[:, None] * losses, axis=-1)
    brought = brought - bulk.penalty * kernel.cost(asked.contexts[:, None], places)
    # outcomes stay at home here, but move in the ascents: less high, so after the summits
    found = jnp.concatenate([found, places], axis=1)
    heights = jnp.concatenate([heights, brought], axis=1)
    at_home = kernel.cost(asked.contexts[:, None], found) < kernel.epsilon
    heights = jnp.where(at_home, -jnp.inf, heights)  # where there are nodes anyway
    chosen = []
    for _ in range(MOST_PLACES // groups):
        best = jnp.argmax(heights, axis=1)
        summit = jnp.take_along_axis(found, best[:, None, None], axis=1)
        chosen.append(summit)
        near = kernel.cost(summit, found) < kernel.epsilon
        heights = jnp.where(near, -jnp.inf, heights)
    places = jnp.concatenate(chosen, axis=1).reshape(len(batch.contexts), -1, found.shape[-1])
    missing = MOST_PLACES - places.shape[1]
    return batch._replace(bulk=jnp.pad(places, ((0, 0), (0, missing), (0, 0)), mode="edge"))


@program
def _spreads(
    rule: FittedRule, model: Ambiguity, setting: Setting, batch: Batch, keys: PRNGKeyArray
) -> Spread:
    """What is seen around a batch, once per key, stacked."""
    return jax.lax.map(lambda key: model.spread(rule, setting, batch, key), keys)


@program
def _levels(
    penalty: Float[Array, ""] | None,
    model: Ambiguity,
    setting: Setting,
    batch: Batch,
    spreads: Spread,
) -> tuple[Array, Array, Array, Array]:
    """Log-moments over all nodes, their derivatives in the penalty, masses, single replicates."""

    def moments(penalty: Array | None) -> tuple[Array, tuple[Array, Array]]:
        priced = model if penalty is None else model.replace(penalty=penalty)

        def replicate(spread: Spread) -> tuple[Array, Array]:
            tilt = priced.tilt_of(spread, setting, batch)
            return tilt.log_moments(), tilt.group_mass

        each, mass = jax.lax.map(replicate, spreads)
        return jax.nn.logsumexp(each, axis=0) - math.log(len(each)), (mass[0], each)

    if penalty is None:
        pooled, (mass, each) = moments(None)
        return pooled, jnp.zeros_like(pooled), mass, each
    pooled, slope, (mass, each) = jax.jvp(
        moments, (penalty,), (jnp.ones_like(penalty),), has_aux=True
    )
    return pooled, slope, mass, each


def _temperature(penalty: float | None, model: Ambiguity) -> tuple[Any, Any]:
    """T and dT/dλ."""
    if penalty is None:
        return model.temperature, 0.0
    temperature = model.replace(penalty=np.float64(penalty)).temperature
    return temperature, temperature / penalty if model.compositional else 0.0


def _pooled(log_moments: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
    """Log Σ weight·exp(log_moments), and each term's share of the sum."""
    peak = log_moments[weight > 0].max()
    terms = weight * np.exp(log_moments - peak)
    return float(peak + np.log(terms.sum())), terms / terms.sum()
