"""One policy for all rows of a panel: what it is trained with, and a mean of several forests.

Defaults for pooled rows, where the template leaves them open (benchmarks/panel_tuning.py):

- SEEDS trainings from different beginnings are averaged. A mean of forests is a forest of all
  their trees, so nothing is lost of what a forest offers.
- Beyond MANY rows trees are DEPTH deep, one question more than elsewhere: series differ in what
  matters to them, and a mean of forests forgives what each has learned too well.
- Beyond MANY rows nothing is hedged, either: there it costs a little and protects from little.
  Where data are scarce the default hedge pays, and stays, and training sees each row half as
  often as elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from hedgerow._warnings import ConstantFeatureWarning, VacuousCausalityWarning
from hedgerow.ambiguity import ERM, Calibrated
from hedgerow.describe.numbers import listed
from hedgerow.estimator import RobustPolicy
from hedgerow.fitting import default_ambiguity
from hedgerow.rules import SoftForest
from hedgerow.solvers import StochasticSolver, default_solver

SEEDS, DEPTH = 6, 3
MANY = 5_000
"""Rows beyond which trees are deeper and nothing is hedged."""
FEWEST_STEPS = 500


def learn_pooled(
    template: RobustPolicy,
    contexts: Any,
    outcomes: np.ndarray,
    weights: np.ndarray,
    censored: np.ndarray | None,
    seeds: int = SEEDS,
    made: Sequence[str] = (),
) -> RobustPolicy:
    """Train on all rows, from several beginnings if the rule has a mean, and return that.

    ``made`` are features that nobody chose, and nobody need be told if they never vary.
    """
    read: list[Any] = []
    model = template.ambiguity
    if model is not None and isinstance(model.radius_wish(), Calibrated):
        raise ValueError(
            "radius='calibrated' counts blocks of rows in time, and the rows of a panel are many "
            "series at once: give a number, or 'auto', and ask hedgerow.calibrate(panel, …) what "
            "all series will cost together."
        )

    def fit(own: RobustPolicy) -> RobustPolicy:
        if own.ambiguity is not None and own.ambiguity.radius_wish() is not None:
            return own.fit(contexts, outcomes, sample_weight=weights, censored=censored)
        if not read:  # once for all beginnings
            read.append((own.read_history(contexts, outcomes, weights, censored), own.ranges_))
        history, own.ranges_ = read[0]
        return own.train(*history)

    return mean_of_fits(template, len(outcomes), fit, seeds, made)


def mean_of_fits(
    template: RobustPolicy,
    rows: int,
    fit: Callable[[RobustPolicy], RobustPolicy],
    seeds: int = SEEDS,
    made: Sequence[str] = (),
) -> RobustPolicy:
    """Fill in what the template leaves open for so many rows, fit it several times, and average."""
    policy: Any = clone(template)
    if policy.ambiguity is None:
        policy.ambiguity = ERM() if rows > MANY else default_ambiguity(rows)
    if policy.rule is None:
        policy.rule = SoftForest(depth=DEPTH) if rows > MANY else SoftForest()
    rule = policy.rule
    together = rule.mean_of(seeds)
    if policy.solver is None and rows <= MANY:
        solver: StochasticSolver = default_solver(policy.ambiguity, rows)
        policy.solver = solver.set_params(steps=max(int(solver.steps) // 2, FEWEST_STEPS))
    first = policy.random_state if isinstance(policy.random_state, int | np.integer) else 0
    found = []
    for nth in range(1 if together is None else seeds):
        own: Any = clone(policy)
        own.set_params(random_state=int(first) + nth)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantFeatureWarning)
            if template.ambiguity is None:  # nobody asked for a causal model
                warnings.simplefilter("ignore", VacuousCausalityWarning)
            if nth:  # said once
                warnings.simplefilter("ignore")
            found.append(fit(own))
    _tell_constant(found[0], made)
    learned = [each for each in found if each.status_ != "constant"]
    if together is None or len(learned) < seeds:
        return (learned or found)[0]
    mean = learned[0].rule_.averaged([each.rule_ for each in learned[1:]])
    return learned[0].adopt(mean, together)


def _tell_constant(policy: RobustPolicy, made: Sequence[str]) -> None:
    """Warn of features that never vary, but for those that nobody chose."""
    never = policy.feature_names_in_[policy.units_.x_factor == 0]
    told = [str(name) for name in never if name not in made]
    if told:
        warnings.warn(
            f"Feature(s) {listed(told)} never vary in the training data, or hardly, and are "
            "ignored.",
            ConstantFeatureWarning,
            stacklevel=5,
        )
