"""Mean–variance: what a portfolio is expected to return, against how much that varies.

    Ψ = −ω r + (r − z₀)²,   r = w·y                                       (paper: example-real)

Under a Gaussian kernel r is Gaussian too, with mean m = w·ŷ and variance v = Σ (w_i·width_i)², and
the log-moment is closed form. At temperature t, with D = 1 − 2v/t,

    log E exp(Ψ/t) = ((m − z₀)² − ω m)/t + v·(2(m − z₀) − ω)²/(2 t² D) − ½ log D,

finite only while D > 0, that is while λ > Σ (s_i w_i)². Under other kernels the square is made
linear (Hubbard 1959): exp(ρ²/t) is the mean of exp(√(2/t)·g·ρ) over a standard normal g, and given
g the assets are independent again. One quadrature over g serves any number of assets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import highspy
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hedgerow import _checks
from hedgerow.describe.numbers import number
from hedgerow.describe.parts import LossDescription
from hedgerow.kernels import AbstractKernel, invert
from hedgerow.losses.base import ClosedMoments
from hedgerow.losses.portfolio import PortfolioLoss, return_of
from hedgerow.losses.recourse.warm_solver import silent_highs

SCAN, NODES = 16, 24
"""Points at which peaks in g are looked for, and nodes where they were seen."""
VISIBLE, NORMAL = 25.0, 7.0
"""What is lower than the peak by so much in the exponent, or so far out in a normal, is nothing."""
NEGLIGIBLE = 1e-12
"""Of the largest variance, added to the diagonal: with few days the covariance is singular."""


class _Exponent(NamedTuple):
    """Ψ/t = base + slope·ρ + ρ²/t, where ρ = r − m has this variance under a Gaussian kernel."""

    base: Float[Array, "*b"]
    slope: Float[Array, "*b"]
    variance: Float[Array, "*b"]
    precision: Float[Array, "*b"]


class MeanVariance(PortfolioLoss):
    """Variance of the portfolio's return less ``return_weight`` times the return.

    The decision is (z₀, w): the return that is expected, and the weights, which are not negative
    and sum to 1. Averaged over outcomes at the best z₀, the loss is  Var(w·y) − ω·E(w·y).

    Parameters
    ----------
    return_weight : float
        ω ≥ 0: how much variance a unit of return is worth. With returns in percent, variance is in
        squared percent.
    outcome_support : (low, high) or None
        Where returns may lie; None: everywhere. Needed with ``order=1``, where the square outgrows
        the transport cost at every penalty.

    Notes
    -----
    With ``order=2`` a penalty must exceed Σ (s_i w_i)² for every portfolio the rule can choose:
    max_i s_i² always suffices, diversified rules need less. Training keeps away from that edge;
    ``robust_value`` reports infinity beyond it.

    Examples
    --------
    >>> import hedgerow as hr
    >>> float(hr.MeanVariance(return_weight=2.0)([1.0, 0.5, 0.5], [4.0, 0.0]))
    -3.0
    """

    level_name = "expected return"
    traced = ("return_weight",)

    def description(self, unit: str = "") -> LossDescription:
        """Risk against return."""
        return LossDescription(
            short=f"mean–variance, return weight {number(float(self.return_weight))}",
            costs=f"Variance of the return, less {number(float(self.return_weight))} times the "
            "return: lower is better, and negative is a gain",
            decides="How to divide money among assets",
            outcome="asset",
        )

    def of_return(self, r: Any, level: Any) -> Any:
        """−ω r + (r − z₀)²."""
        return (r - level) ** 2 - self.return_weight * r

    def realised(self, returns: np.ndarray) -> float:
        """Variance less ω times the mean."""
        returns = _checks.series("returns", returns)
        return float(np.var(returns) - self.return_weight * np.mean(returns))

    def best_constant(self, outcomes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return (E r, w) for the portfolio with the least w'Σw − ω μ'w, a quadratic program."""
        returns, share = self._shares(outcomes, weights)
        mean = share @ returns
        centred = (returns - mean) * np.sqrt(share)[:, None]
        centred[:, np.ptp(returns, axis=0) == 0] = 0.0  # not a rounding error to be scaled up
        covariance = centred.T @ centred
        largest = float(np.max(np.diag(covariance), initial=0.0)) or 1.0
        covariance = covariance / largest + NEGLIGIBLE * np.eye(len(mean))
        gain = float(self.return_weight) * mean / largest
        scale = max(1.0, np.abs(gain).max())  # returns may outweigh risk by far in some units
        weights = _on_simplex(covariance / scale, gain / scale)
        return np.concatenate([[mean @ weights], weights])

    def natural_unit(self, constant: np.ndarray, outcomes: np.ndarray, mass: np.ndarray) -> float:
        """Variance of the best constant portfolio: the loss itself may be 0 or negative."""
        return float(mass @ (outcomes @ constant[1:] - constant[0]) ** 2)

    def closed_moments(self, kernel: AbstractKernel) -> ClosedMoments | None:
        """In closed form under Gaussian kernels, by one quadrature under cut or Laplace ones."""
        if kernel.squared() is None:
            return None
        terms = kernel.scale.shape[0] * (1 if kernel.gaussian else NODES)
        return ClosedMoments(
            partial(self._log_moment, kernel), partial(self._tilted_outcome, kernel), terms
        )

    def _log_moment(self, kernel: AbstractKernel, z: Array, y: Array, temperature: Any) -> Array:
        """Gaussian integral of a quadratic, or the mean of exponentials over g."""
        if kernel.gaussian:
            tilted = self._gaussian(z, y, kernel, temperature)
            shifted = tilted.slope**2 * tilted.variance / (2 * tilted.precision)
            return tilted.base + shifted - jnp.log(tilted.precision) / 2
        slopes, log_weights, base = self._linearised(z, y, kernel, temperature)
        moments = _log_moments(slopes, z, y, kernel)
        return base + jax.nn.logsumexp(log_weights + moments, axis=-1)

    def _tilted_outcome(
        self, kernel: AbstractKernel, uniform: Array, z: Array, y: Array, temperature: Any
    ) -> Array:
        """Draw from the kernel and stretch along Σw (Gaussian), or draw g, then each asset."""
        w = z[..., 1:]
        if kernel.gaussian:
            tilted = self._gaussian(z, y, kernel, temperature)
            moved = kernel.from_uniform(y, uniform) - y
            along = jnp.sum(w * moved, axis=-1)
            stretched = along / jnp.sqrt(tilted.precision)
            shift = tilted.variance * tilted.slope / tilted.precision
            safe = jnp.where(tilted.variance > 0, tilted.variance, 1.0)
            per_return = kernel.width**2 * w / safe[..., None]
            return y + moved + per_return * (stretched + shift - along)[..., None]
        slopes, log_weights, _ = self._linearised(z, y, kernel, temperature)
        shares = jax.nn.softmax(log_weights + _log_moments(slopes, z, y, kernel), axis=-1)
        cumulative = jnp.cumsum(shares, axis=-1)
        # the first uniform chooses g; where it fell within g's share is uniform again
        first = uniform[..., :1] * cumulative[..., -1:]
        chosen = jnp.sum(first >= cumulative, axis=-1, keepdims=True)
        below = jnp.where(
            chosen > 0, jnp.take_along_axis(cumulative, jnp.maximum(chosen - 1, 0), -1), 0.0
        )
        share = jnp.take_along_axis(cumulative, chosen, -1) - below
        within = jnp.clip((first - below) / share, jnp.finfo(first.dtype).tiny, 1.0)
        uniform = jnp.concatenate([within, uniform[..., 1:]], axis=-1)
        slope = jnp.take_along_axis(slopes, chosen, -1) * w
        total = kernel.log_tilted_mass(slope, y, None, None, y)

        def log_mass_below(u: Array) -> Array:
            return kernel.log_tilted_mass(slope, y, None, u, y)

        return invert(
            log_mass_below, total + jnp.log(uniform), kernel.tilted_ends(jnp.abs(slope), y)
        )

    def best_response(self, cost: AbstractKernel) -> Callable[[Array, Array, Any], Array] | None:
        """Move along s²w, where r changes most per cost: by Δ = (m − z₀ − ω/2)/(λ/q − 1).

        For squared costs on an unbounded support.
        """
        if not cost.gaussian:
            return None

        def respond(z: Array, y: Array, penalty: Any) -> Array:
            w = z[..., 1:]
            gap = return_of(z, y) - z[..., 0] - self.return_weight / 2
            q = jnp.sum((cost.scale * w) ** 2, axis=-1)
            # r moves by Δ when y moves by s²w·Δ/q
            step = gap / (penalty * _kept_positive(1 - q / penalty))
            return y + cost.scale**2 * w * step[..., None]

        return respond

    def needed_penalty(self, cost: AbstractKernel) -> Callable[[Array], Array]:
        """The squared dual norm of s_i w_i for p = 2, as Σ (s_i w_i)²; none is needed above.

        Below, none suffices while a return can run away.
        """

        def needed(z: Array) -> Array:
            w, none = z[..., 1:], jnp.zeros_like(z[..., 1:])
            return jnp.maximum(cost.outweighing(w, none, 2), cost.outweighing(none, w, 2))

        return needed

    def smallest_penalty(
        self, cost: AbstractKernel, constant: np.ndarray, outcomes: np.ndarray
    ) -> float:
        """What the portfolio with the least dual norm of s_i w_i needs: 1/Σ s_i⁻² (p = 2)."""
        free = np.asarray(cost.open_scales) > 0
        if cost.order < 2:
            return math.inf if np.any(free) else 0.0
        if cost.order > 2 or not free.all(axis=1).any():
            return 0.0
        return cost.least_slope(np.asarray(cost.scale)) ** 2

    def _gaussian(
        self, z: Array, y: Array, kernel: AbstractKernel, temperature: Array
    ) -> _Exponent:
        """The exponent in ρ, and the precision D that the square leaves of a Gaussian's."""
        mean = return_of(z, y)
        variance = jnp.sum((z[..., 1:] * kernel.width) ** 2, axis=-1)
        gap = mean - z[..., 0]
        return _Exponent(
            base=(gap**2 - self.return_weight * mean) / temperature,
            slope=(2 * gap - self.return_weight) / temperature,
            variance=variance,
            precision=_kept_positive(1 - 2 * variance / temperature),
        )

    def _linearised(
        self, z: Array, y: Array, kernel: AbstractKernel, temperature: Array
    ) -> tuple[Float[Array, "*b q"], Float[Array, "*b q"], Float[Array, "*b"]]:
        """Slopes θ in ρ and log-weights, one per node g, and the constant that goes with them.

        The exponent in g is −g²/2 plus a convex function, so its peaks are at least as wide as a
        standard normal's, and equally spaced nodes see them to rounding. A scan finds where.
        """
        exponent = self._gaussian(z, y, kernel, temperature)
        root = jnp.sqrt(2 / temperature)

        def slope(g: Array) -> Array:
            return exponent.slope[..., None] + root * g

        low, high = (root * end for end in _reach(z, y, kernel, exponent))
        low, high = low - NORMAL, high + NORMAL
        scan = _between(low, high, SCAN)
        heights = _log_moments(slope(scan), z, y, kernel) - scan**2 / 2
        seen = heights > jnp.max(heights, axis=-1, keepdims=True) - VISIBLE
        gap = (high - low) / (SCAN - 1)
        first = jnp.min(jnp.where(seen, scan, jnp.inf), axis=-1) - gap
        last = jnp.max(jnp.where(seen, scan, -jnp.inf), axis=-1) + gap
        g = jax.lax.stop_gradient(_between(first, last, NODES))
        step = jnp.log((g[..., 1:2] - g[..., :1]) / math.sqrt(2 * math.pi))
        return slope(g), step - g**2 / 2, exponent.base


