"""Mean–CVaR: what a portfolio is expected to return, against what it loses in its worst cases.

    Ψ = −ω r + η + (−r − η)⁺/α,   r = w·y                        (Rockafellar & Uryasev 2000)

Two linear pieces that meet at r = −η, where Ψ = (1 + ω)η. Under a Gaussian kernel r is Gaussian,
and the log-moment is that of a newsvendor with a single product.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from jaxtyping import Array

from hedgerow import _checks
from hedgerow.describe.numbers import number, percent
from hedgerow.describe.parts import LossDescription
from hedgerow.kernels import AbstractKernel
from hedgerow.losses.base import ClosedMoments, namespace
from hedgerow.losses.kinked import Kinked
from hedgerow.losses.max_affine import move_along
from hedgerow.losses.portfolio import PortfolioLoss, return_of
from hedgerow.losses.recourse import minimise_mean
from hedgerow.metrics import cvar


class MeanCVaR(PortfolioLoss):
    """Conditional value at risk of the portfolio's loss less ``return_weight`` times the return.

    The decision is (η, w). Averaged over outcomes at the best η, which is the value at risk, the
    loss is  CVaR_α(−w·y) − ω·E(w·y): what is lost on average in the worst share α of cases
    (Rockafellar & Uryasev 2000).

    Parameters
    ----------
    return_weight : float
        ω ≥ 0: how much tail loss a unit of mean return is worth.
    tail : float in (0, 1)
        α, the share of cases that make up the tail.
    outcome_support : (low, high) or None
        Where returns may lie; None: everywhere.

    Notes
    -----
    With ``order=1`` a penalty must exceed (ω + 1/α)·max_i s_i w_i for every portfolio the rule can
    choose, unless returns are bounded below.

    Examples
    --------
    >>> import hedgerow as hr
    >>> loss = hr.MeanCVaR(return_weight=1.0, tail=0.1)
    """

    level_name = "value at risk"
    traced = ("return_weight", "tail")
    tail: float = 0.05

    def check(self) -> None:
        """The tail is a share, too."""
        super().check()
        if not _checks.fraction("tail", self.tail) < 1:
            raise ValueError(f"tail must be less than 1, got {self.tail!r}.")

    def description(self, unit: str = "") -> LossDescription:
        """Risk against return."""
        return LossDescription(
            short=f"mean–CVaR, return weight {number(float(self.return_weight))}",
            costs=f"Mean loss in the worst {percent(float(self.tail))} of cases, less "
            f"{number(float(self.return_weight))} times the mean return: lower is better",
            decides="How to divide money among assets",
            outcome="asset",
        )

    def of_return(self, r: Any, level: Any) -> Any:
        """−ω r + η + (−r − η)⁺/α."""
        xp = namespace(r, level)
        return level - self.return_weight * r + xp.maximum(-r - level, 0) / self.tail

    def realised(self, returns: np.ndarray) -> float:
        """CVaR less ω times the mean."""
        return cvar(returns, float(self.tail)) - float(self.return_weight * np.mean(returns))

    def best_constant(self, outcomes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the mean–CVaR portfolio, a linear program, by cutting planes."""
        returns, share = self._shares(outcomes, weights)
        return_weight, tail = float(self.return_weight), float(self.tail)

        def evaluate(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            r = returns @ z[1:]
            in_tail = (-r - z[0] > 0) / tail
            in_return = (-return_weight - in_tail)[:, None] * returns
            return self.of_return(r, z[0]), np.column_stack([1 - in_tail, in_return])

        size = float(np.abs(returns).max(initial=0.0)) or 1.0
        return minimise_mean(evaluate, share, self.decisions_for(returns.shape[1]), size)

    def natural_unit(self, constant: np.ndarray, outcomes: np.ndarray, mass: np.ndarray) -> float:
        """CVaR of the best constant portfolio's deviation from its mean."""
        returns = outcomes @ constant[1:]
        risk = self.replace(return_weight=0.0).of_return(returns, constant[0])
        return float(mass @ risk + mass @ returns)

    def closed_moments(self, kernel: AbstractKernel) -> ClosedMoments | None:
        """Under Gaussian kernels, where the return is Gaussian."""
        if not kernel.gaussian:
            return None
        return ClosedMoments(
            partial(self._log_moment, kernel), partial(self._tilted_outcome, kernel)
        )

    def _log_moment(self, kernel: AbstractKernel, z: Array, y: Array, temperature: Any) -> Array:
        """Mass of both pieces, each tilted by its slope from where they meet."""
        tilted = self._of_return(kernel, z, y, temperature)
        from_kink = tilted.log_mass()
        at_kink = -(1 + self.return_weight) * tilted.kink[..., 0] / temperature
        return at_kink + from_kink[..., 0]

    def _tilted_outcome(
        self, kernel: AbstractKernel, uniform: Array, z: Array, y: Array, temperature: Any
    ) -> Array:
        """Draw from the kernel, then replace what it says of r by the same quantile of r's tilt."""
        tilted = self._of_return(kernel, z, y, temperature)
        width = tilted.kernel.width
        moved = kernel.from_uniform(y, uniform) - y
        along = return_of(z, moved)[..., None]
        r = tilted.quantile(log_ndtr(along / width))
        per_return = kernel.width**2 * z[..., 1:] / width**2
        return y + moved + per_return * (r - tilted.centre - along)

    def _of_return(self, kernel: AbstractKernel, z: Array, y: Array, temperature: Any) -> Kinked:
        """The kernel of r itself, tilted by the loss; a last axis of one."""
        scale = jnp.sqrt(jnp.sum((z[..., 1:] * kernel.scale) ** 2, axis=-1, keepdims=True))
        own = eqx.tree_at(lambda k: k.scale, kernel, scale)
        slopes = -self._steepest / temperature, -self.return_weight / temperature
        return Kinked(own, return_of(z, y)[..., None], -z[..., :1], *slopes)

    def best_response(self, cost: AbstractKernel) -> Callable[[Array, Array, Any], Array] | None:
        """The better of two affine pieces, each moved for its own sake."""
        if cost.by_coordinate() is None:
            return None

        def respond(z: Array, y: Array, penalty: Any) -> Array:
            weight = jnp.stack([jnp.asarray(self.return_weight, z.dtype), self._steepest])
            slopes = -weight[:, None] * z[..., None, 1:]
            at_zero = z[..., :1] * jnp.stack([jnp.ones((), z.dtype), 1 - 1 / self.tail])
            moves, gains = move_along(slopes, y[..., None, :], cost, penalty)
            heights = at_zero + jnp.sum(slopes * y[..., None, :] + gains, axis=-1)
            best = jnp.argmax(heights, axis=-1)[..., None, None]
            return y + jnp.take_along_axis(moves, best, axis=-2)[..., 0, :]

        return respond

    def needed_penalty(self, cost: AbstractKernel) -> Callable[[Array], Array]:
        """(ω + 1/α) times the dual norm of s_i w_i over returns that can fall without end (p = 1).

        With coordinates by themselves that is max s_i w_i.
        """

        def needed(z: Array) -> Array:
            falling = self._steepest * z[..., 1:]
            return cost.outweighing(falling, jnp.zeros_like(falling))

        return needed

    def smallest_penalty(
        self, cost: AbstractKernel, constant: np.ndarray, outcomes: np.ndarray
    ) -> float:
        """What the portfolio with the least dual norm of s_i w_i needs (p = 1).

        With coordinates by themselves that is (ω + 1/α)/Σ s_i⁻¹.
        """
        if cost.order > 1:
            return 0.0
        return float(self._steepest) * cost.least_slope(np.asarray(cost.open_scales[0]))

    @property
    def _steepest(self) -> Any:
        """How fast the loss rises as r falls, in the tail."""
        return self.return_weight + 1 / self.tail
