"""Kernels of outcomes that are counts, or that never move.

    k(u) ∝ exp( −Σ_j |(u_j − c_j)/s_j|^p / ε )    on given points, coordinate by coordinate

Sums over the points are exact, so what other kernels integrate in closed form is summed here: the
points are few, and their number is the same for all data, so that folds share one program. A mass
between two ends counts the upper one and not the lower one.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hedgerow.kernels.base import AbstractKernel, Points, Weighted, arrays
from hedgerow.kernels.kernel import Kernel, moved_in_scales
from hedgerow.kernels.norms import power_root
from hedgerow.kernels.power import PowerKernel
from hedgerow.kernels.tilted import NEVER

MOST_POINTS = 256
"""Points along each coordinate; of data spread more widely, counts are as good as continuous."""


class LatticeKernel(AbstractKernel):
    """The kernel of one point on given points (points, d); ``log_mass`` (points, d) is 0 or NEVER.

    ``low`` and ``high`` say between which ends the lattice would go on.
    """

    along: Any
    """The kernel of the same cost on the whole line."""
    points: Float[Array, "v d"]
    log_mass: Float[Array, "v d"]

    @property
    def order(self) -> Any:
        """That of the cost."""
        return self.along.order

    @property
    def epsilon(self) -> Any:
        """That of the cost."""
        return self.along.epsilon

    @property
    def scale(self) -> Any:
        """That of the cost."""
        return self.along.scale

    @property
    def low(self) -> Any:
        """Where the lattice would end."""
        return self.along.low

    @property
    def high(self) -> Any:
        """Where the lattice would end."""
        return self.along.high

    @property
    def width(self) -> Float[Array, " d"]:
        """That of the cost's own kernel."""
        return self.along.width

    @property
    def reach(self) -> Float[Array, " d"]:
        """That of the cost's own kernel."""
        return self.along.reach

    @property
    def lebesgue(self) -> Any:
        """Nowhere: points are counted."""
        return np.zeros(self.scale.shape[0], bool)

    @property
    def terms(self) -> int:
        """All points."""
        return self.points.shape[0]

    def by_coordinate(self) -> LatticeKernel:
        """Itself."""
        return self

    def with_epsilon(self, epsilon: Any) -> LatticeKernel:
        """The same with another ε."""
        return eqx.tree_at(lambda k: k.along, self, self.along.with_epsilon(epsilon))

    def stretched(self, unit: Any) -> LatticeKernel:
        """The kernel of points that are counted in 1/unit of theirs."""
        return LatticeKernel(
            along=self.along.stretched(unit), points=self.points * unit, log_mass=self.log_mass
        )

    def with_ends(self) -> LatticeKernel:
        """The same with its ends written out."""
        return eqx.tree_at(lambda k: k.along, self, self.along.with_ends())

    def above(self, low: Float[Array, "*b d"]) -> LatticeKernel:
        """Without the points below ``low``."""
        kept = jnp.where(self.points >= low[..., None, :], self.log_mass, NEVER)
        return LatticeKernel(along=self.along.above(low), points=self.points, log_mass=kept)

    def cost(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """‖(point − centre)/s‖_p^p."""
        return self.along.cost(centre, point)

    def within(self, centre: Points, point: Points) -> Array:
        """Whether points are the lattice's."""
        gap = jnp.abs(point[..., None, :] - self.points) - self.log_mass
        return jnp.all(jnp.min(gap, axis=-2) < 1e-6, axis=-1)

    def settled(self, points: Array) -> Array:
        """The nearest of the lattice's points."""
        gap = jnp.abs(points[..., None, :] - self.points) - self.log_mass
        return self._at(jnp.argmin(gap, axis=-2))

    def _at(self, place: Array) -> Array:
        return jnp.take_along_axis(
            jnp.broadcast_to(self.points, (*place.shape[:-1], *self.points.shape)),
            place[..., None, :],
            axis=-2,
        )[..., 0, :]

    def _log_terms(self, centre: Array) -> Array:
        """−|(u − c)/s|^p/ε at the points, (…, points, d)."""
        scale = jnp.where(self.scale > 0, self.scale, jnp.inf)
        moves = jnp.abs((self.points - centre[..., None, :]) / scale)
        return self.log_mass - moves**self.order / self.epsilon

    def log_normaliser(self, centre: Float[Array, "*b d"]) -> Float[Array, "*b"]:
        """Log Σ_u exp(−cost/ε)."""
        return jnp.sum(jax.nn.logsumexp(self._log_terms(centre), axis=-2), axis=-1)

    def all_nodes(self, centre: Float[Array, "*b d"]) -> Weighted | None:
        """The points themselves, of a single coordinate."""
        if self.points.shape[1] > 1:
            return None
        log_weights = jax.nn.log_softmax(self._log_terms(centre)[..., 0], axis=-1)
        nodes = jnp.broadcast_to(self.points, (*log_weights.shape, 1)).astype(centre.dtype)
        return nodes, log_weights

    def log_tilted_mass(
        self, slope: Points, anchor: Points, low: Points | None, high: Points | None, centre: Points
    ) -> Float[Array, "*b d"]:
        """Log Σ exp(slope·(u − anchor))·k(u) over low < u ≤ high, per coordinate."""
        slope, anchor, centre = jnp.broadcast_arrays(slope, anchor, centre)
        terms = jax.nn.log_softmax(self._log_terms(centre), axis=-2)
        terms = terms + slope[..., None, :] * (self.points - anchor[..., None, :])
        if low is not None:
            low = jnp.broadcast_to(low, jnp.broadcast_shapes(jnp.shape(low), slope.shape))
            terms = jnp.where(self.points > low[..., None, :], terms, NEVER)
        if high is not None:
            high = jnp.broadcast_to(high, jnp.broadcast_shapes(jnp.shape(high), slope.shape))
            terms = jnp.where(self.points <= high[..., None, :], terms, NEVER)
        return jax.nn.logsumexp(jnp.maximum(terms, NEVER), axis=-2)

    def tilted_ends(self, steepest: Points, centre: Points) -> tuple[Array, Array]:
        """The lattice's own ends."""
        shape = jnp.broadcast_shapes(jnp.shape(steepest), centre.shape)
        low = jnp.min(jnp.where(self.log_mass < 0, jnp.inf, self.points), axis=-2) - 1
        high = jnp.max(jnp.where(self.log_mass < 0, -jnp.inf, self.points), axis=-2) + 1
        return jnp.broadcast_to(low, shape), jnp.broadcast_to(high, shape)

    def from_uniform(self, centre: Points, uniform: Points) -> Float[Array, "*b d"]:
        """By the sums of masses."""
        shares = jax.nn.softmax(self._log_terms(centre), axis=-2)
        below = jnp.cumsum(shares, axis=-2)
        level = uniform[..., None, :] * below[..., -1:, :]
        return self._at(jnp.minimum(jnp.sum(level > below, axis=-2), self.points.shape[0] - 1))

    def best_move(self, slope: Any, centre: Array, penalty: Any) -> Array:
        """To the point that is worth most."""
        shape = jnp.broadcast_shapes(jnp.shape(slope), centre.shape)  # several slopes, maybe
        slope, centre = jnp.broadcast_to(slope, shape), jnp.broadcast_to(centre, shape)
        worth = slope[..., None, :] * (self.points - centre[..., None, :])
        worth = worth + penalty * self.epsilon * (self._log_terms(centre) - self.log_mass)
        return self._at(jnp.argmax(jnp.where(self.log_mass < 0, -jnp.inf, worth), axis=-2)) - centre

    def proximal(
        self, home: Array, point: Array, uphill: Array, size: Array, penalty: Array
    ) -> Array:
        """As on the whole line, then to the nearest point."""
        moved = moved_in_scales(self, home, point, size * uphill)
        shrunk = jnp.sign(moved) * power_root(jnp.abs(moved), size * penalty, self.order)
        return self.settled(home + shrunk * self.scale)

    def outweighing(self, falling: Any, rising: Any, degree: int = 1) -> Any:
        """As on the whole line."""
        return self.along.outweighing(falling, rising, degree)

    def least_slope(self, scales: np.ndarray) -> float:
        """As on the whole line."""
        return self.along.least_slope(scales)


class StillKernel(AbstractKernel):
    """The kernel of what never moves: all mass at the centre. Its order is the other's."""

    order: Any
    epsilon: Float[Array, ""]
    scale: Float[Array, " d"]
    """0 in every coordinate."""
    low: Float[Array, " d"] | None = None
    high: Float[Array, " d"] | None = None

    @property
    def width(self) -> Float[Array, " d"]:
        """0."""
        return self.scale

    @property
    def reach(self) -> Float[Array, " d"]:
        """0."""
        return self.scale

    def by_coordinate(self) -> StillKernel:
        """Itself."""
        return self

    def cost(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """0 at the centre, where points are."""
        xp = arrays(centre, point, self.scale)
        return xp.zeros(np.broadcast_shapes(np.shape(centre), np.shape(point))[:-1]) * (
            point[..., 0] * 0
        )

    def within(self, centre: Points, point: Points) -> Array:
        """Whether a point is the centre."""
        return jnp.all(jnp.abs(point - centre) < 1e-6, axis=-1)

    def log_normaliser(self, centre: Float[Array, "*b d"]) -> Float[Array, "*b"]:
        """0."""
        return jnp.zeros_like(centre[..., 0])

    def all_nodes(self, centre: Float[Array, "*b d"]) -> Weighted | None:
        """The centre."""
        return centre[..., None, :], jnp.zeros_like(centre[..., :1])

    def draw(self, key: Any, centre: Float[Array, "*b d"], n: int) -> Weighted:
        """The centre."""
        return centre[..., None, :], jnp.zeros_like(centre[..., :1])

    def spread(self, centre: Float[Array, "*b d"], uniform: Float[Array, "*b n d"]) -> Weighted:
        """The centre."""
        return centre[..., None, :], jnp.zeros_like(centre[..., :1])

    def log_tilted_mass(
        self, slope: Points, anchor: Points, low: Points | None, high: Points | None, centre: Points
    ) -> Float[Array, "*b d"]:
        """Slope·(c − anchor) if low < c ≤ high."""
        value = slope * (centre - anchor)
        if low is not None:
            value = jnp.where(centre > low, value, NEVER)
        return value if high is None else jnp.where(centre <= high, value, NEVER)

    def tilted_ends(self, steepest: Points, centre: Points) -> tuple[Array, Array]:
        """The centre."""
        centre = jnp.broadcast_to(centre, jnp.broadcast_shapes(jnp.shape(steepest), centre.shape))
        return centre, centre

    def from_uniform(self, centre: Points, uniform: Points) -> Float[Array, "*b d"]:
        """The centre."""
        return jnp.broadcast_to(centre, jnp.broadcast_shapes(centre.shape, uniform.shape))

    def best_move(self, slope: Any, centre: Array, penalty: Any) -> Array:
        """None."""
        return jnp.zeros_like(centre)

    def proximal(
        self, home: Array, point: Array, uphill: Array, size: Array, penalty: Array
    ) -> Array:
        """Stay."""
        return point

    def outweighing(self, falling: Any, rising: Any, degree: int = 1) -> Any:
        """0: nothing is gained."""
        return jnp.zeros_like(falling[..., 0])

    def least_slope(self, scales: np.ndarray) -> float:
        """0."""
        return 0.0


def lattice(along: Kernel | PowerKernel, first: np.ndarray, step: np.ndarray) -> LatticeKernel:
    """Return the kernel on ``MOST_POINTS`` points from the first on, cut to the support."""
    points: Any = (first + np.arange(MOST_POINTS)[:, None]) * step
    low, high = (
        np.full(np.shape(first), end) if own is None else own
        for own, end in ((along.low, -np.inf), (along.high, np.inf))
    )
    slack = 1e-9 * np.maximum(np.abs(points), 1.0)
    mass: Any = np.where((points >= low - slack) & (points <= high + slack), 0.0, NEVER)
    return LatticeKernel(along=along, points=points, log_mass=mass)
