"""What a planner does now: orders from the same place of the season before.

    seasonal_naive          the last known outcome y_u with u ≡ t mod season
    same_weekday_quantile   a quantile of the last so many known outcomes of t's weekday

A decision for day t is taken ``lead`` days before it, when outcomes y_u of days u ≤ t − lead are
known; nothing later is looked at. Each series (group) sees only its own past.

History is the triple (groups, dates, outcomes), what is wanted the pair (groups, dates): columns of
a table, rows in any order. A day without an outcome is passed over, and the one before it in the
season taken. Where nothing is known yet the answer is NaN.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from jaxtyping import Float, Int

from hedgerow import _checks
from hedgerow._columns import column, days, grouped, per_row

__all__ = ["same_weekday_quantile", "seasonal_naive"]

_BLOCK = 2**20
"""Outcomes that are sorted in one go, so that many rows need little memory."""


def seasonal_naive(
    history: tuple[Any, Any, Any], wanted: tuple[Any, Any], season: int = 7, lead: int = 1
) -> Float[np.ndarray, " rows"]:
    """Order what was demanded when the season last was where it will be.

    Parameters
    ----------
    history : (groups, dates, outcomes)
        Labels of the series, one per row or one per row and column; dates, as datetime64, text such
        as 2024-02-29 or whole numbers of days; outcomes. No series has a date twice.
    wanted : (groups, dates)
        The rows to decide for.
    season : int
        Days after which things repeat.
    lead : int
        How many days before its date a decision is taken.

    Returns
    -------
    (rows,) array
        One order per wanted row; NaN where nothing is known yet.

    Examples
    --------
    >>> history = (["a"] * 14, range(14), range(100, 114))
    >>> seasonal_naive(history, (["a", "a", "b"], [14, 20, 14])).tolist()
    [107.0, 113.0, nan]
    """
    past = _Past.known(history, wanted, _checks.count("season", season), lead)
    last = np.append(past.outcomes, np.nan)[past.end - 1]
    return np.where(past.end > past.start, last, np.nan)


def same_weekday_quantile(
    history: tuple[Any, Any, Any],
    wanted: tuple[Any, Any],
    level: Any,
    last: int = 26,
    lead: int = 1,
) -> Float[np.ndarray, " rows"]:
    """Order a quantile of what was demanded on the same weekday before.

    Parameters
    ----------
    history, wanted, lead
        As for ``seasonal_naive``.
    level : float or (rows,) array
        Which quantile, between 0 and 1; of a newsvendor stockout/(holding + stockout). Between
        outcomes it is linear, as ``numpy.quantile`` is.
    last : int
        How many of the last known outcomes of the weekday count; all, where there are fewer.

    Returns
    -------
    (rows,) array
        One order per wanted row; NaN where nothing is known yet.
    """
    past = _Past.known(history, wanted, 7, lead)
    back = np.arange(1, _checks.count("last", last) + 1)
    levels = per_row("level", level, len(past.end), least=0.0)
    if np.any(levels > 1):
        raise ValueError(f"level must lie between 0 and 1, got {np.max(levels):g}.")
    padded = np.append(past.outcomes, np.inf)
    orders = np.empty(len(levels))
    step = max(1, _BLOCK // last)
    for start in range(0, len(levels), step):
        rows = slice(start, start + step)
        places = past.end[rows, None] - back
        missing = places < past.start[rows, None]
        window = np.sort(padded[np.where(missing, -1, places)], axis=1)
        orders[rows] = _linear_quantile(window, back.size - missing.sum(axis=1), levels[rows])
    return orders


class _Past(NamedTuple):
    """Outcomes in the order of series, place in the season and date; what each wanted row knows.

    Row i knows ``outcomes[start[i]:end[i]]`` of its place in the season.
    """

    outcomes: Float[np.ndarray, " history"]
    start: Int[np.ndarray, " rows"]
    end: Int[np.ndarray, " rows"]

    @classmethod
    def known(
        cls, history: tuple[Any, Any, Any], wanted: tuple[Any, Any], season: int, lead: int
    ) -> Self:
        _checks.count("lead", lead)
        outcomes = column("outcomes", history[2])
        dates, asked = days("dates of history", history[1]), days("dates wanted", wanted[1])
        codes, asked_codes = _codes(history[0], wanted[0])
        for name, labels, others in (
            ("history", codes, (dates, outcomes)),
            ("wanted", asked_codes, (asked,)),
        ):
            if any(len(other) != len(labels) for other in others):
                lengths = [len(each) for each in (labels, *others)]
                raise ValueError(f"The columns of {name} must be of one length, got {lengths}.")
        # series and place in the season are one number, and with the date another one
        first = min(dates.min(initial=0), asked.min(initial=0) - lead)
        span = max(dates.max(initial=0), asked.max(initial=0)) - first + 1
        keys = (codes * season + dates % season) * span + (dates - first)
        order = np.argsort(keys, kind="stable")
        _refuse_twice(keys[order], dates[order])
        places = (asked_codes * season + asked % season) * span
        start = np.searchsorted(keys[order], places, side="left")
        end = np.searchsorted(keys[order], places + (asked - lead - first), side="right")
        return cls(outcomes[order], start, end)


def _codes(groups: Any, wanted: Any) -> tuple[np.ndarray, np.ndarray]:
    """Number the series of history and of what is wanted alike."""
    known, asked = np.asarray(groups), np.asarray(wanted)
    if known.shape[1:] != asked.shape[1:]:
        raise ValueError(
            "The groups of history and of what is wanted must have the same columns, got shapes "
            f"{known.shape} and {asked.shape}."
        )
    codes = grouped(np.concatenate([known, asked])).codes
    return codes[: len(known)], codes[len(known) :]


def _refuse_twice(keys: np.ndarray, dates: np.ndarray) -> None:
    twice = keys[1:] == keys[:-1]
    if np.any(twice):
        raise ValueError(
            f"{int(twice.sum())} row(s) of history have the group and date of another, first on "
            f"day {dates[int(np.argmax(twice))]}; keep one of each, or add them up."
        )


def _linear_quantile(
    ordered: Float[np.ndarray, "rows last"],
    counts: Int[np.ndarray, " rows"],
    levels: Float[np.ndarray, " rows"],
) -> Float[np.ndarray, " rows"]:
    """Quantiles of each row's first ``counts`` numbers, linear between them; NaN of none."""
    most = np.maximum(counts - 1, 0)
    place = levels * most
    below = np.floor(place).astype(np.int64)
    row = np.arange(len(ordered))
    low, high = ordered[row, below], ordered[row, np.minimum(below + 1, most)]
    known = counts > 0
    share = place - below
    low, high = np.where(known, low, np.nan), np.where(known, high, np.nan)
    return low + share * (high - low)
