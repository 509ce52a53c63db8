"""Worst cases that are discrete: points moved, or reweighted, or left as they are.

Wasserstein:         each nominal point at its maximiser              (paper: lem-worst-causal)
Reweighting:         each nominal point with dF/dΨ as its weight; for KL that is ∝ P̂·exp(Ψ/λ)
                     (paper: lem-worst-kl), for ERM the nominal weight
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow import _checks
from hedgerow.certify.value import Evaluation
from hedgerow.certify.worst_cases.base import Draws, WorstCase, rows, to_users
from hedgerow.describe.display import Facts


@dataclass(frozen=True, repr=False)
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

    def _facts(self) -> Facts:
        moved = "moved and weighted" if self.has_moved() else "weighted"
        return [*super()._facts(), ("points", f"{len(self.weights):,}, {moved}")]

    def points(self) -> DiscreteWorstCase:
        """The worst case itself."""
        return self

    def has_moved(self) -> bool:
        """Whether any point lies elsewhere than its nominal one."""
        return bool(np.any(self.x != self.from_x) or np.any(self.y != self.from_y))

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


def reweighted(found: Evaluation) -> DiscreteWorstCase:
    """The nominal points where they are, with the weights that attain the value."""
    nominal = found.problem.nominal
    owner = nominal.entry_context
    x, y = nominal.contexts[owner], nominal.outcomes[nominal.entry_outcome]
    weights = found.dual.weights
    if found.budget is not None and found.robust.discrepancy != -found.dual.slope:  # it jumps there
        weights = sum(s * found.moments.at(p).weights for s, p in _mixture(found))
    weights = np.asarray(weights)[owner, nominal.entry_place]
    return DiscreteWorstCase(found.robust, x, y, weights / weights.sum(), x, y, owner)


def moved(found: Evaluation) -> DiscreteWorstCase:
    """Each nominal point at its maximiser; under a radius, a mixture of two penalties'."""
    nominal = found.problem.nominal
    owner = nominal.entry_context
    from_x, from_y = nominal.contexts[owner], nominal.outcomes[nominal.entry_outcome]
    weights = nominal.joint_mass() / nominal.joint_mass().sum()
    shares, penalties = zip(*_mixture(found), strict=True)
    points = [_moved(found, penalty) for penalty in penalties]
    return DiscreteWorstCase(
        found.robust,
        x=np.concatenate([x for x, _ in points]),
        y=np.concatenate([y for _, y in points]),
        weights=np.concatenate([share * weights for share in shares]),
        from_x=np.tile(from_x, (len(points), 1)),
        from_y=np.tile(from_y, (len(points), 1)),
        source=np.tile(owner, len(points)),
    )


def _mixture(found: Evaluation) -> list[tuple[float, float]]:
    """Shares and penalties whose maximisers together use exactly what a radius allows.

    At the best penalty a context may have two equally good maximisers, one nearer and one further
    than the radius allows on average; a little more and a little less penalty tell them apart.
    """
    penalty, budget = found.penalty, found.budget
    if penalty is None or budget is None:
        return [(1.0, penalty or 1.0)]
    more, less = penalty * (1 + 1e-6), penalty * (1 - 1e-6)
    near, far = (-found.moments.at(p).slope for p in (more, less))
    if not near < budget.excess < far:
        return [(1.0, penalty)]
    share = (budget.excess - near) / (far - near)
    return [(1 - share, more), (share, less)]


def _moved(found: Evaluation, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """Where each entry of the nominal distribution is moved at a penalty, in the data's units."""
    nominal, units = found.problem.nominal, found.problem.units
    rows, most = len(nominal.contexts), nominal.most_outcomes
    x = np.empty((rows, most, nominal.contexts.shape[1]))
    y = np.empty((rows, most, len(units.y_unit)))
    for some, _, perturbed in found.moments.pieces(penalty):
        if perturbed.outcomes is not None:
            # one point for all outcomes or one for each; outcomes have room for more than there are
            x[some] = np.asarray(perturbed.points)[0, :, :most]
            y[some] = np.asarray(perturbed.outcomes)[0, :, :most, 0]
    owner, place = nominal.entry_context, nominal.entry_place
    return to_users(units, x[owner, place], nominal.contexts[owner]), y[owner, place] * units.y_unit
