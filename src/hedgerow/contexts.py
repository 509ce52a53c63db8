"""What contexts are: numbers that may lie anywhere or between ends, categories, or facts.

A model that moves contexts takes all columns for numbers without ends, unless ``contexts=`` says
otherwise, part by part:

    hr.CausalSinkhorn(penalty=10, epsilon=0.01, contexts=[
        hr.contexts.Bounded("rain", low=0),
        hr.contexts.Categorical(["sky_sun", "sky_rain"], mismatch=1.0),
        hr.contexts.Fixed("weekday"),
    ])

Columns are named, or numbered from 0. A worst case then shows rain that can fall, skies that exist
and weekdays as they are. ``of`` reads all of it off a table's encoder.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from hedgerow import _checks
from hedgerow._components import Component
from hedgerow.data import NominalDistribution, Units
from hedgerow.data.encoder import CATEGORY, DATE
from hedgerow.describe.numbers import listed, number

if TYPE_CHECKING:
    from hedgerow.data import TableEncoder

__all__ = ["Bounded", "Categorical", "ContextKind", "Continuous", "Fixed", "of"]

TOLERANCE = 1e-9
"""Of a column's size: what an end may be missed by, and two values may differ by."""
MOST_NAMED = 6
"""Columns that a sentence names."""


class Supports(NamedTuple):
    """What columns are, in the user's units: ends, which are fixed, and categorical variables."""

    low: np.ndarray
    high: np.ndarray
    fixed: np.ndarray
    variables: list[tuple[tuple[int, ...], np.ndarray, float]]


class ContextKind(Component):
    """What some columns of the contexts are (abstract)."""

    columns: Any = None

    def check(self) -> None:
        """Columns are names or positions; None: all."""
        if self.columns is None:
            return
        for column in self._listed():
            if isinstance(column, bool) or not isinstance(column, str | int | np.integer):
                raise TypeError(
                    f"columns of {type(self).__name__} must be names or positions, got {column!r}."
                )

    def _listed(self) -> list[Any]:
        several = isinstance(self.columns, list | tuple | np.ndarray)
        return list(self.columns) if several else [self.columns]

    def located(self, names: Sequence[str] | None, features: int) -> Self:
        """Return it knowing its positions among so many features with these names."""
        if self.columns is None:
            return self.replace(columns=tuple(range(features)))
        return self.replace(
            columns=tuple(
                self._position(column, None if names is None else list(names), features)
                for column in self._listed()
            )
        )

    def _position(self, column: Any, names: list[str] | None, features: int) -> int:
        kind = type(self).__name__
        if not isinstance(column, str):
            if not 0 <= column < features:
                raise ValueError(
                    f"{kind} names column {column}, but X has {features} column(s), counted from 0."
                )
            return int(column)
        if names is None:
            raise ValueError(
                f"{kind} names column {column!r}, but the columns of X have no names: hand X over "
                f"as a table, or say which one it is by its position, as in {kind}(3)."
            )
        if column not in names:
            raise ValueError(
                f"{kind} names column {column!r}, which X does not have; it has {listed(names)}."
            )
        return names.index(column)

    @abstractmethod
    def declare(self, supports: Supports, nominal: NominalDistribution, units: Units) -> None:
        """Write into the supports what these columns are; refuse contexts that are not so."""

    @abstractmethod
    def words(self) -> str:
        """Say in a few words what the adversary may do."""


class Continuous(ContextKind):
    """Columns that may be moved anywhere, as all may where nothing is said.

    Parameters
    ----------
    columns : str, int, list of these or None
        Names or positions; None: all.

    Examples
    --------
    >>> import hedgerow as hr
    >>> hr.CausalSinkhorn(penalty=3, contexts=[hr.contexts.Continuous(0)]).contexts[0].columns
    0
    """

    columns: Any = None

    def declare(self, supports: Supports, nominal: NominalDistribution, units: Units) -> None:
        """Nothing to write."""

    def words(self) -> str:
        """By any amount."""
        return "moved by any amount"


