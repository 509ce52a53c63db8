"""Every input error of the package, worded once; those of a history's rows in ``_row_checks``.

A check either returns its argument in the form the mathematics wants (a float64 array, an int)
or raises ``ValueError``/``TypeError`` with one sentence: what was got, what was expected, and what
to do about it.
"""

from __future__ import annotations

import datetime
import numbers
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np

DATES = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)


def finite(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is a finite number."""
    return _number(name, value)


def positive(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is finite and > 0."""
    number = _number(name, value)
    if not number > 0:
        raise ValueError(f"{name} must be greater than 0, got {value!r}.")
    return number


def nonnegative(name: str, value: Any) -> float:
    """Return ``value`` as a float if it is finite and >= 0."""
    number = _number(name, value)
    if number < 0:
        raise ValueError(f"{name} must not be negative, got {value!r}.")
    return number


def penalty_or_radius(penalty: Any, radius: Any) -> None:
    """Exactly one of the two, and greater than 0."""
    if penalty is not None and radius is not None:
        raise ValueError(
            f"Give a penalty or a radius, not both (got penalty={penalty!r}, radius={radius!r})."
        )
    if penalty is None and radius is None:
        raise ValueError(
            "Give a penalty (the price of moving the distribution, for example 10) or a radius "
            "(how far it may move)."
        )
    name, value = ("radius", radius) if penalty is None else ("penalty", penalty)
    positive(name, value)


def within_reach(name: str, value: Any, unit: float, low: float, high: float) -> None:
    """Refuse a setting that leaves what floating-point numbers can tell apart.

    ``value``/``unit`` is what has to lie between ``low`` and ``high``.
    """
    if not low * unit <= float(value) <= high * unit:
        raise ValueError(
            f"{name}={float(value):g} is out of reach on these data: it must lie between "
            f"{low * unit:.3g} and {high * unit:.3g}."
        )


def fraction(name: str, value: Any) -> float:
    """Return ``value`` as a float if it lies in (0, 1]."""
    number = positive(name, value)
    if number > 1:
        raise ValueError(f"{name} must be at most 1, got {value!r}.")
    return number


def below_one(name: str, value: Any) -> float:
    """Return ``value`` as a float if it lies in (0, 1): a probability that can be promised."""
    share = fraction(name, value)
    if share == 1:
        raise ValueError(f"{name} must be less than 1: nothing is certain; got {value!r}.")
    return share


def count(name: str, value: Any, least: int = 1) -> int:
    """Return ``value`` as an int if it is a whole number >= ``least``."""
    whole = _whole(name, value)
    if whole < least:
        raise ValueError(f"{name} must be at least {least}, got {value}.")
    return whole


def order(name: str, value: Any) -> float:
    """Return ``value`` if it is a finite number >= 1, a power that costs are raised to."""
    number = _number(name, value)
    if number < 1:
        raise ValueError(
            f"{name} must be at least 1, got {value!r}: below, moving far would cost less than "
            "moving often."
        )
    return number


def norms(name: str, value: Any) -> tuple[Any, Any]:
    """Return the norms of contexts and outcomes, each None, 1, 2 or infinity."""
    pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
    known = (None, 1, 2, float("inf"))
    if len(pair) != 2 or any(isinstance(one, str | bool) or one not in known for one in pair):
        raise ValueError(
            f"{name} must be None, 1, 2 or inf, or a pair of these for contexts and outcomes; got "
            f"{value!r}."
        )
    return pair


def position(name: str, value: Any, size: int) -> int:
    """Return ``value`` as an int if it is a position among ``size`` things, counted from 0."""
    whole = _whole(name, value)
    if not 0 <= whole < size:
        raise ValueError(f"{name} must lie between 0 and {size - 1}; got {value}.")
    return whole


def one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return ``value`` if it is one of ``choices``."""
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}.")
    return value


def instance(name: str, value: Any, kind: type, hint: str) -> Any:
    """Return ``value`` if it is a ``kind``; ``hint`` shows what a right one looks like."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {hint}; got {' '.join(reprlib.repr(value).split())}.")
    return value


def fitted_policy(value: Any) -> Any:
    """Return ``value`` if it is a policy that has been fitted, also the last step of a pipeline."""
    if hasattr(value, "steps") and hasattr(value[-1], "behind"):
        return fitted_policy(value[-1]).behind(value[:-1])
    if isinstance(value, type) or not hasattr(value, "problem"):
        raise TypeError(
            "policy must be a fitted hedgerow.RobustPolicy, or one made by "
            f"RobustPolicy.from_function; got a {type(value).__name__}.{_instead(value)}"
        )
    from sklearn.utils.validation import check_is_fitted  # slow to import, and needed here alone

    check_is_fitted(value, "rule_")
    return value


def _instead(value: Any) -> str:
    """What to hand over in place of something that holds a policy."""
    if hasattr(value, "best_estimator_"):
        return " Give its best_estimator_."
    if hasattr(value, "policy_for"):
        return (
            " Give a rule of it: policy_for(series), which with one rule for all series counts "
            "outcomes in shares of a row's scale (panel_.rows). Costs of all series together are "
            "promised and watched by hedgerow.calibrate and hedgerow.watch."
        )
    return ""


