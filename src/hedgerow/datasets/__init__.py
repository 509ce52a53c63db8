"""Data to try decision rules on: real demand, and two generators with known oracles.

This folder uses nothing else of the package.
"""

from hedgerow.datasets.bakery import load_bakery
from hedgerow.datasets.inventory_data import (
    InventoryCosts,
    expected_inventory_loss,
    inventory_scale,
    make_inventory,
    mean_oracle_inventory_loss,
    oracle_inventory_decision,
    oracle_inventory_loss,
    paper_inventory_costs,
)
from hedgerow.datasets.newsvendor_data import (
    expected_newsvendor_loss,
    make_newsvendor,
    newsvendor_signal,
    oracle_newsvendor_decision,
    oracle_newsvendor_loss,
)
from hedgerow.datasets.restaurant import load_restaurant

__all__ = [
    "InventoryCosts",
    "expected_inventory_loss",
    "expected_newsvendor_loss",
    "inventory_scale",
    "load_bakery",
    "load_restaurant",
    "make_inventory",
    "make_newsvendor",
    "mean_oracle_inventory_loss",
    "newsvendor_signal",
    "oracle_inventory_decision",
    "oracle_inventory_loss",
    "oracle_newsvendor_decision",
    "oracle_newsvendor_loss",
    "paper_inventory_costs",
]
