"""Rows of a panel as a rule sees them: encoded, divided by their scale, with codes of the series.

    x_rule = (known columns, columns counted like outcomes / scale, codes of the series),
    y_rule = y / scale,          z = scale · f(x_rule)

so that shops that sell ten and shops that sell a thousand share one rule. The scale of a row is its
recent level where there is such a column, but not less than a share of what its series usually is
and, if two levels are known (that of its weekday and that of all days), of the other one; without
such columns it is what its series usually is (``series``).

What a new series lacks of past outcomes is taken to be as usual: its scale.

The codes stand for a series: three numbers, however many series there are, and a column for every
value of a group column that has at most MOST_IDS of them (which store, which item): 1 for its rows,
0 for others. A new series, and one that had never sold anything, has the numbers of a middling one;
a store that nobody has seen sell is a little of every store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._frames import require_pandas
from hedgerow.data.columns import Column, check_features, encode, from_json, numeric_column
from hedgerow.panels.group_costs import GroupCosts
from hedgerow.panels.series import STATUSES, SeriesFacts, SeriesKeys, scale_of_relatives

if TYPE_CHECKING:
    import pandas as pd
    from jaxtyping import Float, Int

    from hedgerow.data.encoder import TableEncoder

CODES = ("series_size", "series_spread", "series_zeros")
"""Logarithm of the scale, spread of outcomes over the scale, and share of outcomes that are 0."""
MOST_IDS = 50
"""Values of a group column up to which each has a column of its own."""
LEAST_SHARE, LEAST_OF_ALL_DAYS = 0.05, 0.2
"""Of a series' usual scale, and of the level of all days: a level below is taken to be that."""


@dataclass(frozen=True)
class Layout:
    """Which column of a panel is what.

    Attributes
    ----------
    by : group columns
    scaled : columns counted like outcomes
    levels : columns with a row's recent level: none, one, or that of its weekday and of all days
    apart : columns that are no features: time, outcome, and the like
    """

    by: tuple[str, ...]
    scaled: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    def features(self, table: pd.DataFrame) -> list[str]:
        """Columns that are encoded."""
        none = {*self.by, *self.apart} | ({*self.levels} - {*self.scaled})
        return [name for name in table.columns if name not in none]


@dataclass(frozen=True)
class Rows:
    """Rows as a pooled rule sees them: contexts, scales, and places of their series."""

    contexts: pd.DataFrame
    scale: Float[np.ndarray, " rows"]
    places: Int[np.ndarray, " rows"]


