"""Tables: a spreadsheet's columns become numbers, the same way every time.

    number, true/false      as it is
    text, category          one 0/1 column per value, `<column>_<value>`; values fixed at fit
    date                    `<column>_weekday` (0: Monday), `…_month` (1–12), `…_day_of_year`

What was done to each column is plain data (``TableEncoder.to_json``), so a policy file can hold it
and new tables are treated alike. Nothing is guessed and nothing imputed: what does not fit is
refused in one sentence that names the column.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hedgerow import _checks
from hedgerow._frames import require_pandas
from hedgerow.data.columns import (
    CATEGORY,
    DATE,
    NUMBER,
    Column,
    as_table,
    check_features,
    column_labels,
    dates_of,
    encode,
    encoded,
    from_json,
    refuse_missing,
)
from hedgerow.data.look_alikes import refuse_look_alikes
from hedgerow.describe.numbers import counted
from hedgerow.describe.text import quoted

if TYPE_CHECKING:
    import pandas as pd

MOST_LETTERS = 200
"""Letters that a category may have: it is printed, and is part of a feature's name."""
_SPOILT = 0.1


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a pandas table with numbers, text and dates into a table of numbers.

    Numbers and true/false pass through. Text and categorical columns are one-hot encoded, with the
    values seen in ``fit``, sorted. Dates, or text that is an ISO date such as 2015-11-07 in every
    row, become weekday (0 = Monday), month and day of the year; the year, which can only act as a
    trend, and the time of day are left out. A column of text that mostly looks like formatted
    numbers (10,5 or $10.00 or 5 %) or like other dates is refused, unless its dtype is categorical.

    Parameters
    ----------
    most_categories : int
        A text column with more different values than this is refused.

    Attributes
    ----------
    columns_ : list of Column
        Name, kind ("number", "category" or "date") and known values of each column.
    n_features_in_, feature_names_in_
        Number and names of the columns seen in ``fit``.

    Examples
    --------
    >>> import pandas as pd
    >>> from hedgerow import TableEncoder
    >>> table = pd.DataFrame({"day": ["2015-11-06", "2015-11-07"], "sky": ["sun", "rain"]})
    >>> list(TableEncoder().fit(table).get_feature_names_out())
    ['day_weekday', 'day_month', 'day_day_of_year', 'sky_rain', 'sky_sun']
    """

    def __init__(self, most_categories: int = 50) -> None:
        self.most_categories = most_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide what becomes of each column of the table X."""
        table = as_table(X)
        most = _checks.count("most_categories", self.most_categories)
        self._set_columns([_column(table[name], most) for name in table.columns])
        for column in self.columns_:
            encoded(table[column.name], column)
        return self

    def transform(self, X: Any) -> pd.DataFrame:
        """Return the features of a table with (at least) the columns seen in ``fit``."""
        check_is_fitted(self, "columns_")
        return encode(X, self.columns_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features, in the order of ``transform``'s columns."""
        check_is_fitted(self, "columns_")
        return np.array([name for c in self.columns_ for name in c.features], dtype=object)

    def groups(self) -> dict[str, list[str]]:
        """Return the features that came of each column."""
        check_is_fitted(self, "columns_")
        return {column.name: column.features for column in self.columns_}

    def labels(self) -> list[str]:
        """Return the features' names in words, in their order: "sky = sun", "weekday of day"."""
        check_is_fitted(self, "columns_")
        return [label for column in self.columns_ for label in column.labels]

    def phrases(self) -> dict[str, str]:
        """Return what a one-hot feature says in words: sky_sun says "sky is sun"."""
        check_is_fitted(self, "columns_")
        return {
            feature: f"{column.name} is {value}"
            for column in self.columns_
            if column.kind == CATEGORY
            for feature, value in zip(column.features, column.values, strict=True)
        }

    def to_json(self) -> dict[str, Any]:
        """Return what was decided in ``fit`` as plain values that JSON can hold."""
        check_is_fitted(self, "columns_")
        return {
            "most_categories": int(self.most_categories),
            "columns": [asdict(column) | {"values": [*column.values]} for column in self.columns_],
        }

    @classmethod
    def from_json(cls, plain: Any) -> Self:
        """Rebuild a fitted encoder from what ``to_json`` returned."""
        most, columns = from_json(plain)
        encoder = cls(most_categories=most)
        encoder._set_columns(columns)
        return encoder

    def _set_columns(self, columns: list[Column]) -> None:
        self.columns_ = columns
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        check_features(columns)


def _column(series: Any, most_categories: int) -> Column:
    """Choose a column's kind from its values."""
    name = str(series.name)
    refuse_missing(series)
    kind = _kind(series)
    if kind != CATEGORY:
        return Column(name, kind)
    labels = column_labels(series)
    _refuse_spoilt_numbers(name, labels)
    if not isinstance(series.dtype, require_pandas().CategoricalDtype):
        refuse_look_alikes(name, labels)
    values = sorted(set(labels))
    longest = max(values, key=len)
    if len(longest) > MOST_LETTERS:
        raise ValueError(
            f"Column {name!r} holds the text {quoted(longest)}, too long for a category; leave the "
            "column out or shorten its values."
        )
    if len(values) > most_categories:
        raise ValueError(
            f"Column {name!r} holds text with {len(values)} different values (at most "
            f"{most_categories} can be one-hot encoded); leave it out or group its values."
        )
    return Column(name, CATEGORY, tuple(values))


def _kind(series: pd.Series) -> str:
    types = require_pandas().api.types
    if types.is_bool_dtype(series.dtype) or types.is_numeric_dtype(series.dtype):
        if types.is_complex_dtype(series.dtype):
            raise ValueError(f"Column {series.name!r} holds complex numbers; leave it out.")
        return NUMBER
    if isinstance(series.dtype, require_pandas().CategoricalDtype):
        return CATEGORY
    inferred = types.infer_dtype(series)
    if inferred in ("integer", "floating", "mixed-integer-float", "boolean", "decimal"):
        return NUMBER
    if inferred in ("string", "date", "datetime", "datetime64"):
        return CATEGORY if dates_of(series) is None else DATE
    _refuse_spoilt_numbers(str(series.name), [str(value) for value in series])
    raise ValueError(
        f"Column {series.name!r} holds {inferred} values, which cannot be made into features"
        f"{_two_kinds(series)}; turn it into numbers, text or dates, or leave it out."
    )


def _two_kinds(series: pd.Series) -> str:
    """Where the first values of two kinds are, in words: a text among numbers, mostly."""
    kinds = [type(value) for value in series]
    other = next((row for row, kind in enumerate(kinds) if kind is not kinds[0]), None)
    if other is None:
        return ""
    told = [f"{quoted(str(series.iloc[row]))} in row {row + 1:,}" for row in (0, other)]
    if kinds.count(kinds[other]) > len(kinds) / 2:
        told.reverse()
    return f" (it begins with {told[0]}, but there is {told[1]})"


def _refuse_spoilt_numbers(name: str, labels: list[str]) -> None:
    """A few entries such as "?" or "12o" make a file's column of numbers text: say which."""
    pandas = require_pandas()
    unreadable = np.asarray(pandas.to_numeric(pandas.Series(labels), errors="coerce").isna())
    if 0 < unreadable.mean() <= _SPOILT:
        row, count = int(np.argmax(unreadable)), int(unreadable.sum())
        such = "" if count == 1 else " such as"
        raise ValueError(
            f"Column {name!r} holds numbers, except for {counted(count, 'row')}{such or ':'} "
            f"{quoted(labels[row])} in row {row + 1:,}; correct them or leave those rows out."
        )
