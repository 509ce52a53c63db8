"""Two-stage problems with fixed linear recourse: decide z, see y, then repair at least cost.

    Ψ(z, y) = c·z + min { q·w : W w = r0 + R y − T z, w ≥ 0 }

By linear-programming duality this is the largest of finitely many affine functions, one per vertex
of the dual polyhedron, which does not depend on (z, y). ``losses.recourse`` finds them; NumPy calls
are exact, and compiled programs see a maximum of affine functions: over all vertices or, if there
are very many, over those that matter around a fit's own rows (``losses.recourse.pool``).
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, field
from typing import Any, Self

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from hedgerow.decisions import DecisionSet, interval_blocks
from hedgerow.kernels import AbstractKernel
from hedgerow.losses.base import Loss, declared, namespace, thinned
from hedgerow.losses.max_affine import MaxAffine, penalty_of_slopes
from hedgerow.losses.recourse import (
    Recourse,
    StandardForm,
    VertexPool,
    decision_blocks,
    minimise_mean,
)
from hedgerow.losses.recourse.values import Pieces

READ_AT_ONCE = 1000
"""Rows up to which a program out of a file is read whole, its slack columns included."""


class RecourseLoss(Loss):
    """Base of losses with a linear second stage (abstract): a subclass states its program.

    The engine is built when first needed and kept until a parameter is replaced by another object.
    """

    reads_columns = False
    _: KW_ONLY
    decision_set: Any
    outcome_support: Any = None
    _built: _Built | None = field(default=None, init=False)

    @abstractmethod
    def second_stage(self) -> StandardForm:
        """Return the linear program of the second stage in standard form."""

    def check(self) -> None:
        """The program is well formed, bounded below, and has a recourse everywhere."""
        _ = self.recourse

    @classmethod
    def restored(cls, **parameters: Any) -> Self:
        """Check that the program is well formed; its engine waits until a value is asked for."""
        given = inspect.signature(cls).bind(**parameters)
        given.apply_defaults()
        loss = object.__new__(cls)
        vars(loss).update(given.arguments)
        loss.stated_sizes()
        return loss

    def stated_sizes(self) -> tuple[int, int]:
        """Numbers of outcomes and decisions as the parameters state them, which are checked."""
        form = self.second_stage()
        return form.outcome_matrix.shape[1], form.technology.shape[1]

    @property
    def recourse(self) -> Recourse:
        """The second stage's engine: exact values, gradients, dual vertices."""
        engine = self._engine()
        if engine is None:
            form = self.second_stage()
            outcomes, decisions = form.outcome_matrix.shape[1], form.technology.shape[1]
            infinite = np.full(outcomes, np.inf)
            low, high = self.support_for(outcomes) or (-infinite, infinite)
            decision_set = self._decision_set(decisions)
            blocks = decision_blocks(decision_set) + interval_blocks("y", low, high)
            engine = Recourse(form, blocks)
            self._built = _Built(self._fields(), engine)
        return engine

    def _engine(self) -> Recourse | None:
        """The engine, if it has been built, and of these very parameters."""
        built = self._built
        return built.recourse if built is not None and built.serves(self._fields()) else None

    def _fields(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_built"}

    def pieces(self, decisions: Any = None, outcomes: Any = None) -> MaxAffine:
        """Return the second stage as a maximum of affine functions, a loss of its own.

        It is exact everywhere if all dual vertices are known, which is the case unless they are
        very many; else around the decisions (rows, k) and outcomes (rows, d) that are given.
        """
        if self.recourse.enumerated or decisions is None:
            return self._max_affine(self.recourse.pieces())
        pool = self.pool()
        pool.grow(decisions, outcomes)
        return pool.loss()

    def pool(self) -> RecoursePool:
        """Return what a fit knows of the dual vertices: all of them, or those it has met."""
        return RecoursePool(self)

    def __call__(self, z: Any, y: Any) -> Any:
        """First-stage cost plus the least cost of recourse: exact, on NumPy arrays at any size."""
        if namespace(z, y) is np:
            return self.recourse.values(z, y)
        return self.pieces()(z, y)

    def _max_affine(self, pieces: Pieces) -> MaxAffine:
        return MaxAffine(
            *pieces, decision_set=self.decision_set, outcome_support=self.outcome_support
        )

    def decisions_for(self, n_outcomes: int) -> DecisionSet:
        """Return the declared set; the program fixes the number of outcomes."""
        engine = self._engine()
        if engine is None:
            outcomes, decisions = self.stated_sizes()
        else:
            matrices = engine.form.outcome_matrix, engine.form.technology
            outcomes, decisions = (matrix.shape[1] for matrix in matrices)
        if n_outcomes != outcomes:
            raise ValueError(
                f"The second stage has {outcomes} outcome(s), but Y has {n_outcomes} column(s)."
            )
        return self._decision_set(decisions)

    def best_constant(self, outcomes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return a minimiser of the mean loss over at most 2000 outcomes, by cutting planes."""
        outcomes, weights = thinned(outcomes, weights)
        engine = self.recourse.anew()  # what was asked before must not sway ties
        form = engine.form
        needs = np.abs(form.constant + outcomes @ form.outcome_matrix.T).max()
        size = needs / max(np.abs(form.technology).max(), 1e-300)
        return minimise_mean(
            lambda z: engine.values_and_gradients(z, outcomes)[:2],
            weights,
            self.decisions_for(outcomes.shape[1]),
            size if 0 < size < 1e300 else 1.0,
        )

    def in_units(
        self, outcome_unit: np.ndarray, decision_unit: np.ndarray, loss_unit: float
    ) -> Loss:
        """Return the pieces in working units."""
        return self.pieces().in_units(outcome_unit, decision_unit, loss_unit)

    def best_response(self, cost: AbstractKernel) -> Callable[[Array, Array, Any], Array] | None:
        """That of the pieces."""
        return self.pieces().best_response(cost)

    def smallest_penalty(
        self, cost: AbstractKernel, constant: np.ndarray, outcomes: np.ndarray
    ) -> float:
        """Largest s_y·slope over the directions the support leaves open for p = 1; 0 above.

        The slopes are exact: linear programs over the dual polyhedron. Beside a norm that adds
        coordinates up, those of single pieces are asked if all are known; else the steepest slopes
        of all pieces together are an upper bound.
        """
        if cost.by_coordinate() is None and self.recourse.enumerated:
            return self.pieces().smallest_penalty(cost, constant, outcomes)
        return penalty_of_slopes(cost, self.recourse.largest_slopes())

    def _decision_set(self, decisions: int) -> DecisionSet:
        because = f"the second stage takes {decisions} decision(s)"
        return declared(self.decision_set, decisions, because)

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles carry the parameters; they build an engine of their own."""
        return self._fields()


class RecoursePool(VertexPool):
    """What a fit knows of a second stage: it grows where the dual vertices are too many to list."""

    def __init__(self, loss: RecourseLoss) -> None:
        super().__init__(loss.recourse)
        self._loss = loss

    def loss(self) -> MaxAffine:
        """Return the maximum over the vertices found so far."""
        return self._loss._max_affine(self.pieces())


class _Built:
    """An engine and the very parameters it was built from; hashed by identity."""

    def __init__(self, fields: dict[str, Any], recourse: Recourse) -> None:
        self.fields = fields
        self.recourse = recourse

    def serves(self, fields: dict[str, Any]) -> bool:
        """Whether these are the same objects, or stand for them while JAX traces."""
        traced = any(isinstance(leaf, Tracer) for leaf in jax.tree_util.tree_leaves(fields))
        return traced or all(value is self.fields[name] for name, value in fields.items())


class TwoStageLP(RecourseLoss):
    """Any two-stage problem with fixed linear recourse.

    Parameters
    ----------
    recourse_cost : (columns,)
        q, the cost of each recourse decision.
    recourse_matrix : (rows, columns)
        W; dense or scipy.sparse, like the two below.
    technology : (rows, decisions)
        T, what decisions take from each row's right-hand side.
    outcome_matrix : (rows, outcomes)
        R, what outcomes add to it.
    constant : (rows,) or None
        r0; None: 0.
    first_stage_cost : (decisions,) or None
        c; None: 0.
    decision_set : DecisionSet
        Where decisions lie.
    outcome_support : (low, high) or None
        Where outcomes may lie; None: everywhere.
    senses : sequence of "=", "<=", ">=" or None
        How W w compares with the right-hand side, row by row; None: "=" throughout.

    Examples
    --------
    A newsvendor: leftover u and shortage v satisfy  u − v = z − y.

    >>> import hedgerow as hr
    >>> loss = hr.TwoStageLP(
    ...     [1.0, 3.0], [[1.0, -1.0]], [[-1.0]], [[-1.0]], decision_set=hr.Nonnegative(1)
    ... )
    >>> float(loss([2.0], [4.0]))
    6.0
    """

    traced = (
        "recourse_cost",
        "recourse_matrix",
        "technology",
        "outcome_matrix",
        "constant",
        "first_stage_cost",
        "decision_set",
    )
    recourse_cost: Any
    recourse_matrix: Any
    technology: Any
    outcome_matrix: Any
    constant: Any = None
    first_stage_cost: Any = None
    _: KW_ONLY
    senses: Sequence[str] | None = None

    def second_stage(self) -> StandardForm:
        """Return the parameters as a program in standard form."""
        return StandardForm.read(
            self.recourse_cost,
            self.recourse_matrix,
            self.technology,
            self.outcome_matrix,
            self.constant,
            self.first_stage_cost,
            self.senses,
        )

    def stated_sizes(self) -> tuple[int, int]:
        """Those of the matrices; a large program is read whole when a value is asked for."""
        if len(self.recourse_matrix) <= READ_AT_ONCE:
            return super().stated_sizes()
        return np.shape(self.outcome_matrix)[1], np.shape(self.technology)[1]
