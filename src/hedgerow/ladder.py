"""Sizes of arrays on ladders, so that data of any length share few compiled programs.

A program is compiled for the shapes of its arrays. So arrays are lengthened to the next size on a
ladder, with padding that has no mass:

    rows of a table       64, 256, 4096, 16384, …   drawn from: padding costs memory, and no time
    what is computed for  1, 2, 3, 4, 6, 8, 12, …   padding costs time: at most half as much again
                          256, 512, 1024, …         at most as much again: few are compiled
    parts of many         64, 256, 1024, …          each full but the last: a quarter more at most

Random numbers of the first rows of an array do not depend on how many rows follow, and what has no
mass adds zeros, so padding moves results by rounding at most.
"""

from __future__ import annotations

import math

LEAST, FEW, FOURFOLD, TWOFOLD = 2**6, 2**12, 2**16, 2**20
SHORTEST = 2**6


def room(rows: int) -> int:
    """Rows of a table that so many are kept in, where padding costs memory only.

    Powers of four up to 65,536, of two up to 2²⁰, and from there on multiples of 2²⁰. Not 1024: a
    few thousand rows are little memory, and histories of a year and of ten share their programs.
    """
    if rows > TWOFOLD:
        return -(-rows // TWOFOLD) * TWOFOLD
    if rows > FOURFOLD:
        return 2 ** math.ceil(math.log2(rows))
    power = max(LEAST, 4 ** math.ceil(math.log2(max(rows, 1)) / 2))
    return FEW if power == FEW // 4 else power


def room_beside(total: int, count: int) -> int:
    """Room for ``count`` things of which each of ``total`` rows has some: entries, trackers.

    Room for the rows, times their mean number to the next power of two: what grows along with the
    rows then changes when they do, and brings no further sizes.
    """
    return room(total) * 2 ** math.ceil(math.log2(max(count / total, 1)))


def near(size: int) -> int:
    """The least of 1, 2, 3, 4, 6, 8, 12, … that is at least ``size``: padding costs time."""
    power = 2 ** math.ceil(math.log2(size))
    return power * 3 // 4 if size <= power * 3 // 4 and power > 2 else power


def doubling(size: int) -> int:
    """The least of 256, 512, 1024, … that is at least ``size``."""
    return max(256, 2 ** math.ceil(math.log2(size)))


def piece(size: int, most: int) -> int:
    """Length of the equal parts that so many are taken in, each of at most ``most``.

    A power of four: all of them if they are few, else at most a quarter, but SHORTEST. A power
    of two where ``most`` is less than that.
    """
    few = 4 ** math.ceil(math.log2(max(size, 1)) / 2)
    wanted = min(few, max(SHORTEST, size // 4))
    if most < min(wanted, SHORTEST):
        return 2 ** int(math.log2(max(most, 1)))
    return 4 ** int(math.log2(min(wanted, most)) / 2)
