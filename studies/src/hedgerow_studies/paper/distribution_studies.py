"""Studies without training: transport plans (fig1) and worst-case distributions (fig2).

Their figures are drawn by ``hedgerow.plots`` from the same problems; the tables say in numbers what
the figures show.
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri

from hedgerow.ambiguity import KL, CausalSinkhorn, CausalWasserstein, PenalisedAmbiguity, Sinkhorn
from hedgerow.certify.worst_cases import worst_case
from hedgerow.data.nominal import AdaptedNominal
from hedgerow.datasets import make_newsvendor
from hedgerow.estimator import RobustPolicy
from hedgerow.losses import Newsvendor
from hedgerow.transport import causal_sinkhorn, sinkhorn
from hedgerow.transport.examples import example_measures
from hedgerow_studies.paper.study import Cell, Row, Study
from hedgerow_studies.trials.newsvendor_trial import HOLDING, STOCKOUT

EPSILONS = (0.0, 0.5, 5.0)
PLAIN_EPSILON = 0.5
ROWS, CELLS = 100, 10
MODELS: dict[str, PenalisedAmbiguity] = {
    "Causal-SDRO": CausalSinkhorn(penalty=0.5, epsilon=0.05, order=2),
    "SDRO": Sinkhorn(penalty=0.5, epsilon=0.05, order=2),
    "Causal-WDRO": CausalWasserstein(penalty=0.5, order=2),
    "KL-DRO": KL(penalty=0.5),
}


class Plans(Study):
    """Causal and plain plans between the same two measures."""

    what: ClassVar[str] = "Transport plans"
    family: ClassVar[str | None] = "distributions"

    def cells(self, scale: str) -> list[Cell]:
        """The plain plan, and causal ones at three weights of the entropy."""
        points = {"tiny": 15, "quick": 61, "full": 61}[scale]
        plain = {"causal": False, "epsilon": PLAIN_EPSILON, "points": points}
        return [plain, *({"causal": True, "epsilon": e, "points": points} for e in EPSILONS)]

    def run(self, cell: Cell) -> list[Row]:
        """What the plan costs, how well it keeps its constraints, and how far x follows y."""
        source, target = example_measures(cell["points"])
        solve = causal_sinkhorn if cell["causal"] else sinkhorn
        found = solve(source, target, cell["epsilon"])
        given = [found.context_plan_given(outcome) for outcome in (-1.5, 1.5)]
        x = found.target_contexts[:, 0]
        means = [float(plan.sum(axis=0) @ x / plan.sum()) for plan in given]
        return [
            {
                "transport_cost": float(found.transport_cost),
                "value": float(found.value),
                "marginal_error": float(found.marginal_error),
                "causality_error": float(found.causality_error),
                "x_given_low": means[0],
                "x_given_high": means[1],
            }
        ]


class WorstCases(Study):
    """Distributions that are worst for the oracle's rule, under four models."""

    what: ClassVar[str] = "Worst-case distributions"
    family: ClassVar[str | None] = "distributions"

    def cells(self, scale: str) -> list[Cell]:
        """One per model."""
        return [{"model": name} for name in MODELS]

    def run(self, cell: Cell) -> list[Row]:
        """The loss that the worst case attains, the one expected, and the worst case's spread."""
        policy, X, Y = oracle_policy()
        worst = worst_case(policy, X, Y, ambiguity=MODELS[cell["model"]])
        draws = worst.sample(20_000, seed=0)
        return [
            {
                "nominal_loss": float(policy.losses(X, Y).mean()),
                "worst_loss": float(worst.expected_loss()),
                "x_std": float(np.std(draws.x)),
                "y_std": float(np.std(draws.y)),
            }
        ]


@cache
def oracle_policy() -> tuple[RobustPolicy, np.ndarray, np.ndarray]:
    """The best rule there is for one covariate, on contexts gathered in cells, and its data.

    Causality only matters where a context has several outcomes, hence the cells.
    """
    data = make_newsvendor(ROWS, 1, random_state=0)

    def oracle(x: jax.Array) -> jax.Array:
        """The b/(h+b) quantile of demand, as ``hedgerow.datasets`` states it."""
        index = data.beta[0] * x[0]
        signal = 1.7 * (jnp.sin(2 * index) + 2 * jnp.exp(-16 * index**2) + 1)
        return signal - ndtri(HOLDING / (HOLDING + STOCKOUT) * ndtr(signal))

    loss = Newsvendor(HOLDING, STOCKOUT)
    policy = RobustPolicy.from_function(
        oracle, loss, data.data, data.target, nominal=AdaptedNominal(cells=CELLS)
    )
    return policy, data.data, data.target
