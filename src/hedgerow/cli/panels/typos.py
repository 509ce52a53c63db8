"""Outcomes of a panel that look like typos, named by the rows of the file and by their series.

Series differ in size, so what is unusual is found in shares of each series' median; it is the rule
that ``data.spreads`` has for all data. The library's own warning counts rows of what it made of the
table, which nobody can look up in a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from hedgerow.data.columns import numeric_column
from hedgerow.data.spreads import ordinary_ends
from hedgerow.describe.numbers import counted, number
from hedgerow.panels.series import SeriesKeys

NAMED = 3
"""Rows that are named."""


def typos_in(
    table: pd.DataFrame, name: str, by: Sequence[str], time: str | None, path: Path
) -> str | None:
    """Return a sentence on the outcomes that look like typos; None if none does."""
    try:
        values = numeric_column(table, name)
    except ValueError:
        return None  # is said, or filled in, by whoever learns from them
    keys = SeriesKeys.of(table, by)
    places = keys.places(table)
    sizes = pd.Series(np.where(values != 0, np.abs(values), np.nan)).groupby(places).median()
    usual = sizes.fillna(1.0).to_numpy()[places]
    shares = (values / usual)[:, None]
    odd = np.flatnonzero(~ordinary_ends(shares, np.ones(len(shares))).within(shares)[:, 0])
    if not len(odd):
        return None
    told = []
    for row in odd[:NAMED]:
        own = values[places == places[row]]
        others = np.delete(own, np.argmax(np.abs(own)))
        day = "" if time is None else f", {str(table[time].iloc[row]).removesuffix(' 00:00:00')}"
        usual_words = f"{number(others.min())} to {number(others.max())}" if len(others) else "0"
        told.append(
            f"row {row + 1:,} ({keys.words(keys.values[places[row]])}{day}) has "
            f"{number(values[row])}, where its series has {usual_words}"
        )
    more = f"; and {len(odd) - NAMED:,} more" if len(odd) > NAMED else ""
    look = "looks like a typo" if len(odd) == 1 else "look like typos"
    return (
        f"{counted(len(odd), 'row')} of {path} {look}: {'; '.join(told)}{more}. Correct what is "
        "wrong; until then --outliers clip moves it to where the others end."
    )
