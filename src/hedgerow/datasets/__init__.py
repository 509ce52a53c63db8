"""Data to try decision rules on: a restaurant's real demand, and a generator with a known oracle.

This folder uses nothing else of the package.
"""

from hedgerow.datasets.newsvendor import (
    expected_newsvendor_loss,
    make_newsvendor,
    newsvendor_signal,
    oracle_newsvendor_decision,
    oracle_newsvendor_loss,
)
from hedgerow.datasets.restaurant import load_restaurant

__all__ = [
    "expected_newsvendor_loss",
    "load_restaurant",
    "make_newsvendor",
    "newsvendor_signal",
    "oracle_newsvendor_decision",
    "oracle_newsvendor_loss",
]
