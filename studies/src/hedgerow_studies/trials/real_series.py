"""Real series, split by time: what is known when tomorrow is decided for, and nothing later.

    bakery       25 stores × 3 products, 2016 to 2019: learn before 2018-05-01, test the year after
    restaurant   seven dishes: learn from the first 573 days, test on the other 192
    bikes        one city, hour by hour: learn from two years, test the year from 2018-09-01 on

Which bakery stores are for tuning was settled before any method was run: in the order of their
numbers, the third and fifth of every five are **reported** (10 stores), the others are for
**tuning** (15). Series that sold nothing before the test year teach nothing and are left out, which
leaves 14 stores for tuning (number 5 opened later).

Features are the calendar, holidays, promotions, the weather of the day (it stands in for its
forecast) and, for bakery and bikes, what was sold at least a week before. For the restaurant they
are weekday, holidays and the weather, without months: training sees each once or twice.

**Rehearsal.** Rules for everybody, such as how forests grow, are found on rehearsals: the tuning
stores, cut once more within the training period, with nothing of the test year in it.

**Pooled.** One table for all series, with outcomes and past sales in units of each series' mean
over the training days, and indicators of the series' store and product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hedgerow.datasets import load_restaurant

Table = Any
"""A pandas table; its own types say less than the names of its columns."""
DISHES = ("calamari", "fish", "shrimp", "chicken", "koefte", "lamb", "steak")
LEFT_OUT, TRAINING_SHARE = "month_", 0.75
"""Of the restaurant: columns that are left out, and the share of the days that train."""
DATA = Path("../shared/data")
"""Where bakery and bikes are looked for; only the restaurant ships with the library."""
BAKERY, BIKES = "bakery.csv.gz", "bikesharing.csv.gz"
EVERY, REPORTED = 5, (2, 4)
"""Places among every five stores, counted from 0, that are reported and never tuned on."""
DAILY_LAGS, DAILY_WINDOW = (7, 14, 21), 28
WEEK, HOURLY_LAGS = 168, (168, 336, 504)
AGREED = (
    "is_schoolholiday",
    "is_holiday",
    "is_holiday_next2days",
    "promotion_currentweek",
    "promotion_lastweek",
    "rain",
    "temperature",
)


@dataclass(frozen=True)
class Panel:
    """Series with their contexts, in two periods.

    Attributes
    ----------
    train, test : tables of ``series``, ``date``, ``demand`` and the features
        Sorted by series, then date.
    categories : tuple of str
        Features that are names: one-hot for whoever wants numbers.
    past : tuple of str
        Features in units of demand.
    identities : tuple of str
        Features that say which series it is; of use in a pooled table only.
    """

    train: Table
    test: Table
    categories: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    identities: tuple[str, ...] = ()

    @property
    def series(self) -> list[str]:
        """Their names, in order."""
        return list(dict.fromkeys(self.train["series"]))

    def only(self, series: Iterable[str]) -> Panel:
        """Return the panel of some series."""
        kept = set(series)
        train, test = (
            part[part["series"].isin(kept)].reset_index(drop=True)
            for part in (self.train, self.test)
        )
        return replace(self, train=train, test=test)

    def rehearsal(self, begins: Any, ends: Any = None) -> Panel:
        """Return a panel of training days alone, whose test begins at a date (and ends at one)."""
        before = self.train[self.train["date"] < begins]
        after = self.train[self.train["date"] >= begins]
        if ends is not None:
            after = after[after["date"] < ends]
        earlier = replace(
            self, train=before.reset_index(drop=True), test=after.reset_index(drop=True)
        )
        return earlier.only(_sold(earlier.train))


@dataclass(frozen=True)
class Tables:
    """A panel as features and outcomes, twice: as names and numbers, and as numbers alone.

    Attributes
    ----------
    names : (train, test) tables with categories as such, for methods that know categories
    numbers : (train, test) tables, one-hot, for methods that know numbers only
    outcomes : (train rows,) in the unit of each series
    units : (train rows,), (test rows,)
        A decision times its unit is in demand's own.
    """

    names: tuple[Table, Table]
    numbers: tuple[Table, Table]
    outcomes: np.ndarray
    units: tuple[np.ndarray, np.ndarray]
    dates: np.ndarray


def tables(panel: Panel, pooled: bool) -> Tables:
    """Turn a panel into tables; units are the series' training means if pooled, else 1."""
    means = panel.train.groupby("series")["demand"].mean()
    train_unit, test_unit = (
        part["series"].map(means).to_numpy(float) if pooled else np.ones(len(part))
        for part in (panel.train, panel.test)
    )
    dropped = ["series", "date", "demand", *(() if pooled else panel.identities)]
    categories = [*panel.categories, *(panel.identities if pooled else ())]
    parts = []
    for part, unit in ((panel.train, train_unit), (panel.test, test_unit)):
        table = part.drop(columns=dropped).copy()
        for name in panel.past:
            table[name] = table[name] / unit
        for name in categories:  # what training has not seen has no name
            known = sorted(panel.train[name].unique())
            table[name] = pd.Categorical(table[name], categories=known)
        parts.append(table)
    numbers = [pd.get_dummies(table, columns=categories, dtype=float) for table in parts]
    numbers = [table.astype(float) for table in numbers]
    return Tables(
        names=(parts[0], parts[1]),
        numbers=(numbers[0], numbers[1]),
        outcomes=panel.train["demand"].to_numpy(float) / train_unit,
        units=(train_unit, test_unit),
        dates=panel.train["date"].to_numpy(),
    )


