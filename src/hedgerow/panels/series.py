"""Series of a panel: which rows of a long table belong together, and what is known of each series.

    store  item  date        demand
    1      a     2024-01-01  12        ┐
    1      a     2024-01-02  9         ┘ one series: store 1, item a
    1      b     2024-01-01  3         ─ another

A series is one combination of values of the group columns. Values are compared as text, 7, 7.0 and
"7" being one, so that a file's way to store ids does not matter.

What is known of a series is a few numbers (``SeriesFacts``), above all its scale: the mean of its
outcomes' sizes, without what looks like typos. Series with little history are scaled by what their
relatives are,

    s_g = (n_g·own mean + SHRINK·s_relatives) / (n_g + SHRINK),

where the relatives are the series that differ in the first group column only (for store × item,
those of the same item), or all if there are none. One without any history is scaled by them alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._frames import require_pandas
from hedgerow.data.columns import labels_of
from hedgerow.data.spreads import Spreads
from hedgerow.describe.numbers import listed

if TYPE_CHECKING:
    import pandas as pd
    from jaxtyping import Float, Int

SHRINK = 4.0
"""Rows that the relatives' scale counts for."""
SHORT = 14
"""Rows below which a series is called short."""
STATUSES = ("learned", "short", "zero", "constant", "retired")
QUIET = 60
"""Rows at the end of a series without any outcome but 0 after which it is called retired."""


@dataclass(frozen=True)
class SeriesKeys:
    """The series that there are: values of the group columns, sorted, one row each."""

    by: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, table: pd.DataFrame, by: Sequence[str]) -> SeriesKeys:
        """Find the series of a table."""
        return cls(tuple(by), tuple(sorted(set(_different(table, by)[1]))))

    def __len__(self) -> int:
        return len(self.values)

    def places(self, table: pd.DataFrame) -> Int[np.ndarray, " rows"]:
        """Return the place of each row's series among these; −1 for one that is not there."""
        place = {key: i for i, key in enumerate(self.values)}
        which, keys = _different(table, self.by)
        return np.array([place.get(key, -1) for key in keys], np.int64)[which]

    def place(self, key: Any) -> int:
        """Return the place of one series, named by its values, or say that it is not there."""
        parts = (key,) if isinstance(key, str) or not hasattr(key, "__iter__") else tuple(key)
        text = tuple(labels_of(list(parts)))
        if text not in self.values:
            raise ValueError(
                f"There is no series {self.words(text)}; the first ones are "
                f"{listed([self.words(each) for each in self.values[:3]])}."
            )
        return self.values.index(text)

    def words(self, key: Sequence[str]) -> str:
        """A series in words: "store 1, item a"."""
        return ", ".join(f"{name} {value}" for name, value in zip(self.by, key, strict=True))


@dataclass(frozen=True)
class SeriesFacts:
    """What is known of every series, one entry each.

    Attributes
    ----------
    rows : how many rows it was learned from
    scale : what its outcomes are divided by
    spread : standard deviation of its outcomes over their scale
    zeros : share of outcomes that are 0
    status : place in ``STATUSES``
    """

    rows: Int[np.ndarray, " series"]
    scale: Float[np.ndarray, " series"]
    spread: Float[np.ndarray, " series"]
    zeros: Float[np.ndarray, " series"]
    status: Int[np.ndarray, " series"]

    @classmethod
    def measure(
        cls,
        outcomes: Float[np.ndarray, " rows"],
        places: Int[np.ndarray, " rows"],
        keys: SeriesKeys,
    ) -> SeriesFacts:
        """Read them off outcomes in the order of time."""
        return cls.of(keys, *facts_of_each(outcomes, places, len(keys)))

    @classmethod
    def of(
        cls,
        keys: SeriesKeys,
        own: Float[np.ndarray, " series"],
        rows: Int[np.ndarray, " series"],
        spread: Float[np.ndarray, " series"],
        zeros: Float[np.ndarray, " series"],
        status: Int[np.ndarray, " series"],
    ) -> SeriesFacts:
        """Put together what series have of their own: scales are shrunken towards relatives'."""
        relatives = scale_of_relatives(keys.values, own, keys.values)
        scale = (rows * own + SHRINK * relatives) / (rows + SHRINK)
        scale = np.where(status == STATUSES.index("zero"), 0.0, scale)
        return cls(rows, scale, spread, zeros, status)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def facts_of_each(
    outcomes: Float[np.ndarray, " rows"], places: Int[np.ndarray, " rows"], series: int
) -> tuple[np.ndarray, ...]:
    """Mean sizes, rows, spreads, shares of zeros and statuses of series, each by itself."""
    order = np.argsort(places, kind="stable")
    rows = np.bincount(places, minlength=series)
    found = [_facts(part) for part in np.split(outcomes[order], np.cumsum(rows)[:-1])]
    own, spread, zeros, status = np.array(found).reshape(series, 4).T
    return own, rows, spread, zeros, status.astype(np.int64)


