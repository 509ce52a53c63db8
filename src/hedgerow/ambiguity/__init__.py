"""Ambiguity models: which distributions around the nominal the policy is guarded against."""

from hedgerow.ambiguity.base import Ambiguity, Neighbourhood, Setting, Spread, Tilt
from hedgerow.ambiguity.causal_sinkhorn import CausalSinkhorn
from hedgerow.ambiguity.causal_wasserstein import CausalWasserstein
from hedgerow.ambiguity.erm import ERM
from hedgerow.ambiguity.kl import KL
from hedgerow.ambiguity.penalised import Allowance, PenalisedAmbiguity
from hedgerow.ambiguity.sinkhorn import Sinkhorn
from hedgerow.ambiguity.transport import SinkhornAmbiguity, TransportAmbiguity

__all__ = [
    "ERM",
    "KL",
    "Allowance",
    "Ambiguity",
    "CausalSinkhorn",
    "CausalWasserstein",
    "Neighbourhood",
    "PenalisedAmbiguity",
    "Setting",
    "Sinkhorn",
    "SinkhornAmbiguity",
    "Spread",
    "Tilt",
    "TransportAmbiguity",
]
