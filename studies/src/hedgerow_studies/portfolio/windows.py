"""Rolling windows: decide on the first trading day of each month, from what was known before it.

    training days t−window … t−1   |  day t: decide on x_t  |  hold t … t+holding−1

Every month has its own pool of assets, drawn at random from the market; the draw depends on the
seed and the month alone, so that adding months changes no other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from hedgerow import _checks
from hedgerow_studies.portfolio.market import Market, refuse_incomplete

_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


@dataclass(frozen=True)
class Window:
    """One decision: what may be learned from, what is decided on, and what then happened.

    Attributes
    ----------
    date : datetime64[D]
        The day of the decision, which is also the first day held.
    assets : (pool,) int
        Columns of the market that may be bought.
    contexts, outcomes : (window, features), (window, pool)
        History, up to the day before.
    today : (features,)
        Covariates known on the day.
    held : (holding, pool)
        Returns from the day on; only hindsight and evaluation may look at them.
    """

    date: np.datetime64
    assets: np.ndarray
    contexts: np.ndarray
    outcomes: np.ndarray
    today: np.ndarray
    held: np.ndarray


@dataclass(frozen=True)
class Horizon:
    """When decisions are taken and how far they look.

    Parameters
    ----------
    start, end : str
        First and last month, such as "2021-01".
    window : int
        Trading days to learn from; 500 are about two years.
    holding : int
        Trading days a portfolio is judged over.
    pool : int or None
        Assets drawn at random for each month; None: all.
    seed : int
        Seed of the draws.
    """

    start: str
    end: str
    window: int = 500
    holding: int = 60
    pool: int | None = 50
    seed: int = 0

    def __post_init__(self) -> None:
        _checks.count("window", self.window, least=20)
        _checks.count("holding", self.holding, least=2)
        if self.pool is not None:
            _checks.count("pool", self.pool, least=2)
        _checks.count("seed", self.seed, least=0)
        if _month(self.start) > _month(self.end):
            raise ValueError(f"start {self.start} lies after end {self.end}.")

    def windows(self, market: Market) -> list[Window]:
        """Return one window for each month, in order."""
        _checks.instance("market", market, Market, "a market such as read_market returns")
        if self.pool is not None and self.pool > len(market.assets):
            raise ValueError(
                f"pool={self.pool} assets were asked for, but the market has {len(market.assets)}."
            )
        days = self._first_days(market)
        refuse_incomplete(market.span(days[0] - self.window, days[-1] + self.holding))
        return [self._window(market, day) for day in days]

    def window_of(self, market: Market, month: str) -> Window:
        """Return the window of one month, whether or not it lies between start and end."""
        return replace(self, start=month, end=month).windows(market)[0]

    def _first_days(self, market: Market) -> list[int]:
        """Rows of the first trading day of each month in the horizon."""
        months = market.dates.astype("datetime64[M]")
        first, last = _month(self.start), _month(self.end)
        if months[0] > first or months[-1] < last:
            raise ValueError(
                f"The market runs from {market.dates[0]} to {market.dates[-1]}, but decisions from "
                f"{self.start} to {self.end} were asked for."
            )
        wanted = np.unique(months[(months >= first) & (months <= last)])
        days = [int(np.argmax(months == month)) for month in wanted]
        if days[0] < self.window:
            raise ValueError(
                f"Before {market.dates[days[0]]} there are only {days[0]} trading days with "
                f"covariates; a window of {self.window} needs an earlier start of the data or a "
                "later start of the decisions."
            )
        if days[-1] + self.holding > len(market.dates):
            left = len(market.dates) - days[-1]
            raise ValueError(
                f"After {market.dates[days[-1]]} there are only {left} trading days; holding for "
                f"{self.holding} needs later data or an earlier end of the decisions."
            )
        return days

    def _window(self, market: Market, day: int) -> Window:
        date = market.dates[day]
        assets = np.arange(len(market.assets))
        if self.pool is not None:
            month = int(date.astype("datetime64[M]").astype(int))
            draw = np.random.default_rng([self.seed, month])
            assets = np.sort(draw.choice(len(assets), self.pool, replace=False))
        past, future = slice(day - self.window, day), slice(day, day + self.holding)
        return Window(
            date=date,
            assets=assets,
            contexts=market.covariates[past],
            outcomes=market.returns[past][:, assets],
            today=market.covariates[day],
            held=market.returns[future][:, assets],
        )


def latest_months(
    market: Market, window: int, holding: int, until: str | None = None, count: int = 24
) -> tuple[str, str]:
    """Return first and last of the latest months that the data allow, at most so many.

    The last is ``until`` or the last that can be judged, the first has a window before it. If there
    is no such month, what is returned will be refused by ``Horizon.windows``, which says why.
    """
    months, days = np.unique(market.dates.astype("datetime64[M]"), return_index=True)
    judged = months[days + holding <= len(market.dates)]
    last = _month(until) if until is not None else (judged if len(judged) else months)[-1]
    learned = months[(days >= window) & (months <= last)]
    first = max(last - (count - 1), learned[0] if len(learned) else last)
    return str(first), str(last)


def _month(text: str) -> np.datetime64:
    if isinstance(text, str) and _MONTH.fullmatch(text):
        return np.datetime64(text, "M")
    raise ValueError(f"{text!r} is not a month such as 2021-01.")
