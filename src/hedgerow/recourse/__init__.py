"""Second stages with fixed linear recourse: exact values and gradients from dual vertices."""

from hedgerow.recourse.engine import Growth, Recourse
from hedgerow.recourse.feasibility import (
    Block,
    bounds_of,
    decision_blocks,
    interval_blocks,
    simplices_of,
)
from hedgerow.recourse.sample_average import minimise_mean
from hedgerow.recourse.standard_form import StandardForm

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
