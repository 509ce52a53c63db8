"""How much moving contexts can pay, how far, and where to: a scan before nodes are placed.

    net(x̂, x) = E Ψ(f(x), ŷ) − E Ψ(f(x̂), ŷ) − λ·‖(x − x̂)/s_x‖_p^p

is evaluated from some contexts to other contexts, and along lines and rays on which a single
feature changes, well beyond the data. Kernels are narrow; what pays may be many of their widths
away, and nodes drawn from a kernel would never show it.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hedgerow.ambiguity.base import decide
from hedgerow.ambiguity.transport import kernels_of
from hedgerow.losses import Loss
from hedgerow.moments import Problem
from hedgerow.nodes import MonteCarlo
from hedgerow.rules import FittedRule

ASKED = 48
"""Contexts from which moves are tried."""
OTHERS, BASES = 48, 6
"""Contexts to which moves are tried, and from which rays and lines start."""
DISTANCES = np.geomspace(8.0, 64.0, 7)
"""Along rays, in units of the scales."""
LINE, LONG_LINE, LINE_BEYOND = 60, 600, 8.0
"""Points on a line, on the line of a single feature, and how far lines leave the data."""
NEGLIGIBLE = 30.0
"""Moves whose loss exceeds this many temperatures carry no mass."""
MOST_PLACES, MOST_MOVES = 12, 12
PAIRS_AT_ONCE = 2**20


class Outlook(NamedTuple):
    """What the scan saw, in working units.

    ``net`` is the largest net gain, ``reach`` the distance in units of the scales beyond which no
    move that was tried carries mass. ``places`` (p, d) are where the best moves lead; ``moved``
    (p, d) says which of their features matter, the others staying at home.
    """

    net: float
    reach: float
    places: np.ndarray
    moved: np.ndarray


def outlook(problem: Problem, penalty: float, temperature: float) -> Outlook:
    """Scan around a problem's data at a penalty, in working units."""
    nominal, units = problem.nominal, problem.units
    contexts = units.contexts(nominal.contexts, np.float64)
    setting = problem.setting(MonteCarlo(1), None)
    kernel = kernels_of(setting).context
    scale = np.asarray(kernel.scale)
    bases = _spaced(len(contexts), BASES)
    asked = np.union1d(_spaced(len(contexts), ASKED), bases)
    lines = _lines(contexts, contexts[bases], scale)
    others = contexts[_spaced(len(contexts), OTHERS)]
    tried = np.concatenate([contexts[asked], lines.reshape(-1, contexts.shape[1]), others])
    entries = np.flatnonzero(np.isin(nominal.entry_context, asked))
    outcomes = units.outcomes(nominal.outcomes, np.float64)[nominal.entry_outcome[entries]]
    mass = np.zeros((len(entries), len(asked)))
    column = np.searchsorted(asked, nominal.entry_context[entries])
    mass[np.arange(len(entries)), column] = nominal.entry_mass[entries]
    at_once = max(1, PAIRS_AT_ONCE // len(entries))
    pieces = [tried[i : i + at_once] for i in range(0, len(tried), at_once)]
    means = np.concatenate(
        [
            np.asarray(_mean_losses(problem.rule, setting.loss, piece, outcomes, mass))
            for piece in pieces
        ]
    )
    if not np.all(np.isfinite(means)):
        raise ValueError(
            "The rule or the loss is not finite (NaN or inf) at some context near the data; the "
            "robust value needs both everywhere."
        )
    free = scale > 0
    gaps = np.abs((tried[:, None, free] - contexts[asked][None][:, :, free]) / scale[free])
    cost = np.sum(gaps**kernel.order, axis=-1)
    net = means - np.diagonal(means[: len(asked)]) - penalty * cost
    worthwhile = net > -NEGLIGIBLE * temperature
    best = np.argmax(net, axis=0)
    ranked = list(dict.fromkeys(best[np.argsort(-net[best, np.arange(len(asked))])]))
    places, moved = tried[ranked[:MOST_PLACES]], np.ones((MOST_PLACES, len(scale)), bool)
    along = net[len(asked) : len(asked) + lines[..., 0].size].reshape(*lines.shape[:3], -1)
    along = along[np.arange(len(bases)), :, :, np.searchsorted(asked, bases)]
    one_feature = _best_on_lines(lines, along, np.flatnonzero(free), len(scale))
    return Outlook(
        net=float(max(net.max(), 0.0)),
        reach=float(np.max(np.where(worthwhile, cost ** (1 / kernel.order), 0.0))),
        places=np.concatenate([places, one_feature[0]]),
        moved=np.concatenate([moved[: len(places)], one_feature[1]]),
    )


def _best_on_lines(
    lines: np.ndarray, net: np.ndarray, free: np.ndarray, features: int
) -> tuple[np.ndarray, np.ndarray]:
    """The best point of every line, best lines first, with the one feature that was changed."""
    top = np.argmax(net, axis=2)
    height = np.take_along_axis(net, top[..., None], axis=2)[..., 0]
    order = np.argsort(-height, axis=None)[:MOST_MOVES]
    base, place = np.unravel_index(order, height.shape)
    points = lines[base, place, top[base, place]]
    moved = np.zeros((len(points), features), bool)
    moved[np.arange(len(points)), free[place]] = True
    return points, moved


@jax.jit
def _mean_losses(
    rule: FittedRule,
    loss: Loss,
    points: Float[Array, "p d"],
    outcomes: Float[Array, "e y"],
    mass: Float[Array, "e k"],
) -> Float[Array, "p k"]:
    """Mean loss of each asked context's outcomes under the decision at each point."""
    z = decide(rule, jnp.asarray(points))
    return loss(z[:, None, :], outcomes[None]) @ mass


def _lines(contexts: np.ndarray, bases: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Points (bases, free features, points, features) on lines and rays along single features."""
    free = np.flatnonzero(scale > 0)
    low, high = contexts.min(axis=0), contexts.max(axis=0)
    points = LONG_LINE if len(scale) == 1 else LINE
    lines = np.repeat(bases[:, None, None], len(free), axis=1)
    lines = np.repeat(lines, points + 2 * len(DISTANCES), axis=2)
    for place, j in enumerate(free):
        beyond = LINE_BEYOND * scale[j]
        line = np.linspace(low[j] - beyond, high[j] + beyond, points)
        far = np.concatenate([low[j] - DISTANCES * scale[j], high[j] + DISTANCES * scale[j]])
        lines[:, place, :, j] = np.concatenate([line, far])
    return lines


def _spaced(total: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, total - 1, min(total, most)).astype(int))