class Bounded(ContextKind):
    """Columns that may be moved, but not beyond their ends.

    Parameters
    ----------
    columns : str, int, list of these or None
        Names or positions; None: all.
    low, high : float
        The ends, in the data's units; infinite: none on that side.

    Examples
    --------
    >>> import hedgerow as hr
    >>> rain = hr.contexts.Bounded("rain", low=0)  # it never rains less than not at all
    >>> model = hr.CausalSinkhorn(penalty=3, epsilon=0.1, contexts=[rain])
    """

    columns: Any = None
    low: float = -math.inf
    high: float = math.inf

    def check(self) -> None:
        """The ends are numbers, one below the other."""
        super().check()
        _checks.bounds("low and high", self.low, self.high)

    def declare(self, supports: Supports, nominal: NominalDistribution, units: Units) -> None:
        """The ends."""
        for column in self.columns:
            seen = nominal.contexts[:, column]
            slack = TOLERANCE * max(1.0, float(np.abs(seen).max(initial=0.0)))
            outside = (seen < self.low - slack) | (seen > self.high + slack)
            if np.any(outside):
                raise ValueError(
                    f"Column {column} of X holds {seen[np.argmax(outside)]:g}, outside its bounds "
                    f"[{self.low:g}, {self.high:g}]: correct the value, or the bounds."
                )
            supports.low[column], supports.high[column] = self.low, self.high

    def words(self) -> str:
        """Between the ends."""
        low, high = (
            f"never {side} {number(float(end))}" if math.isfinite(float(end)) else ""
            for side, end in (("below", self.low), ("above", self.high))
        )
        ends = " or ".join(filter(None, [low, high.removeprefix("never ") if low else high]))
        return f"moved, but {ends}" if ends else "moved by any amount"


class Fixed(ContextKind):
    """Columns that the adversary cannot touch: the calendar, a price list.

    Parameters
    ----------
    columns : str, int, list of these or None
        Names or positions; None: all, so that only outcomes are moved.

    Examples
    --------
    >>> import hedgerow as hr
    >>> model = hr.CausalSinkhorn(penalty=3, epsilon=0.1, contexts=[hr.contexts.Fixed("weekday")])
    """

    columns: Any = None

    def declare(self, supports: Supports, nominal: NominalDistribution, units: Units) -> None:
        """They are fixed."""
        supports.fixed[list(self.columns)] = True

    def words(self) -> str:
        """Not at all."""
        return "left alone"


class Categorical(ContextKind):
    """One variable whose columns move together, as a whole, between known values.

    Parameters
    ----------
    columns : str, int or list of these
        The column, or all one-hot columns of the variable.
    mismatch : float
        What a change of value costs, in units of the transport cost; infinite: it is fixed.
    values : (values, columns) or None
        What the columns may hold; None: those of a single column that the data hold, of several
        columns one 1 among zeros and whatever else the data hold.

    Examples
    --------
    >>> import hedgerow as hr
    >>> weekday = hr.contexts.Categorical(("Mon", "Tue", "Wed"), mismatch=4.0)
    >>> model = hr.CausalSinkhorn(penalty=3, epsilon=0.1, contexts=[weekday])
    """

    columns: Any = None
    mismatch: float = 1.0
    values: Any = None

    def check(self) -> None:
        """The mismatch is a cost."""
        super().check()
        if self.columns is None:
            raise ValueError("Categorical must be told its columns: those of one variable.")
        if not float(self.mismatch) >= 0:
            raise ValueError(f"mismatch must not be negative, got {self.mismatch!r}.")

    def declare(self, supports: Supports, nominal: NominalDistribution, units: Units) -> None:
        """The values that differ where the rule can see it; one alone is fixed."""
        columns = list(self.columns)
        seen = np.unique(nominal.contexts[:, columns], axis=0)
        if self.values is not None:
            values = np.asarray(self.values, np.float64).reshape(-1, len(columns))
        elif len(columns) > 1:
            values = np.concatenate([np.eye(len(columns)), seen])
        else:
            values = seen
        values = np.unique(values, axis=0)
        gaps = np.abs(seen[:, None] - values).max(axis=-1).min(axis=1)
        slack = TOLERANCE * max(1.0, float(np.abs(values).max()))
        if np.any(gaps > slack):
            raise ValueError(
                f"Column(s) {listed(columns)} of X hold {seen[np.argmax(gaps)].tolist()}, which is "
                f"none of the values of this variable; it has {len(values)}."
            )
        # a column that never varied in training is ignored: no value may differ there
        still = units.x_factor[columns] == 0
        usual = np.abs(values - units.x_centre[columns]) <= slack
        values = values[np.all(usual | ~still, axis=1)]
        supports.variables.append((tuple(columns), values, float(self.mismatch)))

    def words(self) -> str:
        """Between values."""
        if math.isinf(float(self.mismatch)):
            return "left alone"
        return f"changed from one value to another at a cost of {number(float(self.mismatch))}"


