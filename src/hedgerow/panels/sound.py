"""Series that can be learned from, told from those that cannot: by halving.

A table that cannot be read because of a few of its series is read in halves, those that cannot be
in halves again, until single series are left with the sentence that says what is wrong with them:
some 2·log₂(series) readings for each bad one, whatever is wrong.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int

from hedgerow._warnings import UnreadableSeriesWarning
from hedgerow.panels.reading import Reader
from hedgerow.panels.series import SeriesKeys

if TYPE_CHECKING:
    import pandas as pd

MOST = 200
"""Bad series beyond which it is the table that is wrong."""


def sound_rows(
    table: pd.DataFrame, y: Any, reader: Reader
) -> tuple[Bool[np.ndarray, " rows"], dict[str, str]]:
    """Return which rows are of series that can be read, and what is wrong with the others."""
    keys = SeriesKeys.of(table, reader.by)
    places = keys.places(table)

    def read(rows: np.ndarray) -> None:
        own = y if y is None or isinstance(y, str) else np.asarray(y)[rows]
        reader.read(table.iloc[rows], own)

    wrong = unsound(places, read)
    left_out = {keys.words(keys.values[place]): why for place, why in wrong.items()}
    if left_out:
        first, why = next(iter(left_out.items()))
        warnings.warn(
            f"{len(wrong):,} of {len(keys):,} series cannot be learned from and were left out "
            f"(left_out_ lists them); the first is {first}: {why}",
            UnreadableSeriesWarning,
            stacklevel=3,
        )
    return ~np.isin(places, list(wrong)), left_out


def unsound(
    places: Int[np.ndarray, " rows"], read: Callable[[Int[np.ndarray, " some"]], object]
) -> dict[int, str]:
    """Return which series ``read``, given places of rows, refuses, and with which sentence.

    ``places`` are those of each row's series. What is wrong with all of them, or with too many, is
    raised.
    """
    order = np.argsort(places, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(places))[:-1])
    wrong: dict[int, str] = {}

    def refused(series: range) -> ValueError | None:
        try:
            read(np.sort(np.concatenate([rows[place] for place in series])))
        except ValueError as error:
            return error
        return None

    def search(series: range, error: ValueError | None) -> None:
        if error is None:
            return
        if len(series) == 1:
            wrong[series[0]] = str(error)
            if len(wrong) > MOST or len(wrong) == len(rows):
                raise error
            return
        half = len(series) // 2
        for part in (series[:half], series[half:]):
            search(part, refused(part))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is read in the end says it again
        everything = range(len(rows))
        error = refused(everything)
        search(everything, error)
    if error is not None and not wrong:  # only all together are they wrong
        raise error
    return wrong
