"""A nominal: history in the order of time, the recent past counting more.

m_k ∝ weight_k · 2^(−age_k/half_life)
"""

import numpy as np

from hedgerow import EmpiricalNominal
from hedgerow.data import Nominal


class RecentNominal(Nominal):
    """The last row counts twice as much as the one ``half_life`` rows before."""

    half_life: float = 100.0

    def build(self, X, Y, weights):
        age = np.arange(len(X))[::-1]
        return EmpiricalNominal().build(X, Y, weights * 0.5 ** (age / self.half_life))
