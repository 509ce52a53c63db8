"""One-dimensional kernels whose integrals are known by adaptive quadrature."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.stats import laplace, norm

from hedgerow.kernels.kernel import Kernel
from tests.oracles import log_integral


@dataclass(frozen=True)
class Case:
    """A one-dimensional kernel around a centre, in plain numbers; infinite ends are no ends."""

    order: int
    epsilon: float = 0.4
    scale: float = 1.5
    centre: float = 0.3
    low: float = -np.inf
    high: float = np.inf

    @property
    def width(self):
        return (
            self.epsilon * self.scale if self.order == 1 else self.scale * (self.epsilon / 2) ** 0.5
        )

    @property
    def kernel(self):
        if np.isinf([self.low, self.high]).all():
            return Kernel(self.order, np.float64(self.epsilon), np.array([self.scale]))
        return self.kernel_with_ends

    @property
    def kernel_with_ends(self):
        """The same with infinite ends spelled out: one compiled program for every support."""
        ends = np.array([self.low]), np.array([self.high])
        return Kernel(self.order, np.float64(self.epsilon), np.array([self.scale]), *ends)

    @property
    def centres(self):
        return np.array([self.centre])

    def exponent(self, u):
        return -(abs((u - self.centre) / self.scale) ** self.order) / self.epsilon

    def log_integral(self, extra, low, high, peaks=(), length=None):
        """log ∫ e^{extra(u)} · e^{−|(u−c)/s|^p/ε} du over [low, high] within the support."""
        low, high = max(low, self.low), min(high, self.high)
        peaks = np.clip([self.centre, *peaks], low, high)
        return log_integral(
            lambda u: extra(u) + self.exponent(u), low, high, peaks, length or self.width
        )

    def log_normaliser(self):
        return self.log_integral(lambda u: 0.0, -np.inf, np.inf)

    def log_tilted_mass(self, slope, anchor, low, high):
        tilted_peak, length = self.centre + slope * self.width**2, self.width
        if self.order == 1:
            rates = np.abs([slope + 1 / self.width, slope - 1 / self.width])
            tilted_peak, length = self.centre, max(1 / rates.min(), self.width)
        peaks = [p for p in (tilted_peak, low, high) if np.isfinite(p)]
        return (
            self.log_integral(lambda u: slope * (u - anchor), low, high, peaks, length)
            - self.log_normaliser()
        )

    def frozen(self):
        """SciPy's own account of the untruncated kernel."""
        return (laplace if self.order == 1 else norm)(self.centre, self.width)

    def distribution_function(self, u):
        below, above = self.frozen().cdf([self.low, self.high])
        return np.clip((self.frozen().cdf(u) - below) / (above - below), 0, 1)


SUPPORTS = {
    "unbounded": {},
    "half-bounded": {"low": 0.0},
    "bounded": {"low": -0.5, "high": 0.9},
    "at the end": {"low": 0.3},
}
CASES = [
    pytest.param(Case(order, **ends), id=f"p={order}, {name}")
    for order in (1, 2)
    for name, ends in SUPPORTS.items()
]


@st.composite
def cases(draw, most=2.0):
    """Any order, epsilon, scale, centre and support (the centre may be one of its ends)."""
    order = draw(st.sampled_from([1, 2]))
    epsilon = draw(st.floats(0.01, most))
    scale, centre = draw(st.floats(0.1, 10)), draw(st.floats(-5, 5))
    case = Case(order, epsilon, scale, centre)
    below = draw(st.none() | st.floats(0, 4))
    above = draw(st.none() | st.floats(0.1, 4))
    if below is not None:
        case = replace(case, low=centre - below * case.width)
    if above is not None:
        case = replace(case, high=centre + above * case.width)
    return case
