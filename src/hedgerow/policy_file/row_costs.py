"""Whether costs that a newsvendor reads row by row make sense, from its description alone.

    holding, stockout   a number, or Σ factor · column + constant

Both are finite and not negative, and not both zero. What is not so, or not known here, is left to
the loss itself, whose sentence names the row (``Newsvendor.check_rows``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hedgerow.policy_file.deciding import array_of

COSTS = ("holding", "stockout")
NEWSVENDOR = "hedgerow.Newsvendor"


def reads_columns(described: Any) -> bool:
    """Whether anything in a described part is read from columns."""
    if isinstance(described, dict):
        return "columns" in described or any(map(reads_columns, described.values()))
    return isinstance(described, list) and any(map(reads_columns, described))


def fair_costs(loss: Mapping[str, Any], column: Callable[[str], np.ndarray]) -> bool:
    """Whether a described loss is known here, and its costs make sense on rows with these columns.

    ``column`` gives a column by its name, as numbers.
    """
    told = loss.get("parameters", {})
    others = {name: value for name, value in told.items() if name not in COSTS}
    if loss.get("component") != NEWSVENDOR or not set(COSTS) <= set(told) or reads_columns(others):
        return False
    try:
        holding, stockout = (_values(told[name], column) for name in COSTS)
    except (ValueError, TypeError, KeyError):
        return False
    if max(holding.ndim, stockout.ndim) > 1:
        return False
    fair = (holding >= 0) & (stockout >= 0) & (holding + stockout > 0)
    return bool(np.all(fair & np.isfinite(holding + stockout)))


def _values(cost: Any, column: Callable[[str], np.ndarray]) -> np.ndarray:
    """A cost on every row, or as one number."""
    if "columns" not in (cost if isinstance(cost, dict) else {}):
        return array_of(cost)
    *factors, constant = map(array_of, cost["numbers"])
    found = constant
    for (name,), factor in zip(cost["columns"], factors, strict=True):
        if not isinstance(name, str):
            raise TypeError
        found = found + factor * column(name)
    return found
