"""The loss of rows whose parameters differ, asked one row at a time.

    Ψ_k(z, y) = Ψ(z, y; p_k),   p_k the values of row k

Every row's numbers are put in the place of the loss's columns (``columns.bound``) and the loss is
asked as if they had been given: under ``jax.vmap``, which makes one computation of all rows. So
whatever a loss knows of itself with numbers, it knows by row, and its author writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.optimize import minimize

from hedgerow.decisions import DecisionSet
from hedgerow.describe.parts import LossDescription
from hedgerow.kernels import AbstractKernel
from hedgerow.losses.base import ClosedMoments, Loss, namespace, thinned
from hedgerow.losses.cost_columns import bound, parameters
from hedgerow.programs import program

TELLING = 64
"""Rows between the extreme ones that are asked how fast their losses grow."""


def along(loss: Loss, contexts: np.ndarray) -> Loss:
    """Return the loss of rows with these contexts (rows, features): itself without columns."""
    return loss if loss.varies() else by_row(loss, parameters(loss, contexts))


def by_row(loss: Loss, values: Any) -> Loss:
    """Return the loss of rows with these values (rows, p) in the place of its columns.

    None: it has no columns, and is the same on every row.
    """
    return loss if values is None else (loss.losses_of_rows or RowLoss)(loss, values)


class RowLoss(Loss):
    """The losses of several rows: one loss, with numbers of each row's own in place of its columns.

    Decisions and outcomes have the rows as their first axis; an array with fewer axes than the
    other, or with a first axis of one, is the same for all rows. Every row is asked on its own
    (``jax.vmap``), so the loss sees numbers and needs to know nothing of rows.
    """

    traced = ("loss", "values")
    loss: Loss
    values: Any

    def inspect(self) -> None:
        """Nothing: ``check_rows`` says which row is wrong."""

    def varies(self) -> bool:
        """It does."""
        return True

    def rows(self, places: np.ndarray) -> Loss:
        """Return those of some rows."""
        return self.replace(values=self.values[places])

    def check_rows(self, first: int = 0) -> None:
        """Have every row's loss check itself; equal rows once."""
        for row in np.sort(np.unique(self.values, axis=0, return_index=True)[1]):
            try:
                bound(self.loss, self.values[row]).check()
            except (ValueError, TypeError) as error:
                raise type(error)(f"Row {row + first}: {error}") from None

    def telling(self) -> list[Loss]:
        """Those at the ends of each parameter, and some between."""
        values = np.asarray(self.values)
        rows = np.unique(values, axis=0, return_index=True)[1]
        if len(rows) > TELLING:
            between = rows[np.linspace(0, len(rows) - 1, TELLING).astype(int)]
            rows = np.unique([*values.argmin(axis=0), *values.argmax(axis=0), *between])
        return [self.rows(rows[place : place + 1]) for place in range(len(rows))]

    def mapped(self, function: Callable[..., Any], *arrays: Array) -> Any:
        """Return function(the row's loss, *row of each array) on every row."""
        return jax.vmap(lambda values, *rows: function(bound(self.loss, values), *rows))(
            jnp.asarray(self.values), *arrays
        )

    def __call__(self, z: Any, y: Any) -> Any:
        """Loss of each row's decisions at its outcomes."""
        return self._asked(_called, z, y)

    def by_outcome(self, z: Any, y: Any) -> Any:
        """As each row's loss has it."""
        y = np.asarray(y)
        if self._first.by_outcome(np.asarray(z)[:1], y[:1]) is None:
            return None
        return self._asked(_called_by_outcome, z, y)

    @property
    def terms(self) -> int:
        """As the loss itself."""
        return self._first.terms

    def decisions_for(self, n_outcomes: int) -> DecisionSet:
        """The same on all rows."""
        return self.loss.decisions_for(n_outcomes)

    @property
    def thresholds(self) -> int:
        """As many as of one row: they are the same for all."""
        return self.loss.thresholds

    def decided_for(self, n_outcomes: int) -> DecisionSet:
        """The same on all rows."""
        return self.loss.decided_for(n_outcomes)

    def best_thresholds(self, z: np.ndarray, y: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """The ones with the least mean loss over the rows, found one after the other by Brent."""
        if self.thresholds == 0:
            return np.zeros(0)

        def mean(thresholds: np.ndarray) -> float:
            same = np.broadcast_to(thresholds, (len(z), self.thresholds))
            return float(mass @ self(np.concatenate([same, z], axis=1), y))

        return minimize(mean, np.zeros(self.thresholds), method="Powell", tol=1e-10).x

    def support_for(self, n_outcomes: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The same on all rows."""
        return self.loss.support_for(n_outcomes)

    def description(self, unit: str = "") -> LossDescription:
        """Say what the loss is about, and which columns it reads."""
        return self.loss.description(unit)

    def decision_names(self, outcomes: Sequence[str]) -> list[str] | None:
        """The same on all rows."""
        return self.loss.decision_names(outcomes)

    def best_constant(self, outcomes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the one decision that is best on average over rows and their outcomes."""
        some = thinned(np.arange(len(outcomes)), weights)[0]
        found: Any = self.rows(some)
        return Loss.best_constant(found, outcomes[some], weights[some])

    def decision_unit(self, outcome_unit: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """As the loss itself."""
        return self.loss.decision_unit(outcome_unit, constant)

    def in_units(
        self, outcome_unit: np.ndarray, decision_unit: np.ndarray, loss_unit: float
    ) -> Loss:
        """Return the loss in units, with its columns in them, for rows to be put in again."""
        return self.loss.in_units(outcome_unit, decision_unit, loss_unit)

    def closed_moments(self, kernel: AbstractKernel) -> ClosedMoments | None:
        """Each row's own."""
        own = self._first.closed_moments(kernel)
        if own is None:
            return None

        def row(loss: Any) -> Any:
            return loss.closed_moments(kernel)

        return ClosedMoments(
            lambda z, y, t: self._each(lambda loss, z, y: row(loss).log_moment(z, y, t), z, y),
            own.tilted_outcome
            and (
                lambda uniform, z, y, t: self._each(
                    lambda loss, *at: row(loss).tilted_outcome(*at, t), uniform, z, y
                )
            ),
            own.terms,
        )

    def best_response(self, cost: AbstractKernel) -> Callable[[Array, Array, Any], Array] | None:
        """Each row's own."""
        if self._first.best_response(cost) is None:
            return None

        def respond(loss: Any, z: Array, y: Array, penalty: Any) -> Array:
            return loss.best_response(cost)(z, y, penalty)

        return lambda z, y, penalty: self._each(partial(respond, penalty=penalty), z, y)

    def smallest_penalty(
        self, cost: AbstractKernel, constant: np.ndarray, outcomes: np.ndarray
    ) -> float:
        """What the row needs that needs most, among the telling ones."""
        rows: list[Any] = self.telling()
        return max(row._first.smallest_penalty(cost, constant, outcomes) for row in rows)

    def needed_penalty(self, cost: AbstractKernel) -> Callable[[Array], Array] | None:
        """What the row needs that needs most."""
        if self._first.needed_penalty(cost) is None:
            return None

        def needed(loss: Any, z: Array) -> Array:
            return loss.needed_penalty(cost)(z)

        return lambda z: jnp.max(self.mapped(partial(needed, z=z)), axis=0)

    def decision_slopes(self) -> tuple[Any, Any] | None:
        """The least and the largest of any row."""
        if self._first.decision_slopes() is None:
            return None
        low, high = self.mapped(lambda loss: loss.decision_slopes())
        return jnp.min(low, axis=0), jnp.max(high, axis=0)

    @property
    def _first(self) -> Loss:
        """The first row's, to ask what all know of themselves."""
        return bound(self.loss, self.values[0])

    def _asked(self, compiled: Callable[..., Any], z: Any, y: Any) -> Any:
        """Ask every row in a program, or as part of one."""
        if namespace(z, y, self.values) is jnp:
            return compiled.__wrapped__(self, z, y)  # pyright: ignore[reportFunctionMemberAccess]
        with jax.enable_x64(True):
            return np.asarray(compiled(self, np.asarray(z), np.asarray(y)))

    def _each(self, function: Callable[..., Any], *arrays: Any) -> Any:
        """Return function(the row's loss, *row of each array), arrays shared by rows repeated."""
        arrays = tuple(jnp.asarray(array) for array in arrays)
        axes, rows = max(array.ndim for array in arrays), len(self.values)
        shared, own = {}, {}
        for place, array in enumerate(arrays):
            if array.ndim < axes or array.shape[0] == 1:
                shared[place] = array if array.ndim < axes else array[0]
            elif array.shape[0] == rows:
                own[place] = array
            else:
                raise ValueError(
                    f"The loss has parameters of {rows} rows, but is asked about {array.shape[0]}."
                )

        def one(loss: Loss, *mine: Array) -> Any:
            given = shared | dict(zip(own, mine, strict=True))
            return function(loss, *(given[place] for place in range(len(arrays))))

        return self.mapped(one, *own.values())


@program
def _called(loss: RowLoss, z: Any, y: Any) -> Array:
    return loss._each(lambda row, z, y: row(z, y), z, y)


@program
def _called_by_outcome(loss: RowLoss, z: Any, y: Any) -> Array:
    return loss._each(lambda row, z, y: row.by_outcome(z, y), z, y)
