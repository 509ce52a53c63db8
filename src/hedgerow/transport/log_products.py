"""Sums of exponentials that neither overflow nor lose their largest term.

    LogKernel(L)(R)[i, x] = log Σ_y exp( L[i, y] + R[y, x] )

is a matrix product of exponentials, and BLAS computes it a hundred times faster than sums term by
term, but exp(−36/0.005) is not a number a computer holds. So the largest term of each row of L and
of each column of R is taken out first, rounded up to a power of 2. Every product is then at most 1,
and whatever underflows is smaller than 1e-299: a sum above 1e-280 has lost nothing. Sums below are
done again term by term. Where the exponents spread widely, the inner axis is cut into tiles that
have largest terms of their own.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

SMALLEST = -690.0
"""Exponents below are raised to it: exp(−690) is 2e-300."""
SAFE = 1e-280
"""A sum of products of numbers up to 1 that is above this has lost no digit to underflow."""
LOWEST = -1e15
"""Stands for -inf where a finite number is needed: below any exponent that occurs."""
TILE_RANGE = 450.0
"""Range of exponents in ``left`` for which a tile is made at first."""
LOG_2 = float(np.log(2))
LEAST_POWER = -1022
"""Powers of 2 below are as good as this one, and slower."""
BLOCK = 2**17
"""Numbers handled at a time where a whole matrix would be too many: a megabyte, which caches."""


class LogKernel:
    """log(exp(left) @ exp(right)) for one ``left`` and many ``right``; -inf stands for 0."""

    def __init__(self, left: Float[np.ndarray, "i y"]) -> None:
        self.left = left
        finite = left[np.isfinite(left)]
        self._cut(1 + int(np.ptp(finite) / TILE_RANGE))

    def __call__(self, right: Float[np.ndarray, "y x"]) -> Float[np.ndarray, "i x"]:
        """Return log Σ_y exp(left[i, y] + right[y, x])."""
        columns = [_largest_power(right[tile], axis=0) for tile in self.tiles]
        level = self.rows[0][:, None] + columns[0]
        for row, column in zip(self.rows[1:], columns[1:], strict=True):
            np.maximum(level, row[:, None] + column, out=level)
        total = np.zeros(level.shape)
        for tile, factor, row, column in zip(
            self.tiles, self.factors, self.rows, columns, strict=True
        ):
            product = factor @ exp_in_place(right[tile] - LOG_2 * column)
            if len(self.tiles) > 1:
                product *= np.exp2(np.maximum(row[:, None] + column - level, LEAST_POWER))
            total += product
        rows, columns = np.nonzero(total < SAFE)
        total[rows, columns] = 1.0
        result = np.log(total, out=total)
        result += LOG_2 * level
        inner, tiles = self.left.shape[1], len(self.tiles)
        for part in blocks(len(rows), inner):
            i, x = rows[part], columns[part]
            result[i, x] = log_sum_exp(self.left[i] + right.T[x])
        # Twice the tiles cost about as much as ``tiles`` terms per sum; a lost sum ``inner``.
        if len(rows) * inner > tiles * result.size and tiles < inner:
            self._cut(2 * tiles)
        return result

    def _cut(self, tiles: int) -> None:
        inner = self.left.shape[1]
        ends = np.linspace(0, inner, min(tiles, inner) + 1).astype(int)
        self.tiles = [slice(a, b) for a, b in pairwise(ends)]
        self.rows = [_largest_power(self.left[:, tile], axis=1) for tile in self.tiles]
        self.factors = [
            exp_in_place(self.left[:, tile] - LOG_2 * row[:, None])
            for tile, row in zip(self.tiles, self.rows, strict=True)
        ]


def log_sum_exp(values: Float[np.ndarray, "*rows y"]) -> Float[np.ndarray, "*rows"]:
    """Log Σ_y exp(values), -inf for a sum of nothing."""
    largest = _largest(values, axis=-1)
    total = np.exp(values - largest[..., None]).sum(axis=-1)
    with np.errstate(divide="ignore"):
        return np.log(total) + largest


def grouped_log_sum_exp(
    values: Float[np.ndarray, "rows y"], start: Int[np.ndarray, " groups"]
) -> Float[np.ndarray, "rows groups"]:
    """Log Σ exp(values) over groups of neighbouring columns that begin at ``start``."""
    if len(start) == values.shape[1]:
        return values
    largest = np.maximum.reduceat(values, start, axis=1)
    count = np.diff(np.append(start, values.shape[1]))
    exponents = values - np.repeat(largest, count, axis=1)
    total = np.add.reduceat(exp_in_place(exponents), start, axis=1)
    return np.log(total) + largest


def softmax(values: Float[np.ndarray, "rows x"]) -> Float[np.ndarray, "rows x"]:
    """exp(values), each row divided by its sum."""
    weights = exp_in_place(values - values.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def blocks(rows: int, columns: int) -> list[slice]:
    """Cut a matrix into blocks of rows that hold about ``BLOCK`` numbers each."""
    step = max(1, BLOCK // max(columns, 1))
    return [slice(a, min(a + step, rows)) for a in range(0, rows, step)]


def exp_in_place(values: np.ndarray) -> np.ndarray:
    """Exponentials in place, for values up to 0 whose small results do not count.

    Exponentials that underflow, and products with them, are several times slower than others.
    """
    return np.exp(np.maximum(values, SMALLEST, out=values), out=values)


def _largest(values: np.ndarray, axis: int) -> np.ndarray:
    """The largest entry along an axis, and a finite number below all others where it is -inf."""
    return np.maximum(values.max(axis=axis), LOWEST)


def _largest_power(values: np.ndarray, axis: int) -> Int[np.ndarray, " n"]:
    """The power of 2 next above the largest exponential along an axis."""
    return np.ceil(_largest(values, axis) / LOG_2).astype(np.int64)
