"""Second stages with fixed linear recourse: exact values and gradients from dual vertices."""

from hedgerow.losses.recourse.cutting_planes import minimise_mean
from hedgerow.losses.recourse.feasibility import Block, bounds_of, decision_blocks, simplices_of
from hedgerow.losses.recourse.pool import Growth, VertexPool
from hedgerow.losses.recourse.standard_form import StandardForm
from hedgerow.losses.recourse.values import Recourse

__all__ = [
    "Block",
    "Growth",
    "Recourse",
    "StandardForm",
    "VertexPool",
    "bounds_of",
    "decision_blocks",
    "minimise_mean",
    "simplices_of",
]
