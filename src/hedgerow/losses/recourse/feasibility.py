"""Complete recourse, checked: for every decision and outcome some w ≥ 0 has W w = r0 + R y − T z.

The right-hand sides form r0 plus a sum of blocks, one per coordinate of z and y (one per simplex),
each a hull of points and a cone of directions. They must lie in the convex cone pos W:

- every direction must; a direction outside is a way out of the cone;
- it suffices that one base point and all differences within blocks do;
- else, where all rays ρ of the dual polyhedron are known, r is in pos W exactly if ρ·r ≤ 0 for
  each, and the largest ρ·r over the blocks is a sum of largest ones; otherwise corners are tried.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from hedgerow._warnings import RecourseWarning
from hedgerow.decisions import Block, DecisionSet
from hedgerow.describe.parts import Missing
from hedgerow.losses.recourse.bases import OPTIMAL, BasisPool
from hedgerow.losses.recourse.standard_form import StandardForm

CORNERS = 4096


def bounds_of(decision_set: DecisionSet) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper end of each coordinate."""
    low, high = np.full((2, decision_set.dimension), [[-np.inf], [np.inf]])
    for block in decision_blocks(decision_set):
        if not np.any(block.directions < 0):
            low[block.coordinates] = block.points.min(axis=0)
        if not np.any(block.directions > 0):
            high[block.coordinates] = block.points.max(axis=0)
    return low, high


def simplices_of(decision_set: DecisionSet) -> list[np.ndarray]:
    """Coordinates that have to sum to one, part by part."""
    every = np.arange(decision_set.dimension)
    return [every[b.coordinates] for b in decision_blocks(decision_set) if b.points.shape[1] > 1]


def decision_blocks(decision_set: DecisionSet) -> list[Block]:
    """Blocks of a decision set, which has to know its own."""
    blocks = decision_set.blocks()
    if blocks is None:
        raise Missing(
            decision_set, "blocks", "That every decision has a recourse is checked block by block"
        )
    return blocks


def check_complete(form: StandardForm, pool: BasisPool, blocks: list[Block]) -> None:
    """Raise one sentence with a witness if some decision and outcome have no recourse."""
    columns = {"z": -form.technology, "y": form.outcome_matrix}

    def image(block: Block, vectors: np.ndarray) -> np.ndarray:
        return vectors @ columns[block.name][:, block.coordinates].T

    for block in blocks:
        outside = pool.solve(image(block, block.directions))[1] != OPTIMAL
        if np.any(outside):
            sign = block.directions[np.argmax(outside), 0]
            raise ValueError(
                f"No recourse exists far along {block.name}[{block.first}] → "
                f"{'+' if sign > 0 else '−'}∞; bound it "
                f"({'decision_set' if block.name == 'z' else 'outcome_support'}) or add a recourse "
                "column that covers it at a price."
            )
    base = form.constant + sum(image(block, block.points[0]) for block in blocks)
    steps = [image(block, block.points[1:] - block.points[0]) for block in blocks]
    if np.all(pool.solve(np.vstack([base[None], *steps]))[1] == OPTIMAL):
        return
    images = [image(block, block.points) for block in blocks]
    if pool.complete:
        choice = _beyond_a_ray(form.constant, images, pool.rays())
    else:
        choice = _failing_corner(form.constant, images, pool)
    if choice is not None:
        point = {"z": np.zeros(form.technology.shape[1])}
        point["y"] = np.zeros(form.outcome_matrix.shape[1])
        for block, chosen in zip(blocks, choice, strict=True):
            point[block.name][block.coordinates] = block.points[chosen]
        raise ValueError(
            f"No recourse exists at z = {point['z'].tolist()}, y = {point['y'].tolist()}: no w ≥ 0 "
            "meets the constraints there; shrink decision_set or outcome_support, or add a "
            "recourse column that covers it at a price."
        )


def _beyond_a_ray(constant: np.ndarray, images: list[np.ndarray], rays: np.ndarray) -> Any:
    """Which point of each block leaves pos W together, or None if none do."""
    highest = rays @ constant + sum((rays @ image.T).max(axis=1) for image in images)
    size = np.linalg.norm(constant) + sum(np.linalg.norm(image, axis=1).max() for image in images)
    worst = int(np.argmax(highest)) if len(rays) else -1
    if worst < 0 or highest[worst] <= 1e-9 * size:
        return None
    return [int(np.argmax(image @ rays[worst])) for image in images]


def _failing_corner(constant: np.ndarray, images: list[np.ndarray], pool: BasisPool) -> Any:
    """As above by trying corners: all of them if few, else a fixed random sample."""
    sizes = [len(image) for image in images]
    if math.prod(sizes) <= CORNERS:
        choices = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
    else:
        choices = np.random.default_rng(0).integers(sizes, size=(CORNERS, len(sizes)))
    corners = constant + sum(image[c] for image, c in zip(images, choices.T, strict=True))
    failing = pool.solve(corners)[1] != OPTIMAL
    if np.any(failing):
        return choices[np.argmax(failing)].tolist()
    if math.prod(sizes) > CORNERS:
        warnings.warn(
            f"That every decision and outcome has a recourse was checked at {CORNERS} random "
            f"corners of their sets, not at all {math.prod(sizes):.3g}.",
            RecourseWarning,
            stacklevel=2,
        )
    return None
