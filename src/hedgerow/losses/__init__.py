"""Losses Ψ(z, y): what a decision costs once the outcome is known."""

from hedgerow.losses.base import ClosedMoments, Loss, RescaledLoss
from hedgerow.losses.by_row import along, by_row
from hedgerow.losses.cost_columns import Column, bound, located, named_columns, parameters
from hedgerow.losses.custom import CustomLoss
from hedgerow.losses.cvar import CVaR
from hedgerow.losses.inventory import InventorySubstitution
from hedgerow.losses.joint_cvar import JointCVaR
from hedgerow.losses.max_affine import MaxAffine
from hedgerow.losses.mean_cvar import MeanCVaR
from hedgerow.losses.mean_variance import MeanVariance
from hedgerow.losses.newsvendor import Newsvendor
from hedgerow.losses.portfolio import PortfolioLoss
from hedgerow.losses.two_stage import RecourseLoss, TwoStageLP

__all__ = [
    "CVaR",
    "ClosedMoments",
    "Column",
    "CustomLoss",
    "InventorySubstitution",
    "JointCVaR",
    "Loss",
    "MaxAffine",
    "MeanCVaR",
    "MeanVariance",
    "Newsvendor",
    "PortfolioLoss",
    "RecourseLoss",
    "RescaledLoss",
    "TwoStageLP",
    "along",
    "bound",
    "by_row",
    "located",
    "named_columns",
    "parameters",
]
