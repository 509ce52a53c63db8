"""Tables: a spreadsheet's columns become numbers, the same way every time.

    number, true/false      as it is
    text, category          one 0/1 column per value, `<column>_<value>`; values fixed at fit
    date                    `<column>_weekday` (0: Monday), `…_month` (1–12), `…_day_of_year`

What was done to each column is plain data (``TableEncoder.to_json``), so a policy file can hold it
and new tables are treated alike. Nothing is guessed and nothing imputed: what does not fit is
refused in one sentence that names the column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hedgerow import _checks
from hedgerow.data.look_alikes import is_formatted_number, is_iso_date, refuse_look_alikes
from hedgerow.data.table_files import require_pandas
from hedgerow.describe.numbers import counted, listed
from hedgerow.describe.text import quoted

if TYPE_CHECKING:
    import pandas as pd

NUMBER, CATEGORY, DATE = "number", "category", "date"
DATE_PARTS = ("weekday", "month", "day_of_year")
MOST_LETTERS = 200
"""Letters that a category may have: it is printed, and is part of a feature's name."""
_SPOILT = 0.1


@dataclass(frozen=True)
class Column:
    """What becomes of one column: its name, its kind, and a category column's known values."""

    name: str
    kind: str
    values: tuple[str, ...] = ()

    @property
    def features(self) -> list[str]:
        """Names of the numeric features it turns into."""
        if self.kind == NUMBER:
            return [self.name]
        return [f"{self.name}_{part}" for part in (self.values or DATE_PARTS)]

    @property
    def labels(self) -> list[str]:
        """The same in words."""
        if self.kind == CATEGORY:
            return [f"{self.name} = {value}" for value in self.values]
        if self.kind == DATE:
            return [f"{part.replace('_', ' ')} of {self.name}" for part in DATE_PARTS]
        return [self.name]

    @property
    def treatment(self) -> str:
        """What was done to it, in a few words."""
        if self.kind == NUMBER:
            return "as it is"
        if self.kind == CATEGORY:
            return f"one 0/1 feature for each of {len(self.values)} values"
        return "weekday, month and day of the year"


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
        table = _as_table(X)
        most = _checks.count("most_categories", self.most_categories)
        self._set_columns([_column(table[name], most) for name in table.columns])
        for column in self.columns_:
            _encoded(table[column.name], column)
        return self

    def transform(self, X: Any) -> pd.DataFrame:
        """Return the features of a table with (at least) the columns seen in ``fit``."""
        check_is_fitted(self, "columns_")
        table = _as_table(X)
        names = [column.name for column in self.columns_]
        missing = [name for name in names if name not in table.columns]
        if missing:
            raise ValueError(
                f"The table lacks the column{'s' if len(missing) > 1 else ''} {listed(missing)}, "
                f"which the policy was trained with; it has {listed(table.columns)}."
            )
        features: dict[str, np.ndarray] = {}
        for column in self.columns_:
            features |= _encoded(table[column.name], column)
        return require_pandas().DataFrame(features, index=table.index)

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
        try:
            encoder = cls(most_categories=int(plain["most_categories"]))
            columns = [
                Column(
                    str(column["name"]),
                    _checks.one_of("kind", column["kind"], (NUMBER, CATEGORY, DATE)),
                    tuple(str(value) for value in column["values"]),
                )
                for column in plain["columns"]
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"The stored description of columns is damaged ({error}).") from None
        encoder._set_columns(columns)
        return encoder

    def _set_columns(self, columns: list[Column]) -> None:
        self.columns_ = columns
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        home: dict[str, str] = {}
        for column in columns:
            for name in column.features:
                if name in home:
                    raise ValueError(
                        f"Columns {home[name]!r} and {column.name!r} would both make a feature "
                        f"called {name!r}; rename one of them."
                    )
                home[name] = column.name


def numeric_column(table: pd.DataFrame, name: str) -> np.ndarray:
    """Return one column as float64, or say that it is absent, incomplete or not numeric."""
    if name not in table.columns:
        raise ValueError(f"There is no column {name!r}; the table has {listed(table.columns)}.")
    return _encoded(table[name], Column(name, NUMBER))[name]


def _as_table(X: Any) -> pd.DataFrame:
    pandas = require_pandas()
    if not isinstance(X, pandas.DataFrame):
        raise TypeError(f"TableEncoder needs a pandas DataFrame; got {type(X).__name__}.")
    table = X.rename(columns=str)
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        raise ValueError(f"The table has more than one column called {repeated[0]!r}.")
    if X.shape[1] == 0:
        raise ValueError("The table has no columns to make features of.")
    if len(X) == 0:
        raise ValueError("The table has no rows.")
    return table