# ------------------------------------------------------------------------------- bakery


def reported(stores: Iterable[Any]) -> list[Any]:
    """Return the stores that are reported, of all there are; the others are for tuning."""
    return [store for i, store in enumerate(sorted(set(stores))) if i % EVERY in REPORTED]


def bakery(folder: Path = DATA, *, tuning: bool) -> Panel:
    """Return the bakery's series of the tuning stores, or of the reported ones."""
    raw = pd.read_csv(folder / BAKERY, parse_dates=["date"])
    kept = raw["store"].isin(reported(raw["store"])) != tuning
    return bakery_panel(raw[kept])


def bakery_panel(raw: Table, begins: str = "2018-05-01") -> Panel:
    """Return the panel of some stores, as they are in the file."""

    def features(series: Table) -> dict[str, Any]:
        # the file's own labels of weekdays are a day early
        return {
            "weekday": series["date"].dt.day_of_week,
            "month": series["date"].dt.month,
            "store": series["store"],
            "product": series["product"],
            **{name: series[name].astype(float) for name in AGREED},
            **_past_sales(series["demand"], DAILY_LAGS, DAILY_WINDOW),
        }

    groups = raw.groupby(["store", "product"], sort=True)
    parts = [_series(f"{store}/{product}", group, features) for (store, product), group in groups]
    names = tuple(name for name in parts[0] if name.startswith(("lag", "mean")))
    return _split(
        pd.concat(parts),
        pd.Timestamp(begins),
        categories=("weekday", "month"),
        past=names,
        identities=("store", "product"),
    )


# --------------------------------------------------------------------------- restaurant


def restaurant(dishes: Iterable[str] = DISHES) -> Panel:
    """Return the dishes, with their weekday, holidays and weather."""
    parts = []
    for dish in dishes:
        data = load_restaurant(dish, as_frame=True)
        table = data.data.loc[:, ~data.data.columns.str.startswith(LEFT_OUT)]
        known = {"series": dish, "date": table.index, "demand": data.target, "dish": dish}
        parts.append(table.assign(**known).reset_index(drop=True))
    days = sorted(parts[0]["date"])
    begins = days[int(TRAINING_SHARE * len(days))]
    return _split(pd.concat(parts), begins, identities=("dish",))


# -------------------------------------------------------------------------------- bikes


def bikes(
    folder: Path = DATA, since: str = "2016-09-01", begins: str = "2018-09-01", every: int = 1
) -> Panel:
    """Return the bikes' hours from a date on; ``every`` keeps one training hour of so many."""
    raw = pd.read_csv(folder / BIKES, parse_dates=["ts"])
    raw = raw.rename(columns={"ts": "hour_of", "date": "day", "count": "demand"})
    return bikes_panel(raw.rename(columns={"hour_of": "date"}), since, begins, every)


def bikes_panel(raw: Table, since: str, begins: str, every: int = 1) -> Panel:
    """Return the hours as a panel of one series."""

    def features(series: Table) -> dict[str, Any]:
        hour, weekday = series["date"].dt.hour, series["date"].dt.day_of_week
        return {
            "hour": hour,
            "weekday": weekday,
            "month": series["date"].dt.month,
            "working_hour": np.where(weekday < 5, hour, -1),
            "tmin": series["tmin"].astype(float),
            "tmax": series["tmax"].astype(float),
            "rain": series["pn"].astype(float),
            **_past_sales(series["demand"], HOURLY_LAGS, WEEK, WEEK),
        }

    table = _series("bikes", raw, features)
    table = table[table["date"] >= pd.Timestamp(since)]
    panel = _split(
        table,
        pd.Timestamp(begins),
        categories=("hour", "weekday", "month", "working_hour"),
        past=tuple(name for name in table if name.startswith(("lag", "mean"))),
    )
    return replace(panel, train=panel.train.iloc[::every].reset_index(drop=True))


# ------------------------------------------------------------------------------- shared


def _series(name: str, group: Table, features: Callable[[Table], dict[str, Any]]) -> Table:
    """One series in order of time, without the days that lack a past."""
    ordered = group.sort_values("date").reset_index(drop=True)
    known = {"series": name, "date": ordered["date"], "demand": ordered["demand"].astype(float)}
    return pd.DataFrame({**known, **features(ordered)}).dropna()


def _past_sales(demand: Any, lags: tuple[int, ...], window: int, delay: int = 7) -> dict[str, Any]:
    """Sales some steps ago, and their mean over a window that ended ``delay`` steps ago."""
    past: dict[str, Any] = {f"lag{lag}": demand.shift(lag) for lag in lags}
    return past | {f"mean{window}": demand.shift(delay).rolling(window).mean()}


def _split(table: Table, begins: Any, **known: Any) -> Panel:
    table = table.sort_values(["series", "date"]).reset_index(drop=True)
    before = table["date"] < begins
    panel = Panel(
        table[before].reset_index(drop=True), table[~before].reset_index(drop=True), **known
    )
    return panel.only(_sold(panel.train))


def _sold(train: Table) -> list[str]:
    """Series that sold something."""
    total = train.groupby("series")["demand"].sum()
    return list(total.index[total > 0])
