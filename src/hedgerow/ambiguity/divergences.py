"""Divergences: worst expectations when rows may count otherwise than they did, in closed form.

With w = dP/dP̂ the likelihood ratios, w ≥ 0 and E w = 1, over the losses Ψ_i with masses m_i,

    ChiSquare         sup_w  E wΨ − λ·E (w − 1)²        w_i = (1 + (Ψ_i − η)/(2λ))⁺
    TotalVariation    sup_w  E wΨ − λ·E |w − 1|/2       = E max(Ψ, max Ψ − λ)
    LikelihoodRatio   sup_w  E wΨ − λ·(max w − 1)       = max_k (B_k − λ(1 − A_k))/A_k

where losses are sorted from the largest down, A_k is the mass of the first k rows and B_k the sum
of their masses times losses. η makes the weights average to 1: as their average over some rows is
at most that over all, η is the largest of those that the first k rows ask for, which have the
closed form η_k = (B_k − 2λ(1 − A_k))/A_k. A radius bounds the divergence in place of its price.

Ben-Tal, den Hertog, De Waegenaere, Melenberg & Rennen (2013); Jiang & Guan (2018); for the last,
whose worst expectation within a radius is CVaR at the tail 1/(1 + ρ), Rockafellar & Uryasev (2000).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from hedgerow.ambiguity.reweighting import Reweighting
from hedgerow.data import Units
from hedgerow.describe.parts import ModelDescription


class ChiSquare(Reweighting):
    """χ²-divergence E (dP/dP̂ − 1)² from the nominal distribution.

    Within a small radius the worst expectation is mean + √(radius·variance): the model penalises
    variance. The likelihood ratio is not bounded, so single rows may come to count a lot.

    Parameters
    ----------
    penalty : float or None
        λ, in units of ``loss_scale``.
    radius : float or None
        ρ > 0, instead of a penalty: the largest divergence that is guarded against.
    loss_scale : float or "auto"
        1: λ in the loss's own units. "auto": in units of the mean loss of the best constant
        decision.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(
    ...     loss, hr.ChiSquare(radius=0.1), hr.Affine(), solver=hr.SCSC(steps=50)
    ... )
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def usual_radius(self, units: Units, rows: int) -> float:
        """χ²_1/n: the worst mean is then one that so many rows leave possible."""
        return 2 * super().usual_radius(units, rows)

    def risk(self, losses: Float[Array, "*g"], mass: Float[Array, "*g"]) -> Float[Array, ""]:
        """Losses at the weights that η gives, which are then scaled to average to 1 exactly."""
        first = _Largest.of(*jax.lax.stop_gradient((losses, mass)))
        price = jax.lax.stop_gradient(jnp.asarray(self.penalty, first.mass.dtype))
        level = jnp.max((first.brought - 2 * price * first.rest) / first.mass)
        extra = jnp.maximum((jax.lax.stop_gradient(losses) - level) / (2 * price), -1.0)
        off = jnp.sum(mass * extra)
        extra = jax.lax.stop_gradient((extra - off) / (1 + off))
        divergence = jnp.sum(mass * extra**2)
        return jnp.sum(mass * losses) + jnp.sum(mass * extra * losses) - self.penalty * divergence

    def description(self) -> ModelDescription:
        """Against other frequencies, of which none is out of the question."""
        return ModelDescription(
            "chi-square divergence",
            "rows of the history may occur more or less often than they did, a few of them much "
            "more often",
        )


