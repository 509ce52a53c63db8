"""Causal Sinkhorn DRO: move contexts without looking at outcomes, then outcomes.

    F_λ(θ) = λε Σ_k m_k log E_ξ1 exp( Σ_i p̂_ki G_ki(f_θ(x̂_k + ξ1)) )

(paper: whole-theta-soft-causal-sdro)

The sum over a context's outcomes stands inside the exponent: the adversary chooses where to move
x̂_k before it sees which ŷ_ki occurs.
"""

from __future__ import annotations

from collections.abc import Iterator

import jax.numpy as jnp

from hedgerow._warnings import HedgerowWarning
from hedgerow.ambiguity.base import Batch, Inner, Perturbed, Setting, Tilt
from hedgerow.ambiguity.transport_cost import causality_remarks
from hedgerow.ambiguity.transport_smearing import SinkhornAmbiguity
from hedgerow.data import NominalDistribution
from hedgerow.describe.parts import ModelDescription


class CausalSinkhorn(SinkhornAmbiguity):
    """Ambiguity by causal Sinkhorn discrepancy.

    Parameters
    ----------
    penalty : float or None
        λ, the price of transport in units of ``loss_scale``. Large: nearly the empirical problem.
    epsilon : float
        ε > 0, how much the worst case is smeared out, in units of the scales to the power p.
    order : float >= 1
        p of the transport cost ‖(x−x̂)/s_x‖_p^p + ‖(y−ŷ)/s_y‖_p^p.
    radius : float, "auto", "calibrated", Calibrated or None
        ρ, instead of a penalty: how far, in the p-th root of the discrepancy, the distribution may
        lie from the nominal one. The penalty is then found along with the rule. Smearing points
        out changes the discrepancy by itself, so not every radius is feasible; the error for one
        that is not names the smallest that is. "auto": as far as means of so many rows are
        uncertain; "calibrated" (or ``Calibrated(level=…)``): the smallest one whose value bounds
        the next rows' mean cost (docs/promise.md). Both are found in ``fit``.
    x_scale, y_scale : float, one per column, or "auto"
        s_x, s_y. 1: the data's own units, as in the paper. "auto": standard deviations.
    loss_scale : float or "auto"
        Unit of the penalty. "auto": the mean loss of the best constant decision.
    norm : None, 1, 2 or inf, or a pair of these for x and y
        q, for costs ‖·‖_q^p over all columns together; None: each column by itself, ‖·‖_p^p.
    contexts : kinds of columns or None
        What columns of the contexts are (``hedgerow.contexts``): bounded, categorical, or fixed,
        which the adversary cannot touch; None: all may be moved anywhere.
    outcomes : {None, "integers", "fixed"}
        Where outcomes may be moved: anywhere on the loss's support, to whole numbers, or nowhere.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> model = hr.CausalSinkhorn(penalty=3, epsilon=0.1, x_scale="auto", y_scale="auto")
    >>> policy = hr.RobustPolicy(
    ...     loss, model, hr.Affine(), hr.NeighbourNominal(5), hr.SCSC(steps=50)
    ... )
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def description(self) -> ModelDescription:
        """Against rows that are moved, contexts before outcomes are seen."""
        return ModelDescription(
            "Causal Sinkhorn distance",
            "what is known beforehand and what then happens may both be shifted and blurred, but "
            "what is known must be shifted before anybody sees what happens",
            columns=self.columns_words(),
        )

    def slots(self, nominal: NominalDistribution) -> int:
        """One logarithm per context."""
        return len(nominal.contexts)

    def tilt(self, perturbed: Perturbed, setting: Setting, batch: Batch) -> Tilt:
        """Average the inner log-moments over a context's outcomes at each node."""
        moments = self.inner_log_moments(perturbed, setting, batch)
        exponents = jnp.einsum("bmn,bn->bm", moments, batch.outcome_mass)[:, None, :]
        one = jnp.ones_like(batch.outcome_mass[:, :1])
        return Tilt(exponents, perturbed.log_weights[:, None, :], one, batch.context_slot[:, None])

    def inner(self, perturbed: Perturbed, setting: Setting, batch: Batch) -> Inner:
        """G_ki at every node, before outcomes are averaged."""
        moments = self.inner_log_moments(perturbed, setting, batch).swapaxes(1, 2)
        return Inner(moments, perturbed.log_weights, batch.outcome_mass, self.temperature)

    def remarks(self, nominal: NominalDistribution) -> Iterator[HedgerowWarning]:
        """Whether causality makes a difference."""
        return causality_remarks(self, "Sinkhorn", nominal)
