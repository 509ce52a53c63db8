"""The log-moments of a fixed rule, in float64, as functions of the penalty.

    F_λ = reduction of the log-moments u_kg(λ) with masses m_k·q_kg

Training moves the rule and keeps the penalty; here the rule stands still. Where each context may be
moved (``Perturbed``) is laid out once, in independent replicates where nodes are random; every
penalty after that costs exponents only. F is convex in λ and, by the envelope theorem,

    −dF/dλ = how far the worst case lies from the least discrepant distribution,

which is what both the search for the best penalty and the worst case's expected loss need.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow import ladder
from hedgerow._components import double
from hedgerow.ambiguity import Ambiguity, Perturbed, Problem, Setting, decide
from hedgerow.ambiguity.ascent import summits
from hedgerow.data import Batch, TrainingTable
from hedgerow.kernels import Scattered, Sobol
from hedgerow.programs import program
from hedgerow.rules import FittedRule

EXPONENTS_AT_ONCE = 2**21
STARTS, MOST_PLACES = 8, 4


class DualPoint(NamedTuple):
    """The dual objective at one penalty, in working units.

    ``value`` is F, ``slope`` its derivative in the penalty; ``replicates`` are values from single
    replicates of the nodes, ``by_context`` what each context brings to the value, ``weights`` the
    derivatives of F in the log-moments.
    """

    value: float
    slope: float
    replicates: np.ndarray
    by_context: np.ndarray
    log_moments: np.ndarray
    weights: np.ndarray


class Modes(NamedTuple):
    """At which penalty to look for where mass gathers, and from which places besides nearby.

    ``seed`` varies the starts nearby.
    """

    penalty: float
    places: np.ndarray
    moved: np.ndarray
    seed: int


class Moments:
    """Log-moments of some contexts over nodes that stay the same for every penalty.

    ``modes`` puts nodes also where contexts would be moved, for temperatures so low that few nodes
    of the kernel alone would be near.
    """

    def __init__(
        self,
        problem: Problem,
        rule: FittedRule,
        contexts: np.ndarray,
        share: np.ndarray,
        setting: Setting,
        replicates: int,
        key: PRNGKeyArray,
        modes: Modes | None = None,
    ) -> None:
        self.share = share
        self.setting = setting
        self.model = double(problem.working)
        self.contexts = contexts
        self.replicates = replicates
        self.rule = double(rule)
        nominal = problem.nominal
        self._table = TrainingTable.build(
            nominal,
            problem.units,
            ladder.near(nominal.most_outcomes),
            np.float64,
            problem.parameters(),
        )
        self._one_loss = problem.one_loss()
        self.nodes, self._at_once = self._effort()
        self._batches = [
            self.gather(contexts[rows], mass) for rows, mass in self._rows_and_shares()
        ]
        if modes is not None:
            self._batches = [
                _with_modes(self.rule, self.model, setting, batch, modes, key)
                for batch in self._batches
            ]
            self.nodes *= 1 + MOST_PLACES
        self._keys = [
            _keys(key, np.uint32(piece), count=replicates) for piece in range(len(self._batches))
        ]
        self._seen: list[Perturbed] | None = None
        self._known: dict[float | None, DualPoint] = {}

    def at(self, penalty: float | None) -> DualPoint:
        """Return the dual at a penalty in working units; None for a model without one."""
        if penalty not in self._known:
            self._known[penalty] = self._evaluate(penalty)
        return self._known[penalty]

    def _evaluate(self, penalty: float | None) -> DualPoint:
        pieces = [
            _log_moments(penalty, self.model, self.setting, batch, perturbed)
            for batch, perturbed in zip(self._batches, self._perturbed(penalty), strict=True)
        ]
        moments, slopes, mass, replicates = (
            np.concatenate([np.asarray(piece[i]) for piece in pieces], axis=-2) for i in range(4)
        )
        padding = ladder.room(len(moments)) - len(moments)
        moments, slopes, mass = (
            np.pad(part, ((0, padding), (0, 0))) for part in (moments, slopes, mass)
        )
        replicates = np.pad(replicates, ((0, 0), (0, padding), (0, 0)))
        value, slope, each, weights = _reduced(
            penalty, self.model, moments, slopes, mass, replicates
        )
        n = len(self.contexts)
        moments, weights = moments[:n], np.asarray(weights)[:n]
        some = np.where(self.share > 0, self.share, 1.0)
        return DualPoint(
            value=float(value),
            slope=float(slope),
            replicates=np.asarray(each),
            by_context=np.sum(weights * moments, axis=1) / some,
            log_moments=moments,
            weights=weights,
        )

    def gather(self, contexts: np.ndarray, mass: np.ndarray | None = None) -> Batch:
        """Return the given contexts of the nominal distribution as a batch."""
        mass = np.full(len(contexts), 1 / len(contexts)) if mass is None else mass
        return _gather(self._table, contexts.astype(np.int32), mass)

    def batches(self) -> list[Batch]:
        """All contexts, some at a time; the last batch is filled up with contexts of no mass."""
        return self._batches

    def pieces(self, penalty: float | None) -> Iterator[tuple[np.ndarray, Batch, Perturbed]]:
        """Yield positions, outcomes and surroundings of some contexts at a time.

        The last piece is padded to the length of the others with contexts that have no mass.
        """
        perturbed = self._perturbed(penalty)
        for i, (rows, _) in enumerate(self._rows_and_shares()):
            yield rows, self._batches[i], perturbed[i]

    def _perturbed(self, penalty: float | None) -> list[Perturbed]:
        """Where every context is moved: laid out once if the points serve every penalty."""
        if self._seen is not None:
            return self._seen
        model = _priced(self.model, None if penalty is None else jax.device_put(penalty))
        seen = [
            _perturb(self.rule, model, self.setting, batch, keys)
            for batch, keys in zip(self._batches, self._keys, strict=True)
        ]
        if seen[0].penalty is None:
            self._seen = seen
        return seen

    def _rows_and_shares(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Positions of contexts in pieces of one length, the last one padded: one program."""
        padding = (0, -len(self.contexts) % self._at_once)
        rows = np.pad(np.arange(len(self.contexts)), padding, mode="edge")
        shares = np.pad(self.share, padding)
        return zip(rows.reshape(-1, self._at_once), shares.reshape(-1, self._at_once), strict=True)

    def _effort(self) -> tuple[int, int]:
        """Nodes per context in a replicate, and how many contexts to take at a time."""
        seen = jax.eval_shape(_around_one, self.rule, self.model, self.setting, self._table)
        nodes = seen.log_weights.shape[1]
        loss, kernels = self._one_loss, self.setting.kernels
        closed = None if kernels is None else loss.closed_moments(kernels.outcome)
        terms = loss.terms if closed is None else closed.terms
        if seen.outcomes is not None:
            terms = seen.outcomes.shape[2] * loss.terms
        exponents = nodes * self._table.most_outcomes * terms
        return nodes, ladder.piece(len(self.contexts), EXPONENTS_AT_ONCE // exponents)


def _priced(model: Ambiguity, penalty: Array | None) -> Ambiguity:
    return model if penalty is None else model.at_penalty(penalty)


def _around_one(
    rule: FittedRule, model: Ambiguity, setting: Setting, table: TrainingTable
) -> Perturbed:
    """Where a single context is moved: only the shape is asked for, so any penalty will do.

    What moves is an argument, so that JAX keeps the shape for the next value of the same kind.
    """
    batch = table.gather(jnp.zeros(1, jnp.int32), jnp.ones(1))
    key = jax.random.key(0)
    return model.at_penalty(1.0).perturb(rule, setting.at(batch), batch, key)


@program(brief=True, static_argnames="count")
def _keys(key: PRNGKeyArray, piece: Array, count: int) -> PRNGKeyArray:
    """Keys of the replicates of a piece."""
    return jax.random.split(jax.random.fold_in(key, piece), count)


@program(brief=True)
def _gather(table: TrainingTable, contexts: Array, mass: Array) -> Batch:
    return table.gather(contexts, mass)


@program
def _with_modes(
    rule: FittedRule,
    model: Ambiguity,
    setting: Setting,
    batch: Batch,
    modes: Modes,
    key: PRNGKeyArray,
) -> Batch:
    """Find the highest distinct summits of what moving without entropy brings.

    The given places follow, as far as there is room: a summit that is lower than home but broad
    holds mass as well, and ascents with their first long steps leave it for home.
    Contexts move as one if the model is causal; else each of a few outcomes moves on its own.
    """
    outcomes = batch.outcomes.shape[1]
    some = np.linspace(0, outcomes - 1, min(MOST_PLACES, outcomes)).astype(int)
    asked = model.movers(batch, jnp.broadcast_to(some, (len(batch.contexts), len(some))))
    groups = len(asked.contexts) // len(batch.contexts)
    scattered = Scattered(Sobol(STARTS), modes.places, modes.moved)
    setting = setting.at(asked)
    starts = eqx.tree_at(lambda s: s.context_nodes, setting, scattered)
    key = jax.random.fold_in(key, modes.seed)
    found, _, heights = summits(rule, starts, asked, jnp.asarray(modes.penalty), key)
    kernel = setting.moving().context
    places = scattered(kernel, asked.contexts, key)[0][:, -len(modes.places) :]
    losses = setting.loss(decide(rule, places)[:, :, None, :], asked.outcomes[:, None])
    brought = jnp.sum(asked.outcome_mass[:, None] * losses, axis=-1)
    brought = brought - modes.penalty * kernel.cost(asked.contexts[:, None], places)
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
    return batch._replace(modes=jnp.pad(places, ((0, 0), (0, missing), (0, 0)), mode="edge"))


@program
def _perturb(
    rule: FittedRule, model: Ambiguity, setting: Setting, batch: Batch, keys: PRNGKeyArray
) -> Perturbed:
    """Where a batch is moved, once per key, stacked."""
    setting = setting.at(batch)
    return jax.lax.map(lambda key: model.perturb(rule, setting, batch, key), keys)


@program
def _log_moments(
    penalty: Float[Array, ""] | None,
    model: Ambiguity,
    setting: Setting,
    batch: Batch,
    perturbed: Perturbed,
) -> tuple[Array, Array, Array, Array]:
    """Log-moments over all nodes, their derivatives in the penalty, masses, single replicates."""
    setting = setting.at(batch)

    def moments(penalty: Array | None) -> tuple[Array, tuple[Array, Array]]:
        priced = _priced(model, penalty)

        def replicate(one: Perturbed) -> tuple[Array, Array]:
            tilt = priced.tilt(one, setting, batch)
            return tilt.log_moments(), batch.mass[:, None] * tilt.group_mass

        each, mass = jax.lax.map(replicate, perturbed)
        return jax.nn.logsumexp(each, axis=0) - math.log(len(each)), (mass[0], each)

    if penalty is None:
        pooled, (mass, each) = moments(None)
        return pooled, jnp.zeros_like(pooled), mass, each
    pooled, slope, (mass, each) = jax.jvp(
        moments, (penalty,), (jnp.ones_like(penalty),), has_aux=True
    )
    return pooled, slope, mass, each


@program
def _reduced(
    penalty: Float[Array, ""] | None,
    model: Ambiguity,
    moments: Float[Array, "c g"],
    slopes: Float[Array, "c g"],
    mass: Float[Array, "c g"],
    replicates: Float[Array, "r c g"],
) -> tuple[Array, Array, Array, Array]:
    """F, dF/dλ, the values of single replicates, and dF/du."""

    def value(penalty: Array | None, moments: Array) -> Array:
        return _priced(model, penalty).reduction().value(moments, mass)

    each = jax.lax.map(lambda one: value(penalty, one), replicates)
    if penalty is None:
        found, weights = jax.value_and_grad(value, argnums=1)(None, moments)
        return found, jnp.zeros_like(found), each, weights
    found, (slope, weights) = jax.value_and_grad(value, argnums=(0, 1))(penalty, moments)
    return found, slope + jnp.sum(weights * slopes), each, weights
