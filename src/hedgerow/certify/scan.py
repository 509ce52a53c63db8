"""How much moving contexts can pay, how far, and where to: a scan before nodes are placed.

    net(x̂, x) = E Ψ(f(x), ŷ) − E Ψ(f(x̂), ŷ) − λ·‖(x − x̂)/s_x‖_p^p

is evaluated from some contexts x̂ to one another, along lines on which a single feature changes,
within the data and well beyond, and along the line of steepest ascent. Kernels are narrow; what
pays may be many of their widths away, and nodes drawn from a kernel would never show it.

Points lie at random in equal strata of their lines, differently for every context: what is narrow
is met on the line of one context or another, and the best moves of each are then tried from all.
Scans with different seeds are independent opinions.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from hedgerow import ladder
from hedgerow.ambiguity import Problem, decide
from hedgerow.data import Batch
from hedgerow.kernels import MonteCarlo
from hedgerow.losses import Loss, by_row
from hedgerow.programs import program
from hedgerow.rules import FittedRule

ASKED = 48
"""Contexts from which moves are tried, and to which."""
LINE_POINTS, SHORTEST, LONGEST = 2**14, 16, 320
"""Points on all lines together, and on one line at least and at most."""
BEYOND, FAR = 2.0, 64.0
"""How far lines leave the data, and how far rays leave home, in units of the scales."""
NEGLIGIBLE = 30.0
"""Moves whose loss exceeds this many temperatures carry no mass."""
NEAR, RARE, RIVAL = 8.0, 24.0, 5.0
"""In temperatures. Up to the first cost the kernel's nodes find what there is, beyond the second
they find next to nothing; and what brings less by the third holds mass still, if it is broad."""
MOST_PLACES = 16
POINTS_AT_ONCE, PAIRS_AT_ONCE = 2**12, 2**20


class Scan(NamedTuple):
    """What a scan saw, in working units.

    ``net`` is the largest net gain; ``hidden``, whether some context has mass where nodes of its
    kernel hardly come, apart from where they do. ``reach`` is the distance in units of the scales
    beyond which no move that was tried carries mass. ``places`` (p, d) are where moves lead that
    together serve all contexts well; ``moved`` (p, d) says which of their features matter, the
    others staying at home.
    """

    net: float
    hidden: bool
    reach: float
    places: np.ndarray
    moved: np.ndarray


def scan_around(
    problem: Problem, rule: FittedRule, penalty: float, temperature: float, seed: int = 0
) -> Scan:
    """Scan around a problem's data at a penalty, in working units."""
    rng = np.random.default_rng(seed)
    scan = _Scanner(problem, rule, penalty, rng, seed)
    homes, each = scan.homes, np.arange(len(scan.homes))
    if not scan.moves:
        return Scan(0.0, False, 0.0, homes, np.zeros(homes.shape, bool))
    lines, feature = scan.lines(rng)
    along = scan.net(lines)
    uphill = scan.uphill(along, feature, rng)
    climbed = scan.net(uphill)

    unit = temperature / penalty
    best = np.argmax(np.where(scan.cost(lines) > NEAR * unit, along, -np.inf), axis=1)
    finer, alone = scan.between(lines, feature, best, rng)
    refined = scan.net(finer)
    places = np.concatenate(
        [
            homes,
            uphill[each, np.argmax(climbed, axis=1)],
            finer[each, np.argmax(refined, axis=1)],
        ]
    )
    moved = np.concatenate([np.ones((2 * len(homes), homes.shape[1]), bool), alone])
    moved = moved & scan.movable
    common = np.where(moved, places, homes[:, None])
    shared = scan.net(common)

    net = np.concatenate([along, climbed, refined, shared], axis=1)
    cost = np.concatenate([scan.cost(points) for points in (lines, uphill, finer, common)], axis=1)
    worthwhile = net > -NEGLIGIBLE * temperature
    met = np.where(cost > RARE * unit, 0.0, net).max(axis=1)
    missed = np.where(cost > RARE * unit, net, -np.inf).max(axis=1)
    far = scan.cost(common) > NEAR * unit
    chosen = _serving_all(np.where(far, shared + RIVAL * temperature, 0.0))
    return Scan(
        net=float(max(net.max(), 0.0)),
        hidden=bool(np.any(missed > met - RIVAL * temperature)),
        reach=float(np.max(np.where(worthwhile, cost, 0.0)) ** (1 / scan.order)),
        places=places[chosen],
        moved=moved[chosen],
    )


