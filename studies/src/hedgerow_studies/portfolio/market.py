"""Markets: daily returns of assets, and what was known of the market on the evening before.

    y_t = returns on day t, in percent        x_t = covariates at the last close before day t

Files are checked at the door: dates once each, no gaps, no prices at or below zero, covariates that
are not stale. Nothing is filled in.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._frames import require_pandas
from hedgerow.data.table_files import read_table

if TYPE_CHECKING:
    import pandas as pd

STALE_DAYS = 10
"""Covariates older than this on a trading day are taken for a gap in the file."""
YEAR, MONTH, QUARTER = 252, 21, 63


@dataclass(frozen=True)
class Market:
    """Aligned arrays, one row per trading day, in order of time.

    Attributes
    ----------
    dates : (days,) datetime64[D]
    returns : (days, assets)
        Simple returns in percent.
    covariates : (days, features)
        As known before the day began.
    assets, features : tuple of str
    """

    dates: np.ndarray
    returns: np.ndarray
    covariates: np.ndarray
    assets: tuple[str, ...]
    features: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.assets) < 2:
            raise ValueError(f"A portfolio needs at least 2 assets, got {len(self.assets)}.")
        days = len(self.dates)
        for name, columns in (("returns", self.assets), ("covariates", self.features)):
            shape = np.shape(getattr(self, name))
            if shape != (days, len(columns)) or 0 in shape:
                raise ValueError(
                    f"{name} must have a row for each of {days} days and a column for each of "
                    f"{len(columns)} names, at least one of both; got shape {shape}."
                )
        if not np.all(self.dates[1:] > self.dates[:-1]):
            raise ValueError("The dates of a market must increase from row to row.")

    def span(self, first: int, last: int) -> Market:
        """Return the days from row ``first`` up to, not including, row ``last``."""
        part = slice(first, last)
        return replace(
            self,
            dates=self.dates[part],
            returns=self.returns[part],
            covariates=self.covariates[part],
        )

    def fingerprint(self) -> str:
        """Short hash of everything in it, so that results of other data are never mistaken."""
        digest = hashlib.sha256()
        for array in (self.dates.astype("int64"), self.returns, self.covariates):
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update("\n".join((*self.assets, "", *self.features)).encode())
        return digest.hexdigest()[:16]


def read_market(
    returns: str | os.PathLike[str],
    covariates: str | os.PathLike[str],
    *,
    percent: bool = False,
    prices: bool = False,
) -> Market:
    """Read two tables whose first column is the date, one row per trading day.

    Parameters
    ----------
    returns : path
        One column per asset: simple daily returns, 0.01 for one percent.
    covariates : path
        One column per covariate: levels at the day's close. Day t is decided on with those of the
        last close before it.
    percent : bool
        Returns are in percent already.
    prices : bool
        The first table holds prices, from which returns are computed.
    """
    return make_market(
        _dated(returns),
        _dated(covariates),
        percent=percent,
        prices=prices,
        names=(returns, covariates),
    )


def make_market(
    returns: pd.DataFrame,
    covariates: pd.DataFrame,
    *,
    percent: bool = False,
    prices: bool = False,
    names: tuple[Any, Any] = ("returns", "covariates"),
) -> Market:
    """Align two tables with dates as their index; see ``read_market``."""
    if percent and prices:
        raise ValueError("Prices are not in percent: give percent or prices, not both.")
    returns, covariates = (
        _in_order(table, name) for table, name in zip((returns, covariates), names, strict=True)
    )
    _refuse_missing(covariates, names[1])
    if prices:
        _refuse_missing(returns, names[0])
        bad = np.argwhere(returns.to_numpy() <= 0)
        if len(bad):
            day, asset = bad[0]
            raise ValueError(
                f"{names[0]}: the price of {returns.columns[asset]} on "
                f"{returns.index[day]:%Y-%m-%d} is {returns.iat[day, asset]:g}; prices must be "
                "greater than 0."
            )
        if len(returns) < 2:
            raise ValueError(f"{names[0]} has one row; a return needs the prices of two days.")
        returns = returns.pct_change().iloc[1:]
    elif not percent and np.any(returns.to_numpy() < -1):
        day, asset = np.argwhere(returns.to_numpy() < -1)[0]
        raise ValueError(
            f"{names[0]}: {returns.columns[asset]} returned {returns.iat[day, asset]:g} on "
            f"{returns.index[day]:%Y-%m-%d}, which would be a loss of more than everything; say so "
            "if returns are in percent, or if these are prices."
        )
    dates = returns.index.to_numpy().astype("datetime64[D]")
    known = covariates.index.to_numpy().astype("datetime64[D]")
    before = np.searchsorted(known, dates) - 1  # the last close strictly before each day
    if before[0] < 0:
        first = int(np.argmax(before >= 0)) if np.any(before >= 0) else len(before)
        if first > 1 or first == len(before):
            raise ValueError(
                f"{names[1]} begins on {known[0]}, but {names[0]} on {dates[0]}: covariates are "
                "needed from the trading day before."
            )
        returns, dates, before = returns.iloc[1:], dates[1:], before[1:]
    age = (dates - known[before]).astype(int)
    if np.any(age > STALE_DAYS):
        day = int(np.argmax(age > STALE_DAYS))
        raise ValueError(
            f"{names[1]} has no row in the {STALE_DAYS} days before {dates[day]}: the dates of the "
            "two tables do not match."
        )
    return Market(
        dates=dates,
        returns=returns.to_numpy(np.float64) * (1.0 if percent else 100.0),
        covariates=covariates.to_numpy(np.float64)[before],
        assets=tuple(map(str, returns.columns)),
        features=tuple(map(str, covariates.columns)),
    )


def sp500_market() -> Market:
    """Twenty large American stocks, 1990 to 2022, with covariates derived from the S&P 500 index.

    Realised volatility over a month and a quarter, momentum over a month, a quarter and a year, and
    drawdown from the year's high: all from closing prices up to the day before. The data come with
    skfolio (BSD-3-Clause), an optional extra.
    """
    try:
        from skfolio.datasets import load_sp500_dataset, load_sp500_index
    except ImportError:
        raise ImportError(
            "Without files of your own the S&P 500 sample of skfolio is used, which is not "
            "installed: pip install 'hedgerow-studies[portfolio]', or give --returns and "
            "--covariates."
        ) from None
    prices = load_sp500_dataset()
    covariates = index_covariates(load_sp500_index().iloc[:, 0])
    return make_market(prices.loc[covariates.index[0] :], covariates, prices=True)


def index_covariates(index: pd.Series) -> pd.DataFrame:
    """Covariates of a price index, in percent: volatility, momentum and drawdown so far."""
    pandas = require_pandas()
    daily = index.pct_change()
    columns = {
        "volatility month": 100 * np.sqrt(YEAR) * daily.rolling(MONTH).std(),
        "volatility quarter": 100 * np.sqrt(YEAR) * daily.rolling(QUARTER).std(),
        "momentum month": 100 * (index / index.shift(MONTH) - 1),
        "momentum quarter": 100 * (index / index.shift(QUARTER) - 1),
        "momentum year": 100 * (index / index.shift(YEAR) - 1),
        "drawdown": 100 * (1 - index / index.rolling(YEAR).max()),
    }
    return pandas.DataFrame(columns).iloc[YEAR:]


def refuse_incomplete(market: Market) -> None:
    """Raise if a return is missing, and name the asset."""
    missing = np.isnan(market.returns)
    if np.any(missing):
        asset = int(np.argmax(missing.sum(axis=0)))
        day = int(np.argmax(missing[:, asset]))
        raise ValueError(
            f"{int(missing.any(axis=0).sum())} asset(s) have missing returns in the period used: "
            f"{market.assets[asset]} has {int(missing[:, asset].sum())}, the first on "
            f"{market.dates[day]}; leave the column out or complete it."
        )


def _dated(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table and make its first column the index, as dates."""
    pandas = require_pandas()
    table = read_table(path)
    first = str(table.columns[0])
    if len(table.columns) < 2:
        raise ValueError(f"{path} has only the column {first!r}; expected a date and more columns.")
    dates = table[first]
    if pandas.api.types.is_numeric_dtype(dates):
        dates = dates.astype(str)  # 20210104 is a date, not a count of nanoseconds
    try:
        dates = pandas.to_datetime(dates, format="ISO8601")
    except (ValueError, TypeError):
        raise ValueError(
            f"{path}: the first column, {first!r}, must hold dates such as 2021-01-04."
        ) from None
    table = table.drop(columns=first)
    table.index = pandas.DatetimeIndex(dates)
    return table


