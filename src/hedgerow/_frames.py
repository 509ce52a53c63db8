"""Tables in memory: pandas, behind one door, and polars, which is taken for it.

Pandas is needed where tables are read and encoded, and is imported when first used. A polars frame
is turned into a pandas one column by column, names, texts and dates included; nothing of polars is
imported for that.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np


def require_pandas() -> ModuleType:
    """Return pandas, or say how to get it."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "Tables need pandas, which is not installed: pip install 'hedgerow[cli]'."
        ) from None
    return pandas


def is_polars(value: Any) -> bool:
    """Whether this is a frame or a column of polars, or one that is yet to be computed."""
    return type(value).__module__.split(".")[0] == "polars"


def as_pandas(value: Any) -> Any:
    """Return a polars frame as a pandas one; anything else as it is."""
    if not is_polars(value):
        return value
    if hasattr(value, "collect"):
        value = value.collect()
    if not hasattr(value, "columns"):
        return value
    pandas = require_pandas()
    return pandas.DataFrame({name: _column(value[name]) for name in value.columns})


def _column(series: Any) -> Any:
    """A column of polars; what NumPy has no type for (text, days) as objects."""
    pandas = require_pandas()
    kind = str(series.dtype)
    if kind == "Date" or kind.startswith("Datetime"):
        return pandas.to_datetime(pandas.Series(series.to_list(), dtype=object))
    if kind.startswith(("Categorical", "Enum")):
        return pandas.Categorical(series.to_list())
    if series.null_count() or kind in ("String", "Utf8") or kind.startswith("Decimal"):
        return pandas.Series(series.to_list()).infer_objects()
    return np.asarray(series.to_numpy())
