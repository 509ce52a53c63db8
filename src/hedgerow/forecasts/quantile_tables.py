"""Quantiles as a distribution to read off: a line from level to level, and names of columns.

    Q(t) = q_a + (q_{a+1} − q_a)·(t − l_a)/(l_{a+1} − l_a),    l_a ≤ t ≤ l_{a+1}

The outermost pieces go on beyond the outermost levels. Quantiles that cross are sorted, which
never takes them farther from the true ones (Chernozhukov, Fernández-Val & Galichon 2010).
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
from jaxtyping import Float

from hedgerow import _checks
from hedgerow._warnings import CrossingQuantilesWarning
from hedgerow.describe.numbers import counted

ROUNDING = 1e-6
"""Of a row's largest quantile: crossing by less is float32's rounding."""
QUANTILE = re.compile(
    r"(?P<model>.+?)(?:-(?P<side>lo|hi)-(?P<percent>\d+(?:\.\d+)?)"
    r"|_ql(?P<level>\d*\.?\d+)|(?P<median>-median))"
)
"""What statsforecast, mlforecast and neuralforecast call the columns of quantiles."""


def read_at(
    wanted: Float[np.ndarray, " wanted"], levels: Any, quantiles: Any
) -> Float[np.ndarray, "rows wanted"]:
    """Return each row's values at the wanted levels, from its quantiles at the given ones."""
    levels, quantiles = _rising(levels, quantiles)
    piece = np.clip(np.searchsorted(levels, wanted) - 1, 0, len(levels) - 2)
    share = (wanted - levels[piece]) / (levels[piece + 1] - levels[piece])
    low, high = quantiles[:, piece], quantiles[:, piece + 1]
    return low + share * (high - low)


def quantile_columns(frame: Any, model: str | None) -> dict[float, str]:
    """Columns of a model's quantiles, by their levels."""
    if not hasattr(frame, "columns"):
        raise TypeError(
            f"frame must be a pandas or polars frame, got {type(frame).__name__}; quantiles in an "
            "array are for ScenarioNominal.from_quantiles."
        )
    names = [str(name) for name in frame.columns]
    found: dict[str, dict[float, str]] = {}
    for name in names:
        parsed = QUANTILE.fullmatch(name)
        if parsed:
            found.setdefault(parsed["model"], {}).setdefault(_level(parsed), name)
    if not found:
        raise ValueError(
            "The frame has no columns of quantiles, such as 'model-lo-90' and 'model-hi-90' or "
            f"'model_ql0.1'; it has {', '.join(names[:12]) or 'none'}."
        )
    if model is None and len(found) > 1:
        raise ValueError(
            f"The frame has quantiles of several models ({', '.join(found)}); say which, with "
            f"model={next(iter(found))!r}."
        )
    chosen = next(iter(found)) if model is None else model
    if chosen not in found:
        raise ValueError(f"The frame has no quantiles of {chosen!r}, but of {', '.join(found)}.")
    if chosen in names:
        found[chosen].setdefault(0.5, chosen)
    return found[chosen]


def _level(parsed: re.Match[str]) -> float:
    """The level that a column's name tells: 0.05 for lo-90."""
    if parsed["median"]:
        return 0.5
    if parsed["level"]:
        return float(parsed["level"])
    half = float(parsed["percent"]) / 200
    return round(0.5 - half if parsed["side"] == "lo" else 0.5 + half, 12)


def _rising(levels: Any, quantiles: Any) -> tuple[np.ndarray, np.ndarray]:
    """Levels (levels,) and quantiles (rows, levels), checked, both rising."""
    levels = _checks.series("levels", levels)
    if len(levels) < 2:
        raise ValueError("levels must be at least two: one quantile is not a distribution.")
    outside = levels[(levels <= 0) | (levels >= 1)]
    if len(outside):
        raise ValueError(f"levels must lie between 0 and 1 (0.05 for 5 %), got {outside[0]:g}.")
    order = np.argsort(levels)
    levels = levels[order]
    twice = levels[1:][np.diff(levels) == 0]
    if len(twice):
        raise ValueError(f"levels must differ, but {twice[0]:g} is there twice.")
    quantiles = _checks.numeric("quantiles", quantiles)
    if quantiles.ndim != 2 or quantiles.shape[1] != len(levels):
        raise ValueError(
            f"quantiles must have the shape (rows, levels), with {len(levels)} levels, got "
            f"{quantiles.shape}; of several outcomes, give scenarios."
        )
    quantiles = quantiles[:, order]
    drop = -np.diff(quantiles, axis=1).min(axis=1)
    crossing = np.flatnonzero(drop > ROUNDING * np.abs(quantiles).max(axis=1))
    if len(crossing):
        warnings.warn(
            f"Quantiles cross in {counted(len(crossing), 'row')} of {len(quantiles)} (counted from "
            f"0, the first is row {crossing[0]}); they were sorted.",
            CrossingQuantilesWarning,
            stacklevel=4,
        )
    return levels, np.sort(quantiles, axis=1)
