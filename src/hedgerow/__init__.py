"""hedgerow: decision rules from data that hedge against the data being misleading.

Names are imported when they are first used, so that ``hedgerow --help`` need not wait for JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hedgerow._version import __version__

if TYPE_CHECKING:
    from hedgerow import datasets, explain, metrics, plots, report, theory
    from hedgerow.ambiguity import ERM, KL, CausalSinkhorn, CausalWasserstein, Sinkhorn
    from hedgerow.certify.value import RobustValue, robust_value
    from hedgerow.certify.worst_cases import DiscreteWorstCase, SmoothWorstCase, worst_case
    from hedgerow.data.encoder import TableEncoder
    from hedgerow.data.nominal import AdaptedNominal, EmpiricalNominal, NeighbourNominal
    from hedgerow.decisions import Box, Free, Nonnegative, Product, Simplex
    from hedgerow.estimator import RobustPolicy, load
    from hedgerow.kernels.kernel import Kernel
    from hedgerow.kernels.nodes import GaussQuadrature, MonteCarlo, Reference, Sobol
    from hedgerow.losses import (
        CustomLoss,
        InventorySubstitution,
        MaxAffine,
        MeanCVaR,
        MeanVariance,
        Newsvendor,
        TwoStageLP,
    )
    from hedgerow.policy_file import PolicyFileError
    from hedgerow.rules import Affine, Constant, SoftForest, TwoLayer
    from hedgerow.search import RobustPolicyCV
    from hedgerow.solvers import MLMC, SAA, SCGD, SCSC, NestedSGD
    from hedgerow.transport import DiscreteMeasure, TransportResult, causal_sinkhorn, sinkhorn

_MODULES = ("datasets", "explain", "metrics", "plots", "report", "theory")
_HOMES = {
    "ambiguity": ("ERM", "KL", "CausalSinkhorn", "CausalWasserstein", "Sinkhorn"),
    "decisions": ("Box", "Free", "Nonnegative", "Product", "Simplex"),
    "certify.value": ("RobustValue", "robust_value"),
    "estimator": ("RobustPolicy", "load"),
    "kernels.kernel": ("Kernel",),
    "losses": (
        "CustomLoss",
        "InventorySubstitution",
        "MaxAffine",
        "MeanCVaR",
        "MeanVariance",
        "Newsvendor",
        "TwoStageLP",
    ),
    "kernels.nodes": ("GaussQuadrature", "MonteCarlo", "Reference", "Sobol"),
    "data.nominal": ("AdaptedNominal", "EmpiricalNominal", "NeighbourNominal"),
    "policy_file": ("PolicyFileError",),
    "rules": ("Affine", "Constant", "SoftForest", "TwoLayer"),
    "search": ("RobustPolicyCV",),
    "solvers": ("MLMC", "SAA", "SCGD", "SCSC", "NestedSGD"),
    "data.encoder": ("TableEncoder",),
    "transport": ("DiscreteMeasure", "TransportResult", "causal_sinkhorn", "sinkhorn"),
    "certify.worst_cases": ("DiscreteWorstCase", "SmoothWorstCase", "worst_case"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ERM",
    "KL",
    "MLMC",
    "SAA",
    "SCGD",
    "SCSC",
    "AdaptedNominal",
    "Affine",
    "Box",
    "CausalSinkhorn",
    "CausalWasserstein",
    "Constant",
    "CustomLoss",
    "DiscreteMeasure",
    "DiscreteWorstCase",
    "EmpiricalNominal",
    "Free",
    "GaussQuadrature",
    "InventorySubstitution",
    "Kernel",
    "MaxAffine",
    "MeanCVaR",
    "MeanVariance",
    "MonteCarlo",
    "NeighbourNominal",
    "NestedSGD",
    "Newsvendor",
    "Nonnegative",
    "PolicyFileError",
    "Product",
    "Reference",
    "RobustPolicy",
    "RobustPolicyCV",
    "RobustValue",
    "Simplex",
    "Sinkhorn",
    "SmoothWorstCase",
    "Sobol",
    "SoftForest",
    "TableEncoder",
    "TransportResult",
    "TwoLayer",
    "TwoStageLP",
    "__version__",
    "causal_sinkhorn",
    "datasets",
    "explain",
    "load",
    "metrics",
    "plots",
    "report",
    "robust_value",
    "sinkhorn",
    "theory",
    "worst_case",
]


def __getattr__(name: str) -> Any:
    """Import what a public name stands for, once."""
    if name in _MODULES:
        return import_module(f"hedgerow.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")
    value = getattr(import_module(f"hedgerow.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
