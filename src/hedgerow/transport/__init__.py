"""Causal Sinkhorn discrepancy and transport plans between discrete measures.

    R_p^p = min over causal γ of  Σ γ·c_p + ε·Σ γ_ij·log(γ_ij / p_i),   c_p = c_x + c_y

(paper, def-causal-trans and def-causal-sh). Data flow: ``measure`` (points, and what is distinct
among them) → ``transport_problem`` (costs, routes) → ``sweep_forms`` and ``fixed_point`` (epsilon
> 0) or ``exact`` (epsilon = 0) → ``factors`` (the plan, small) → ``result`` (numbers and views).
"""

from hedgerow.transport.measure import DiscreteMeasure
from hedgerow.transport.result import TransportResult
from hedgerow.transport.solvers import causal_sinkhorn, sinkhorn

__all__ = ["DiscreteMeasure", "TransportResult", "causal_sinkhorn", "sinkhorn"]
