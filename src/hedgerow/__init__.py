"""hedgerow: decision rules from data that hedge against the data being misleading."""

from hedgerow import datasets
from hedgerow._version import __version__
from hedgerow.ambiguity import ERM, KL, CausalSinkhorn, Sinkhorn
from hedgerow.decisions import Box, Free, Nonnegative, Product, Simplex
from hedgerow.dual import RobustValue
from hedgerow.estimator import RobustPolicy, load
from hedgerow.kernels import GaussQuadrature, Kernel, MonteCarlo, Reference, Sobol
from hedgerow.losses import CustomLoss, Newsvendor
from hedgerow.nominal import AdaptedNominal, EmpiricalNominal, NeighbourNominal
from hedgerow.policy_file import PolicyFileError
from hedgerow.rules import Affine, Constant, SoftForest, TwoLayer
from hedgerow.solvers import SCGD, SCSC, NestedSGD

__all__ = [
    "ERM",
    "KL",
    "SCGD",
    "SCSC",
    "AdaptedNominal",
    "Affine",
    "Box",
    "CausalSinkhorn",
    "Constant",
    "CustomLoss",
    "EmpiricalNominal",
    "Free",
    "GaussQuadrature",
    "Kernel",
    "MonteCarlo",
    "NeighbourNominal",
    "NestedSGD",
    "Newsvendor",
    "Nonnegative",
    "PolicyFileError",
    "Product",
    "Reference",
    "RobustPolicy",
    "RobustValue",
    "Simplex",
    "Sinkhorn",
    "Sobol",
    "SoftForest",
    "TwoLayer",
    "__version__",
    "datasets",
    "load",
]