def parameter(name: str, value: Any) -> np.ndarray:
    """Return a parameter as a finite float64 array. Unlike data, it has no rows to mend."""
    array = _floats(value)
    if array is None:
        raise TypeError(f"{name} must hold numbers only, got {reprlib.repr(value)}.")
    if not np.all(np.isfinite(array)):
        kind = "NaN" if np.any(np.isnan(array)) else "inf"
        raise ValueError(f"{name} contains {kind}; it must be finite.")
    return array


def costs(name: str, value: Any) -> np.ndarray:
    """Return unit costs as a float64 array of shape () or (products,), all finite and >= 0."""
    array = parameter(name, value)
    if array.ndim > 1 or array.size == 0:
        raise ValueError(
            f"{name} must be a number or one number per product, got shape {array.shape}."
        )
    if np.any(array < 0):
        raise ValueError(f"{name} must not be negative, got {value!r}.")
    return array


def scale(name: str, value: Any) -> Any:
    """Return "auto", or positive scales as a float64 array of shape () or (columns,)."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name} must be "auto" or positive numbers, got {value!r}.')
        return value
    array = costs(name, value)
    if np.any(array <= 0):
        raise ValueError(f'{name} must be "auto" or greater than 0, got {value!r}.')
    return array


def bounds(name: str, low: Any, high: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return two float64 arrays of one shape with low < high everywhere (infinities allowed)."""
    low_array, high_array = _floats(low), _floats(high)
    if low_array is None or high_array is None:
        raise TypeError(f"{name} needs numbers, got low={low!r}, high={high!r}.")
    try:
        low_array, high_array = np.broadcast_arrays(low_array, high_array)
    except ValueError:
        raise ValueError(
            f"{name} needs as many low ends as high ends, got {low_array.size} and "
            f"{high_array.size}."
        ) from None
    if np.any(np.isnan(low_array)) or np.any(np.isnan(high_array)):
        raise ValueError(f"{name} must not contain NaN.")
    if not np.all(low_array < high_array):
        raise ValueError(
            f"{name} needs low < high in every coordinate, got low={low!r}, high={high!r}."
        )
    return low_array, high_array


def interval(name: str, value: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a pair (low, high), as ``bounds`` does."""
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 2:
        raise TypeError(f"{name} must be a pair (low, high), got {value!r}.")
    return bounds(name, *value)


def numeric(name: str, value: Any) -> np.ndarray:
    """Return ``value`` as a finite float64 array, or say which kind of entry is in the way."""
    if hasattr(value, "toarray"):
        raise TypeError(f"{name} is a sparse matrix; pass a dense array ({name}.toarray()).")
    if value is None:
        raise TypeError(f"{name} must be numeric, got None.")
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} must be a table, but its rows differ in length.") from None
    _refuse_dates(name, value, array)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers.")
    try:
        array = array.astype(np.float64)
    except TypeError as error:
        raise TypeError(f"{name} must be numeric, but it holds objects: {error}.") from None
    except ValueError:
        raise ValueError(
            f"{name} must be numeric, but it holds text; encode such columns first "
            "(hedgerow.TableEncoder one-hot encodes text and decomposes dates)."
        ) from None
    if not np.all(np.isfinite(array)):
        kind = "NaN" if np.any(np.isnan(array)) else "inf"
        raise ValueError(
            f"{name} contains {kind}; remove or fill such rows before fitting, nothing is imputed."
        )
    return array


def series(name: str, value: Any) -> np.ndarray:
    """Return ``value`` as a float64 array (periods,) with at least one entry."""
    array = np.atleast_1d(numeric(name, value))
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a list of numbers, got shape {array.shape}.")
    return array


def reference(value: Any, kind: type, columns: tuple[int, int]) -> None:
    """Refuse reference measures that are not two, or not of the data's widths."""
    if value is None:
        return
    pair = isinstance(value, tuple | list) and len(value) == 2
    if not pair or not all(isinstance(part, kind) for part in value):
        raise TypeError(
            "reference must be a pair of hedgerow.Reference measures, on contexts and on "
            f"outcomes; got {value!r}."
        )
    for name, part, width in zip(("contexts", "outcomes"), value, columns, strict=True):
        shape = np.shape(part.points)
        if len(shape) != 2 or shape[1] != width:
            raise ValueError(
                f"The reference measure on {name} must have points of shape (points, {width}), "
                f"got {shape}."
            )


def _refuse_dates(name: str, value: Any, array: np.ndarray) -> None:
    """NumPy would turn dates into counts of days or nanoseconds without a word."""
    if array.dtype.kind == "O":
        found = np.reshape([isinstance(entry, DATES) for entry in array.flat], array.shape)
    else:
        found = np.full(array.shape, array.dtype.kind in "mM")
    if not found.any():
        return
    names, where = getattr(value, "columns", None), ""
    if names is not None and found.ndim == 2:
        where = f"Column {str(names[int(np.argmax(found.any(axis=0)))])!r} of "
    raise TypeError(
        f"{where}{name} holds dates or durations, not numbers; turn them into numbers first "
        "(hedgerow.TableEncoder decomposes the dates of a table) or leave them out."
    )


def _floats(value: Any) -> np.ndarray | None:
    """As a float64 array, NaN and infinities included; None if it holds anything but numbers."""
    try:
        array = np.asarray(value)
        usable = value is not None and array.dtype.kind in "biufO"
        return array.astype(np.float64) if usable else None
    except (TypeError, ValueError):
        return None


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    return int(value)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}.")
    return number
