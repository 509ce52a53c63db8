"""Sinkhorn's iteration on the scalings of the target, accelerated and never led astray.

    log b ← log b + log q − log(second marginal of the plan that b defines)

climbs the concave dual D(b) = Σ q·log b − Σ_routes mass·log Z(b) (in units of
epsilon), whose gradient is the error of the second marginal. Four additions:

- Anderson mixing of the last sweeps (Anderson 1965) takes 3 to 10 times fewer of them.
- Where the residual hardly changes from sweep to sweep, as it does on the plateaus of a small
  epsilon, steps along it double.
- A step that lowers D is taken back and replaced by the plain one, which never lowers it.
- A small epsilon starts from the scalings of a larger one: log b scales like 1/epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from hedgerow.transport.sweep_forms import Form, form
from hedgerow.transport.transport_problem import TransportProblem

MEMORY = 12
"""Sweeps that are mixed: of 5, 8 and 12, the one that took fewest sweeps at small epsilons."""
RATIO = 4.0
"""Each epsilon on the way down is this much smaller than the one before."""
WARM_TOLERANCE = 1e-2
"""Error of the second marginal at which the next epsilon may start."""
WARM_SWEEPS = 200
"""Sweeps after which the next epsilon starts in any case."""
PLATEAU = 0.2
"""A residual that changed by less than this share of itself will be the same for a while."""
ROUNDING = 1e-13
"""Relative accuracy of the dual value."""


@dataclass(frozen=True)
class FixedPoint:
    """Where the iteration ended: scalings, L1 error of the second marginal, sweeps, status."""

    log_scaling: Float[np.ndarray, " cells"]
    error: float
    sweeps: int
    status: str


class Mixing:
    """Anderson mixing: the combination of past points whose combined residual is smallest.

    Residuals are weighed by the square root of the target's mass, so that points that carry nothing
    say nothing.
    """

    def __init__(self, weight: Float[np.ndarray, " cells"]) -> None:
        self.weight = weight
        self.forget()

    def forget(self) -> None:
        """Start anew."""
        self.last: tuple[np.ndarray, np.ndarray] | None = None
        self.changes: list[np.ndarray] = []
        self.moves: list[np.ndarray] = []
        self.stride = 1.0

    def next(self, point: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Return where to go from ``point``, which a plain sweep would move by ``residual``."""
        plain = point + residual
        if self.last is not None:
            self.changes.append(self.weight * (residual - self.last[1]))
            self.moves.append(plain - self.last[0] - self.last[1])
            del self.changes[:-MEMORY], self.moves[:-MEMORY]
        self.last = (point, residual)
        if not self.changes:
            return plain
        weighed = self.weight * residual
        if np.linalg.norm(self.changes[-1]) < PLATEAU * np.linalg.norm(weighed):
            self.stride *= 2
            return point + self.stride * residual
        self.stride = 1.0
        changes = np.stack(self.changes)
        gram = changes @ changes.T
        # A trace of the identity keeps nearly parallel changes from cancelling at large size.
        gram[np.diag_indices_from(gram)] += 1e-10 * np.trace(gram) + np.finfo(float).tiny
        shares = np.linalg.solve(gram, changes @ weighed)
        return plain - shares @ np.stack(self.moves)


def solve(
    problem: TransportProblem, epsilon: float, tolerance: float, max_sweeps: int
) -> FixedPoint:
    """Find the scalings at ``epsilon`` by way of larger ones."""
    ladder = [epsilon]
    while RATIO * ladder[-1] < problem.largest_cost / 64:
        ladder.append(RATIO * ladder[-1])
    mass, sweeps = problem.target.mass, 0
    log_scaling = np.log(mass)
    # A mixed step may lead out of the range of numbers; it is taken back, and nobody need know.
    with np.errstate(over="ignore", invalid="ignore"):
        for rung in reversed(ladder[1:]):
            left = min(WARM_SWEEPS, max_sweeps - 1 - sweeps)
            goal = max(WARM_TOLERANCE, tolerance)
            found = _iterate(form(problem, rung), mass, log_scaling, goal, left)
            sweeps += found.sweeps
            log_scaling = RATIO * found.log_scaling
        last = form(problem, epsilon)
        found = _iterate(last, mass, log_scaling, tolerance, max_sweeps - sweeps)
    return replace(found, sweeps=sweeps + found.sweeps)


def _iterate(
    at_epsilon: Form, mass: np.ndarray, start: np.ndarray, tolerance: float, max_sweeps: int
) -> FixedPoint:
    """Sweep until the second marginal is met, the sweeps are used up, or numbers give out."""
    log_mass, mixing = np.log(mass), Mixing(np.sqrt(mass))
    point, best = start, FixedPoint(start, np.inf, 0, "not finite")
    reached, plain = -np.inf, start
    for sweep in range(1, max_sweeps + 1):
        log_second, normalisers = at_epsilon.sweep(point)
        gain = float(mass @ point)
        error = float(np.abs(np.exp(log_second) - mass).sum())
        dual, rounding = gain - normalisers, ROUNDING * (abs(gain) + abs(normalisers) + 1)
        if not (np.isfinite(error) and dual >= reached - rounding):
            if point is plain:  # the step that cannot lower the dual value left the numbers
                return replace(best, sweeps=sweep, status="not finite")
            mixing.forget()
            point, reached = plain, -np.inf
            continue
        if error < best.error:
            best = FixedPoint(point, error, sweep, "sweep limit")
        if error <= tolerance:
            return FixedPoint(point, error, sweep, "converged")
        residual = log_mass - log_second
        reached, plain = dual, point + residual
        point = mixing.next(point, residual)
    return replace(best, sweeps=max_sweeps)