class _Scanner:
    """Some contexts, each with its own outcomes, and what moving them brings."""

    def __init__(
        self,
        problem: Problem,
        rule: FittedRule,
        penalty: float,
        rng: np.random.Generator,
        seed: int,
    ) -> None:
        nominal, units = problem.nominal, problem.units
        contexts = units.contexts(nominal.contexts, np.float64)
        setting = problem.setting(MonteCarlo(1), None)
        kernel = setting.moving().context
        most = min(len(contexts), ASKED)
        asked = ((np.arange(most) + rng.random()) * len(contexts) / most).astype(int)
        self.homes = contexts[asked]
        self.order, self._penalty = float(kernel.order), penalty
        self._kernel = jax.tree.map(np.asarray, kernel)
        self._scale, self._width = np.asarray(kernel.scale), np.asarray(kernel.width)
        self.movable = np.asarray(kernel.movable)
        self._low, self._high = contexts.min(axis=0), contexts.max(axis=0)
        self._ends = None
        if kernel.low is not None:
            self._ends = np.asarray(kernel.low), np.asarray(kernel.high)
        self._rule, self._loss = rule, setting.loss
        start, count = nominal.start[asked][:, None], nominal.count[asked][:, None]
        slots = np.arange(ladder.near(int(count.max())))
        entries = start + np.where(slots < count, slots, 0)
        outcomes = units.outcomes(nominal.outcomes, np.float64)
        read = problem.parameters()
        whole = Batch(
            contexts=jax.device_put(self.homes),
            mass=jax.device_put(nominal.context_mass[asked]),
            outcomes=jax.device_put(outcomes[nominal.entry_outcome[entries]]),
            outcome_mass=jax.device_put(np.where(slots < count, nominal.entry_mass[entries], 0.0)),
            context_slot=jax.device_put(asked),
            entry_slot=jax.device_put(entries),
            parameters=None if read is None else jax.device_put(read[asked]),
        )
        # where outcomes move on their own, one of each context is looked at
        one = np.random.default_rng([seed, 1]).integers(count)
        moving = problem.working.movers(whole, jax.device_put(one))
        self._outcomes = np.asarray(moving.outcomes)
        self._mass: np.ndarray = np.asarray(moving.outcome_mass)
        self._parameters = moving.parameters
        self._at_home = self._mean_losses(self.homes[:, None])

    @property
    def moves(self) -> bool:
        """Whether any feature can change by degrees."""
        return bool(np.any(self._scale > 0))

    def net(self, points: np.ndarray) -> np.ndarray:
        """What moving each context to each of its points (contexts, points, features) brings."""
        return self._mean_losses(points) - self._at_home - self._penalty * self.cost(points)

    def cost(self, points: np.ndarray) -> np.ndarray:
        """What moving costs; features that never move cost nothing."""
        return self._kernel.cost(self.homes[:, None], points)

    def lines(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Points of each context along single features, and the features.

        The first two points of a line are one width of the kernel on either side of home; half of
        the others lie across the data, and the rest on rays from home, denser near it.
        """
        homes, free = self.homes, np.flatnonzero(self._scale > 0)
        lines = min(len(free), LINE_POINTS // (SHORTEST * len(homes)))
        points = int(np.clip(LINE_POINTS // (lines * len(homes)), SHORTEST, LONGEST))
        feature = free[np.argsort(rng.random((len(homes), len(free))), axis=1)[:, :lines]]
        home = np.take_along_axis(homes, feature, axis=1)[..., None]
        scale, width = self._scale[feature][..., None], self._width[feature][..., None]
        across, out = points // 2 - 1, points // 4
        low = self._low[feature][..., None] - BEYOND * scale
        high = self._high[feature][..., None] + BEYOND * scale
        parts = [
            home - width,
            home + width,
            low + (high - low) * _strata(rng, (*feature.shape, across)),
            *(
                home + side * width * (FAR * scale / width) ** _strata(rng, (*feature.shape, out))
                for side in (-1, 1)
            ),
        ]
        value = np.concatenate(parts, axis=-1)
        placed = np.broadcast_to(homes[:, None, None], (*value.shape, homes.shape[1])).copy()
        np.put_along_axis(placed, feature[:, :, None, None], value[..., None], axis=-1)
        return self._inside(placed.reshape(len(homes), -1, homes.shape[1])), feature

    def between(
        self, lines: np.ndarray, feature: np.ndarray, best: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """More points of each context around its best one, up to the next ones on that line.

        Also says which feature that is, as a mask (contexts, features).
        """
        each = np.arange(len(lines))
        lines = lines.reshape(*feature.shape, -1, lines.shape[-1])
        line, place = np.divmod(best, lines.shape[2])
        along = feature[each, line]
        value = lines[each, line, :, along]
        at = value[each, place][:, None]
        low = np.where(value < at, value, -np.inf).max(axis=1, keepdims=True)
        high = np.where(value > at, value, np.inf).min(axis=1, keepdims=True)
        low, high = np.where(np.isfinite(low), low, at), np.where(np.isfinite(high), high, at)
        points = np.repeat(self.homes[:, None], ASKED, axis=1)
        points[each, :, along] = low + (high - low) * _strata(rng, (len(each), ASKED))
        points[each, 0, along] = at[:, 0]
        return self._inside(points), np.arange(points.shape[-1]) == along[:, None]

    def uphill(
        self, along: np.ndarray, feature: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Points of each context along the gradient, as the first points of its lines give it."""
        near = along.reshape(*feature.shape, -1)[..., :2]
        slopes = np.zeros(self.homes.shape)
        ratio = self._scale[feature] / self._width[feature]
        np.put_along_axis(slopes, feature, (near[..., 1] - near[..., 0]) * ratio / 2, axis=1)
        slopes /= np.maximum(np.linalg.norm(slopes, axis=1, keepdims=True), 1e-300)
        free = self._scale > 0
        least = np.min(self._width[free] / self._scale[free])
        distance = least * (FAR / least) ** _strata(rng, (len(slopes), ASKED))
        far = self.homes[:, None] + distance[..., None] * (slopes * self._scale)[:, None]
        return self._inside(far)

    def _inside(self, points: np.ndarray) -> np.ndarray:
        """Points cut to the support."""
        return points if self._ends is None else np.clip(points, *self._ends)

    def _mean_losses(self, points: np.ndarray) -> np.ndarray:
        """Mean loss of each context's outcomes under the decisions at its points."""
        owner = np.repeat(np.arange(len(points)), points.shape[1])
        flat = points.reshape(-1, points.shape[-1])
        # pieces of one length, the last one padded: one program
        at_once = int(np.clip(PAIRS_AT_ONCE // self._mass.shape[1], 1, POINTS_AT_ONCE))
        rows = np.pad(np.arange(len(flat)), (0, -len(flat) % at_once), mode="edge")
        pieces = [
            np.asarray(
                _mean_losses(
                    self._rule,
                    self._loss,
                    self._parameters,
                    flat[some],
                    owner[some],
                    self._outcomes,
                    self._mass,
                )
            )
            for some in rows.reshape(-1, at_once)
        ]
        means = np.concatenate(pieces)[: len(flat)].reshape(points.shape[0], -1)
        if not np.all(np.isfinite(means)):
            raise ValueError(
                "The rule or the loss is not finite (NaN or inf) at some context near the data; "
                "the robust value needs both everywhere."
            )
        return means


def _serving_all(net: np.ndarray) -> np.ndarray:
    """Columns of net gains (contexts, places), chosen one by one so that the rows' best are high.

    Where a further place helps no context, the highest that are left come first.
    """
    gains = np.maximum(net, 0.0)
    reached = np.zeros(len(net))
    height = 1e-6 * net.max(axis=0)
    chosen = []
    for _ in range(min(MOST_PLACES, net.shape[1])):
        worth = np.sum(np.maximum(gains - reached[:, None], 0.0), axis=0) + height
        worth[chosen] = -np.inf
        chosen.append(int(np.argmax(worth)))
        reached = np.maximum(reached, gains[:, chosen[-1]])
    return np.array(chosen)


def _strata(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Uniform numbers on (0, 1), one in each of as many equal strata as the last axis is long."""
    return (np.arange(shape[-1]) + rng.random(shape)) / shape[-1]


@program
def _mean_losses(
    rule: FittedRule,
    loss: Loss,
    parameters: Float[Array, "k q"] | None,
    points: Float[Array, "p d"],
    owner: Int[Array, " p"],
    outcomes: Float[Array, "k n y"],
    mass: Float[Array, "k n"],
) -> Float[Array, " p"]:
    """Mean loss of each point's owner's outcomes under the decision at the point."""
    z = decide(rule, points)
    loss = by_row(loss, None if parameters is None else parameters[owner])
    return jnp.sum(mass[owner] * loss(z[:, None, :], outcomes[owner]), axis=1)
