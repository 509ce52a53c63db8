"""Second stages with fixed linear recourse: exact values and gradients from dual vertices."""

from hedgerow.losses.recourse.cutting_planes import minimise_mean
from hedgerow.losses.recourse.engine import Growth, Recourse
from hedgerow.losses.recourse.feasibility import (
    Block,
    bounds_of,
    decision_blocks,
    interval_blocks,
    simplices_of,
)
from hedgerow.losses.recourse.standard_form import StandardForm

__all__ = [
    "Block",
    "Growth",
    "Recourse",
    "StandardForm",
    "bounds_of",
    "decision_blocks",
    "interval_blocks",
    "minimise_mean",
    "simplices_of",
]
