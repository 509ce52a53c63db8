"""The paper's two synthetic problems: which sizes, how many draws, how many test contexts."""

from __future__ import annotations

from hedgerow_studies.trials.inventory_trial import InventoryDraw
from hedgerow_studies.trials.newsvendor_trial import NewsvendorDraw

Draw = NewsvendorDraw | InventoryDraw

TEST_ROWS = {"tiny": 2_000, "quick": 20_000, "full": 100_000}
SIZES = {
    "newsvendor": [(n, d) for n in (200, 400, 800, 1000) for d in (5, 10, 20, 50)],
    "inventory": [(n, d) for n in (100, 200, 400, 800) for d in (3, 5, 10, 20)],
}
"""Rows and features that the paper has."""
FEW_SIZES = {"newsvendor": [(200, 5), (400, 10)], "inventory": [(100, 3), (400, 10)]}
DRAWS = {"tiny": 1, "quick": 2, "full": 10}


def draw(problem: str, rows: int, features: int, seed: int, test_rows: int) -> Draw:
    """Draw a truth, a history and test contexts; the same seed gives the same ones."""
    kind = {"newsvendor": NewsvendorDraw, "inventory": InventoryDraw}[problem]
    return kind(rows, features, seed, test_rows)


def sizes(problem: str, scale: str) -> list[tuple[int, int]]:
    """Rows and features at a scale."""
    return SIZES[problem] if scale == "full" else FEW_SIZES[problem][: 1 if scale == "tiny" else 2]
