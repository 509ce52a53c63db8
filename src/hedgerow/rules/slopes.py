"""Slopes: the directions in which outcomes rise, found before training begins.

Per outcome, ridge regression of the contexts' mean outcomes on standardised contexts,

    u = (XᵀMX + α)⁻¹ XᵀM(y − ȳ),      M = diag(context mass),

with the α of least generalised cross-validation error (Golub, Heath & Wahba 1979)

    V(α) = Σ m (y − ȳ − Xu)² / (1 − tr H(α)/n)²,      n = 1/Σm², the effective number of contexts.

1 − V/var(y) says how much of an outcome the direction explains on contexts it has not seen, and
with it how often a rule should begin by looking that way (``rules.soft_forest``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from hedgerow.data.nominal import NominalDistribution
from hedgerow.data.spreads import Spreads
from hedgerow.data.units import Units

MOST_CONTEXTS = 10_000
FEWEST_USUAL = 0.5
SHRINKAGES = np.logspace(-4, 2, 25)
"""α, in units of the mean variance of a standardised feature."""


class Slopes(NamedTuple):
    """Directions in which outcomes rise, of unit variance, and the share of each they explain."""

    directions: Float[np.ndarray, "m d"]
    explained: Float[np.ndarray, " m"]


def outcome_slopes(nominal: NominalDistribution, units: Units) -> Slopes:
    """Return unit-variance directions, one per outcome, and how often each deserves a look.

    At most MOST_CONTEXTS contexts are looked at, evenly spaced, and none with a value that looks
    like a typo, which could turn a direction on its own.
    """
    count = len(nominal.contexts)
    seen = np.linspace(0, count - 1, min(count, MOST_CONTEXTS)).round().astype(int)
    mass = nominal.context_mass[seen]
    contexts = units.contexts(nominal.contexts[seen], np.float64)
    outcomes = _mean_outcomes(nominal)[seen] / units.y_unit
    return slopes_of(contexts, outcomes, mass)


def slopes_of(
    contexts: Float[np.ndarray, "n d"],
    outcomes: Float[np.ndarray, "n m"],
    mass: Float[np.ndarray, " n"],
) -> Slopes:
    """Return the same of standardised rows, however much each counts."""
    usual = _usual(contexts, mass) & _usual(outcomes, mass)
    if usual.mean() < FEWEST_USUAL:  # of very many columns each may have its own odd rows
        usual[:] = True
    contexts, outcomes, mass = contexts[usual], outcomes[usual], mass[usual] / mass[usual].sum()
    root = np.sqrt(mass)[:, None]
    outcomes = root * (outcomes - mass @ outcomes)
    contexts = root * (contexts - mass @ contexts)
    variances, axes = _principal(contexts)
    scores = axes @ (contexts.T @ outcomes)  # (axis, outcome)
    spread = np.sum(outcomes**2, axis=0)
    effective = 1 / np.sum(mass**2)
    slopes = np.zeros((len(axes), outcomes.shape[1]))  # along the axes
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
        slopes = np.where(better, shrunk[:, None] * scores, slopes)
        explained = np.where(better, share, explained)
    deviation = np.sqrt(variances @ slopes**2)
    usable = deviation > 0
    directions = (slopes / np.where(usable, deviation, 1.0)).T @ axes
    return Slopes(directions.astype(np.float32), np.where(usable, explained, 0).astype(np.float32))


def _principal(contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variances along principal axes, and the axes, one per row.

    By products of the columns where there are fewer of them than rows: of a tall table a singular
    value decomposition takes a hundred times as long, and the least α is far above rounding.
    """
    if contexts.shape[1] > contexts.shape[0]:
        _, sizes, axes = np.linalg.svd(contexts, full_matrices=False)
        return sizes**2, axes
    variances, axes = np.linalg.eigh(contexts.T @ contexts)
    return np.maximum(variances, 0.0), axes.T


def _usual(values: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Which rows lie within the fences of all columns."""
    return np.asarray(Spreads.measure(values, mass).within(values).all(axis=1))


def _mean_outcomes(nominal: NominalDistribution) -> np.ndarray:
    """E[y | x̂_k], (contexts, outcomes)."""
    weighted = nominal.entry_mass[:, None] * nominal.outcomes[nominal.entry_outcome]
    return np.add.reduceat(weighted, nominal.start, axis=0)