def _on_simplex(covariance: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Minimise w'Σw − gain·w over w ≥ 0, Σw = 1."""
    n = len(gain)
    assets = np.arange(n, dtype=np.int32)
    solver = silent_highs()
    solver.addVars(n, np.zeros(n), np.ones(n))
    solver.changeColsCost(n, assets, -gain)
    solver.addRow(1.0, 1.0, n, assets, np.ones(n))
    hessian = highspy.HighsHessian()
    hessian.dim_, hessian.format_ = n, highspy.HessianFormat.kTriangular
    columns, rows = np.triu_indices(n)
    hessian.start_ = np.concatenate([[0], np.cumsum(np.arange(n, 0, -1))])
    hessian.index_, hessian.value_ = rows, 2 * covariance[rows, columns]
    solver.passHessian(hessian)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        status = solver.modelStatusToString(solver.getModelStatus())
        raise RuntimeError(f"The mean-variance program was not solved: {status}.")
    weights = np.maximum(np.asarray(solver.getSolution().col_value), 0.0)
    return weights / weights.sum()


def _log_moments(
    slopes: Float[Array, "*b q"],
    z: Float[Array, "*#b k"],
    y: Float[Array, "*#b d"],
    kernel: AbstractKernel,
) -> Float[Array, "*b q"]:
    """Log E exp(θ ρ) at every slope θ: assets are independent."""
    tilts, y = slopes[..., None] * z[..., None, 1:], y[..., None, :]
    return jnp.sum(kernel.log_tilted_mass(tilts, y, None, None, y), axis=-1)


def _reach(z: Array, y: Array, kernel: AbstractKernel, exponent: _Exponent) -> tuple[Array, Array]:
    """Between which ρ lies: the support's ends and, where there are none, a Gaussian's."""
    far = jnp.abs(exponent.slope) * exponent.variance / exponent.precision
    far = far + 2 * NORMAL * jnp.sqrt(exponent.variance / exponent.precision)
    ends = []
    for end, sign in zip(kernel.bounds(y), (-1.0, 1.0), strict=True):
        endless = jnp.isinf(end)
        within = jnp.sum(z[..., 1:] * jnp.where(endless, 0.0, end), axis=-1)
        ends.append(within + sign * jnp.where(jnp.any(endless, axis=-1), far, 0.0))
    return ends[0], ends[1]


def _between(low: Array, high: Array, count: int) -> Float[Array, "*b n"]:
    share = jnp.linspace(0.0, 1.0, count, dtype=low.dtype)
    return low[..., None] + (high - low)[..., None] * share


def _kept_positive(margin: Array) -> Array:
    """``margin`` where it is safely positive; below, a tangent hyperbola that falls to 0.

    A step of training that goes over the edge of the finite values meets a slope and not a NaN; how
    near the edge it begins depends on the precision.
    """
    edge = 1e-2 if margin.dtype == jnp.float32 else 1e-10
    return jnp.where(margin > edge, margin, edge**2 / (2 * edge - jnp.minimum(margin, edge)))