def _column(series: Any, most_categories: int) -> Column:
    """Choose a column's kind from its values."""
    name = str(series.name)
    _refuse_missing(series)
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
        return CATEGORY if _dates(series) is None else DATE
    raise ValueError(
        f"Column {series.name!r} holds {inferred} values, which cannot be made into features; "
        "turn it into numbers, text or dates, or leave it out."
    )


def _encoded(series: Any, column: Column) -> dict[str, np.ndarray]:
    """Features of one column, treated as ``column`` says."""
    _refuse_missing(series)
    encode: Callable[[Any, Column], list[np.ndarray]] = {
        NUMBER: _numbers,
        CATEGORY: _indicators,
        DATE: _date_parts,
    }[column.kind]
    return dict(zip(column.features, encode(series, column), strict=True))


def _numbers(series: pd.Series, column: Column) -> list[np.ndarray]:
    if require_pandas().api.types.is_datetime64_any_dtype(series.dtype):
        raise ValueError(f"Column {column.name!r} must hold numbers, but it holds dates.")
    numbers = _floats(series.astype(object))
    unreadable = np.isnan(numbers)
    if unreadable.any():
        value = str(series.iloc[int(np.argmax(unreadable))])
        remedy = "; write it as a plain number such as 10.5" if is_formatted_number(value) else ""
        raise ValueError(
            f"Column {column.name!r} must hold numbers, but one value is {quoted(value)}{remedy}."
        )
    infinite = int(np.isinf(numbers).sum())
    if infinite:
        raise ValueError(
            f"Column {column.name!r} has {counted(infinite, 'infinite value')} (or one beyond "
            "1.8e308); correct or drop those rows."
        )
    return [numbers]


def _floats(values: pd.Series) -> np.ndarray:
    """Numbers as float64, NaN for what is none, infinity for what is beyond them."""
    try:
        numbers = require_pandas().to_numeric(values, errors="coerce")
        return np.asarray(numbers, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):  # one value that pandas cannot even coerce
        return np.array([_float(value) for value in values])


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError):
        return np.nan


def _indicators(series: pd.Series, column: Column) -> list[np.ndarray]:
    labels = column_labels(series)
    unseen = sorted(set(labels) - set(column.values))
    if unseen:
        raise ValueError(
            f"Column {column.name!r} holds {quoted(unseen[0])}, which was not seen in training; "
            f"the known values are {listed(column.values)}."
        )
    labels = np.array(labels, dtype=object)
    return [(labels == value).astype(np.float64) for value in column.values]


def _date_parts(series: pd.Series, column: Column) -> list[np.ndarray]:
    dates = _dates(series)
    if dates is None:
        texts = (require_pandas().Series([str(value)]) for value in series)
        value = next(text[0] for text in texts if _dates(text) is None)
        raise ValueError(
            f"Column {column.name!r} must hold dates like 2015-11-07, but one value is "
            f"{quoted(value)}."
        )
    parts = (dates.dt.day_of_week, dates.dt.month, dates.dt.day_of_year)
    return [np.asarray(part, dtype=np.float64) for part in parts]


def _dates(series: pd.Series) -> Any:
    """Calendar dates of a column, or None unless every row is a date or the text of an ISO date."""
    pandas = require_pandas()
    if pandas.api.types.is_datetime64_any_dtype(series.dtype):
        return series
    texts = [str(value).strip() for value in series]
    if not all(map(is_iso_date, texts)):
        return None
    dates = pandas.Series([text[:10] for text in texts])
    dates = pandas.to_datetime(dates, format="%Y-%m-%d", errors="coerce")
    return None if dates.isna().any() else dates


def labels_of(values: list[Any]) -> list[str]:
    """Category values as text; 7, 7.0 and "7" are one value, however the file stored it."""
    return [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
        for value in values
    ]


def column_labels(series: Any) -> list[str]:
    """Labels of a column without gaps; only different values are converted."""
    try:
        codes, different = require_pandas().factorize(series)
    except TypeError:  # values that cannot be compared
        return labels_of(series.tolist())
    return np.array(labels_of(list(different)), dtype=object)[codes].tolist()


def _refuse_spoilt_numbers(name: str, labels: list[str]) -> None:
    """A few entries such as "?" or "12o" make a file's column of numbers text: say which."""
    pandas = require_pandas()
    unreadable = np.asarray(pandas.to_numeric(pandas.Series(labels), errors="coerce").isna())
    if 0 < unreadable.mean() <= _SPOILT:
        value, rows = labels[int(np.argmax(unreadable))], int(unreadable.sum())
        raise ValueError(
            f"Column {name!r} holds numbers, except for {counted(rows, 'row')} such as "
            f"{quoted(value)}; correct them or leave those rows out."
        )


def _refuse_missing(series: pd.Series) -> None:
    missing = int(series.isna().sum())
    if missing:
        raise ValueError(
            f"Column {series.name!r} has {counted(missing, 'missing value')}; fill in or drop "
            "those rows, nothing is imputed."
        )
