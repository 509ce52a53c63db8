"""Ambiguity models: which distributions around the nominal the policy is guarded against."""

from hedgerow.ambiguity.base import Ambiguity, Batch, Neighbourhood, Setting, Tilt
from hedgerow.ambiguity.causal_sinkhorn import CausalSinkhorn
from hedgerow.ambiguity.erm import ERM
from hedgerow.ambiguity.kl import KL
from hedgerow.ambiguity.sinkhorn import Sinkhorn

__all__ = [
    "ERM",
    "KL",
    "Ambiguity",
    "Batch",
    "CausalSinkhorn",
    "Neighbourhood",
    "Setting",
    "Sinkhorn",
    "Tilt",
]