@dataclass(frozen=True)
class Panel:
    """What turns a table into rows: columns, encoding, series, what is known of them, costs.

    ``encoding`` is what ``TableEncoder.to_json`` tells of the columns.
    """

    layout: Layout
    encoding: Mapping[str, Any]
    keys: SeriesKeys
    facts: SeriesFacts
    costs: GroupCosts | None = None

    @classmethod
    def learn(
        cls,
        layout: Layout,
        table: pd.DataFrame,
        outcomes: np.ndarray,
        costs: GroupCosts | None = None,
    ) -> Panel:
        """Learn it from rows in the order of time."""
        from hedgerow.data.encoder import TableEncoder  # who only decides need not wait for it

        names = layout.features(table)
        if not names:
            raise ValueError("The panel has no columns besides groups and outcome to decide by.")
        keys = SeriesKeys.of(table, layout.by)
        facts = SeriesFacts.measure(outcomes, keys.places(table), keys)
        return cls(layout, TableEncoder().fit(table[names]).to_json(), keys, facts, costs)

    @cached_property
    def encoder(self) -> TableEncoder:
        """What makes features of columns."""
        from hedgerow.data.encoder import TableEncoder

        return TableEncoder.from_json(self.encoding)

    @cached_property
    def _columns(self) -> list[Column]:
        """What becomes of each column."""
        return from_json(self.encoding)[1]

    @property
    def plain_names(self) -> list[str]:
        """Names of features as ``plain`` makes them."""
        return [name for column in self._columns for name in column.features]

    @property
    def codes(self) -> list[str]:
        """Names of what stands for a series."""
        return [*CODES, *(f"{name}_{value}" for name, values in self._ids for value in values)]

    @property
    def _sold(self) -> np.ndarray:
        """Which series have ever sold anything."""
        return self.facts.status != STATUSES.index("zero")

    @property
    def _ids(self) -> list[tuple[str, list[str]]]:
        """Group columns with few values among what sold, and these."""
        sold = [self.keys.values[place] for place in np.flatnonzero(self._sold)]
        found = (
            (name, sorted({key[nth] for key in sold})) for nth, name in enumerate(self.keys.by)
        )
        return [(name, values) for name, values in found if 1 < len(values) <= MOST_IDS]

    def plain(self, table: pd.DataFrame) -> pd.DataFrame:
        """Encoded features as they are, for rules of single series."""
        priced = table if self.costs is None else self.costs.attached(table)
        return encode(priced, self._columns)

    def rows(self, table: pd.DataFrame) -> Rows:
        """Return rows as a pooled rule sees them."""
        places = self.keys.places(table)
        usual = self.usual(table, places)
        lacking = [name for name in (*self.layout.scaled, *self.layout.levels) if name in table]
        table = table.assign(**{name: table[name].fillna(_like(usual, table)) for name in lacking})
        scale = usual
        for share, name in zip((1.0, LEAST_OF_ALL_DAYS), self.layout.levels, strict=False):
            least = LEAST_SHARE * usual if share == 1 else scale
            scale = np.maximum(share * numeric_column(table, name), least)
        divide = np.where(scale > 0, scale, 1.0)
        contexts = self.plain(table)
        scaled = [name for name in self.layout.scaled if name in contexts.columns]
        contexts[scaled] = contexts[scaled].div(divide, axis=0)
        codes = (*self._codes(places, usual, scale), *self._id_columns(table))
        made = require_pandas().DataFrame(
            dict(zip(self.codes, codes, strict=True)), index=contexts.index
        )
        return Rows(require_pandas().concat([contexts, made], axis=1), scale, places)

    def usual(self, table: pd.DataFrame, places: np.ndarray) -> np.ndarray:
        """What each row's series usually is; new ones are like their relatives."""
        usual = self.facts.scale[places]
        new = np.flatnonzero(places < 0)
        if len(new):
            wanted = SeriesKeys.of(table.iloc[new], self.layout.by)
            like = scale_of_relatives(self.keys.values, self.facts.scale, wanted.values)
            usual[new] = like[wanted.places(table.iloc[new])]
        return usual

    def _codes(
        self, places: np.ndarray, usual: np.ndarray, scale: np.ndarray
    ) -> Sequence[np.ndarray]:
        """What stands for a row's series; one that never sold before is like a new one."""
        facts, least = self.facts, 1e-12 * max(float(self.facts.scale.max()), 1e-300)
        sold = self._sold
        known = (places >= 0) & sold[places]
        return (
            np.log(np.maximum(np.where(known, usual, scale), least)),
            np.where(known, facts.spread[places], np.median(facts.spread[sold])),
            np.where(known, facts.zeros[places], np.median(facts.zeros[sold])),
        )

    def _id_columns(self, table: pd.DataFrame) -> Iterator[np.ndarray]:
        """Which store, which item: 1 for its rows; of a value never seen, a share of each."""
        for name, values in self._ids:
            seen = SeriesKeys((name,), tuple((value,) for value in values)).places(table)
            for place in range(len(values)):
                yield np.where(seen < 0, 1 / len(values), seen == place)

    def to_json(self) -> dict[str, Any]:
        """What of it is no array, as plain values."""
        columns = {name: list(value) for name, value in vars(self.layout).items()}
        keys = [list(key) for key in self.keys.values]
        costs = None if self.costs is None else self.costs.to_json()
        return {**columns, "keys": keys, "encoder": dict(self.encoding), "costs": costs}

    @classmethod
    def from_json(
        cls, plain: dict[str, Any], facts: SeriesFacts, costs: np.ndarray | None
    ) -> Panel:
        """Put it together again."""
        columns = {name: tuple(plain[name]) for name in ("by", "scaled", "levels", "apart")}
        keys = SeriesKeys(columns["by"], tuple(tuple(key) for key in plain["keys"]))
        own = None if costs is None else GroupCosts.from_json(plain["costs"], costs)
        check_features(from_json(plain["encoder"])[1])
        return cls(Layout(**columns), plain["encoder"], keys, facts, own)


def _like(values: np.ndarray, table: pd.DataFrame) -> pd.Series:
    """Values as a column of the table."""
    return require_pandas().Series(values, index=table.index)
