"""What was seen of new rows: the answer of a watch, for people, schedulers and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow._frames import require_pandas
from hedgerow.describe.display import Display
from hedgerow.describe.numbers import counted, listed, number

QUIET, MOVED, BEYOND = "quiet", "moved", "beyond"
EXIT = {QUIET: 0, MOVED: 3, BEYOND: 4}
"""For schedulers; 1 and 2 are mistakes and wrong options."""


@dataclass(frozen=True, repr=False)
class Watch(Display):
    """What was seen of new rows.

    Attributes
    ----------
    status : str
        "quiet", "moved" (new rows are not exchangeable with history) or "beyond" (the mean cost
        has passed the bound).
    level : float
        Chance of any false alarm, however often one looks.
    bound, mean_cost : float
        What the mean cost is not to exceed, and what it was.
    unit : str
        What one comes after another: "row", or for panels "period", with the rows of all series.
    cost_evidence, shift_evidence : (rows,) arrays
        Wealth of each bet after every row, as logarithms; an alarm at log(2/level).
    alarm : int or None
        The row, counted from 1, at which the first alarm was given.
    columns : tuple of str
        Features, outcomes and what outcomes were off by; of a panel the features that are known
        ahead, what outcomes were off by as a share of a series' usual size, and that of each
        series.
    column_evidence : (columns,) array
        The most that each column's own bet was worth, as a logarithm.
    moved : tuple of str
        Columns whose own evidence passes an alarm for as many columns as there are.
    means_before, means_now : (columns,) arrays
        Of history, and of recent rows.
    distance : float
        How far recent rows are at least, in the units of the radius, beyond what chance explains.
    distance_p : float
        How often samples of history are as far as that; for one look, not for many.
    distances : (columns,) array
        The same column by column.
    room : float or None
        How far the model's radius lets rows move; None: it does not move rows, or has no radius.
    unwatched : tuple of str
        Series of a panel that have no history to be compared with; they count in the cost only.
    """

    status: str
    level: float
    rows: int
    bound: float
    mean_cost: float
    cost_evidence: np.ndarray
    shift_evidence: np.ndarray
    alarm: int | None
    columns: tuple[str, ...]
    column_evidence: np.ndarray
    moved: tuple[str, ...]
    means_before: np.ndarray
    means_now: np.ndarray
    distance: float
    distance_p: float
    distances: np.ndarray
    room: float | None
    unit: str = "row"
    unwatched: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0: quiet, 3: moved, 4: beyond the bound."""
        return EXIT[self.status]

    @property
    def threshold(self) -> float:
        """Log-wealth at which an alarm is given."""
        return math.log(2 / self.level)

    def __str__(self) -> str:
        """Say what was seen."""
        seen = f"{counted(self.rows, f'new {self.unit}')}, mean cost {number(self.mean_cost)}"
        against = f"the bound is {number(self.bound)}"
        if self.status == BEYOND:
            said = f"ALARM at {self.unit} {self.alarm:,}: the mean cost has passed its bound"
        elif self.status == MOVED:
            names = listed(self.moved, 5) or "no single column stands out"
            said = f"ALARM at {self.unit} {self.alarm:,}: the data have moved ({names})"
        else:
            said = "Quiet: nothing that chance does not explain"
        return " ".join(
            filter(None, [f"{said}. {seen}; {against}.", self.distance_words(), self.left_words()])
        )

    __repr__ = __str__

    def _heading(self) -> str:
        return str(self)

    def _rows(self) -> tuple[list[str], list[Sequence[str]]]:
        order = np.argsort(-self.column_evidence, kind="stable")
        figures = (self.means_before, self.means_now, self.distances)
        rows = [(self.columns[j], *(number(float(each[j])) for each in figures)) for j in order]
        return ["column", "before", "now", "moved by at least"], list(rows)

    def left_words(self) -> str:
        """Which series could not be compared."""
        if not self.unwatched:
            return ""
        names, many = listed(self.unwatched, 3), len(self.unwatched)
        return (
            f"{many:,} series without history {'is' if many == 1 else 'are'} not watched: {names}."
        )

    def distance_words(self) -> str:
        """How much of the radius recent rows use up."""
        if self.distance == 0:
            return f"Recent {self.unit}s are no farther away than chance explains."
        far = f"Recent {self.unit}s are at least {number(self.distance, 3)} away"
        if self.room is None:
            return f"{far}, in standard units."
        within = "within" if self.distance <= self.room else "BEYOND"
        return f"{far}: {within} the {number(self.room, 3)} that the radius lets rows move."

    def to_json(self) -> dict[str, Any]:
        """Return what a scheduler reads: plain values."""
        return {
            "status": self.status,
            "exit_code": self.exit_code,
            "level": self.level,
            "unit": self.unit,
            "rows": self.rows,
            "alarm_row": self.alarm,
            "bound": self.bound,
            "mean_cost": self.mean_cost,
            "cost_log_evidence": float(self.cost_evidence.max(initial=0.0)),
            "shift_log_evidence": float(self.shift_evidence.max(initial=0.0)),
            "alarm_log_evidence": self.threshold,
            "moved": list(self.moved),
            "distance": self.distance,
            "distance_p": self.distance_p,
            "room": self.room,
            "unwatched": list(self.unwatched),
            "columns": [
                {
                    "name": name,
                    "mean_before": float(self.means_before[j]),
                    "mean_now": float(self.means_now[j]),
                    "distance": float(self.distances[j]),
                    "log_evidence": float(self.column_evidence[j]),
                }
                for j, name in enumerate(self.columns)
            ],
        }

    def to_frame(self) -> Any:
        """Return the columns as a pandas table, those with most evidence first."""
        table = require_pandas().DataFrame(self.to_json()["columns"])
        return table.sort_values("log_evidence", ascending=False, ignore_index=True)
