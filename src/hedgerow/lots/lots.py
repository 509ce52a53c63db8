"""Orders that can be placed: whole units, case packs, smallest and largest orders.

With a lot size s, a smallest order m and a largest order M, the orders that can be placed are

    Q = {0} ∪ { k·s : k whole, m ≤ k·s ≤ M }

and of them the one with the least expected newsvendor cost is placed, the smallest if several are:

    C(q) = Σ_j p_j [ h (q − d_j)⁺ + b (d_j − q)⁺ ],    d_j scenarios of demand less stock on hand.

C is convex and falls strictly up to q*, the smallest b/(b+h) quantile of the d_j. So the winner is
0, or one of the two neighbours of q* on the lattice after they are moved into [m, M]: three values
of C decide, exactly. Nearest rounding is right only where C is symmetric around q*.

A policy's decision z(x) is hedged: it is the optimum under a distribution that nobody lists. What
is known is how demand scattered around decisions, the errors e_j = y − z (or ratios r_j = y/z).
They say how steep C is on either side, not where its minimum lies. So they are recentred,

    d_j = z + e_j − e*    or    d_j = z · r_j / r*,    e*, r* the b/(b+h) quantiles of e_j, r_j,

which makes z the optimum of the problem without lots: as s → 0, the order tends to z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from jaxtyping import Float

from hedgerow import _checks
from hedgerow._columns import column, per_row, refuse
from hedgerow._components import Component
from hedgerow._frames import require_pandas
from hedgerow.describe.display import Display
from hedgerow.describe.numbers import counted, number
from hedgerow.lots.scenario_costs import (
    EQUAL,
    Column,
    Costs,
    Scenarios,
    blocks,
    masses_of,
    quantiles,
    shared,
    table,
)

KINDS = ("additive", "multiplicative")
MODES = ("carry-over", "perishable")

_SLACK = 1e-12
"""Quotients this near to a whole number are that number: 0.3 holds three lots of 0.1."""


@dataclass(frozen=True, repr=False)
class PlacedOrders(Display):
    """Orders, and what it costs that only these could be placed.

    Attributes
    ----------
    orders : (rows,) array
        What to order.
    wanted : (rows,) array
        The best order that is not negative, if every amount could be ordered.
    wanted_cost, expected_cost : (rows,) arrays
        Expected cost of ``wanted`` and of ``orders``.
    """

    orders: Column
    wanted: Column
    wanted_cost: Column
    expected_cost: Column

    def _heading(self) -> str:
        return counted(len(self.orders), "order")

    def _rows(self) -> tuple[list[str], list[Sequence[str]]]:
        headings = ["order", "wanted", "expected cost"]
        lines = zip(self.orders, self.wanted, self.expected_cost, strict=True)
        return headings, [tuple(map(number, each)) for each in lines]

    def to_frame(self) -> Any:
        """Return a pandas table with a row per order."""
        table = {"order": self.orders, "wanted": self.wanted}
        costs = {"wanted_cost": self.wanted_cost, "expected_cost": self.expected_cost}
        return require_pandas().DataFrame(table | costs)

    @property
    def rounding_cost(self) -> Column:
        """What lots, smallest and largest orders add to each row's expected cost."""
        return np.maximum(self.expected_cost - self.wanted_cost, 0.0)

    @property
    def mean_rounding_cost(self) -> float:
        """Mean of ``rounding_cost`` over rows; NaN of no rows."""
        return float(np.mean(self.rounding_cost)) if len(self.orders) else float("nan")