def _in_order(table: pd.DataFrame, name: Any) -> pd.DataFrame:
    """Sort by date; refuse what is no table of numbers by day, and days that occur twice."""
    pandas = require_pandas()
    if not isinstance(table, pandas.DataFrame) or not isinstance(table.index, pandas.DatetimeIndex):
        raise TypeError(f"{name} must be a pandas DataFrame with dates as its index.")
    if 0 in table.shape:
        raise ValueError(f"{name} has no {'columns' if len(table) else 'rows'}.")
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise ValueError(f"{name} has more than one column called {str(twice[0])!r}; rename one.")
    for column, kind in table.dtypes.items():
        types = pandas.api.types
        if not types.is_numeric_dtype(kind) or types.is_complex_dtype(kind):
            raise ValueError(f"{name}: the column {column!r} holds something other than numbers.")
    if table.index.hasnans:
        raise ValueError(f"{name}: a date is missing.")
    written: Any = table.index
    table = table.set_axis(written.tz_localize(None).normalize())  # the day as it is written
    repeated = table.index[table.index.duplicated()]
    if len(repeated):
        raise ValueError(
            f"{name}: {repeated[0]:%Y-%m-%d} occurs more than once"
            + (f", as do {len(repeated) - 1} other dates." if len(repeated) > 1 else ".")
        )
    table = table.astype(np.float64)
    if np.isinf(table.to_numpy()).any():
        raise ValueError(f"{name} contains infinite numbers.")
    return table.sort_index()


def _refuse_missing(table: pd.DataFrame, name: Any) -> None:
    missing: Any = table.isna()
    if missing.to_numpy().any():
        column = missing.sum().idxmax()
        day = missing.index[missing[column]][0]
        raise ValueError(
            f"{name}: {column} is missing on {int(missing[column].sum())} day(s), first on "
            f"{day:%Y-%m-%d}; complete it or leave the column out."
        )
