"""Adaptive quadrature on [0, 1] of many integrals at once, whose sums are known.

Gauss–Kronrod rules (QUADPACK) on panels, which are halved where the two rules disagree, or where
the integrals do not add up to what they must: between two nodes a crisp gate may open unseen, but
not without moving the decision. All panels of a generation are evaluated in one call, and all
integrals share them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

MOST_PANELS = 512

# Gauss–Kronrod (7, 15): QUADPACK's abscissae on [0, 1] and the weights of both rules; every other
# abscissa, from the second on, is Gauss's.
_HALF = np.array(
    [
        0.991455371120812639206854697526329,
        0.949107912342758524526189684047851,
        0.864864423359769072789712788640926,
        0.741531185599394439863864773280788,
        0.586087235467691130294144691712950,
        0.405845151377397166906606412076961,
        0.207784955007898467600689403773245,
    ]
)
_KRONROD_HALF = np.array(
    [
        0.022935322010529224963732008058970,
        0.063092092629978553290700663189204,
        0.104790010322250183839876322541518,
        0.140653259715525918745189590510238,
        0.169004726639267902826583426598550,
        0.190350578064785409913256402421014,
        0.204432940075298892414161999234649,
    ]
)
_KRONROD_MIDDLE = 0.209482141084727828012999174891714
_NODES = np.concatenate([-_HALF, [0.0], _HALF[::-1]]) / 2 + 0.5
_KRONROD = np.concatenate([_KRONROD_HALF, [_KRONROD_MIDDLE], _KRONROD_HALF[::-1]]) / 2
_GAUSS = np.zeros(15)
_GAUSS[1::2] = np.polynomial.legendre.leggauss(7)[1] / 2


def integrate(
    integrand: Callable[[np.ndarray], np.ndarray],
    total: Callable[[np.ndarray], np.ndarray],
    tolerance: float,
) -> Float[np.ndarray, "k d"]:
    """Integrate a function of points (m,) with values (m, k, d), each to an absolute error.

    ``total`` (m, k) is the integral, up to each point, of the sum over d. Panels are no longer
    halved once there have been ``MOST_PANELS`` of them.
    """
    panels = np.array([[0.0, 1.0]])
    parts, used = [], 0
    while len(panels):
        width = panels[:, 1] - panels[:, 0]
        points = panels[:, :1] + width[:, None] * _NODES
        found = integrand(points.ravel())
        found = found.reshape(*points.shape, *found.shape[1:])
        fine, coarse = (np.einsum("p,m,pmkd->pkd", width, w, found) for w in (_KRONROD, _GAUSS))
        used += len(panels)
        apart = np.abs(fine - coarse).max(axis=(1, 2))
        # Kronrod's rule is far better than Gauss's, whose error this is: QUADPACK's power 3/2.
        size = max(float(np.abs(fine).max()), 1e-300)
        error = size * np.minimum(1.0, apart / size) ** 1.5
        ends = total(panels.ravel()).reshape(len(panels), 2, -1)
        missing = np.abs(fine.sum(axis=2) - (ends[:, 1] - ends[:, 0])).max(axis=1)
        settled = np.maximum(error, missing) <= tolerance * width
        settled |= used + 2 * len(panels) > MOST_PANELS
        parts.append(fine[settled].sum(axis=0))
        rest = panels[~settled]
        middle = rest.mean(axis=1)
        panels = np.concatenate(
            [np.column_stack([rest[:, 0], middle]), np.column_stack([middle, rest[:, 1]])]
        )
    return np.sum(parts, axis=0)