class Lots(Component):
    """Which orders can be placed: 0, or multiples of a lot size between two limits.

    Parameters
    ----------
    size : float or (rows,) array
        Orders are multiples of it: 1 for whole units, 12 for packs of a dozen.
    minimum : float or (rows,) array
        An order is 0 or at least this much.
    maximum : float, (rows,) array or None
        An order is at most this much; None or ``np.inf``: without end. Where not even one lot fits
        below it, only 0 can be ordered.

    Examples
    --------
    The nearest to 29.5 in packs of 12 is 24, but a missing unit costs three times as much as one
    that is left over:

    >>> placed = Lots(size=12).place([29.5], [-8, -4, 0, 4, 8], holding=1.0, stockout=3.0)
    >>> placed.orders.tolist(), placed.rounding_cost.round(6).tolist()
    ([36.0], [3.3])
    """

    traced = ("size", "minimum", "maximum")
    size: Any = 1.0
    minimum: Any = 0.0
    maximum: Any = None

    def check(self) -> None:
        """Sizes are positive, limits are not negative, and no minimum is above its maximum."""
        size, minimum, maximum = self._limits()
        refuse("size", size, ~((size > 0) & np.isfinite(size)), "a lot must hold more than nothing")
        wrong = ~((minimum >= 0) & np.isfinite(minimum))
        refuse("minimum", minimum, wrong, "it must be finite and not negative")
        refuse("maximum", maximum, ~(maximum >= 0), "it must not be negative")
        lengths = {limit.size for limit in (size, minimum, maximum) if limit.ndim}
        if len(lengths) > 1:
            raise ValueError(
                f"size, minimum and maximum have {size.size}, {minimum.size} and {maximum.size} "
                "entries; give one number each, or one per row."
            )
        minimum, maximum = np.broadcast_arrays(minimum, maximum)
        crossed = minimum > maximum
        if np.any(crossed):
            row = int(np.argmax(crossed))
            where = f" in row {row}" if crossed.ndim else ""
            raise ValueError(
                f"minimum is {minimum.flat[row]:g} but maximum is {maximum.flat[row]:g}{where}; "
                "nothing could be ordered. Lower the minimum (to 0 where nothing is to be ordered)."
            )

    def take(self, rows: Any) -> Self:
        """Return the lots of these rows, to go from one entry per product to one per row.

        Parameters
        ----------
        rows : array of int or of bool
            Places in ``size``, ``minimum`` and ``maximum``; single numbers are those of any row.
        """
        places = np.asarray(rows, dtype=None if len(rows) else np.int64)
        limits = (self.size, self.minimum, self.maximum)
        return type(self)(
            *(limit if np.ndim(limit) == 0 else np.asarray(limit)[places] for limit in limits)
        )

    def best_orders(
        self,
        scenarios: Any,
        holding: Any,
        stockout: Any,
        *,
        weights: Any = None,
        on_hand: Any = None,
        mode: str = "carry-over",
    ) -> PlacedOrders:
        """Choose the order with the least expected cost under scenarios of demand.

        Parameters
        ----------
        scenarios : (rows, scenarios) array
            What demand may be on each row.
        holding, stockout : float or (rows,) array
            Cost of each unit left over, and of each unit missing.
        weights : (scenarios,) or (rows, scenarios) array or None
            How much each scenario counts, not negative; only proportions matter. None: all alike.
        on_hand : float, (rows,) array or None
            Stock that is there, and on its way, before the order; below 0: promised already. None:
            no stock.
        mode : {"carry-over", "perishable"}
            Whether that stock can still be sold. Of perishable goods it cannot, and counts nothing.

        Returns
        -------
        PlacedOrders
        """
        demand = table("scenarios", scenarios)
        costs = Costs.checked(holding, stockout, len(demand))
        stock = _stock(on_hand, mode, len(demand))
        masses = masses_of(weights, *demand.shape)
        parts = []
        for rows in blocks(*demand.shape):
            beyond = demand[rows] - stock[rows, None]
            mass, cost = shared(masses, rows), costs.take(rows)
            wanted = np.maximum(quantiles(beyond, mass, cost.level), 0.0)
            parts.append(self._cheapest(rows, len(demand), wanted, beyond, mass, cost))
        return _joined(parts)

    def place(
        self,
        decisions: Any,
        errors: Any,
        holding: Any,
        stockout: Any,
        *,
        kind: str = "additive",
        weights: Any = None,
        on_hand: Any = None,
        mode: str = "carry-over",
    ) -> PlacedOrders:
        """Turn a policy's decisions into orders, up or down as expected costs say.

        Demand is taken to scatter around each decision as it did in training. The errors are
        recentred at their b/(b+h) quantile, so that the decision is the best order without lots: a
        hedge in it is kept, and small lots give it back. Scenarios below 0 count as 0, which moves
        all expected costs of a row by one amount and no order. A negative decision counts as 0.

        Parameters
        ----------
        decisions : (rows,) or (rows, 1) array
            What the policy would have ready: the order, or with stock the level to order up to.
        errors : float, (scenarios,) or (rows, scenarios) array
            Errors y − z of decisions seen before, or quantiles of them (``error_quantiles``), for
            all rows or for each. 0: demand will be the decision, for certain.
        holding, stockout : float or (rows,) array
            Cost of each unit left over, and of each unit missing.
        kind : {"additive", "multiplicative"}
            Whether ``errors`` are differences y − z or ratios y/z.
        weights : (scenarios,) or (rows, scenarios) array or None
            How much each error counts; None: all alike.
        on_hand : float, (rows,) array or None
            Stock that is there, and on its way. Carried over, it is subtracted: wanted is
            max(0, decision − on hand), and what is rounded sees demand beyond the stock.
        mode : {"carry-over", "perishable"}
            Whether that stock can still be sold. Of perishable goods it cannot, and counts nothing.

        Returns
        -------
        PlacedOrders
        """
        _checks.one_of("kind", kind, KINDS)
        targets = np.maximum(column("decisions", decisions), 0.0)
        spread = table("errors", np.atleast_2d(errors))
        if len(spread) not in (1, len(targets)):
            raise ValueError(
                f"errors must be of shape (scenarios,) or ({len(targets)}, scenarios), one row per "
                f"decision; got {spread.shape}."
            )
        costs = Costs.checked(holding, stockout, len(targets))
        stock = _stock(on_hand, mode, len(targets))
        masses = masses_of(weights, len(targets), spread.shape[1])
        parts = []
        for rows in blocks(len(targets), spread.shape[1]):
            around, mass = shared(spread, rows), shared(masses, rows)
            cost, target = costs.take(rows), targets[rows, None]
            centre = quantiles(around, mass, cost.level)[:, None]
            if kind == "additive":
                demand = target + (around - centre)
            else:
                _refuse_ratios(centre, target, rows)
                demand = target * (around / np.where(target > 0, centre, 1.0))
            beyond = np.maximum(demand, 0.0) - stock[rows, None]
            wanted = np.maximum(targets[rows] - stock[rows], 0.0)
            parts.append(self._cheapest(rows, len(targets), wanted, beyond, mass, cost))
        return _joined(parts)

    def _cheapest(
        self,
        rows: slice,
        total: int,
        wanted: Column,
        demand: Scenarios,
        masses: Scenarios,
        costs: Costs,
    ) -> PlacedOrders:
        """Compare 0 and the neighbours of what is wanted, from the smallest up."""
        size, minimum, maximum = (
            limit[rows] if limit.ndim else limit for limit in self._limits(total)
        )
        least = np.ceil(minimum / size * (1 - _SLACK))
        most = np.floor(maximum / size * (1 + _SLACK))
        below = np.floor(wanted / size)
        orders = np.zeros(len(wanted))
        cheapest = costs.expected(orders, demand, masses)
        for neighbour in (below, below + 1):
            lots = np.where(least <= most, np.clip(neighbour, least, most), 0.0)
            # 3 · 0.1 is above 0.3 in floats, and an order must not be above its maximum
            candidate = np.where(lots > 0, np.clip(lots * size, minimum, maximum), 0.0)
            cost = costs.expected(candidate, demand, masses)
            doubt = EQUAL * (costs.holding + costs.stockout) * (candidate + wanted)
            better = cost < cheapest - doubt
            orders, cheapest = np.where(better, candidate, orders), np.where(better, cost, cheapest)
        return PlacedOrders(orders, wanted, costs.expected(wanted, demand, masses), cheapest)

    def _limits(self, rows: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return size, minimum and maximum as arrays () or (rows,)."""
        maximum = np.inf if self.maximum is None else self.maximum
        limits = {"size": self.size, "minimum": self.minimum, "maximum": maximum}
        arrays = {name: np.asarray(value) for name, value in limits.items()}
        for name, array in arrays.items():
            if array.dtype.kind not in "iuf" or array.ndim > 1:
                raise TypeError(
                    f"{name} must be a number or one number per row, got {array.dtype} of shape "
                    f"{array.shape}."
                )
            if array.ndim and rows is not None and len(array) != rows:
                raise ValueError(
                    f"{name} has {len(array)} entries but there are {rows} rows; Lots.take goes "
                    "from one entry per product to one per row."
                )
        size, minimum, maximum = (array.astype(np.float64) for array in arrays.values())
        return size, minimum, maximum


def error_quantiles(
    decisions: Any,
    demand: Any,
    scenarios: int = 99,
    kind: str = "additive",
    *,
    weights: Any = None,
) -> Float[np.ndarray, " scenarios"]:
    """Sum up how demand scattered around decisions, as ``Lots.place`` takes it.

    Parameters
    ----------
    decisions, demand : (rows,) arrays
        Of rows that the policy was not trained on, if there are such: errors seen in training are
        smaller than those to come.
    scenarios : int
        How many quantiles, at the levels (j + ½)/scenarios.
    kind : {"additive", "multiplicative"}
        Differences demand − decision, or ratios demand/decision. Rows whose decision is not above 0
        have no ratio and are left out.
    weights : (rows,) array or None
        How much each row counts; None: all alike.

    Returns
    -------
    (scenarios,) array
    """
    _checks.count("scenarios", scenarios)
    _checks.one_of("kind", kind, KINDS)
    decided, seen = column("decisions", decisions), column("demand", demand)
    if decided.shape != seen.shape or not len(seen):
        raise ValueError(
            f"decisions and demand must have the same rows, at least one, got {len(decided)} and "
            f"{len(seen)}."
        )
    used = decided > 0 if kind == "multiplicative" else np.full(len(seen), True)
    if not used.any():
        raise ValueError('No decision is above 0, so there are no ratios; use kind="additive".')
    decided, seen = decided[used], seen[used]
    errors = seen - decided if kind == "additive" else seen / decided
    levels = (np.arange(scenarios) + 0.5) / scenarios
    if weights is None:
        return np.quantile(errors, levels, method="hazen")
    masses = masses_of(weights, 1, len(used))[0, used]
    return np.quantile(errors, levels, method="inverted_cdf", weights=masses)


def _stock(on_hand: Any, mode: str, rows: int) -> Column:
    _checks.one_of("mode", mode, MODES)
    stock = per_row("on_hand", 0.0 if on_hand is None else on_hand, rows)
    return np.zeros(rows) if mode == "perishable" else stock


def _refuse_ratios(centre: np.ndarray, target: np.ndarray, rows: slice) -> None:
    wrong = (centre[:, 0] <= 0) & (target[:, 0] > 0)
    if np.any(wrong):
        raise ValueError(
            f"The ratios' quantile at stockout/(holding + stockout) is not above 0 in row "
            f"{rows.start + int(np.argmax(wrong))}, so no decision above 0 could be optimal; give "
            'differences y − z and kind="additive".'
        )


def _joined(parts: list[PlacedOrders]) -> PlacedOrders:
    names = ("orders", "wanted", "wanted_cost", "expected_cost")
    return PlacedOrders(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
    )
