"""What every loss offers: values, its decision set and outcome support, units, and growth.

A loss Ψ(z, y) is called on arrays with leading batch axes and a last axis of decisions or
outcomes. Training happens in working units (z/u_z, y/u_y, Ψ/L), so a loss also knows how to
restate itself there:  Ψ_w(z, y) = Ψ(u_z·z, u_y·y) / L.

A loss written elsewhere needs ``__call__`` and ``decisions_for``. What else it knows about itself
it may offer: the best constant decision, inner expectations in closed form (``closed_moments``),
its worst outcome at a price (``best_response``), which penalties are admissible. What it does not
offer is found by minimising, sampling, climbing and probing.

Parameters may be columns of the contexts (``cost_columns``). The loss of some rows is then a
``RowLoss`` (``by_row``), which puts each row's numbers in their place and asks the loss as ever.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from hedgerow import _checks
from hedgerow._components import ABSENT, Component
from hedgerow.decisions import DecisionSet
from hedgerow.describe.parts import LossDescription
from hedgerow.kernels import AbstractKernel, kernel_of
from hedgerow.losses.bends import Bend
from hedgerow.losses.best_constant import descend_to_best
from hedgerow.losses.cost_columns import Column, named_columns
from hedgerow.losses.growth import probed_penalty
from hedgerow.programs import program

CONSTANT_ROWS = 2000
"""Rows used to find the best constant decision of a loss without a closed form for it."""
NEVER_BY_ROW = ("decision_set", "outcome_support")
"""Parameters that are no numbers."""


@dataclass(frozen=True)
class ClosedMoments:
    """Expectations over outcomes moved by one kernel, without sampling.

    Decisions z (…, k) and outcomes y (…, d) broadcast against each other.
    """

    log_moment: Callable[[Array, Array, Any], Array]
    """(z, y, temperature) → log E exp(Ψ(z, y + ξ)/temperature)."""
    tilted_outcome: Callable[[Array, Array, Array, Any], Array] | None = None
    """(uniforms (…, d), z, y, temperature) → outcomes with density ∝ kernel·exp(Ψ/temperature).

    None: such outcomes are chosen among sampled ones.
    """
    terms: int = 1
    """How many numbers one log-moment holds at a time, for planning memory."""


class Loss(Component):
    """Base of all losses (abstract)."""

    outcome_support = ABSENT
    reads_columns: ClassVar[bool] = True
    """Whether parameters may be columns of the contexts."""
    losses_of_rows: ClassVar[Callable[[Loss, Any], Loss] | None] = None
    """The ``RowLoss`` that knows more of such losses than the general one."""

    @abstractmethod
    def __call__(self, z: Any, y: Any) -> Any:
        """Loss of decisions z (…, decisions) at outcomes y (…, outcomes)."""

    @abstractmethod
    def decisions_for(self, n_outcomes: int) -> DecisionSet:
        """Return the decision set for problems with this many outcomes."""

    def inspect(self) -> None:
        """Check what can be told without rows: columns are checked with them (``RowLoss``)."""
        for name, value in vars(self).items():
            several = value if isinstance(value, list | tuple) else [value]
            if not any(isinstance(part, Column) for part in several):
                continue
            if not self.reads_columns or name in NEVER_BY_ROW:
                raise ValueError(
                    f"{name} of {type(self).__name__} cannot be read from a column, row by row: "
                    "it must be the same on all rows."
                )
            if not isinstance(value, Column):
                raise ValueError(
                    f"{name} holds columns in a list; name them all in one, as in "
                    'hedgerow.Column("cost_a", "cost_b").'
                )
        if not any(named_columns(self)):
            self.check()

    def varies(self) -> bool:
        """Whether each row has a loss of its own."""
        return False

    def rows(self, places: np.ndarray) -> Loss:
        """Return the loss of some of the rows."""
        return self

    def check_rows(self, first: int = 0) -> None:
        """Refuse a row whose parameters make no sense, by its number, the first one's given."""

    def telling(self) -> list[Loss]:
        """Return the losses of single rows that may grow the fastest; here all are the same."""
        return [self]

    def mapped(self, function: Callable[..., Any], *arrays: Array) -> Any:
        """Return function(loss, *row of each array) on every row."""
        return jax.vmap(partial(function, self))(*arrays)

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

    def pool(self) -> Any:
        """Return what a fit grows to evaluate the loss in compiled programs; None: nothing.

        A second stage with too many dual vertices to list has one (``losses.recourse.pool``).
        """
        return None

    def description(self, unit: str = "") -> LossDescription:
        """Say what the loss is about; ``unit`` is what losses are counted in, such as "€"."""
        name = type(self).__name__
        return LossDescription(name, f"{name}{f', in {unit}' if unit else ''}: lower is better")

    def decision_names(self, outcomes: Sequence[str]) -> list[str] | None:
        """Name the decisions, given the outcomes' names; None: as they are, or by number."""
        return None

    def by_outcome(self, z: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        """Return losses (rows, outcomes) that add up to the loss; None if it is no such sum."""
        return None

    def foresight(self, outcomes: np.ndarray) -> np.ndarray | None:
        """Return the least losses (rows,), every outcome known before; None if not known."""
        return None

    def unit_costs(self) -> tuple[Any, Any] | None:
        """What each unit left over and each unit missing cost, if that is all that costs.

        Numbers, one per product, or (rows, products) of a loss of rows; None: it costs otherwise.
        """
        return None

    @property
    def thresholds(self) -> int:
        """How many of the first decisions are one number for all contexts, and no decisions."""
        return 0

    def decided_for(self, n_outcomes: int) -> DecisionSet:
        """Return the set of what a rule decides: the decision set less thresholds."""
        return self.decisions_for(n_outcomes)

    def with_thresholds(self) -> Loss | None:
        """Return the loss that training sees, with thresholds as first decisions; None: itself."""
        return None

    def at_thresholds(self, thresholds: np.ndarray) -> Loss:
        """Return the loss with thresholds that were learned."""
        return self

    def best_thresholds(self, z: np.ndarray, y: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Return the thresholds that are best for decisions (rows, k) without them."""
        return np.zeros(0)

    def bend(self) -> Bend | None:
        """Return what a loss of one outcome has in place of a curve: two linear pieces; None."""
        return None

    def best_constant(self, outcomes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the one decision that is best on average, found by descent (``best_constant``)."""
        outcomes, weights = thinned(outcomes, weights)
        decision_set = self.decisions_for(outcomes.shape[1])
        share = weights / weights.sum()

        def mean_loss(decision: Array) -> Array:
            return share @ self(decision, outcomes)

        with jax.enable_x64(True):
            several = program(jax.vmap(mean_loss))
            return descend_to_best(
                lambda decisions: np.asarray(several(jnp.asarray(decisions))),
                mean_loss,
                decision_set,
            )

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

    def closed_moments(self, kernel: AbstractKernel) -> ClosedMoments | None:
        """Return inner expectations under a kernel like this one, if they are known."""
        return None

    def outcome_cost(self, order: float, scale: Any, norm: float | None = None) -> AbstractKernel:
        """The cost of moving outcomes within the support, as a kernel; its ε is not used."""
        support: Any = self.support_for(len(scale)) or (None, None)
        return kernel_of(order, norm, jnp.ones(()), scale, *support)

    def best_response(self, cost: AbstractKernel) -> Callable[[Array, Array, Any], Array] | None:
        """Return (z, y, penalty) → the u that attains sup_u { Ψ(z, u) − λ·cost(y, u) }.

        ``cost`` brings order, norm, scales and support; its ε is not used. None: the supremum is
        climbed.
        """
        return None

    def needed_penalty(self, cost: AbstractKernel) -> Callable[[Array], Array] | None:
        """Return decisions (…, k) → the penalty above which their loss is outweighed by the cost.

        None where that is the same for all decisions; else ``smallest_penalty`` is what the most
        modest decision needs.
        """
        return None

    def decision_slopes(self) -> tuple[Any, Any] | None:
        """Return the least and the largest derivative in each decision, whatever the outcome.

        A loss that returns them is convex in the decision; ends may be infinite. Upper bounds on
        robust values need them. None: not known.
        """
        return None

    def smallest_penalty(
        self, cost: AbstractKernel, constant: np.ndarray, outcomes: np.ndarray
    ) -> float:
        """Penalty above which the robust value is finite (paper: condit-1); inf if none is.

        Here by probing: how fast Ψ grows per unit of transport cost along rays from the median
        outcome in the directions the support leaves open, far beyond the outcomes seen. A ratio
        that keeps rising means that no penalty suffices; one that dies away means that any does.
        """
        return probed_penalty(self, cost, constant, outcomes)


class RescaledLoss(Loss):
    """A loss restated in working units; what it knows about itself, it knows there too."""

    traced = ("loss", "y_unit", "z_unit", "loss_unit")
    loss: Loss
    y_unit: Any
    z_unit: Any
    loss_unit: Any

    @property
    def terms(self) -> int:
        """As the loss itself."""
        return self.loss.terms

    def __call__(self, z: Any, y: Any) -> Any:
        """Ψ(u_z·z, u_y·y) / L."""
        return self.loss(z * self.z_unit, y * self.y_unit) / self.loss_unit

    def decisions_for(self, n_outcomes: int) -> DecisionSet:
        """The loss's own, in working units."""
        return self.loss.decisions_for(n_outcomes).in_units(self.z_unit)

    def closed_moments(self, kernel: AbstractKernel) -> ClosedMoments | None:
        """The loss's own: asked in its units, answered in working ones."""
        own = self.loss.closed_moments(kernel.stretched(self.y_unit))
        if own is None:
            return None
        draw = own.tilted_outcome
        return ClosedMoments(
            lambda z, y, t: own.log_moment(*self._own(z, y, t)),
            draw and (lambda uniform, z, y, t: draw(uniform, *self._own(z, y, t)) / self.y_unit),
            own.terms,
        )

    def best_response(self, cost: AbstractKernel) -> Callable[[Array, Array, Any], Array] | None:
        """The loss's own, likewise."""
        own = self.loss.best_response(cost.stretched(self.y_unit))
        return own and (lambda z, y, penalty: own(*self._own(z, y, penalty)) / self.y_unit)

    def needed_penalty(self, cost: AbstractKernel) -> Callable[[Array], Array] | None:
        """The loss's own, likewise."""
        own = self.loss.needed_penalty(cost.stretched(self.y_unit))
        return own and (lambda z: own(z * self.z_unit) / self.loss_unit)

    def decision_slopes(self) -> tuple[Any, Any] | None:
        """The loss's own, likewise."""
        own = self.loss.decision_slopes()
        return own and (
            own[0] * self.z_unit / self.loss_unit,
            own[1] * self.z_unit / self.loss_unit,
        )

    def _own(self, z: Array, y: Array, price: Any) -> tuple[Array, Array, Any]:
        """A decision, an outcome and a temperature or penalty in the loss's own units."""
        return z * self.z_unit, y * self.y_unit, self.loss_unit * price


def namespace(*arrays: Any) -> Any:
    """Return jax.numpy if any argument is a JAX array, else numpy (float64 results for users)."""
    return jnp if any(isinstance(array, jax.Array) for array in arrays) else np


def thinned(outcomes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most ``CONSTANT_ROWS`` rows, evenly spaced."""
    if len(outcomes) <= CONSTANT_ROWS:
        return outcomes, weights
    rows = np.linspace(0, len(outcomes) - 1, CONSTANT_ROWS).astype(int)
    return outcomes[rows], weights[rows]


def declared(decision_set: Any, dimension: int, because: str) -> DecisionSet:
    """Return the decision set a loss was given, if it is one, and of this dimension."""
    hint = "a decision set such as hedgerow.Nonnegative(3)"
    _checks.instance("decision_set", decision_set, DecisionSet, hint)
    if decision_set.dimension != dimension:
        raise ValueError(f"decision_set has dimension {decision_set.dimension}, but {because}.")
    return decision_set
