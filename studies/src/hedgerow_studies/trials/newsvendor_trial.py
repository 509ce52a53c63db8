"""The paper's newsvendor as a trial of methods: one draw of truth and data, and what may change.

A method learns from one draw and is judged on 10⁵ contexts of the same truth. "As trained" is the
exact expectation over the noise. The others are what robustness is for: the world differs from
the history, in one way at a time, and losses are averaged over sampled demands, of the first 20,000
contexts. "Corrupted history" is the one where the world is as it was but the record is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.stats import t as student
from sklearn.utils import Bunch

from hedgerow.datasets import (
    expected_newsvendor_loss,
    make_newsvendor,
    newsvendor_signal,
    oracle_newsvendor_loss,
)
from hedgerow.losses import Newsvendor
from hedgerow.metrics import cvar

HOLDING, STOCKOUT = 0.6, 1.0
TEST_ROWS, SHIFTED_ROWS = 100_000, 20_000
CORRUPTED, SLIP = 0.05, 10.0
"""A share of the history's demands is recorded with a slipped decimal point."""
AS_TRAINED, CORRUPTED_HISTORY = "as trained", "corrupted history"

Decide = Callable[[np.ndarray], np.ndarray]


class NewsvendorDraw:
    """One truth, one history, one test set; the same seed gives the same draw."""

    problem: ClassVar[str] = "newsvendor"

    def __init__(self, rows: int, features: int, seed: int, test_rows: int = TEST_ROWS) -> None:
        self.loss = Newsvendor(HOLDING, STOCKOUT)
        self.train = make_newsvendor(rows, features, random_state=seed)
        beta = self.train.beta
        self.test = make_newsvendor(test_rows, features, beta=beta, random_state=seed + 100_000)
        self._rng = np.random.default_rng([seed, rows, features])
        slipped = self._rng.random(rows) < CORRUPTED
        self.corrupted = np.where(slipped, SLIP, 1.0) * self.train.target

    @cached_property
    def worlds(self) -> dict[str, tuple[np.ndarray | None, np.ndarray]]:
        """Name → (contexts, None: as they are; demands)."""
        return _worlds(self.test, self.train.beta, self._rng)

    def oracle(self) -> float:
        """What no rule can do better than, as trained."""
        return float(oracle_newsvendor_loss(self.test.signal, HOLDING, STOCKOUT).mean())

    def mean_loss(self, decide: Decide) -> float:
        """Mean loss of a rule as trained, the noise averaged exactly."""
        return self._expected(decide(self.test.data))

    def _expected(self, decisions: np.ndarray) -> float:
        losses = expected_newsvendor_loss(decisions, self.test.signal, HOLDING, STOCKOUT)
        return float(losses.mean())

    def judge(self, decide: Decide) -> dict[str, dict[str, float]]:
        """Mean loss and 95 % CVaR of a rule in every world."""
        decisions = decide(self.test.data)
        found = {}
        for name, (contexts, demands) in self.worlds.items():
            chosen = decisions[: len(demands)] if contexts is None else decide(contexts)
            losses = _losses(chosen, demands)
            found[name] = {"mean": float(losses.mean()), "cvar": cvar(-losses, 0.05)}
        found[AS_TRAINED]["mean"] = self._expected(decisions)
        return found


def _worlds(
    test: Bunch, beta: np.ndarray, rng: np.random.Generator
) -> dict[str, tuple[np.ndarray | None, np.ndarray]]:
    """Name → (contexts, None: as they are; demands)."""
    contexts, demands = test.data[:SHIFTED_ROWS], test.target[:SHIFTED_ROWS]
    signal = test.signal[:SHIFTED_ROWS]
    noise = demands - signal
    moved = contexts + 0.5 * rng.choice([-1.0, 1.0], contexts.shape[1])
    wider = 1.5 * contexts
    return {
        AS_TRAINED: (None, demands),
        "contexts moved": (moved, np.maximum(newsvendor_signal(moved, beta) + noise, 0)),
        "contexts wider": (wider, np.maximum(newsvendor_signal(wider, beta) + noise, 0)),
        "demand +25 %": (None, 1.25 * demands),
        "demand −25 %": (None, 0.75 * demands),
        "mean +1": (None, demands + 1),
        "mean −1": (None, np.maximum(demands - 1, 0)),
        "heavy tails": (None, _heavy_tailed(signal, rng)),
    }


def _heavy_tailed(signal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Noise of Student's t with 3 degrees of freedom, conditioned on y ≥ 0."""
    below = student.cdf(-signal, 3)
    return np.maximum(signal + student.ppf(below + (1 - below) * rng.random(len(signal)), 3), 0)


def _losses(decisions: np.ndarray, demands: np.ndarray) -> np.ndarray:
    gap = decisions - demands
    return np.maximum(HOLDING * gap, -STOCKOUT * gap)
