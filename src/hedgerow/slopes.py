"""Slopes: the directions in which outcomes rise, found before training begins.

Per outcome, ridge regression of the contexts' mean outcomes on standardised contexts,

    u = (XᵀMX + α)⁻¹ XᵀM(y − ȳ),      M = diag(context mass),

with the α of least generalised cross-validation error (Golub, Heath & Wahba 1979)

    V(α) = Σ m (y − ȳ − Xu)² / (1 − tr H(α)/n)²,      n = 1/Σm², the effective number of contexts.

1 − V/var(y) says how much of an outcome the direction explains on contexts it has not seen, and
with it how often a rule should begin by looking that way (``rules.soft_forest``).
"""

from __future__ import annotations

import numpy as np

from hedgerow.nominal import NominalDistribution
from hedgerow.rules.base import Slopes
from hedgerow.units import Units

SHRINKAGES = np.logspace(-4, 2, 25)
"""α, in units of the mean variance of a standardised feature."""


def outcome_slopes(nominal: NominalDistribution, units: Units) -> Slopes:
    """Return unit-variance directions, one per outcome, and how often each deserves a look."""
    mass = nominal.context_mass
    contexts = units.contexts(nominal.contexts, np.float64)
    centred = contexts - mass @ contexts
    outcomes = _mean_outcomes(nominal) / units.y_unit
    outcomes = outcomes - mass @ outcomes
    variances, axes = np.linalg.eigh(centred.T @ (mass[:, None] * centred))
    variances = np.maximum(variances, 0.0)
    scores = axes.T @ (centred.T @ (mass[:, None] * outcomes))  # (axis, outcome)
    spread = mass @ outcomes**2
    effective = 1 / np.sum(mass**2)
    slopes = np.zeros((outcomes.shape[1], contexts.shape[1]))
    explained = np.zeros(outcomes.shape[1])
    for shrinkage in SHRINKAGES:
        shrunk = 1 / (variances + shrinkage)
        freedom = np.sum(variances * shrunk)
        if freedom >= effective:
            continue
        kept = (shrunk * (2 - variances * shrunk)) @ scores**2  # variance that the fit takes away
        unseen = (spread - kept) / (1 - freedom / effective) ** 2
        share = 1 - unseen / np.where(spread > 0, spread, np.inf)
        better = (share > explained) & (spread > 0)
        slopes[better] = (axes @ (shrunk[:, None] * scores)).T[better]
        explained = np.where(better, share, explained)
    size = np.sqrt(np.einsum("kd,kd->k", slopes @ axes * variances, slopes @ axes))
    usable = size > 0
    directions = slopes / np.where(usable, size, 1.0)[:, None]
    return Slopes(directions.astype(np.float32), np.where(usable, explained, 0).astype(np.float32))


def _mean_outcomes(nominal: NominalDistribution) -> np.ndarray:
    """E[y | x̂_k], (contexts, outcomes)."""
    weighted = nominal.entry_mass[:, None] * nominal.outcomes[nominal.entry_outcome]
    return np.add.reduceat(weighted, nominal.start, axis=0)
