"""Inventory with substitution: stock z before demand y is known, then serve demand from stock.

    Ψ(z, y) = c·z + min  Σ_ij s_ij w_ij + Σ_i h_i u_i + Σ_j b_j v_j
              s.t.  Σ_j w_ij + u_i = z_i   (what product i serves, and what is left of it)
                    Σ_i w_ij + v_j = y_j   (who serves demand j, and what is short)
                    w, u, v ≥ 0                                        (paper: example-supply)

A pair (i, j) with s_ij = ∞ is not served. With only i = j, at no cost, this is the newsvendor.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from hedgerow import _checks
from hedgerow.decisions import DecisionSet, Nonnegative
from hedgerow.describe.numbers import spanned
from hedgerow.describe.parts import LossDescription
from hedgerow.losses.recourse import StandardForm
from hedgerow.losses.two_stage import RecourseLoss


class InventorySubstitution(RecourseLoss):
    """Holding, shortage and substitution costs of products that may stand in for each other.

    Parameters
    ----------
    holding : float or (products,)
        Cost h_i of each unit left over.
    shortage : float or (products,)
        Cost b_j of each unit of demand that is not served.
    substitution : (products, products)
        Cost s_ij of serving one unit of demand j with product i; ``np.inf`` where not allowed.
    purchase : float or (products,)
        Cost c_i of each unit stocked.
    decision_set : DecisionSet or None
        Where stocks may lie; None: the non-negative numbers.
    outcome_support : (low, high)
        Where demand may lie: at least 0, since negative demand has no recourse.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> never = np.inf
    >>> loss = hr.InventorySubstitution([1.0, 0.7], [1.8, 1.6], [[0.0, 1.7], [never, 0.0]])
    >>> round(float(loss([5.0, 2.0], [3.0, 3.0])), 9)  # one of the two left over stands in
    2.7
    """

    traced = ("holding", "shortage", "substitution", "purchase", "decision_set")
    holding: Any
    shortage: Any
    substitution: Any
    purchase: Any = 0.0
    _: KW_ONLY
    decision_set: DecisionSet | None = None
    outcome_support: tuple[Any, Any] = (0.0, np.inf)

    def second_stage(self) -> StandardForm:
        """One recourse column per allowed pair, per leftover and per shortage."""
        substitution = self._substitution()
        products = len(substitution)
        holding, shortage, purchase = (
            self._costs(name, products) for name in ("holding", "shortage", "purchase")
        )
        product, demand = np.nonzero(np.isfinite(substitution))
        identity, zero = np.eye(products), np.zeros((products, products))
        served = np.vstack([identity[:, product], identity[:, demand]])
        return StandardForm.read(
            np.concatenate([substitution[product, demand], holding, shortage]),
            np.hstack([served, np.eye(2 * products)]),
            np.vstack([-identity, zero]),
            np.vstack([zero, identity]),
            first_stage_cost=purchase,
        )

    def stated_sizes(self) -> tuple[int, int]:
        """One outcome and one decision per product."""
        products = len(self._substitution())
        for name in ("holding", "shortage", "purchase"):
            self._costs(name, products)
        return products, products

    def description(self, unit: str = "") -> LossDescription:
        """What is left over, what is missing, and what stands in for it."""
        over, under = spanned(self.holding), spanned(self.shortage)
        money = f" {unit}" if unit else ""
        return LossDescription(
            short="inventory with substitution",
            costs=f"Each unit left over costs {over}{money}, each one missing {under}{money}; one "
            "product may stand in for another at a cost",
            decides="How much to have ready before demand is known",
        )

    def decision_unit(self, outcome_unit: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """Stocks are counted like demand."""
        return np.where(self.decisions_for(len(outcome_unit)).scalable, outcome_unit, 1.0)

    def _decision_set(self, decisions: int) -> DecisionSet:
        if self.decision_set is None:
            return Nonnegative(decisions)
        return super()._decision_set(decisions)

    def _substitution(self) -> np.ndarray:
        try:
            costs = np.asarray(self.substitution, np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"substitution must be a square matrix of costs, got {self.substitution!r}."
            ) from None
        if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or not costs.size:
            raise ValueError(
                "substitution must be a square matrix, one row per product and one column per "
                f"demand, got shape {costs.shape}."
            )
        if np.any(np.isnan(costs)):
            raise ValueError("substitution must not contain NaN; use np.inf where not allowed.")
        if np.any(costs < 0):
            raise ValueError(f"substitution must not be negative, got {costs.min()}.")
        return costs

    def _costs(self, name: str, products: int) -> np.ndarray:
        costs = _checks.costs(name, getattr(self, name))
        if costs.ndim == 1 and len(costs) != products:
            raise ValueError(
                f"{name} has {len(costs)} entries, but substitution has {products} product(s)."
            )
        return np.broadcast_to(costs, products)
