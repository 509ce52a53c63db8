"""Worst cases of the Sinkhorn models: mixtures of Gibbs distributions around the nominal points.

With H the log-moments of the dual at its penalty and T = λε, Causal Sinkhorn's is

    dP*(x, y) = Σ_k m_k · a_k(x) · Σ_i p̂_ki · b_ki(y | x),
    a_k(x)      = Q_k(x)  · exp( Σ_i p̂_ki G_ki(f(x)) − H_k ),
    b_ki(y | x) = W_ki(y) · exp( Ψ(f(x), y)/T − G_ki(f(x)) ),

with the kernels Q, W around the nominal points (paper: theo-worst-case-distri and
corollary-worst-case). Sinkhorn has one a_ki = Q_k·exp(G_ki − H_ki) per outcome
(lem-worst-non-causal).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray
from scipy.special import logsumexp

from hedgerow import _checks, ladder
from hedgerow._components import double
from hedgerow.ambiguity import Perturbed, Setting, SinkhornAmbiguity, decide
from hedgerow.ambiguity.outcome_moves import outcome_nodes, tilted_outcomes
from hedgerow.certify.moments import EXPONENTS_AT_ONCE
from hedgerow.certify.value import Evaluation
from hedgerow.certify.worst_cases.base import Draws, WorstCase, rows, to_users
from hedgerow.data import Batch
from hedgerow.kernels import NEVER, AbstractKernel, Kernel, Nodes, Sobol
from hedgerow.programs import program, refuse_in_forked_process
from hedgerow.rules import FittedRule

CANDIDATES = 256
WIDER = 1.3
"""The Gaussian that candidates come from is this much wider than the mass it covers."""


@dataclass(frozen=True, repr=False)
class SmoothWorstCase(WorstCase):
    """A mixture of Gibbs distributions around the nominal points.

    Densities are with respect to Lebesgue measure in the data's units, over the features that vary,
    times the number of categories, fixed values and whole numbers where such were declared; or with
    respect to the reference measure, where there is one.
    """

    evaluation: Evaluation

    def density(self, x: Any, y: Any) -> np.ndarray:
        """Return the density at points (x, y)."""
        points, outcomes = self._points(x), self._outcomes(y)
        if len(points) != len(outcomes):
            raise ValueError(f"x has {len(points)} rows, but y has {len(outcomes)}.")
        return np.exp(self._over_contexts(_log_joint, points, outcomes)) / self._volume("xy")

    def marginal_x(self, x: Any) -> np.ndarray:
        """Return the density of the context alone."""
        points = self._points(x)
        return np.exp(self._over_contexts(_log_context_marginal, points)) / self._volume("x")

    def marginal_y(self, y: Any) -> np.ndarray:
        """Return the density of the outcome alone, averaged over the dual's context nodes."""
        outcomes = self._outcomes(y)
        refuse_in_forked_process()
        with jax.enable_x64(True):
            size = ladder.near(max(len(outcomes), 1))
            padded = np.resize(outcomes, (size, outcomes.shape[1]))
            logs = [
                _log_outcome_marginal(seen, perturbed, padded) for seen, perturbed in self._seen()
            ]
        density = np.exp(np.asarray(logsumexp(np.array(logs), axis=0)))[: len(outcomes)]
        return density / self._volume("y")

    def sample(self, n: int, seed: int = 0) -> Draws:
        """Draw n points: an entry of the nominal, then a context, then an outcome.

        Contexts are chosen by weight among candidates of their own: half from the kernel, half from
        a Gaussian with the mean and deviation that the dual found there. Outcomes are exact where
        the loss has a closed form; over a discrete reference measure everything is.
        """
        n = _checks.count("n", n)
        refuse_in_forked_process()
        moments, problem = self.evaluation.moments, self.evaluation.problem
        nominal, units = problem.nominal, problem.units
        exact = moments.setting.context_nodes.reference() is not None
        rng = np.random.default_rng(_checks.count("seed", seed, 0))
        position, place = self._draw_entries(rng, n)
        source = moments.contexts[position]
        sampled = not (exact or self._draws_outcomes())
        most = CANDIDATES * nominal.most_outcomes * (CANDIDATES if sampled else 1)
        most *= moments.setting.moving().context.summed() or 1
        size = ladder.piece(n, EXPONENTS_AT_ONCE // most)
        key = jax.random.key(int(rng.integers(2**31)), impl="rbg")
        parts = []
        with jax.enable_x64(True):
            model, rule = self._model(), double(self.evaluation.rule)
            setting = eqx.tree_at(
                lambda s: s.outcome_nodes,
                moments.setting,
                Sobol(CANDIDATES, seed=1) if sampled else moments.setting.outcome_nodes,
                is_leaf=lambda leaf: leaf is None,
            )
            tilted = None if exact else self._tilted_nodes()
            for i, start in enumerate(range(0, n, size)):
                some = np.minimum(np.arange(start, start + size), n - 1)
                batch, chosen = moments.gather(source[some]), place[some]
                around = tilted and tuple(
                    part[position[some], np.minimum(chosen, part.shape[1] - 1)] for part in tilted
                )
                piece_key = jax.random.fold_in(key, i)
                parts.append(_draw_piece(rule, model, setting, batch, chosen, around, piece_key))
        x, y, effective = (np.concatenate([np.asarray(p[i]) for p in parts])[:n] for i in range(3))
        x = to_users(units, x, nominal.contexts[source])
        effective_size = np.inf if exact else float(effective.mean())
        return Draws.of(x, y * units.y_unit, source, effective_size)

    def _draws_outcomes(self) -> bool:
        """Whether the loss draws tilted outcomes itself."""
        setting, loss = self.evaluation.moments.setting, self.evaluation.problem.one_loss()
        closed = loss.closed_moments(setting.moving().outcome)
        known = closed is not None and closed.tilted_outcome is not None
        return setting.outcome_nodes is None and known

    def _draw_entries(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions of contexts among those the dual looked at, and places of outcomes therein."""
        moments, nominal = self.evaluation.moments, self.evaluation.problem.nominal
        position = rng.choice(len(moments.contexts), n, p=moments.share / moments.share.sum())
        below = np.concatenate([[0.0], np.cumsum(nominal.entry_mass)])
        start = nominal.start[moments.contexts[position]]
        count = nominal.count[moments.contexts[position]]
        level = below[start] + rng.random(n) * (below[start + count] - below[start])
        place = np.searchsorted(below, level, side="right") - 1 - start
        return position, np.clip(place, 0, count - 1)

    def _tilted_nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation of each context's tilted nodes: (contexts, groups, d) each."""
        parts = [_tilted_moments(seen, perturbed) for seen, perturbed in self._seen()]
        total = len(self.evaluation.moments.contexts)
        mean, deviation = (
            np.concatenate([np.asarray(p[i]) for p in parts])[:total] for i in (0, 1)
        )
        return mean, deviation

    def _model(self) -> SinkhornAmbiguity:
        model: Any = self.evaluation.moments.model
        return model.at_penalty(jax.device_put(self.evaluation.penalty))

    def _seen(self) -> Iterator[tuple[_Seen, Perturbed]]:
        """All contexts, in pieces, with where the dual moved them."""
        moments, dual = self.evaluation.moments, self.evaluation.dual
        for some, batch, perturbed in moments.pieces(self.evaluation.penalty):
            log_moments = jax.device_put(dual.log_moments[some])
            yield _Seen(self._model(), moments.setting.at(batch), batch, log_moments), perturbed

    def _over_contexts(self, term: Any, points: np.ndarray, *more: np.ndarray) -> np.ndarray:
        """Log of a sum over all contexts, in pieces of contexts and of points."""
        refuse_in_forked_process()
        count = max(len(points), 1)
        with jax.enable_x64(True):
            all_seen = [seen for seen, _ in self._seen()]
            size = ladder.piece(count, EXPONENTS_AT_ONCE // all_seen[0].batch.outcome_mass.size)
            rule, pieces = double(self.evaluation.rule), -(-count // size)
            # pieces of one length, filled up with what comes first: one program
            parts = [
                np.split(np.resize(a, (pieces * size, *a.shape[1:])), pieces)
                for a in (points, *more)
            ]
            decisions = [_decide(rule, part) for part in parts[0]]
            arrays = list(zip(parts[0], decisions, *parts[1:], strict=True))
            logs = [np.concatenate([term(seen, *some) for some in arrays]) for seen in all_seen]
        return np.asarray(logsumexp(logs, axis=0))[: len(points)]

    def _points(self, x: Any) -> np.ndarray:
        units = self.evaluation.problem.units
        return units.contexts(rows("x", x, len(units.x_centre)), np.float64)

    def _outcomes(self, y: Any) -> np.ndarray:
        units = self.evaluation.problem.units
        return units.outcomes(rows("y", y, len(units.y_unit)), np.float64)

    def _volume(self, coordinates: str) -> float:
        """Return the volume of a unit cube of working units, in the data's units."""
        setting, units = self.evaluation.moments.setting, self.evaluation.problem.units
        if setting.context_nodes.reference() is not None:
            return 1.0
        around = setting.moving()
        volume = 1.0
        if "x" in coordinates:
            volume *= np.prod(units.x_spread[np.asarray(around.context.lebesgue)])
        if "y" in coordinates:
            volume *= np.prod(units.y_unit[np.asarray(around.outcome.lebesgue)])
        return float(volume)


class _Seen(NamedTuple):
    """Some contexts with their log-moments H under a priced model."""

    model: SinkhornAmbiguity
    setting: Setting
    batch: Batch
    log_moments: Float[Array, "c g"]

    def around(self, points: Array, decisions: Array) -> Perturbed:
        """Look at the same points from every context; weights are kernel densities there."""
        kernels, batch = self.setting.moving(), self.batch
        log_density = _log_kernel(
            kernels.context, self.setting.context_nodes, batch.contexts[:, None], points
        )
        shape = log_density.shape
        seen = Perturbed(
            jnp.broadcast_to(points, (*shape, points.shape[-1])),
            jnp.broadcast_to(decisions, (*shape, decisions.shape[-1])),
            log_density,
        )
        if self.setting.outcome_nodes is None:
            return seen
        nodes = outcome_nodes(self.setting, batch, jax.random.key(0))
        return seen._replace(outcomes=nodes[0], outcome_log_weights=nodes[1])

    def log_context_terms(self, perturbed: Perturbed) -> Float[Array, "c m g"]:
        """Log a at every node: kernel density (or weight), tilted and normalised."""
        tilt = self.model.tilt(perturbed, self.setting, self.batch)
        terms = tilt.log_weights + tilt.exponents - self.log_moments[:, :, None]
        return jnp.swapaxes(terms, 1, 2)

    def log_outcome_kernel(self, outcomes: Float[Array, "*q y"]) -> Float[Array, "c n *q"]:
        """Log W_ki at outcomes."""
        shape = (*self.batch.outcomes.shape[:2], *(1,) * (outcomes.ndim - 1), -1)
        centres, kernel = self.batch.outcomes.reshape(shape), self.setting.moving().outcome
        if self.batch.low is not None:
            kernel = kernel.above(self.batch.low.reshape(shape))
        return _log_kernel(kernel, self.setting.outcome_nodes, centres, outcomes)

    def log_mass(self) -> Float[Array, "c n"]:
        """Log of m_k·p̂_ki."""
        return _log(self.batch.mass[:, None] * self.batch.outcome_mass)


@program
def _log_joint(seen: _Seen, points: Array, decisions: Array, outcomes: Array) -> Float[Array, " q"]:
    """Log-density at pairs (x, y), summed over the contexts seen."""
    perturbed = seen.around(points, decisions)
    gains = seen.setting.loss(decisions[None], outcomes[None]) / seen.model.temperature
    inner = seen.model.inner_log_moments(perturbed, seen.setting, seen.batch)
    log_b = jnp.swapaxes(seen.log_outcome_kernel(outcomes), 1, 2) + gains[..., None] - inner
    terms = seen.log_context_terms(perturbed) + log_b + seen.log_mass()[:, None, :]
    return jax.nn.logsumexp(terms, axis=(0, 2))


@program
def _log_context_marginal(seen: _Seen, points: Array, decisions: Array) -> Float[Array, " q"]:
    """Log-density of the context, summed over the contexts seen."""
    perturbed = seen.around(points, decisions)
    mass = seen.model.tilt(perturbed, seen.setting, seen.batch).group_mass
    terms = seen.log_context_terms(perturbed) + _log(seen.batch.mass[:, None] * mass)[:, None, :]
    return jax.nn.logsumexp(terms, axis=(0, 2))


@program
def _log_outcome_marginal(
    seen: _Seen, perturbed: Perturbed, outcomes: Float[Array, "q y"]
) -> Float[Array, " q"]:
    """Log-density of the outcome, averaged over context nodes and replicates of them."""

    def replicate(perturbed: Perturbed) -> Array:
        inner = seen.model.inner_log_moments(perturbed, seen.setting, seen.batch)
        base = seen.log_context_terms(perturbed) - inner + seen.log_mass()[:, None, :]

        def at(y: Array) -> Array:
            gains = seen.setting.loss(perturbed.decisions, y) / seen.model.temperature
            return jax.nn.logsumexp(
                base + gains[:, :, None] + seen.log_outcome_kernel(y)[:, None, :]
            )

        return jax.lax.map(at, outcomes)

    each = jax.lax.map(replicate, perturbed)
    return jax.nn.logsumexp(each, axis=0) - jnp.log(len(each))


@program
def _tilted_moments(seen: _Seen, perturbed: Perturbed) -> tuple[Array, Array]:
    """Mean and standard deviation of context nodes under their tilted weights."""

    def replicate(perturbed: Perturbed) -> tuple[Array, Array]:
        weights = jnp.exp(seen.log_context_terms(perturbed))
        first = jnp.einsum("cmg,cmd->cgd", weights, perturbed.points)
        return first, jnp.einsum("cmg,cmd->cgd", weights, perturbed.points**2)

    first, second = (jnp.mean(part, axis=0) for part in jax.lax.map(replicate, perturbed))
    return first, jnp.sqrt(jnp.maximum(second - first**2, 0.0))


@program
def _draw_piece(
    rule: FittedRule,
    model: SinkhornAmbiguity,
    setting: Setting,
    batch: Batch,
    place: Int[Array, " r"],
    tilted: tuple[Float[Array, "r d"], Float[Array, "r d"]] | None,
    key: PRNGKeyArray,
) -> tuple[Array, Array, Array]:
    """One point from each row of a batch, and how many candidates stood behind it."""
    setting = setting.at(batch)
    key_nodes, key_candidates, key_context, key_tilt = jax.random.split(key, 4)
    perturbed = model.perturb(rule, setting, batch, key_nodes)
    if tilted is not None:
        kernel = setting.moving().context
        points, log_weights = _candidates(kernel, batch.contexts, tilted, key_candidates)
        perturbed = perturbed._replace(
            points=points, decisions=decide(rule, points), log_weights=log_weights
        )
    tilt = model.tilt(perturbed, setting, batch)
    each = jnp.arange(len(batch.contexts))
    group = jnp.minimum(place, tilt.exponents.shape[1] - 1)
    logits = tilt.log_weights[:, 0] + tilt.exponents[each, group]
    node = jax.random.categorical(key_context, logits)
    effective = _effective(logits)
    x, z, home = perturbed.points[each, node], perturbed.decisions[each, node], batch.outcomes
    home = home[each, place]
    if perturbed.outcomes is None or perturbed.outcome_log_weights is None:
        uniform = jax.random.uniform(key_tilt, home.shape, home.dtype, minval=1e-300)
        low = None if batch.low is None else batch.low[each, place]
        return x, tilted_outcomes(setting, uniform, z, home, low, model.temperature), effective
    candidates = perturbed.outcomes[each, place]
    gains = setting.loss(z[:, None, :], candidates) / model.temperature
    logits = perturbed.outcome_log_weights[each, place] + gains
    y = candidates[each, jax.random.categorical(key_tilt, logits)]
    return x, y, jnp.minimum(effective, _effective(logits))


def _candidates(
    kernel: AbstractKernel,
    contexts: Float[Array, "r d"],
    tilted: tuple[Float[Array, "r d"], Float[Array, "r d"]],
    key: PRNGKeyArray,
) -> tuple[Float[Array, "r m d"], Float[Array, "r m"]]:
    """Half from the kernel, half from a Gaussian around the tilted nodes; weighted as one."""
    half = CANDIDATES // 2
    key_kernel, key_tilted = jax.random.split(key)
    whole, kernel = kernel, kernel.smooth
    mean, deviation = (part[:, None, :] for part in tilted)
    standard = Kernel(2, jnp.asarray(2.0), jnp.ones_like(kernel.scale))
    normal = Sobol(half, seed=1)(standard, jnp.zeros_like(contexts), key_tilted)[0]
    width = jnp.where(kernel.scale > 0, jnp.maximum(WIDER * deviation, 1e-3 * kernel.width), 0.0)
    around_tilted = jnp.where(kernel.scale > 0, mean + width * normal, contexts[:, None])
    points = jnp.concatenate([Sobol(half)(kernel, contexts, key_kernel)[0], around_tilted], axis=1)
    safe = jnp.where(width > 0, width, 1.0)
    log_normal = -(((points - mean) / safe) ** 2) / 2 - jnp.log(safe * math.sqrt(2 * math.pi))
    log_tilted = jnp.sum(jnp.where(width > 0, log_normal, 0.0), axis=-1)
    log_kernel = kernel.log_density(contexts[:, None], points)
    log_weights = log_kernel - jnp.logaddexp(log_kernel, log_tilted) + math.log(1 / half)
    return whole.crossed(contexts, points, log_weights, jax.random.fold_in(key, 1))


def _log_kernel(kernel: AbstractKernel, nodes: Nodes | None, centre: Array, point: Array) -> Array:
    """Log-density of a kernel with respect to Lebesgue or to a discrete reference measure."""
    measure = None if nodes is None else nodes.reference()
    if measure is not None:
        nearness = -kernel.cost(centre, point) / kernel.epsilon
        log_mass = nearness - measure.log_normaliser(kernel, centre)
        return jnp.where(kernel.within(centre, point), log_mass, NEVER)
    return kernel.log_density(centre, point)


def _log(mass: Array) -> Array:
    """Log, with NEVER for no mass at all."""
    return jnp.where(mass > 0, jnp.log(jnp.where(mass > 0, mass, 1.0)), NEVER)


def _effective(logits: Array) -> Array:
    """(Σw)²/Σw² of weights exp(logits)."""
    return jnp.exp(2 * jax.nn.logsumexp(logits, -1) - jax.nn.logsumexp(2 * logits, -1))


@program
def _decide(rule: FittedRule, points: Array) -> Array:
    return decide(rule, points)
