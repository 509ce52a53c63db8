"""Randomised multilevel Monte Carlo: gradients without bias, from few nodes on average.

Nested sampling, plus a correction of random depth (``multilevel.py``).
"""

from __future__ import annotations

from typing import ClassVar

from jaxtyping import Array, Float

from hedgerow.solvers.stochastic import StochasticSolver


class MLMC(StochasticSolver):
    """Unbiased stochastic gradients. ``tracking`` is not used.

    Logarithms of averages get more nodes at random, suprema (``CausalWasserstein``) more steps of
    ascent. The means are exact if each outcome's log-moment is closed form or each context has one
    outcome, and contexts bring all their outcomes; otherwise the averages over ``outcome_nodes``
    and ``outcomes_per_context`` keep a bias of their own.
    """

    remembers: ClassVar[bool] = False
    debiases: ClassVar[bool] = True

    def estimate(
        self, now: Float[Array, "*g"], remembered: Float[Array, "*g"], share: Float[Array, ""]
    ) -> Float[Array, "*g"]:
        """Take this step's log-average as it is; what it lacks is added afterwards."""
        return now