class TotalVariation(Reweighting):
    """Total variation E |dP/dP̂ − 1|/2: the share of rows that may be other than they were.

    The adversary takes mass from the rows that cost least and puts it on the one that costs most.

    Parameters
    ----------
    penalty : float or None
        λ, in units of ``loss_scale``: rows that cost less than the worst one by more than λ become
        as bad as that.
    radius : float or None
        ρ in (0, 1], instead of a penalty: the largest share that is guarded against.
    loss_scale : float or "auto"
        1: λ in the loss's own units. "auto": in units of the mean loss of the best constant
        decision.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> model = hr.TotalVariation(radius=0.05)  # one row in twenty is the worst row
    >>> policy = hr.RobustPolicy(loss, model, hr.Affine(), solver=hr.SCSC(steps=50))
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def check(self) -> None:
        """A share is at most 1."""
        super().check()
        if self.radius is not None and self.radius_wish() is None and self.radius > 1:
            raise ValueError(
                f"radius must be at most 1, got {self.radius!r}: the total variation of two "
                "distributions is a share of their mass, and at 1 the worst row is all there is."
            )

    def usual_radius(self, units: Units, rows: int) -> float:
        """Half the root of χ²_1/n, as E|w − 1| is at most the root of E(w − 1)²."""
        return min(math.sqrt(2 * super().usual_radius(units, rows)) / 2, 1.0)

    def risk(self, losses: Float[Array, "*g"], mass: Float[Array, "*g"]) -> Float[Array, ""]:
        """Losses at weights of 0, of 1 and, for the worst rows, of 1 and what others lost."""
        fixed = jax.lax.stop_gradient(losses)
        worst = jnp.max(jnp.where(mass > 0, fixed, -jnp.inf))
        kept = jnp.where(fixed < worst - jax.lax.stop_gradient(self.penalty), 0.0, 1.0)
        moved = jnp.sum(mass * (1 - kept))
        at_worst = jnp.where(fixed == worst, 1.0, 0.0)
        weights = kept + at_worst * moved / jnp.sum(mass * at_worst)
        return jnp.sum(mass * weights * losses) - self.penalty * moved

    def description(self) -> ModelDescription:
        """Against the worst row."""
        return ModelDescription(
            "total variation distance",
            "a share of the history may be as bad as its worst row",
        )


class LikelihoodRatio(Reweighting):
    """Bounded likelihood ratio, max dP/dP̂ − 1: how many times more often any row may occur.

    Within a radius ρ the worst expectation is the conditional value at risk, the mean of the worst
    share 1/(1 + ρ) of cases. In the literature also the CVaR uncertainty set, or Rényi's divergence
    of infinite order.

    Parameters
    ----------
    penalty : float or None
        λ, in units of ``loss_scale``.
    radius : float or None
        ρ > 0, instead of a penalty: no row becomes more than 1 + ρ times as likely. For CVaR at a
        tail α it is 1/α − 1.
    loss_scale : float or "auto"
        1: λ in the loss's own units. "auto": in units of the mean loss of the best constant
        decision.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> model = hr.LikelihoodRatio(radius=0.25)  # the worst 80 % of rows
    >>> policy = hr.RobustPolicy(loss, model, hr.Affine(), solver=hr.SCSC(steps=50))
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def usual_radius(self, units: Units, rows: int) -> float:
        """√(χ²_1/3n): CVaR of evenly spread losses then moves by its mean's uncertainty."""
        return math.sqrt(2 * super().usual_radius(units, rows) / 3)

    def risk(self, losses: Float[Array, "*g"], mass: Float[Array, "*g"]) -> Float[Array, ""]:
        """The best share of worst cases: its mean loss less what that share costs."""
        first = _Largest.of(losses, mass)
        return jnp.max((first.brought - self.penalty * first.rest) / first.mass)

    def description(self) -> ModelDescription:
        """Against the worst cases."""
        return ModelDescription(
            "bounded likelihood ratio",
            "the worst rows of the history may be all that occurs, each up to so many times more "
            "often than it did",
        )


class _Largest(NamedTuple):
    """Of the k rows with the largest losses, for every k: mass, what is left, and what they bring.

    That is the sum of masses times losses. Rows without mass come last.
    """

    mass: Float[Array, " g"]
    rest: Float[Array, " g"]
    brought: Float[Array, " g"]

    @classmethod
    def of(cls, losses: Float[Array, "*g"], mass: Float[Array, "*g"]) -> _Largest:
        losses, mass = losses.ravel(), mass.ravel()
        order = jnp.argsort(-jnp.where(mass > 0, losses, -jnp.inf))
        losses, mass = losses[order], mass[order]
        rest = jnp.cumsum(mass[::-1])[::-1] - mass  # exactly 0 in the end, where 1 − Σ is not
        return cls(jnp.cumsum(mass), rest, jnp.cumsum(mass * losses))
