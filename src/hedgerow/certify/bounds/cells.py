"""Upper bounds on log E exp h(f(x̂ + ξ)) where a single feature moves: interval by interval.

    log E exp h(f(x̂ + ξ))  ≤  log Σ_cells K(cell)·exp( max of h over f's range on the cell )

with the range from the tangent in the middle of the cell, half a width r away: |∂f|r + ½Mr² + Lr.
It serves every rule that has an expansion, and both kernels. What lies beyond the last cells counts
with the largest gain of the hull, or with what the rule's steepest slope makes of the distance.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.stats import laplace, norm

from hedgerow.certify.bounds.smearing import TINY, Around, log_sum

COUNT = 2048


def celled(around: Around, order: int) -> Float[np.ndarray, " groups"]:
    """The bound; ``order`` is the kernel's. Not for several features that move."""
    (moving,) = np.flatnonzero(around.scale)
    scale, width = around.scale[moving], around.deviation
    expansion, gains = around.expansion, around.gains
    growth = around.steepest * around.lipschitz * expansion.steepest[0, moving] * scale * width
    kernel = norm if order == 2 else laplace
    bounded = bool(np.isfinite([expansion.low[0], expansion.high[0]]).all())
    if bounded:
        far = np.ptp(gains.values, axis=1).max() + 30.0
        reach = np.sqrt(2 * far) if order == 2 else far
    elif order == 2:
        reach = growth + 9.0
    elif growth < 1:
        reach = 40.0 / (1 - growth)
    else:
        return np.full(len(around.home), np.inf)
    places = np.linspace(-reach, reach, COUNT + 1)
    half = reach / COUNT * width * scale
    middles = (places[:-1] + places[1:]) / 2 * width * scale
    moved = np.zeros((COUNT, len(around.scale)))
    moved[:, moving] = middles
    z, slopes = around.tangents(around.homes[:, None, :] + moved)
    bend, kinked = expansion.curvature[0, moving, moving], expansion.steepness[0]
    room = np.abs(slopes[..., moving]) / scale * half + bend * half**2 / 2 + kinked * half
    low, high = np.maximum(z - room, expansion.low[0]), np.minimum(z + room, expansion.high[0])
    if expansion.image is not None:
        flat = expansion.image(low.reshape(-1, 1), high.reshape(-1, 1))
        low, high = (end.reshape(z.shape) for end in flat)
    worst = np.maximum(gains.at(low[around.home]), gains.at(high[around.home]))
    left, right = places[:-1], places[1:]
    mass = np.where(
        left > 0, kernel.sf(left) - kernel.sf(right), kernel.cdf(right) - kernel.cdf(left)
    )
    inside = log_sum(worst + np.log(np.maximum(mass, TINY)), axis=1)
    if bounded:
        ceiling = gains.values[:, [0, -1]].max(axis=1)
        return np.logaddexp(inside, ceiling + np.log(2) + kernel.logsf(reach))
    at_home = gains.at(around.decisions()[around.home][:, None])[:, 0]
    if order == 2:  # E exp(growth·|u|) beyond the last cells, on both sides
        beyond = np.log(2) + growth**2 / 2 + norm.logsf(reach - growth)
    else:
        beyond = -(1 - growth) * reach - np.log1p(-growth)
    return np.logaddexp(inside, at_home + beyond)
