"""CVaR around any loss: what a policy costs on average in its worst cases.

    Ψ_η(z, y) = ω Ψ(z, y) + (1 − ω)·( η + (Ψ(z, y) − η)⁺/α )            (Rockafellar & Uryasev 2000)

Averaged over outcomes at the best threshold η, which is the value at risk, this is
ω·E Ψ + (1 − ω)·CVaR_α(Ψ). The threshold is one number for all contexts, since the worst cases are
those of the whole distribution, not of each context. It is learned together with the rule as a
decision of its own (``JointCVaR``), and afterwards stays with the policy as ``threshold``; what the
policy decides is what the loss inside decides.

Ψ_η rises with Ψ, so much that is known of Ψ is known of Ψ_η: the worst outcome at a price λ is Ψ's
at λ/(ω + (1 − ω)/α) or at λ/ω, whichever is worse, and penalties that suffice are as many times
larger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from hedgerow import _checks
from hedgerow.decisions import DecisionSet
from hedgerow.describe.numbers import percent
from hedgerow.describe.parts import LossDescription
from hedgerow.kernels import AbstractKernel
from hedgerow.losses.base import ClosedMoments, Loss, namespace
from hedgerow.losses.bends import Bend, Pieces
from hedgerow.losses.joint_cvar import CVaRPool, JointCVaR, cost_of


class CVaR(Loss):
    """Conditional value at risk of another loss, or a mix with its mean.

    Parameters
    ----------
    loss : Loss
        What decisions cost.
    tail : float in (0, 1)
        α, the share of cases that make up the tail.
    mean_weight : float in [0, 1)
        ω, the share of the mean in the mix; 0: CVaR alone.
    threshold : float or None
        η, above which costs count 1/α times. None: learned with the rule.

    Notes
    -----
    A fitted policy keeps the threshold that it learned in ``thresholds_``, and its losses are
    those at this threshold; their mean is CVaR where the threshold is the value at risk, and above
    it elsewhere. ``hedgerow.metrics.cvar`` is CVaR in hindsight.

    Examples
    --------
    >>> import hedgerow as hr
    >>> loss = hr.CVaR(hr.Newsvendor(1.0, 3.0), tail=0.5, threshold=2.0)
    >>> float(loss([4.0], [5.0]))  # a cost of 3 is 1 above the threshold
    4.0
    """

    traced = ("loss", "tail", "mean_weight", "threshold")
    loss: Loss
    tail: Any
    _: KW_ONLY
    mean_weight: Any = 0.0
    threshold: Any = None

    def check(self) -> None:
        """There is a loss, a tail and a weight in range."""
        _checks.instance("loss", self.loss, Loss, "a loss such as hedgerow.Newsvendor(1, 3)")
        if not _checks.fraction("tail", self.tail) < 1:
            raise ValueError(f"tail must be less than 1, got {self.tail!r}.")
        if not _checks.nonnegative("mean_weight", self.mean_weight) < 1:
            raise ValueError(
                f"mean_weight must be less than 1, got {self.mean_weight!r}: at 1 there is no "
                "CVaR, only the loss itself."
            )
        if self.threshold is not None:
            _checks.parameter("threshold", self.threshold)
        self.loss.check()

    def __call__(self, z: Any, y: Any) -> Any:
        """ω Ψ + (1 − ω)(η + (Ψ − η)⁺/α)."""
        if self.threshold is None:
            raise TypeError(
                f"{self!r} has no values before its threshold is known: ask policy.losses(X, y) "
                "or policy.loss_on(X), or give it a threshold."
            )
        return self.mixed(cost_of(self.loss, z, y), self.threshold)

    def mixed(self, cost: Any, threshold: Any) -> Any:
        """Ψ_η of costs Ψ."""
        xp = namespace(cost, threshold, self.tail, self.mean_weight)
        in_tail = threshold + xp.maximum(cost - threshold, 0) / self.tail
        return self.mean_weight * cost + (1 - self.mean_weight) * in_tail

    def risk_of(self, costs: Array, share: Any) -> Array:
        """ω E Ψ + (1 − ω) CVaR_α(Ψ) of costs with these shares."""
        order = jnp.argsort(-costs)
        costs, share = costs[order], jnp.asarray(share)[order]
        worst = jnp.clip(self.tail - (jnp.cumsum(share) - share), 0.0, share) / self.tail
        return self.mean_weight * share @ costs + (1 - self.mean_weight) * worst @ costs

    @property
    def slopes(self) -> tuple[Any, Any]:
        """How fast Ψ_η rises with Ψ below and above the threshold."""
        return self.mean_weight, self.mean_weight + (1 - self.mean_weight) / self.tail

    @property
    def terms(self) -> int:
        """As the loss itself."""
        return self.loss.terms

    def with_thresholds(self) -> Loss | None:
        """The same with its threshold as a first decision, unless it has one."""
        return JointCVaR(self) if self.threshold is None else None

    def at_thresholds(self, thresholds: np.ndarray) -> Loss:
        """The same with a threshold that was learned."""
        return self if self.threshold is not None else self.replace(threshold=float(thresholds[0]))

    def pool(self) -> Any:
        """That of the loss itself."""
        own = self.loss.pool()
        return own and CVaRPool(own, 0, lambda loss: self.replace(loss=loss))

    def description(self, unit: str = "") -> LossDescription:
        """The worst cases of what the loss is about."""
        own = self.loss.description(unit)
        share, mean = percent(float(self.tail)), float(self.mean_weight)
        mixed = f", {percent(mean)} of the mean in the mix" if mean else ""
        return LossDescription(
            short=f"CVaR {share} of {own.short}{mixed}",
            costs=f"Mean cost in the worst {share} of cases{mixed}. {own.costs}",
            decides=own.decides,
            outcome=own.outcome,
        )

    def support_for(self, n_outcomes: int) -> tuple[np.ndarray, np.ndarray] | None:
        """That of the loss itself."""
        return self.loss.support_for(n_outcomes)

    def decisions_for(self, n_outcomes: int) -> DecisionSet:
        """Those of the loss itself."""
        return self.loss.decisions_for(n_outcomes)

    def decision_names(self, outcomes: Sequence[str]) -> list[str] | None:
        """Those of the loss itself."""
        return self.loss.decision_names(outcomes)

    def decision_unit(self, outcome_unit: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """As the loss itself."""
        return self.loss.decision_unit(outcome_unit, constant)

    def natural_unit(self, constant: np.ndarray, outcomes: np.ndarray, mass: np.ndarray) -> float:
        """As the loss itself."""
        return self.loss.natural_unit(constant, outcomes, mass)

    def foresight(self, outcomes: np.ndarray) -> np.ndarray | None:
        """Ψ_η of the least costs."""
        least = self.loss.foresight(outcomes)
        return (
            None if least is None or self.threshold is None else self.mixed(least, self.threshold)
        )

    def in_units(
        self, outcome_unit: np.ndarray, decision_unit: np.ndarray, loss_unit: float
    ) -> Loss:
        """CVaR of the loss in units: it scales with what it is of."""
        own = self.loss.in_units(outcome_unit, decision_unit, loss_unit)
        at = None if self.threshold is None else self.threshold / loss_unit
        return self.replace(loss=own, threshold=at)

    def closed_moments(self, kernel: AbstractKernel) -> ClosedMoments | None:
        """Where the loss has two linear pieces in a single outcome, this has four."""
        moments = self.moments_at(kernel)
        return moments and ClosedMoments(
            lambda z, y, t: moments.log_moment(self.threshold, z, y, t),
            lambda u, z, y, t: moments.tilted_outcome(self.threshold, u, z, y, t),
            4 * kernel.terms,
        )

    def moments_at(self, kernel: AbstractKernel) -> _Moments | None:
        """Expectations for any threshold; None: not known."""
        bend = self.loss.bend() if kernel.scale.shape[0] == 1 else None
        return (
            None if bend is None or kernel.by_coordinate() is None else _Moments(self, bend, kernel)
        )

    def best_response(self, cost: AbstractKernel) -> Callable[[Array, Array, Any], Array] | None:
        """The worse of what is worst for costs in the tail, and for those below it."""
        respond = self.response_at(cost)
        return respond and (lambda z, y, penalty: respond(self.threshold, z, y, penalty))

    def response_at(self, cost: AbstractKernel) -> Callable[[Any, Array, Array, Any], Array] | None:
        """The worst outcome for any threshold; None: not known."""
        own = self.loss.best_response(cost)
        if own is None:
            return None

        def respond(threshold: Any, z: Array, y: Array, penalty: Any) -> Array:
            def gain(u: Array) -> Array:
                return self.mixed(self.loss(z, u), threshold) - penalty * cost.cost(y, u)

            below, above = self.slopes
            rows = jnp.broadcast_shapes(z.shape[:-1], y.shape[:-1])
            best = jnp.broadcast_to(own(z, y, penalty / above), (*rows, y.shape[-1]))
            # what counts for nothing below the threshold is not worth moving for
            flat = jnp.asarray(below) <= 0
            other = own(z, y, penalty / jnp.where(flat, above, below))
            other = jnp.where(flat, cost.settled(y), jnp.broadcast_to(other, best.shape))
            return jnp.where((gain(best) >= gain(other))[..., None], best, other)

        return respond

    def needed_penalty(self, cost: AbstractKernel) -> Callable[[Array], Array] | None:
        """What the loss needs, as many times as it counts in the tail."""
        own = self.loss.needed_penalty(cost)
        return own and (lambda z: self.slopes[1] * own(z))

    def smallest_penalty(
        self, cost: AbstractKernel, constant: np.ndarray, outcomes: np.ndarray
    ) -> float:
        """Likewise."""
        return float(self.slopes[1]) * self.loss.smallest_penalty(cost, constant, outcomes)


class _Moments(NamedTuple):
    """Expectations of a CVaR of a loss with one bend, under a kernel, by threshold (…, 1)."""

    cvar: CVaR
    bend: Bend
    kernel: AbstractKernel

    def log_moment(self, threshold: Any, z: Array, y: Array, temperature: Any) -> Array:
        """The threshold's own value, and four masses."""
        threshold = jnp.asarray(threshold)
        pieces = self._pieces(threshold, z, y, temperature)
        at = threshold[..., 0] if threshold.ndim else threshold
        return self.cvar.mixed(at, at) / temperature + pieces.log_mass()[..., 0]

    def tilted_outcome(
        self, threshold: Any, uniform: Array, z: Array, y: Array, temperature: Any
    ) -> Array:
        """By the distribution function of the four pieces."""
        pieces = self._pieces(jnp.asarray(threshold), z, y, temperature)
        return pieces.quantile(jnp.log(uniform))

    def _pieces(self, threshold: Array, z: Array, y: Array, temperature: Any) -> Pieces:
        return Pieces.of(self.bend, self.kernel, z, y, threshold, self.cvar.slopes, temperature)