def _facts(outcomes: np.ndarray) -> tuple[float, float, float, int]:
    """Mean size, relative spread, share of zeros and status of one series."""
    if len(outcomes) == 0:
        return 0.0, 0.0, 0.0, STATUSES.index("short")
    sizes = np.abs(outcomes)
    usual = sizes[Spreads.measure(sizes[:, None], np.ones(len(sizes))).within(sizes[:, None])[:, 0]]
    mean = float(usual.mean())
    last = np.flatnonzero(outcomes)
    quiet = len(outcomes) - 1 - last[-1] if len(last) else len(outcomes)
    status = "learned"
    if not len(last):
        status = "zero"
    elif quiet >= QUIET:
        status = "retired"
    elif len(outcomes) < SHORT:
        status = "short"
    elif np.ptp(outcomes) == 0:
        status = "constant"
    spread = float(usual.std() / mean) if mean > 0 else 0.0
    return mean, spread, float(np.mean(outcomes == 0)), STATUSES.index(status)


def scale_of_relatives(
    known: Sequence[tuple[str, ...]],
    scales: Float[np.ndarray, " known"],
    wanted: Sequence[tuple[str, ...]],
) -> Float[np.ndarray, " wanted"]:
    """Return the median scale of each wanted series' relatives among the known ones."""
    usual = float(np.median(scales[scales > 0])) if np.any(scales > 0) else 1.0
    together: dict[tuple[str, ...], list[float]] = {}
    for key, scale in zip(known, scales, strict=True):
        if len(key) > 1 and scale > 0:
            together.setdefault(key[1:], []).append(scale)
    medians = {rest: float(np.median(found)) for rest, found in together.items()}
    return np.array([medians.get(key[1:], usual) for key in wanted])


def _different(
    table: Any, by: Sequence[str]
) -> tuple[Int[np.ndarray, " rows"], list[tuple[str, ...]]]:
    """Which of the different keys each row has, and the keys; says which column lacks something.

    Keys are built once each: a table has millions of rows, and thousands of series.
    """
    pandas = require_pandas()
    if not isinstance(table, pandas.DataFrame):
        raise TypeError(f"A panel is a pandas DataFrame; got {type(table).__name__}.")
    which, texts, columns = np.zeros(len(table), np.int64), [], []
    for name in by:
        if name not in table.columns:
            raise ValueError(
                f"There is no group column {name!r}; the table has {listed(table.columns)}."
            )
        missing = table[name].isna()
        if missing.any():
            raise ValueError(
                f"Group column {name!r} is empty in row {int(np.argmax(missing.to_numpy())) + 1}; "
                "every row belongs to a series."
            )
        codes, different = pandas.factorize(table[name])
        texts.append(labels_of(list(different)))
        columns.append(codes)
        which = np.unique(which * max(len(different), 1) + codes, return_inverse=True)[1]
    first = np.unique(which, return_index=True)[1]
    own = (
        [text[code] for code in codes[first]] for text, codes in zip(texts, columns, strict=True)
    )
    return which, list(zip(*own, strict=True))
