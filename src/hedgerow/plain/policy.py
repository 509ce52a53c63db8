"""A whole policy in plain form: from contexts to decisions, both in the user's units.

    z = unit · rule((x − centre)·factor)

Rows are decided in blocks of one size, the last one filled up, so that what is computed for a row
does not depend on which rows come with it, and stays in the processor's cache. Tables of many
blocks are shared among threads, for NumPy's loops run side by side.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from hedgerow.plain.forms import PlainRule

BLOCK = 1024
"""Rows at once."""
SHARED = 16
"""Blocks from which threads share them."""
FARTHEST = 1e30
"""Standardised contexts are moved no farther, as by ``data.units``."""


@dataclass(frozen=True)
class PlainPolicy:
    """Units and a rule.

    Attributes
    ----------
    centre, factor : (features,)
        What contexts are standardised by; the factor is 0 for features that never varied.
    unit : (decisions,)
    rule : PlainRule
    """

    centre: np.ndarray
    factor: np.ndarray
    unit: np.ndarray
    rule: PlainRule

    def decide(self, contexts: np.ndarray, block: int = BLOCK) -> np.ndarray:
        """Decisions (rows, decisions) for contexts (rows, features), so many rows at once."""
        return by_blocks(self._block, contexts, len(self.unit), block)

    def _block(self, contexts: np.ndarray) -> np.ndarray:
        moved = contexts - self.centre[:, None]
        moved *= self.factor[:, None]
        return self.rule.decide(np.clip(moved, -FARTHEST, FARTHEST, out=moved)) * self.unit[:, None]


def by_blocks(
    function: Callable[[np.ndarray], np.ndarray],
    contexts: np.ndarray,
    decisions: int,
    size: int = BLOCK,
) -> np.ndarray:
    """Apply a function of blocks, rows last, to contexts (rows, features); (rows, decisions)."""
    found = np.empty((len(contexts), decisions))
    starts = range(0, len(contexts), size)

    def decide(start: int) -> None:
        some = contexts[start : start + size]
        block = np.zeros((contexts.shape[1], size))
        block[:, : len(some)] = some.T
        found[start : start + size] = function(block)[:, : len(some)].T

    workers = _workers()
    if len(starts) < SHARED or workers == 1:
        for start in starts:
            decide(start)
        return found
    from threadpoolctl import threadpool_limits  # one thread of the library for each of ours

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(workers) as pool:
        shares = np.array_split(np.array(starts), workers)
        for _ in pool.map(lambda share: [decide(int(start)) for start in share], shares):
            pass
    return found


def _workers() -> int:
    """Processors that this process may use, eight at most."""
    allowed = getattr(os, "sched_getaffinity", None)
    return min(len(allowed(0)) if allowed else os.cpu_count() or 1, 8)
