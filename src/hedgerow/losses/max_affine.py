"""The largest of a few affine functions of decision and outcome.

    Ψ(z, y) = max_k  a_k + b_k·y + d_k·z

Every convex piecewise-linear loss has this form; a two-stage program with fixed linear recourse has
it with one piece per dual vertex (``two_stage.py``), and this is how training sees it. The worst
outcome is closed form: a maximum of suprema is the supremum of the maximum, and each piece less the
transport cost separates into coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hedgerow import _checks
from hedgerow.decisions import DecisionSet, Free
from hedgerow.kernels import AbstractKernel
from hedgerow.losses.base import Loss, declared, namespace, thinned
from hedgerow.losses.best_constant import best_size
from hedgerow.losses.recourse import minimise_mean


class MaxAffine(Loss):
    """A convex piecewise-linear loss, given by its pieces.

    Parameters
    ----------
    constant : (pieces,)
        a_k.
    outcome_slope : (pieces, outcomes)
        b_k.
    decision_slope : (pieces, decisions)
        d_k.
    decision_set : DecisionSet or None
        Where decisions lie; None: everywhere.
    outcome_support : (low, high) or None
        Where outcomes may lie; None: everywhere.

    Examples
    --------
    >>> import hedgerow as hr
    >>> pinball = hr.MaxAffine([0.0, 0.0], [[-1.0], [3.0]], [[1.0], [-3.0]])
    >>> float(pinball([2.0], [4.0]))
    6.0
    """

    traced = ("constant", "outcome_slope", "decision_slope", "decision_set")
    reads_columns = False
    constant: Any
    outcome_slope: Any
    decision_slope: Any
    _: KW_ONLY
    decision_set: DecisionSet | None = None
    outcome_support: tuple[Any, Any] | None = None

    def check(self) -> None:
        """Pieces are finite and equally many in all three arrays."""
        constant = _checks.parameter("constant", self.constant)
        if constant.ndim != 1 or not constant.size:
            raise ValueError(f"constant must hold one number per piece, got {constant.shape}.")
        for name in ("outcome_slope", "decision_slope"):
            slope = _checks.parameter(name, getattr(self, name))
            if slope.ndim != 2 or len(slope) != len(constant) or not slope.size:
                raise ValueError(
                    f"{name} must have one row per piece ({len(constant)}), got shape "
                    f"{slope.shape}."
                )
        self.decisions_for(np.shape(self.outcome_slope)[1])

    @property
    def terms(self) -> int:
        """As many as there are pieces."""
        return np.shape(self.constant)[0]

    def __call__(self, z: Any, y: Any) -> Any:
        """The largest piece at z (…, decisions) and y (…, outcomes)."""
        xp = namespace(z, y, self.constant)
        z, y = xp.asarray(z), xp.asarray(y)
        in_y = y @ xp.asarray(self.outcome_slope).T + xp.asarray(self.constant)
        return (z @ xp.asarray(self.decision_slope).T + in_y).max(axis=-1)

    def decisions_for(self, n_outcomes: int) -> DecisionSet:
        """Return the declared set, or all of R^d."""
        outcomes, decisions = (
            np.shape(slope)[1] for slope in (self.outcome_slope, self.decision_slope)
        )
        if n_outcomes != outcomes:
            raise ValueError(
                f"outcome_slope has {outcomes} column(s), but Y has {n_outcomes} column(s)."
            )
        if self.decision_set is None:
            return Free(decisions)
        because = f"decision_slope has {decisions} column(s)"
        return declared(self.decision_set, decisions, because)

    def best_constant(self, outcomes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return a minimiser of the mean loss, by cutting planes."""
        slopes = np.asarray(self.decision_slope)
        in_y = outcomes @ np.asarray(self.outcome_slope).T + np.asarray(self.constant)

        def evaluate(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            heights = in_y + slopes @ z
            best = np.argmax(heights, axis=1)
            return heights[np.arange(len(heights)), best], slopes[best]

        def mean_losses(several: np.ndarray) -> np.ndarray:
            return np.array([share @ (some_in_y + slopes @ z).max(axis=1) for z in several])

        share, some_in_y = thinned(weights / weights.sum(), in_y)
        decision_set = self.decisions_for(outcomes.shape[1])
        start, unit = best_size(mean_losses, decision_set)
        return minimise_mean(evaluate, weights, decision_set, unit, start)

    def in_units(
        self, outcome_unit: np.ndarray, decision_unit: np.ndarray, loss_unit: float
    ) -> Loss:
        """Return the pieces of z/decision_unit and y/outcome_unit, divided by loss_unit."""
        return self.replace(
            constant=np.asarray(self.constant) / loss_unit,
            outcome_slope=np.asarray(self.outcome_slope) * outcome_unit / loss_unit,
            decision_slope=np.asarray(self.decision_slope) * decision_unit / loss_unit,
            decision_set=None,
            outcome_support=None,
        )

    def decision_slopes(self) -> tuple[Any, Any]:
        """Those of the pieces."""
        slopes = namespace(self.decision_slope).asarray(self.decision_slope)
        return slopes.min(axis=0), slopes.max(axis=0)

    def best_response(self, cost: AbstractKernel) -> Callable[[Array, Array, Any], Array] | None:
        """Move y for the piece that gains most when each is moved for its own sake."""
        if cost.by_coordinate() is None:
            return None

        def respond(z: Array, y: Array, penalty: Any) -> Array:
            slopes = jnp.asarray(self.outcome_slope)
            gains = jnp.sum(move_along(slopes, y[..., None, :], cost, penalty)[1], axis=-1)
            at_y = y @ slopes.T + self.constant
            heights = z @ jnp.asarray(self.decision_slope).T + (at_y + gains)
            best = jnp.argmax(heights, axis=-1)
            y = jnp.broadcast_to(y, (*best.shape, y.shape[-1]))
            return y + move_along(slopes[best], y, cost, penalty)[0]

        return respond

    def smallest_penalty(
        self, cost: AbstractKernel, constant: np.ndarray, outcomes: np.ndarray
    ) -> float:
        """Largest dual norm of a piece's slopes, along open directions, for p = 1; 0 above.

        Only slopes that rise along the direction count.
        """
        slopes = np.asarray(self.outcome_slope)
        return penalty_of_slopes(cost, (-slopes, slopes))


def penalty_of_slopes(cost: AbstractKernel, steepest: tuple[Any, Any]) -> float:
    """Penalty that outweighs a piecewise-linear loss with these slopes as an outcome falls, rises.

    One row of slopes for each piece, or the steepest of all. Nothing counts in a direction that the
    support closes, and nothing at all beside costs of an order above 1.
    """
    falling, rising = (np.maximum(np.asarray(slope), 0.0) for slope in steepest)
    return float(np.max(cost.outweighing(falling, rising)))


def move_along(
    slope: Array, y: Array, cost: AbstractKernel, penalty: Float[Array, ""]
) -> tuple[Array, Array]:
    """Best move per coordinate along an affine function with this slope, and what it gains.

    The cost must be one of independent coordinates.
    """
    free = cost.scale > 0
    price = jnp.where(free, penalty / jnp.where(free, cost.scale, 1.0) ** cost.order, 0.0)

    def gain(move: Array) -> Array:
        return slope * move - price * jnp.abs(move) ** cost.order

    move = cost.by_coordinate().best_move(slope, y, penalty)
    return move, gain(move)
