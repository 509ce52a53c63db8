"""What every loss offers: values, its decision set and outcome support, units, and growth.

A loss Ψ(z, y) is called on arrays with leading batch axes and a last axis of decisions or
outcomes. Training happens in working units (z/u_z, y/u_y, Ψ/L), so a loss also knows how to
restate itself there:  Ψ_w(z, y) = Ψ(u_z·z, u_y·y) / L.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import minimize

from hedgerow import _checks
from hedgerow._components import Component
from hedgerow.decisions import DecisionSet
from hedgerow.kernels.kernel import Kernel
from hedgerow.programs import program

CONSTANT_ROWS = 2000
"""Rows used to find the best constant decision of a loss without a closed form for it."""


class Loss(Component):
    """Base of all losses (abstract)."""

    growth_varies: ClassVar[bool] = False
    """Whether the penalty that the loss asks for depends on the decision."""
    outcome_support: Any = None

    def __call__(self, z: Any, y: Any) -> Any:
        """Loss of decisions z (…, decisions) at outcomes y (…, outcomes)."""
        raise NotImplementedError

    def decisions_for(self, n_outcomes: int) -> DecisionSet:
        """Return the decision set for problems with this many outcomes."""
        raise NotImplementedError

    def support_for(self, n_outcomes: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Lower and upper ends of the outcome support, or None if it is all of R^d."""
        if self.outcome_support is None:
            return None
        low, high = _checks.interval("outcome_support", self.outcome_support)
        if low.shape not in ((), (1,), (n_outcomes,)):
            raise ValueError(
                f"outcome_support has {low.size} coordinates, but Y has {n_outcomes} column(s)."
            )
        return np.broadcast_to(low, n_outcomes), np.broadcast_to(high, n_outcomes)

    @property
    def terms(self) -> int:
        """How many numbers one evaluation holds at a time, for planning memory."""
        return 1

    def prepare(self, decisions: np.ndarray, outcomes: np.ndarray) -> Any:
        """Get ready for decisions and outcomes like these; None if there is nothing to do.

        Losses with a second stage return a ``Growth`` report, whose ``gap`` is how far compiled
        values fell short before.
        """
        return None

    def best_constant(self, outcomes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the one decision that is best on average, found by L-BFGS from raw = 0."""
        if len(outcomes) > CONSTANT_ROWS:
            rows = np.linspace(0, len(outcomes) - 1, CONSTANT_ROWS).astype(int)
            outcomes, weights = outcomes[rows], weights[rows]
        decision_set = self.decisions_for(outcomes.shape[1])
        share = weights / weights.sum()
        with jax.enable_x64(True):

            @program
            def mean_loss(raw: Array) -> tuple[Array, Array]:
                return jax.value_and_grad(
                    lambda r: share @ self(decision_set.from_raw(r), outcomes)
                )(raw)

            def objective(raw: np.ndarray) -> tuple[float, np.ndarray]:
                value, gradient = mean_loss(jnp.asarray(raw))
                return float(value), np.asarray(gradient)

            solution = minimize(
                objective, np.zeros(decision_set.dimension), jac=True, method="L-BFGS-B"
            )
            constant = np.asarray(decision_set.from_raw(jnp.asarray(solution.x)))
        if not np.all(np.isfinite([*constant, solution.fun])):
            raise ValueError(
                "The loss has no finite best constant decision on these outcomes; check that it "
                "is bounded below on its decision set and free of NaN."
            )
        return constant

    def decision_unit(self, outcome_unit: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """Return the unit of each decision: here its best constant value, or 1 if that is 0."""
        scalable = self.decisions_for(len(outcome_unit)).scalable
        size = np.abs(constant)
        return np.where(scalable & (size > 0), size, 1.0)

    def natural_unit(self, constant: np.ndarray, outcomes: np.ndarray, mass: np.ndarray) -> float:
        """Return the unit of losses: here the mean loss of the best constant decision."""
        return abs(float(mass @ self(constant[None, :], outcomes)))

    def in_units(
        self, outcome_unit: np.ndarray, decision_unit: np.ndarray, loss_unit: float
    ) -> Loss:
        """Return the loss of z/decision_unit and y/outcome_unit, divided by loss_unit."""
        return RescaledLoss(
            self.replace(outcome_support=None), outcome_unit, decision_unit, loss_unit
        )

    def has_log_moment(self, kernel: Kernel) -> bool:
        """Whether ``log_moment`` knows an answer under kernels like this one."""
        return False

    def moment_terms(self, kernel: Kernel) -> int:
        """How many numbers one log-moment holds at a time, likewise for planning memory."""
        return 1

    def log_moment(
        self,
        z: Float[Array, "*#b k"],
        y: Float[Array, "*#b d"],
        kernel: Kernel,
        temperature: Float[Array, ""],
    ) -> Float[Array, "*b"]:
        """Log E exp(Ψ(z, y + ξ)/temperature) without sampling, where ``has_log_moment``."""
        raise NotImplementedError

    def tilted_outcome(
        self,
        uniform: Float[Array, "*b d"],
        z: Float[Array, "*b k"],
        y: Float[Array, "*b d"],
        kernel: Kernel,
        temperature: Float[Array, ""],
    ) -> Float[Array, "*b d"]:
        """Map uniforms to outcomes with density ∝ kernel·exp(Ψ/temperature), likewise."""
        raise NotImplementedError

    def has_worst_outcome(self, cost: Kernel) -> bool:
        """Whether ``worst_outcome`` knows an answer for costs and supports like these."""
        return False

    def worst_outcome(
        self,
        z: Float[Array, "*#b k"],
        y: Float[Array, "*#b d"],
        cost: Kernel,
        penalty: Float[Array, ""],
    ) -> Float[Array, "*b d"]:
        """Outcome that attains sup_u { Ψ(z, u) − λ‖(u − y)/s‖_p^p }, where ``has_worst_outcome``.

        ``cost`` brings the order p, the scales s and the support; its ε is not used.
        """
        raise NotImplementedError

    def needed_penalty(self, z: Float[Array, "*b k"], cost: Kernel) -> Float[Array, "*b"]:
        """Penalty above which the loss of these very decisions is outweighed by the cost.

        Asked only of losses whose ``growth_varies``; ``smallest_penalty`` is then what the most
        modest decision needs.
        """
        raise NotImplementedError

    def smallest_penalty(
        self,
        order: int,
        y_scale: np.ndarray,
        constant: np.ndarray,
        outcomes: np.ndarray,
    ) -> float:
        """Penalty above which the robust value is finite (paper: condit-1); inf if none is.

        Here by probing: how fast Ψ grows per unit of transport cost along rays from the median
        outcome in the directions the support leaves open, far beyond the outcomes seen. A ratio
        that keeps rising means that no penalty suffices; one that dies away means that any does.
        """
        middle = np.median(outcomes, axis=0)
        directions = _open_directions(self.support_for(outcomes.shape[1]), outcomes.shape[1])
        if not len(directions):
            return 0.0
        radii = np.array([1e3, 1e6]) * max(1.0, np.max(np.abs(outcomes - middle) / y_scale))
        moved = middle + radii[:, None, None] * directions * y_scale
        with jax.enable_x64(True):
            growth = np.asarray(self(constant, moved)) - np.asarray(self(constant, middle))
        cost = radii[:, None] ** order * np.sum(np.abs(directions) ** order, axis=-1)
        near, far = growth / cost
        if not np.all(np.isfinite([near, far])):
            return np.inf
        rising = (far > 0) & (far > 1.5 * np.maximum(near, 0))
        if np.any(rising):
            return np.inf
        return float(np.max(np.where(far < near / 10, 0.0, np.maximum(far, 0.0))))


class RescaledLoss(Loss):
    """A loss restated in working units; what it knows in closed form, it knows there too."""

    traced = ("loss", "y_unit", "z_unit", "loss_unit")

    def __init__(self, loss: Loss, y_unit: Any, z_unit: Any, loss_unit: Any) -> None:
        self.loss = loss
        self.y_unit = y_unit
        self.z_unit = z_unit
        self.loss_unit = loss_unit

    @property
    def growth_varies(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As the loss itself."""
        return self.loss.growth_varies

    @property
    def terms(self) -> int:
        """As the loss itself."""
        return self.loss.terms

    def __call__(self, z: Any, y: Any) -> Any:
        """Ψ(u_z·z, u_y·y) / L."""
        return self.loss(z * self.z_unit, y * self.y_unit) / self.loss_unit

    def has_log_moment(self, kernel: Kernel) -> bool:
        """As the loss itself."""
        return self.loss.has_log_moment(kernel)

    def moment_terms(self, kernel: Kernel) -> int:
        """As the loss itself."""
        return self.loss.moment_terms(kernel)

    def log_moment(self, z: Array, y: Array, kernel: Kernel, temperature: Array) -> Array:
        """Log E exp(Ψ/(L·temperature)), everything in the loss's own units."""
        z, y, kernel = self._restated(z, y, kernel)
        return self.loss.log_moment(z, y, kernel, self.loss_unit * temperature)

    def tilted_outcome(
        self, uniform: Array, z: Array, y: Array, kernel: Kernel, temperature: Array
    ) -> Array:
        """The loss's own, brought back to working units."""
        z, y, kernel = self._restated(z, y, kernel)
        drawn = self.loss.tilted_outcome(uniform, z, y, kernel, self.loss_unit * temperature)
        return drawn / self.y_unit

    def has_worst_outcome(self, cost: Kernel) -> bool:
        """As the loss itself."""
        return self.loss.has_worst_outcome(cost)

    def worst_outcome(self, z: Array, y: Array, cost: Kernel, penalty: Array) -> Array:
        """The loss's own, brought back to working units."""
        z, y, cost = self._restated(z, y, cost)
        return self.loss.worst_outcome(z, y, cost, self.loss_unit * penalty) / self.y_unit

    def needed_penalty(self, z: Array, cost: Kernel) -> Array:
        """The loss's own, in units of the working loss."""
        z, _, cost = self._restated(z, z[..., :1], cost)
        return self.loss.needed_penalty(z, cost) / self.loss_unit

    def _restated(self, z: Array, y: Array, kernel: Kernel) -> tuple[Array, Array, Kernel]:
        """Decisions, outcomes and kernel in the loss's own units."""
        low, high = (
            None if end is None else end * self.y_unit for end in (kernel.low, kernel.high)
        )
        restated = Kernel(kernel.order, kernel.epsilon, kernel.scale * self.y_unit, low, high)
        return z * self.z_unit, y * self.y_unit, restated


def namespace(*arrays: Any) -> Any:
    """Return jax.numpy if any argument is a JAX array, else numpy (float64 results for users)."""
    return jnp if any(isinstance(array, jax.Array) for array in arrays) else np


def _open_directions(support: tuple[np.ndarray, np.ndarray] | None, dimension: int) -> np.ndarray:
    """Coordinate directions and diagonals along which the outcome support is unbounded."""
    axes = np.eye(dimension)
    ones = np.ones((1, dimension))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (2 * dimension, dimension))
    directions = np.concatenate([axes, -axes, ones, -ones, signs])
    if support is None:
        return directions
    low, high = support
    blocked = ((directions > 0) & np.isfinite(high)) | ((directions < 0) & np.isfinite(low))
    return directions[~blocked.any(axis=1)]
