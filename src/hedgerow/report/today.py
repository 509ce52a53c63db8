"""How bad single decisions can turn out: the robust value in the context of one row.

    v(x) = max_P { E_P Ψ(f, y) − price :  P near  Σ_i p̂_i(x)·δ(ŷ_i(x)) }

What may happen in a context is what the nominal says of it: a predicted mean and residuals, or the
outcomes of near rows, made of the rows of the report. A nominal with one outcome for each context
says nothing of it but what happened; where the policy leaves the choice to hedgerow, residuals
around a prediction stand in.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from hedgerow._warnings import HedgerowWarning
from hedgerow.ambiguity import Problem
from hedgerow.certify.value import certify
from hedgerow.data.nominal import NominalDistribution
from hedgerow.forecasts import ResidualNominal
from hedgerow.report.subject import Subject, evenly

MOST_LISTED = 60
"""Rows whose worst case is computed; evenly spaced."""
TOLERANCE = 1e-2


@dataclass(frozen=True)
class Today:
    """Usual and worst cost of the decisions on some rows."""

    rows: np.ndarray
    """Their positions."""
    usual: np.ndarray
    worst: np.ndarray
    trouble: str = ""
    """Why there are none."""

    def packed(self) -> dict[str, Any]:
        """As the page's script reads it; rows are counted from 1."""
        if self.trouble:
            return {"trouble": self.trouble}
        return {
            "rows": (self.rows + 1).tolist(),
            "usual": self.usual.tolist(),
            "worst": self.worst.tolist(),
        }


def today_of(subject: Subject, row: int | None) -> Today:
    """Compute them for evenly spaced rows and the one (from 1) that the page begins with."""
    policy = subject.policy
    if not policy.given_.description().hedges:
        return _none("It was trained without hedging, so no worst case belongs to it.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HedgerowWarning)
            problem = _conditional(subject)
            chosen = evenly(subject.rows, MOST_LISTED)
            chosen = np.union1d(chosen, [0 if row is None else row - 1])
            key = jax.random.key(0, impl="rbg")
            found = [
                certify(_alone(subject, problem, k), policy.rule_, key, TOLERANCE).robust
                for k in chosen
            ]
    except (ValueError, NotImplementedError) as error:
        return _none(f"It could not be computed on these rows: {error}")
    usual, worst = (np.array([getattr(one, n) for one in found]) for n in ("nominal", "value"))
    return Today(chosen, usual, worst)


def _conditional(subject: Subject) -> Problem:
    """The rows as a problem whose nominal tells what may happen in a context."""
    policy = subject.policy
    if np.any(subject.problem.nominal.count > 1):
        return subject.problem
    if policy.nominal is not None:
        raise ValueError(
            f"{type(policy.nominal).__name__} says of a context only what happened in it; "
            "ResidualNominal() or NeighbourNominal() say what may happen."
        )
    telling = copy.copy(policy)  # the policy itself is the reader's, and stays as it is
    telling.nominal = ResidualNominal()
    return telling.problem(subject.contexts[subject.judged], subject.outcomes[subject.judged])


def _alone(subject: Subject, problem: Problem, row: int) -> Problem:
    """The problem of one row's context: what the nominal says of it, and nothing else."""
    nominal, policy, context = problem.nominal, subject.policy, subject.contexts[row]
    apart = np.abs(nominal.contexts - context) * policy.units_.x_factor
    k = int(np.argmin(apart.sum(axis=1)))  # itself, or the centre of its cell
    entries = nominal.start[k] + np.arange(nominal.count[k])
    mass = nominal.entry_mass[entries]
    only = NominalDistribution(
        contexts=context[None],
        context_mass=np.ones(1),
        outcomes=nominal.outcomes[nominal.entry_outcome[entries]],
        start=np.zeros(1, dtype=np.int64),
        count=np.array([len(entries)]),
        entry_outcome=np.arange(len(entries)),
        entry_mass=mass / mass.sum(),
    )
    return Problem.of(only, policy.units_, policy.loss_, problem.given)


def _none(trouble: str) -> Today:
    return Today(np.zeros(0, int), np.zeros(0), np.zeros(0), trouble)
