"""Ambiguity models: which distributions around the nominal the policy is guarded against."""

from hedgerow.ambiguity.base import (
    Ambiguity,
    Budget,
    Inner,
    Kernels,
    Perturbed,
    Setting,
    Tilt,
    decide,
)
from hedgerow.ambiguity.causal_sinkhorn import CausalSinkhorn
from hedgerow.ambiguity.causal_wasserstein import CausalWasserstein
from hedgerow.ambiguity.divergences import ChiSquare, LikelihoodRatio, TotalVariation
from hedgerow.ambiguity.erm import ERM
from hedgerow.ambiguity.kl import KL
from hedgerow.ambiguity.penalised import (
    InadmissiblePenaltyError,
    InfeasibleRadiusError,
    PenalisedAmbiguity,
)
from hedgerow.ambiguity.problem import Problem
from hedgerow.ambiguity.radius_wishes import Calibrated, Moves, RadiusWish, Usual
from hedgerow.ambiguity.reductions import LogOfMean, LogReduction, Mean, MeanOfLogs, Reduction, Risk
from hedgerow.ambiguity.reweighting import Reweighting
from hedgerow.ambiguity.sinkhorn import Sinkhorn
from hedgerow.ambiguity.transport_ascent import WassersteinAmbiguity
from hedgerow.ambiguity.transport_cost import TransportAmbiguity
from hedgerow.ambiguity.transport_smearing import SinkhornAmbiguity
from hedgerow.ambiguity.wasserstein import Wasserstein

__all__ = [
    "ERM",
    "KL",
    "Ambiguity",
    "Budget",
    "Calibrated",
    "CausalSinkhorn",
    "CausalWasserstein",
    "ChiSquare",
    "InadmissiblePenaltyError",
    "InfeasibleRadiusError",
    "Inner",
    "Kernels",
    "LikelihoodRatio",
    "LogOfMean",
    "LogReduction",
    "Mean",
    "MeanOfLogs",
    "Moves",
    "PenalisedAmbiguity",
    "Perturbed",
    "Problem",
    "RadiusWish",
    "Reduction",
    "Reweighting",
    "Risk",
    "Setting",
    "Sinkhorn",
    "SinkhornAmbiguity",
    "Tilt",
    "TotalVariation",
    "TransportAmbiguity",
    "Usual",
    "Wasserstein",
    "WassersteinAmbiguity",
    "decide",
]
