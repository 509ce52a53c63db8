"""The versions, in their one place: that of the release, which the build reads, and of numbers."""

__version__ = "0.2.0"

NUMERICS = 6
"""Raise it with every change of the library that changes numbers: results of long studies are kept
under it, and those of another one are computed again. What is only said or drawn does not count."""
