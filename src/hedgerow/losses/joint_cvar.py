"""CVaR with its threshold as the first decision (η, z): what training sees.

    Ψ_η(z, y) = ω Ψ(z, y) + (1 − ω)·( η + (Ψ(z, y) − η)⁺/α )

``CVaR`` says what it is. Here the threshold is learned along with the decisions: it starts at the
value at risk of the best constant decision, is counted in units of the loss, and everything that
CVaR knows at a threshold is asked at each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from hedgerow.decisions import DecisionSet, Free, Product
from hedgerow.describe.parts import LossDescription
from hedgerow.kernels import AbstractKernel
from hedgerow.losses.base import ClosedMoments, Loss, RescaledLoss, namespace, thinned
from hedgerow.losses.best_constant import descend_to_best
from hedgerow.losses.cost_columns import named_columns
from hedgerow.losses.recourse import minimise_mean
from hedgerow.programs import program

if TYPE_CHECKING:
    from hedgerow.losses.cvar import CVaR

SMALL = 1e-2
"""Of what one unit of outcome costs: a threshold is not counted in less."""


class JointCVaR(Loss):
    """CVaR with its threshold as the first decision (η, z): what training sees."""

    traced = ("given",)
    given: CVaR

    def check(self) -> None:
        """What it is of."""
        self.given.check()

    def __call__(self, z: Any, y: Any) -> Any:
        """Ψ_η of decisions (η, z)."""
        z = z if isinstance(z, jax.Array) else np.asarray(z)
        return self.given.mixed(cost_of(self.given.loss, z[..., 1:], y), z[..., 0])

    @property
    def thresholds(self) -> int:
        """One."""
        return 1

    @property
    def terms(self) -> int:
        """As the loss itself."""
        return self.given.terms

    def pool(self) -> Any:
        """That of the loss itself."""
        own = self.given.loss.pool()
        return own and CVaRPool(
            own, 1, lambda loss: self.replace(given=self.given.replace(loss=loss))
        )

    def best_thresholds(self, z: np.ndarray, y: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """The value at risk of what decisions z (rows, k) cost."""
        costs = np.asarray(self.given.loss(z, y), np.float64)
        level = max(1 - float(self.given.tail) - 1e-12, 0.0)
        return np.array([np.quantile(costs, level, method="inverted_cdf", weights=mass)])

    def description(self, unit: str = "") -> LossDescription:
        """As of CVaR."""
        return self.given.description(unit)

    def support_for(self, n_outcomes: int) -> tuple[np.ndarray, np.ndarray] | None:
        """That of the loss itself."""
        return self.given.support_for(n_outcomes)

    def decisions_for(self, n_outcomes: int) -> DecisionSet:
        """A free threshold, and what the loss itself decides."""
        return Product(Free(1), self.given.decisions_for(n_outcomes))

    def decided_for(self, n_outcomes: int) -> DecisionSet:
        """What the loss itself decides."""
        return self.given.decisions_for(n_outcomes)

    def decision_names(self, outcomes: Sequence[str]) -> list[str] | None:
        """The threshold's comes first."""
        own = self.given.decision_names(outcomes)
        count = self.given.decisions_for(len(outcomes)).dimension
        if own is None and count != len(outcomes):
            return None
        return ["threshold", *(own or outcomes)]

    def best_constant(self, outcomes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return (η, z) for the z with the least CVaR, by descent; η is its value at risk."""
        outcomes, weights = thinned(outcomes, weights)
        share = weights / weights.sum()
        decision_set = self.given.decisions_for(outcomes.shape[1])

        def risk(decision: Array) -> Array:
            return self.given.risk_of(self.given.loss(decision, jnp.asarray(outcomes)), share)

        with jax.enable_x64(True):
            several = program(jax.vmap(risk))
            found = descend_to_best(
                lambda z: np.asarray(several(jnp.asarray(z))), risk, decision_set
            )
        return self._polished(found, outcomes, share)

    def _polished(self, found: np.ndarray, outcomes: np.ndarray, share: np.ndarray) -> np.ndarray:
        """The threshold with a decision, and both improved by cutting planes if that helps.

        Descent stops at kinks; planes end exactly there where costs are piecewise linear.
        """

        def joined(z: np.ndarray) -> np.ndarray:
            rows = np.broadcast_to(z, (len(outcomes), len(z)))
            return np.concatenate([self.best_thresholds(rows, outcomes, share), z])

        with jax.enable_x64(True):
            rows = program(jax.vmap(jax.value_and_grad(lambda z, y: self(z, y)), (None, 0)))

            def evaluate(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                losses, slopes = rows(jnp.asarray(z), jnp.asarray(outcomes))
                return np.asarray(losses), np.asarray(slopes)

            def mean(z: np.ndarray) -> float:
                return float(share @ evaluate(z)[0])

            first = joined(found)
            unit = np.where(np.abs(first) > 0, np.abs(first), 1.0)
            try:
                planes = minimise_mean(
                    evaluate, share, self.decisions_for(outcomes.shape[1]), unit, first
                )
            except (RuntimeError, ValueError):  # no convex loss, which planes take it for
                return first
            second = joined(planes[1:])
            return second if mean(second) < mean(first) else first

    def decision_unit(self, outcome_unit: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """The threshold is counted like costs: its best constant, or what one unit off costs."""
        own = self.given.decision_unit(outcome_unit, constant[1:])
        unit = abs(float(constant[0]))
        if not any(named_columns(self)):
            off = np.asarray(self.given.loss(constant[None, 1:], outcome_unit[None]), np.float64)
            unit = max(unit, SMALL * abs(float(off.ravel()[0])))
        return np.concatenate([[unit or 1.0], own])

    def natural_unit(self, constant: np.ndarray, outcomes: np.ndarray, mass: np.ndarray) -> float:
        """As the loss itself."""
        return self.given.natural_unit(constant[1:], outcomes, mass)

    def in_units(
        self, outcome_unit: np.ndarray, decision_unit: np.ndarray, loss_unit: float
    ) -> Loss:
        """The loss inside in units, and the threshold in its own."""
        own = self.given.in_units(outcome_unit, decision_unit[1:], loss_unit)
        threshold = np.concatenate(
            [[decision_unit[0] / loss_unit], np.ones(len(decision_unit) - 1)]
        )
        return RescaledLoss(
            self.replace(given=own), np.ones(len(outcome_unit)), threshold, np.float64(1.0)
        )

    def closed_moments(self, kernel: AbstractKernel) -> ClosedMoments | None:
        """As CVaR at each threshold."""
        moments = self.given.moments_at(kernel)
        return moments and ClosedMoments(
            lambda z, y, t: moments.log_moment(z[..., :1], z[..., 1:], y, t),
            lambda u, z, y, t: moments.tilted_outcome(z[..., :1], u, z[..., 1:], y, t),
            4 * kernel.terms,
        )

    def best_response(self, cost: AbstractKernel) -> Callable[[Array, Array, Any], Array] | None:
        """As CVaR at each threshold."""
        respond = self.given.response_at(cost)
        return respond and (lambda z, y, penalty: respond(z[..., 0], z[..., 1:], y, penalty))

    def needed_penalty(self, cost: AbstractKernel) -> Callable[[Array], Array] | None:
        """As CVaR."""
        own = self.given.needed_penalty(cost)
        return own and (lambda z: own(z[..., 1:]))

    def smallest_penalty(
        self, cost: AbstractKernel, constant: np.ndarray, outcomes: np.ndarray
    ) -> float:
        """As CVaR."""
        return self.given.smallest_penalty(cost, constant[1:], outcomes)


def cost_of(loss: Loss, z: Any, y: Any) -> Any:
    """Cost of decisions at outcomes; of one of each a number, where a newsvendor takes rows."""
    if np.ndim(z) == np.ndim(y) == 1:
        xp = namespace(z, y)
        return loss(xp.asarray(z)[None], xp.asarray(y)[None])[0]
    return loss(z, y)


class CVaRPool:
    """What a fit grows for the loss inside, asked with the decisions that are the loss's own."""

    def __init__(self, own: Any, skipped: int, around: Callable[[Loss], Loss]) -> None:
        self._own, self._skipped, self._around = own, skipped, around

    def loss(self) -> Loss:
        """CVaR of what is known by now."""
        return self._around(self._own.loss())

    def grow(self, decisions: np.ndarray, outcomes: np.ndarray) -> Any:
        """Grow where the loss itself is asked."""
        return self._own.grow(decisions[:, self._skipped :], outcomes)
