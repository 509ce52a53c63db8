"""Rows in the order of time, for ``hedgerow fit --search time``: folds follow what they learn from.

The column is the one named with ``--time``, or the only one that holds dates; sorting by it changes
nothing but which rows are held out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hedgerow.cli.options import FitRequest, Search
from hedgerow.cli.screen import say
from hedgerow.data.columns import dates_of, numeric_column, refuse_missing
from hedgerow.describe.numbers import listed


def time_order(table: pd.DataFrame, request: FitRequest) -> np.ndarray | None:
    """Return the places of the rows in the order of time; None if they are in it, as far as known.

    What is done is said in one sentence.
    """
    if request.searches != Search.time:
        return None
    name = request.time
    if name is None:
        dated = [str(each) for each in table.columns if _times(table[each]) is not None]
        if len(dated) > 1:
            raise ValueError(
                f"The columns {listed(dated)} hold dates: say with --time which one --search time "
                "goes by."
            )
        if not dated:
            say(
                "No column holds dates, so rows are taken to be in the order of time; name a "
                "column of numbers with --time if they are not.",
                stderr=True,
            )
            return None
        name = dated[0]
    if name not in table.columns:
        raise ValueError(f"There is no column {name!r} for --time; there are {listed(table)}.")
    refuse_missing(table[name])
    times = _times(table[name])
    if times is None:
        times = numeric_column(table, name)
    order = np.argsort(times, kind="stable")
    if np.all(order[1:] > order[:-1]):
        return None
    descending = np.all(np.diff(times.astype(np.float64)) <= 0)
    was = "the latest came first" if descending else "they came in no order"
    say(f"Rows were put in the order of {name!r} for --search time; {was}.", stderr=True)
    return order


def _times(series: Any) -> np.ndarray | None:
    """Instants as whole numbers, clock times included; None unless every row holds a date."""
    if series.isna().any() or pd.api.types.is_numeric_dtype(series.dtype):
        return None
    if dates_of(series) is None:
        return None
    instants = pd.to_datetime(series, utc=True, format="ISO8601")
    return instants.dt.tz_convert(None).to_numpy().astype("datetime64[us]").astype(np.int64)
