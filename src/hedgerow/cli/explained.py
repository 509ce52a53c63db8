"""Rows to be explained: as the rule sees them, and as whoever asks knows them.

A panel's rule works in shares of a row's level, z = u·f(x), so what it says of f is multiplied by
the row's unit u. Where decisions are in the table's units, u = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from hedgerow.data.encoder import TableEncoder
from hedgerow.estimator import RobustPolicy
from hedgerow.explain import Attribution


@dataclass(frozen=True)
class Explained:
    """A policy, and the rows that it is asked about.

    Attributes
    ----------
    policy : what decides
    X, others : the rows as it sees them, and those that they are compared with
    shown : the rows with the values that are shown
    encoder : how columns became features
    units : of the rows' decisions; None: 1
    chosen : rows of the table that ``X`` holds; None: all
    facts : what else is said of a row, or of all of them (None)
    usual : what is added to the usual decision
    remark : what is said before the policy in words
    """

    policy: RobustPolicy
    X: pd.DataFrame
    others: pd.DataFrame
    shown: pd.DataFrame
    encoder: TableEncoder | None
    units: Float[np.ndarray, " rows"] | None = None
    chosen: Int[np.ndarray, " rows"] | None = None
    rows_in_table: int | None = None
    facts: Callable[[int | None], list[tuple[str, str]]] = lambda place: []
    usual: str = ""
    remark: str = ""

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return len(self.X) if self.rows_in_table is None else self.rows_in_table

    def place(self, row: int) -> int:
        """Where a row of the table, the first being 1, is among these rows."""
        return row - 1 if self.chosen is None else int(np.searchsorted(self.chosen, row - 1))

    def unit(self, place: int) -> float:
        """What the rule's answer is multiplied by."""
        return 1.0 if self.units is None else float(self.units[place])

    def in_units(self, found: Attribution, place: int) -> Attribution:
        """An attribution in the units of the row's decision."""
        unit = self.unit(place)
        return replace(
            found,
            values=found.values * unit,
            baseline=found.baseline * unit,
            decision=found.decision * unit,
        )

    def groups(self) -> dict[str, list[str]]:
        """Features that came of one column of the table."""
        return self.encoder.groups() if self.encoder else {}
