"""Costs of groups: a small table beside the long one, looked up for every row.

    store  holding  stockout             store  item  date        demand  holding  stockout
    1      0.4      2.0          ──►      1      a     2024-01-01  12      0.4      2.0
    2      0.6      2.5                   2      a     2024-01-01  9       0.6      2.5

A table may speak of all group columns or of some. What stands in the long table itself goes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._frames import require_pandas
from hedgerow.data.columns import numeric_column
from hedgerow.describe.numbers import listed
from hedgerow.panels.series import SeriesKeys

if TYPE_CHECKING:
    import pandas as pd
    from jaxtyping import Float


@dataclass(frozen=True)
class GroupCosts:
    """Numbers of each group, by name: a row of ``values`` for each of ``keys``."""

    keys: SeriesKeys
    names: tuple[str, ...]
    values: Float[np.ndarray, "groups names"]

    @classmethod
    def of(cls, table: Any, by: Sequence[str]) -> GroupCosts:
        """Read a table with some of the group columns, and columns of numbers."""
        if not isinstance(table, require_pandas().DataFrame):
            raise TypeError(f"costs must be a pandas DataFrame; got {type(table).__name__}.")
        groups = [name for name in by if name in table.columns]
        names = [str(name) for name in table.columns if name not in groups]
        if not groups or not names:
            raise ValueError(
                f"costs must have one or more of the group columns {listed(by)}, and columns of "
                f"costs; it has {listed(table.columns)}."
            )
        keys = SeriesKeys.of(table, groups)
        places = keys.places(table)
        twice = np.flatnonzero(np.bincount(places) > 1)
        if len(twice):
            raise ValueError(f"costs has more than one row of {keys.words(keys.values[twice[0]])}.")
        read = np.column_stack([numeric_column(table, name) for name in names])
        return cls(keys, tuple(names), read[np.argsort(places)])

    def attached(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the table with the numbers of each row's group, where it has none of its own."""
        wanted = [name for name in self.names if name not in table.columns]
        if not wanted:
            return table
        places = self.keys.places(table)
        if np.any(places < 0):
            first = table.iloc[[int(np.argmax(places < 0))]]
            group = SeriesKeys.of(first, self.keys.by)
            raise ValueError(
                f"There are no costs of {group.words(group.values[0])}: add a row to the table of "
                f"costs, or columns {listed(wanted)} to the rows."
            )
        columns = {name: self.values[places, self.names.index(name)] for name in wanted}
        return table.assign(**columns)

    def to_json(self) -> dict[str, Any]:
        """What of it is no array, as plain values."""
        return {
            "by": list(self.keys.by),
            "keys": [list(key) for key in self.keys.values],
            "names": list(self.names),
        }

    @classmethod
    def from_json(cls, plain: dict[str, Any], values: np.ndarray) -> GroupCosts:
        """Put it together again."""
        keys = SeriesKeys(tuple(plain["by"]), tuple(tuple(key) for key in plain["keys"]))
        return cls(keys, tuple(plain["names"]), values)
