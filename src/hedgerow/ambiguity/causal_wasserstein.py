"""Causal Wasserstein DRO: contexts are moved before their outcomes are seen.

    E_x̂ sup_x { E_ŷ|x̂ sup_y [ Ψ(f(x), y) − λ‖(y − ŷ)/s_y‖_p^p ] − λ‖(x − x̂)/s_x‖_p^p }

(paper: Causal-WDRO-dual)
"""

from __future__ import annotations

from collections.abc import Iterator

from hedgerow._warnings import HedgerowWarning
from hedgerow.ambiguity.transport_ascent import WassersteinAmbiguity
from hedgerow.ambiguity.transport_cost import causality_remarks
from hedgerow.data import NominalDistribution
from hedgerow.describe.parts import ModelDescription


class CausalWasserstein(WassersteinAmbiguity):
    """Ambiguity by causal transport distance, without entropy.

    Parameters
    ----------
    penalty : float or None
        λ, the price of transport in units of ``loss_scale``.
    order : float >= 1
        p of the transport cost.
    radius : float, "auto", "calibrated", Calibrated or None
        ρ, instead of a penalty: the largest causal transport distance C_p that is guarded against.
    x_scale, y_scale, loss_scale, norm, contexts, outcomes
        As for ``CausalSinkhorn``.

    Notes
    -----
    The maximisers are found by ascent from the context and from as many starting points around it
    as the solver has nodes: a lower bound on the supremum, exact if one start finds the summit.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(
    ...     loss, hr.CausalWasserstein(penalty=3), hr.Affine(), solver=hr.NestedSGD(steps=50)
    ... )
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def description(self) -> ModelDescription:
        """Against points that are moved, contexts before outcomes are seen."""
        return ModelDescription(
            "Causal Wasserstein distance",
            "what is known beforehand and what then happens may both be shifted, but what is known "
            "must be shifted before anybody sees what happens",
            columns=self.columns_words(),
        )

    def remarks(self, nominal: NominalDistribution) -> Iterator[HedgerowWarning]:
        """Whether causality makes a difference."""
        return causality_remarks(self, "Wasserstein", nominal)
