"""Stochastically corrected compositional gradients (Chen, Sun & Yin 2021; paper: algo-SCSC-ML).

Before mixing, what is remembered is brought up to date by its drift since it was remembered:

    u ← log( (1−β)·e^{u + drift} + β·e^now ).

The published correction is (1−β)(y + t(θ_k) − t(θ_{k−1})) + β t(θ_k). Here it is taken in the log
domain, a ratio instead of a difference, where it cannot make the tracked expectation negative.

``trackers="per-context"`` keeps one u for each logarithm in F, which is what the gradient of F
needs. A context is visited once in many steps, so its drift since the *last visit* counts; it is
measured at the nominal point, whose value then and now is known exactly. Without it (``SCGD``)
trackers go stale, and contexts that have improved since are held down by their own past.

``trackers="shared"`` keeps a single u, as Algorithm 1 is printed: with one outcome per context its
y₁ and y₂ follow one recursion, and what it minimises is T·log E_x̂ E_ξ exp(Ψ/T), not F. Its drift
is that of this step's nodes since the last step, as published. It is here so that the printed
algorithm can be run and compared.
"""

from __future__ import annotations

from typing import Any

from jaxtyping import Array, Float

from hedgerow import _checks
from hedgerow.solvers.scgd import log_mix
from hedgerow.solvers.stochastic import StochasticSolver


class SCSC(StochasticSolver):
    """Corrected tracking. Parameters as for every solver, and ``trackers``.

    Parameters
    ----------
    trackers : {"per-context", "shared"}
        One tracker per logarithm of the objective, or the printed algorithm's single one.
    """

    def __init__(
        self,
        trackers: str = "per-context",
        steps: int = 500,
        batch: int = 64,
        nodes: Any = 4,
        outcome_nodes: Any = None,
        outcomes_per_context: int = 32,
        learning_rate: float = 0.01,
        decay: str = "cosine",
        averaging: float = 0.0,
        optimizer: Any = None,
        tracking: float = 0.2,
        tolerance: float = 0.0,
        stop_after: int | None = None,
    ) -> None:
        self.trackers = trackers
        super().__init__(
            steps=steps,
            batch=batch,
            nodes=nodes,
            outcome_nodes=outcome_nodes,
            outcomes_per_context=outcomes_per_context,
            learning_rate=learning_rate,
            decay=decay,
            averaging=averaging,
            optimizer=optimizer,
            tracking=tracking,
            tolerance=tolerance,
            stop_after=stop_after,
        )

    def check(self) -> None:
        """The kind of trackers is one of two."""
        super().check()
        _checks.one_of("trackers", self.trackers, ("per-context", "shared"))

    @property
    def shares_tracker(self) -> bool:
        """Whether a single tracker stands in for all."""
        return self.trackers == "shared"

    def correction(self, pooled: bool) -> str:
        """Since the last step if visited at every step, else since the last visit."""
        return "step" if pooled else "visit"

    def estimate(
        self, now: Float[Array, "*g"], remembered: Float[Array, "*g"], share: Float[Array, ""]
    ) -> Float[Array, "*g"]:
        """Mix this step's log-average into the corrected one."""
        return log_mix(now, remembered, share)
