"""Decision sets: convex sets Z and smooth maps onto them.

A forest's decision is a convex combination of its leaves, so leaves inside Z make every decision
for every context feasible by construction. Leaves are free parameters ("raw") sent through a map:

    Free          z = raw
    Nonnegative   z = softplus(raw)
    Box           z = low + (high − low)·sigmoid(raw)     (softplus at a one-sided end)
    Simplex       z = softmax(raw)
    Product       each block through its own map
"""

from hedgerow.decisions.base import Block, DecisionSet, interval_blocks
from hedgerow.decisions.intervals import Box, Free, Nonnegative
from hedgerow.decisions.product import Product
from hedgerow.decisions.simplex import Simplex

__all__ = [
    "Block",
    "Box",
    "DecisionSet",
    "Free",
    "Nonnegative",
    "Product",
    "Simplex",
    "interval_blocks",
]
