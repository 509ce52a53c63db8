"""Outcomes that look like typos, series by series: named, moved or refused before learning.

A thousand loaves are nothing odd in one shop and a slip of the finger in another, so each series is
compared with itself. One such value would also stand in the lags and means of the weeks after it.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from hedgerow._warnings import OutlierWarning
from hedgerow.data import spreads
from hedgerow.describe.numbers import counted, number
from hedgerow.panels.series import SeriesKeys

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 14
"""Rows of a series that are compared with each other; fewer say too little."""
NAMED = 3


def mended(
    table: pd.DataFrame,
    values: Float[np.ndarray, " rows"],
    called: str,
    columns: tuple[str, ...],
    by: tuple[str, ...],
    outliers: str,
) -> Float[np.ndarray, " rows"]:
    """Return outcomes whose typos were dealt with as the user wishes; nan stays what it is.

    "warn" names them and keeps them, "clip" moves them to where the others of their series end,
    "error" refuses them. ``columns`` are those that say which row it is.
    """
    found: dict[int, tuple[float, float]] = {}
    codes = SeriesKeys.of(table, by).places(table)
    order = np.argsort(codes, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        rows = rows[np.isfinite(values[rows])]
        if len(rows) >= FEWEST:
            found |= _odd(values, rows)
    if not found:
        return values
    told = _sentence(table, values, called, columns, found)
    if outliers == "error":
        raise ValueError(f"{told} Correct or remove them, or set outliers to 'warn' or 'clip'.")
    if outliers == "clip":
        warnings.warn(f"{told} Clipped to that range.", OutlierWarning, stacklevel=4)
        moved, places = values.copy(), list(found)
        moved[places] = np.clip(values[places], *np.array(list(found.values())).T)
        return moved
    warnings.warn(
        f"{told} Nothing was changed; correct it, or set outliers to 'clip' or 'error'.",
        OutlierWarning,
        stacklevel=4,
    )
    return values


def _odd(values: np.ndarray, rows: np.ndarray) -> dict[int, tuple[float, float]]:
    """Rows of one series that look like typos, with the ends between which its others lie."""
    own = values[rows][:, None]
    ordinary = spreads.ordinary_ends(own, np.ones(len(rows)))
    if ordinary.hold(own):
        return {}
    within = ordinary.within(own)[:, 0]
    ends = float(own[within].min()), float(own[within].max())
    return dict.fromkeys(map(int, rows[~within]), ends)


def _sentence(
    table: pd.DataFrame,
    values: np.ndarray,
    called: str,
    columns: tuple[str, ...],
    found: dict[int, tuple[float, float]],
) -> str:
    look = "looks like a typo" if len(found) == 1 else "look like typos"
    cases = []
    for row, (low, high) in list(found.items())[:NAMED]:
        whose = ", ".join(f"{name} {shown_time(table[name].iloc[row])}" for name in columns)
        cases.append(
            f"{number(values[row])} in row {row + 1:,} ({whose}), where the others of its series "
            f"lie between {number(low)} and {number(high)}"
        )
    more = f"; and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
    return f"{counted(len(found), 'value')} of {called} {look}: {'; '.join(cases)}{more}."


def shown_time(value: object) -> str:
    """A day as it is written, anything else as text."""
    return f"{value:%Y-%m-%d}" if hasattr(value, "strftime") else str(value)
