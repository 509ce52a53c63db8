"""Worst cases that are discrete: points moved, or reweighted, or left as they are.

Causal Wasserstein:  each nominal point at its maximiser              (paper: lem-worst-causal)
KL:                  weights ∝ P̂·exp(Ψ/λ) at the nominal points       (paper: lem-worst-kl)
ERM:                 the nominal distribution itself
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow import _checks
from hedgerow.ambiguity.problem import Problem
from hedgerow.certify.moments import Moments
from hedgerow.certify.value import Certificate
from hedgerow.certify.worst_cases.base import Draws, WorstCase, rows, to_users


@dataclass(frozen=True)
class DiscreteWorstCase(WorstCase):
    """Finitely many points, each moved from (or left at) a nominal one, with new weights.

    Attributes
    ----------
    x, y : (points, features), (points, outcomes)
        Where the points are.
    weights : (points,)
        Their masses, which sum to 1.
    from_x, from_y : (points, features), (points, outcomes)
        The nominal points they were moved from: arrows run from there.
    source : (points,)
        The context of the nominal distribution each belongs to.
    """

    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    from_x: np.ndarray
    from_y: np.ndarray
    source: np.ndarray

    def density(self, x: Any, y: Any) -> np.ndarray:
        """Mass at exactly these points."""
        x, y = rows("x", x, self.x.shape[1]), rows("y", y, self.y.shape[1])
        return self._mass_at(np.hstack([self.x, self.y]), np.hstack([x, y]))

    def marginal_x(self, x: Any) -> np.ndarray:
        """Mass of exactly these contexts."""
        return self._mass_at(self.x, rows("x", x, self.x.shape[1]))

    def marginal_y(self, y: Any) -> np.ndarray:
        """Mass of exactly these outcomes."""
        return self._mass_at(self.y, rows("y", y, self.y.shape[1]))

    def sample(self, n: int, seed: int = 0) -> Draws:
        """Draw n of the points by their weights."""
        rng = np.random.default_rng(_checks.count("seed", seed, 0))
        drawn = rng.choice(len(self.weights), _checks.count("n", n), p=self.weights)
        return Draws.of(self.x[drawn], self.y[drawn], self.source[drawn], np.inf)

    def _mass_at(self, support: np.ndarray, points: np.ndarray) -> np.ndarray:
        mass: dict[bytes, float] = {}
        for row, weight in zip(support + 0.0, self.weights, strict=True):  # -0.0 becomes 0.0
            mass[row.tobytes()] = mass.get(row.tobytes(), 0.0) + weight
        return np.array([mass.get(row.tobytes(), 0.0) for row in points + 0.0])


def discrete_worst_case(problem: Problem, certificate: Certificate) -> DiscreteWorstCase:
    """The nominal points, reweighted (KL), moved (Causal Wasserstein) or as they are (ERM)."""
    nominal, moments, levels = problem.nominal, certificate.moments, certificate.levels
    owner = nominal.entry_context
    from_x, from_y = nominal.contexts[owner], nominal.outcomes[nominal.entry_outcome]
    weights = nominal.joint_mass()
    if moments.model.pooled:
        exponents = levels.log_moments[owner, nominal.entry_place]
        weights = weights * np.exp(exponents - exponents.max())
    weights = weights / weights.sum()
    if not moments.model.spreads_by_penalty:
        return DiscreteWorstCase(certificate.robust, from_x, from_y, weights, from_x, from_y, owner)
    shares, penalties = zip(*_mixture(certificate), strict=True)
    moved = [_moved(problem, moments, penalty) for penalty in penalties]
    return DiscreteWorstCase(
        certificate.robust,
        x=np.concatenate([x for x, _ in moved]),
        y=np.concatenate([y for _, y in moved]),
        weights=np.concatenate([share * weights for share in shares]),
        from_x=np.tile(from_x, (len(moved), 1)),
        from_y=np.tile(from_y, (len(moved), 1)),
        source=np.tile(owner, len(moved)),
    )


def _mixture(certificate: Certificate) -> list[tuple[float, float]]:
    """Shares and penalties whose maximisers together use exactly what a radius allows.

    At the best penalty a context may have two equally good maximisers, one nearer and one further
    than the radius allows on average; a little more and a little less penalty tell them apart.
    """
    penalty, allowance = certificate.penalty, certificate.allowance
    if penalty is None or allowance is None:
        return [(1.0, penalty or 1.0)]
    more, less = penalty * (1 + 1e-6), penalty * (1 - 1e-6)
    near, far = (-certificate.moments.at(p).slope for p in (more, less))
    if not near < allowance.excess < far:
        return [(1.0, penalty)]
    share = (allowance.excess - near) / (far - near)
    return [(1 - share, more), (share, less)]


def _moved(problem: Problem, moments: Moments, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """Where each entry of the nominal distribution is moved at a penalty, in the data's units."""
    nominal, units = problem.nominal, problem.units
    x = np.empty_like(nominal.contexts)
    y = np.empty((len(nominal.contexts), nominal.most_outcomes, len(units.y_unit)))
    for some, _, _, spread in moments.pieces(penalty):
        if spread.outcomes is not None:
            x[some] = np.asarray(spread.points)[0, :, 0]
            y[some] = np.asarray(spread.outcomes)[0, :, :, 0]
    owner, place = nominal.entry_context, nominal.entry_place
    return to_users(units, x, nominal.contexts)[owner], y[owner, place] * units.y_unit