def check_kinds(contexts: Any) -> list[ContextKind]:
    """Return what was declared as a list, or say what is wrong with it."""
    if contexts is None:
        return []
    kinds = list(contexts) if isinstance(contexts, list | tuple) else [contexts]
    for kind in kinds:
        _checks.instance(
            "contexts", kind, ContextKind, "kinds of columns such as hedgerow.contexts.Fixed(0)"
        )
        kind.check()
    return kinds


def kinds_words(kinds: Sequence[ContextKind]) -> list[str]:
    """Say what becomes of columns in a worst case, those that are alike together.

    ["rain is moved, but never below 0", "other columns are moved by any amount"]; nothing if
    nothing was declared.
    """
    alike: dict[str, list[str]] = {}
    for kind in kinds:
        if kind.columns is None:
            return [f"all columns are {kind.words()}"]
        names = alike.setdefault(kind.words(), [])
        names += [c if isinstance(c, str) else f"column {c}" for c in kind._listed()]
    said = [
        f"{listed(names, MOST_NAMED)} {'is' if len(names) == 1 else 'are'} {words}"
        for words, names in alike.items()
    ]
    return said and [*said, f"other columns are {Continuous().words()}"]


def supports_of(
    kinds: Sequence[ContextKind], nominal: NominalDistribution, units: Units
) -> Supports:
    """Return what all columns are; no column may be declared twice."""
    features = nominal.contexts.shape[1]
    end = np.full(features, np.inf)
    supports = Supports(-end, end, np.zeros(features, bool), [])
    seen: set[int] = set()
    for kind in kinds:
        found = kind.located(None, features) if _unlocated(kind) else kind
        twice = seen & set(found.columns)
        if twice:
            raise ValueError(f"contexts declares column {min(twice)} of X twice; once is enough.")
        seen |= set(found.columns)
        found.declare(supports, nominal, units)
    return supports


def _unlocated(kind: ContextKind) -> bool:
    columns = kind.columns
    return not isinstance(columns, tuple) or any(isinstance(c, str) for c in columns)


def of(encoder: TableEncoder, X: Any, mismatch: float = 1.0) -> tuple[ContextKind, ...]:
    """Return what the columns are that a fitted encoder makes, as X, its own output, has them.

    One-hot columns of a text are one categorical variable each, numbers that are only ever 0 and 1
    likewise; what comes of dates is fixed; numbers that are never negative keep to that.

    Parameters
    ----------
    encoder : TableEncoder
        Fitted.
    X : DataFrame or array
        What it made of the training rows.
    mismatch : float
        What a change of value costs.

    Examples
    --------
    >>> import pandas as pd
    >>> import hedgerow as hr
    >>> table = pd.DataFrame({"sky": ["clear", "rain", "clear"], "degrees": [21.0, 14.5, 18.0]})
    >>> encoder = hr.TableEncoder().fit(table)
    >>> kinds = hr.contexts.of(encoder, encoder.transform(table))
    >>> sorted({type(kind).__name__ for kind in kinds})
    ['Bounded', 'Categorical']
    """
    table = np.asarray(X, np.float64)
    names = list(encoder.get_feature_names_out())
    if table.ndim != 2 or table.shape[1] != len(names):
        raise ValueError(
            f"X must be what the encoder makes, with {len(names)} columns; got shape {table.shape}."
        )
    kinds: list[ContextKind] = []
    for column in encoder.columns_:
        places = tuple(names.index(name) for name in column.features)
        if column.kind == CATEGORY:
            kinds.append(Categorical(places, mismatch))
        elif column.kind == DATE:
            kinds.append(Fixed(places))
        else:
            seen = table[:, places[0]]
            if np.all((seen == 0) | (seen == 1)):
                kinds.append(Categorical(places, mismatch, ((0.0,), (1.0,))))
            elif np.all(seen >= 0):
                kinds.append(Bounded(places, 0.0))
    return tuple(kinds)
