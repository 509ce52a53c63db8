"""The newsvendor: order z before demand y is known.

    Ψ(z, y) = Σ_j  h_j (z_j − y_j)⁺ + b_j (y_j − z_j)⁺                     (paper: example-news)

Per product the loss has two linear pieces, so its log-moment under a product kernel is closed form
for p = 1 and p = 2, truncated or not. With t the temperature λε, and z, ŷ one product's numbers:

    log E exp(Ψ/t) = log( ∫_{−∞}^{z} e^{ (h/t)(z−u) } dK(u) + ∫_{z}^{∞} e^{ (b/t)(u−z) } dK(u) ).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from hedgerow import _checks
from hedgerow.decisions import DecisionSet, Nonnegative
from hedgerow.describe.numbers import spanned
from hedgerow.describe.parts import LossDescription
from hedgerow.kernels import AbstractKernel
from hedgerow.kernels.base import in_scales
from hedgerow.losses.base import ClosedMoments, Loss, declared, namespace
from hedgerow.losses.bends import Bend
from hedgerow.losses.by_row import RowLoss
from hedgerow.losses.cost_columns import Column, bound, named_columns
from hedgerow.losses.kinked import Kinked
from hedgerow.losses.max_affine import penalty_of_slopes

COSTS = ("holding", "stockout")


class Newsvendor(Loss):
    """Holding and stock-out costs of one product or of several ordered side by side.

    Parameters
    ----------
    holding : float, (products,) or Column
        Cost h of each unit ordered and not demanded; ``Column("cost")``: read from that column of
        X, row by row.
    stockout : float, (products,) or Column
        Cost b of each unit demanded and not ordered.
    decision_set : DecisionSet or None
        Where orders may lie; None: the non-negative numbers.
    outcome_support : (low, high) or None
        Where demand may lie; None: everywhere, as in the paper. ``(0, np.inf)`` keeps the adversary
        from inventing negative demand.

    Notes
    -----
    Called on 1-D arrays, scalar costs mean one product and a loss per row; costs per product mean a
    single row.

    Examples
    --------
    >>> import hedgerow as hr
    >>> loss = hr.Newsvendor(holding=1, stockout=3)
    >>> loss([10.0, 10.0], [7.0, 12.0]).tolist()  # three left over, two missing
    [3.0, 6.0]
    """

    traced = ("holding", "stockout", "decision_set")
    holding: Any
    stockout: Any
    _: KW_ONLY
    decision_set: DecisionSet | None = None
    outcome_support: tuple[Any, Any] | None = None

    @classmethod
    def from_prices(
        cls, price: Any, cost: Any, salvage: Any = 0.0, shortage: Any = 0.0, **more: Any
    ) -> Self:
        """Return the newsvendor of goods bought at ``cost`` and sold at ``price``.

        A unit left over brings ``salvage``, one missing costs ``shortage`` beside the sale: holding
        is cost − salvage, stockout is price − cost + shortage. All are numbers, one per product or
        columns of X; ``more`` goes to the constructor.
        """
        given = {"price": price, "cost": cost, "salvage": salvage, "shortage": shortage}
        prices: dict[str, Any] = {
            name: value if isinstance(value, Column) else _checks.parameter(name, value)[()]
            for name, value in given.items()
        }
        holding = prices["cost"] - prices["salvage"]
        stockout = prices["price"] - prices["cost"] + prices["shortage"]
        for amount, words in (
            (holding, "salvage must not exceed cost: what is left over would earn money"),
            (stockout, "cost must not exceed price + shortage: nothing would be worth ordering"),
        ):
            if not isinstance(amount, Column) and np.any(amount < 0):
                raise ValueError(f"{words}; the difference is {spanned(-amount)}.")
        return cls(holding, stockout, **more)

    def check(self) -> None:
        """Costs are finite, not negative, not both zero, and of one length."""
        holding, stockout = (_checks.costs(name, getattr(self, name)) for name in COSTS)
        if holding.ndim == stockout.ndim == 1 and holding.shape != stockout.shape:
            raise ValueError(
                f"holding has {holding.size} entries but stockout has {stockout.size}; give one "
                "number each, or one per product."
            )
        if np.any(holding + stockout == 0):
            raise ValueError(
                "holding and stockout are both 0 for a product: every order would be optimal."
            )

    def __call__(self, z: Any, y: Any) -> Any:
        """Cost of orders z at demands y."""
        each = self.by_outcome(z, y)
        one_product_rows = np.ndim(self.holding) == np.ndim(self.stockout) == 0 and each.ndim <= 1
        return each if one_product_rows else each.sum(axis=-1)

    def by_outcome(self, z: Any, y: Any) -> Any:
        """Cost of each product."""
        for _, column in named_columns(self):
            column.refuse()
        xp = namespace(z, y, self.holding, self.stockout)
        z, y = xp.asarray(z), xp.asarray(y)
        holding, stockout = xp.asarray(self.holding), xp.asarray(self.stockout)
        return holding * xp.maximum(z - y, 0) + stockout * xp.maximum(y - z, 0)

    def unit_costs(self) -> tuple[Any, Any]:
        """Holding and stock-out."""
        return self.holding, self.stockout

    def foresight(self, outcomes: np.ndarray) -> np.ndarray | None:
        """Nothing, where ordering exactly what is demanded is allowed on every row."""
        allowed = self.decisions_for(outcomes.shape[1]).contains(outcomes)
        return np.zeros(len(outcomes)) if bool(np.all(np.asarray(allowed))) else None

    def description(self, unit: str = "") -> LossDescription:
        """What is left over, and what is missing."""
        (over, dear_over), (under, dear_under) = (
            _words(cost, unit) for cost in (self.holding, self.stockout)
        )
        return LossDescription(
            short=f"newsvendor, holding {over}, stockout {under}",
            costs=f"Each unit left over costs {dear_over}, each one missing costs {dear_under}"
            + ("" if unit else ", in the unit these costs were given in"),
            decides="How much to have ready before demand is known",
        )

    def decisions_for(self, n_outcomes: int) -> DecisionSet:
        """One order per product."""
        for name in COSTS:
            shape = np.shape(getattr(self, name))
            if len(shape) == 1 and shape[0] != n_outcomes:
                raise ValueError(
                    f"{name} has {shape[0]} entries, one per product, but Y has {n_outcomes} "
                    "column(s)."
                )
        if self.decision_set is None:
            return Nonnegative(n_outcomes)
        because = f"Y has {n_outcomes} column(s): a newsvendor decides one order per product"
        return declared(self.decision_set, n_outcomes, because)

    def best_constant(self, outcomes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the b/(b+h) quantile of each product's demand, moved into the decision set."""
        holding, stockout = self._costs(outcomes.shape[1])
        found = self._allowed(_quantiles(outcomes, stockout / (holding + stockout), weights))
        return super().best_constant(outcomes, weights) if found is None else found

    def decision_unit(self, outcome_unit: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """Orders are counted like demand."""
        return np.where(self.decisions_for(len(outcome_unit)).scalable, outcome_unit, 1.0)

    def in_units(
        self, outcome_unit: np.ndarray, decision_unit: np.ndarray, loss_unit: float
    ) -> Loss:
        """Return a newsvendor again where orders and demand share their unit."""
        if not np.array_equal(outcome_unit, decision_unit):
            return super().in_units(outcome_unit, decision_unit, loss_unit)
        holding, stockout = self._costs(len(outcome_unit))
        factor = outcome_unit / loss_unit
        return self.replace(
            holding=holding * factor,
            stockout=stockout * factor,
            decision_set=None,
            outcome_support=None,
        )

    def closed_moments(self, kernel: AbstractKernel) -> ClosedMoments | None:
        """Where products are moved independently: each has two linear pieces."""
        along = kernel.by_coordinate()
        if along is None:
            return None

        def pieces(z: Array, y: Array, temperature: Any) -> Kinked:
            return Kinked(along, y, z, -self.holding / temperature, self.stockout / temperature)

        return ClosedMoments(
            lambda z, y, t: jnp.sum(pieces(z, y, t).log_mass(), axis=-1),
            lambda uniform, z, y, t: pieces(z, y, t).quantile(jnp.log(uniform)),
            along.terms,
        )

    def bend(self) -> Bend | None:
        """One product's: no cost at the order itself."""
        if max(np.size(self.holding), np.size(self.stockout)) > 1:
            return None
        return Bend(lambda z: z, 0.0, -self.holding, self.stockout)

    def decision_slopes(self) -> tuple[Any, Any]:
        """Less stock-outs by one, or more left over by one."""
        xp = namespace(self.holding, self.stockout)
        return -xp.atleast_1d(self.stockout), xp.atleast_1d(self.holding)

    def best_response(self, cost: AbstractKernel) -> Callable[[Array, Array, Any], Array] | None:
        """Best of a few candidates per product: Ψ is the larger of two affine pieces.

        Where products are moved independently, each moves for the sake of one piece or stays.
        """
        along = cost.by_coordinate()
        if along is None:
            return None

        def respond(z: Array, y: Array, penalty: Any) -> Array:
            slopes = (-self.holding, self.stockout)
            moved = [
                along.settled(y) - y,
                *(along.best_move(slope, y, penalty) for slope in slopes),
            ]
            candidates, z = jnp.broadcast_arrays(y + jnp.stack(moved), z)
            paid = penalty * jnp.abs(in_scales(cost.scale, candidates - y)) ** cost.order
            gain = self.by_outcome(z, candidates) - paid
            best = jnp.argmax(gain, axis=0)
            return jnp.take_along_axis(candidates, best[None], axis=0)[0]

        return respond

    def smallest_penalty(
        self, cost: AbstractKernel, constant: np.ndarray, outcomes: np.ndarray
    ) -> float:
        """s_y·max(h, b) over the directions the support leaves open for p = 1; 0 above."""
        return penalty_of_slopes(cost, self._costs(outcomes.shape[1]))

    def _costs(self, products: int) -> tuple[Any, Any]:
        """One of each per product; a column stays one."""
        holding, stockout = (
            cost
            if isinstance(cost := getattr(self, name), Column)
            else np.broadcast_to(_checks.costs(name, cost), products)
            for name in COSTS
        )
        return holding, stockout

    def _allowed(self, orders: np.ndarray) -> np.ndarray | None:
        """The best orders of each product, moved into the decision set; None: not known how."""
        decision_set = self.decisions_for(len(orders))
        if bool(decision_set.contains(orders)):
            return orders
        return decision_set.nearest(orders)  # the loss is a sum over products, and convex


class NewsvendorRows(RowLoss):
    """Newsvendors with costs of their own on every row: what is known of all of them at once."""

    def check_rows(self, first: int = 0) -> None:
        """Costs are finite, not negative and not both zero; says in which row one is not."""
        for name, costs in zip(COSTS, self._row_costs(), strict=True):
            given = getattr(self.loss, name)
            if not isinstance(given, Column):
                _checks.costs(name, given)
                continue
            for wrong, words in (
                (~np.isfinite(costs), "be finite"),
                (costs < 0, "not be negative"),
            ):
                if np.any(wrong):
                    row, place = np.argwhere(wrong)[0]
                    raise ValueError(
                        f"{name} must {words}, got {costs[row, place]:g} in row {row + first} of "
                        f"{given.words()}."
                    )
        holding, stockout = self._row_costs()
        nothing = np.argwhere(holding + stockout == 0)
        if len(nothing):
            raise ValueError(
                f"holding and stockout are both 0 in row {nothing[0][0] + first}: every order "
                "would be optimal."
            )

    def __call__(self, z: Any, y: Any) -> Any:
        """Cost of orders on each row."""
        each = self._each_product(z, y)
        return super().__call__(z, y) if each is None else each.sum(axis=-1)

    def by_outcome(self, z: Any, y: Any) -> Any:
        """Cost of each product on each row."""
        each = self._each_product(z, y)
        return super().by_outcome(z, y) if each is None else each

    def unit_costs(self) -> tuple[np.ndarray, np.ndarray]:
        """Of every row, (rows or 1, products or 1)."""
        return self._row_costs()

    def foresight(self, outcomes: np.ndarray) -> np.ndarray | None:
        """Nothing, whatever the costs."""
        return self.loss.foresight(outcomes)

    def best_constant(self, outcomes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the quantile at Σw·b/Σw(b+h) of demand weighted by w(b+h), product by product.

        There the orders' derivative, Σ w·h over demands below and −Σ w·b over those above, is 0.
        """
        loss: Any = self.loss
        shape = outcomes.shape
        holding, stockout = (np.broadcast_to(costs, shape) for costs in self._row_costs())
        shares = weights[:, None] * (holding + stockout)
        levels = (weights @ stockout) / shares.sum(axis=0)
        found = loss._allowed(_quantiles(outcomes, levels, shares))
        return super().best_constant(outcomes, weights) if found is None else found

    def smallest_penalty(
        self, cost: AbstractKernel, constant: np.ndarray, outcomes: np.ndarray
    ) -> float:
        """As for the largest costs of any row."""
        products = outcomes.shape[1]
        holding, stockout = (
            np.broadcast_to(costs.max(axis=0), products) for costs in self._row_costs()
        )
        return penalty_of_slopes(cost, (holding, stockout))

    def _row_costs(self) -> tuple[np.ndarray, np.ndarray]:
        """Holding and stock-out costs of every row, (rows or 1, products or 1) each."""
        every: Any = bound(self.loss, np.asarray(self.values))
        holding, stockout = (
            np.reshape(costs, (len(self.values) if by_row else 1, -1))
            for costs, by_row in (
                (getattr(every, name), isinstance(getattr(self.loss, name), Column))
                for name in COSTS
            )
        )
        return holding, stockout

    def _each_product(self, z: Any, y: Any) -> np.ndarray | None:
        """Costs (rows, products) of plain tables; None: anything else."""
        if namespace(z, y, self.values) is jnp or max(np.ndim(z), np.ndim(y)) != 2:
            return None
        holding, stockout = self._row_costs()
        return self.loss.replace(holding=holding, stockout=stockout).by_outcome(z, y)


Newsvendor.losses_of_rows = NewsvendorRows


def _quantiles(outcomes: np.ndarray, levels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Quantile of each column at its level, under weights (rows,) or (rows, columns)."""
    # a level that a sum of weights meets up to rounding is met
    levels = np.maximum(levels - 1e-12, 0.0)
    shares = np.broadcast_to(weights.reshape(len(weights), -1), outcomes.shape)
    return np.array(
        [
            np.quantile(demand, level, method="inverted_cdf", weights=share)
            for demand, level, share in zip(outcomes.T, levels, shares.T, strict=True)
        ]
    )


def _words(cost: Any, unit: str) -> tuple[str, str]:
    """A cost in short, and as a sum of money."""
    if isinstance(cost, Column):
        return f"from {cost.words()}", f"what {cost.words()} says{f', in {unit}' if unit else ''}"
    return spanned(cost), f"{spanned(cost)}{f' {unit}' if unit else ''}"
