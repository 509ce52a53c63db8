"""What every kernel offers: a cost around a nominal point, and the measure that goes with it.

    k(u) ∝ exp( −cost(c, u)/ε ) dν(u)    on a support around the centre c

The cost is homogeneous: moving t times as far costs t^p times as much. Whoever meets a kernel asks
for what is known of it: ``by_coordinate`` for integrals along single coordinates, ``squared`` for
those of squares, ``gauss`` for a Gauss rule. Models and losses never ask which kernel they have.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.kernels.tilted import NEVER

HALVINGS = 60
"""Of an interval of about 50 widths: down to rounding in float64."""
Points = Float[Array, "*#b d"]
"""Coordinates, or one number for each; leading axes broadcast against each other."""
Weighted = tuple[Float[Array, "*b n d"], Float[Array, "*b n"]]
"""Nodes around each centre, and their log-weights."""


class AbstractKernel(eqx.Module):
    """The kernel of a point: order p of the cost, epsilon, scales per coordinate, and support.

    ``low`` and ``high`` are both None on an unbounded support; otherwise arrays (infinities
    allowed), and every centre must lie between them. A scale of 0 pins a coordinate to its centre.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Order, epsilon, scale, low and high: fields of some kernels, properties of others."""

    # ------------------------------------------------------------------ what each kernel says

    @property
    @abstractmethod
    def width(self) -> Float[Array, " d"]:
        """How far it typically reaches in each coordinate."""

    @property
    @abstractmethod
    def reach(self) -> Float[Array, " d"]:
        """Beyond which it has no mass that counts, in each coordinate."""

    @abstractmethod
    def cost(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """What moving from the centre to the point costs; a pinned coordinate costs nothing."""

    @abstractmethod
    def log_normaliser(self, centre: Float[Array, "*b d"]) -> Float[Array, "*b"]:
        """Log of ∫ exp(−cost/ε) dν over the support; pinned coordinates count 0."""

    @abstractmethod
    def from_uniform(self, centre: Points, uniform: Points) -> Float[Array, "*b d"]:
        """Map uniforms on (0, 1), one per coordinate, to points that follow the kernel."""

    @abstractmethod
    def proximal(
        self, home: Array, point: Array, uphill: Array, size: Array, penalty: Array
    ) -> Array:
        """Step uphill in units of the scales, then shrink towards home as the cost asks.

        In units of the scales: the v that is lowest in |v − stepped|²/(2·size) + penalty·cost.
        """

    @abstractmethod
    def outweighing(self, falling: Any, rising: Any, degree: int = 1) -> Any:
        """Penalty at which the cost outweighs (slope·u)^degree far away; inf if none does.

        ``falling`` and ``rising`` (…, d) are slopes, not negative, as a coordinate falls or rises;
        directions that the support closes count for nothing. A cost of order p > degree outweighs
        it at any penalty; one of order p = degree beyond the slope's dual norm to that power.
        """

    @abstractmethod
    def least_slope(self, scales: np.ndarray) -> float:
        """The least dual norm of scales·w over weights w ≥ 0 that sum to 1."""

    # ------------------------------------------------------------------ what it may know

    @property
    def gaussian(self) -> bool:
        """Whether it is a whole Gaussian."""
        return False

    def by_coordinate(self) -> Any:
        """Itself if its coordinates are independent and their integrals known; else None.

        Then it has ``log_tilted_mass``, ``tilted_ends``, ``best_move`` and ``exponent``.
        """
        return None

    @property
    def terms(self) -> int:
        """How many numbers one of its integrals holds at a time, for planning memory."""
        return 1

    def squared(self) -> Any:
        """Itself if exponentials of squares under it come down to ``log_tilted_mass``."""
        return None

    def gauss(self, n: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Nodes in widths and log-weights of a Gauss rule along a coordinate; None: no such."""
        return None

    def all_nodes(self, centre: Float[Array, "*b d"]) -> Weighted | None:
        """Its points and their log-masses, where they are few; None: nodes have to be chosen."""
        return None

    def summed(self) -> int | None:
        """How many nodes each of the numbers' becomes (``crossed``); None: too many, so drawn."""
        return 1

    def discrete_moves(self, centre: Float[Array, "*b d"]) -> Float[Array, "*b v d"] | None:
        """Points that differ from the centre where moving is all or nothing; None: nowhere."""
        return None

    def crossed(
        self, centre: Array, nodes: Array, log_weights: Array, key: PRNGKeyArray | None = None
    ) -> Weighted:
        """Give nodes everything that the centre may become where moving is all or nothing."""
        return nodes, log_weights

    # ------------------------------------------------------------------ what all have

    def settled(self, points: Array) -> Array:
        """The nearest points that it has mass at."""
        return points

    @property
    def lebesgue(self) -> Array:
        """Which coordinates have a density with respect to length."""
        return self.scale > 0

    @property
    def smooth(self) -> AbstractKernel:
        """The kernel of the coordinates that are numbers; of most kernels, of all."""
        return self

    @property
    def movable(self) -> Array:
        """Which coordinates can be elsewhere than at the centre."""
        return self.scale > 0

    @property
    def pinned(self) -> Array:
        """Which coordinates count for nothing, wherever a point has them."""
        return ~self.movable

    @property
    def continuous(self) -> np.ndarray:
        """Positions of coordinates that are integrated over; fixed when programs are compiled."""
        return np.arange(self.scale.shape[0])

    @property
    def open_scales(self) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
        """Scales of the coordinates that can fall without end, and of those that can rise; else 0.

        In the arrays' own precision, whether NumPy's or JAX's.
        """
        if self.low is None or self.high is None:
            return self.scale, self.scale
        return self.scale * (self.low == -math.inf), self.scale * (self.high == math.inf)

    def with_epsilon(self, epsilon: Any) -> Self:
        """The same with another ε."""
        return replace(self, epsilon=epsilon)

    def stretched(self, unit: Any) -> Self:
        """The kernel of points that are counted in 1/unit of theirs."""
        low, high = (None if end is None else end * unit for end in (self.low, self.high))
        return replace(self, scale=self.scale * unit, low=low, high=high)

    def with_ends(self) -> Self:
        """The kernel with its ends written out, infinite ones too: one that may yet be cut."""
        if self.low is not None:
            return self
        end: Any = np.full(np.shape(self.scale), np.inf)
        return replace(self, low=-end, high=end)

    def above(self, low: Float[Array, "*b d"]) -> Self:
        """The kernel of a centre that may not fall below ``low``.

        Of several centres, if ``low`` has their leading axes: what only compares and adds up
        coordinates (bounds, masses, densities) then has them too.
        """
        if self.low is None:
            raise ValueError("Only a kernel with ends can be cut; ask for one (`with_ends`).")
        return replace(self, low=jnp.maximum(self.low, low))

    def bounds(self, centre: Float[Array, "*b d"]) -> tuple[Array, Array]:
        """The support relative to the centre."""
        if self.low is None or self.high is None:
            return jnp.full_like(centre, -jnp.inf), jnp.full_like(centre, jnp.inf)
        return self.low - centre, self.high - centre

    def ray_cost(self, direction: Any) -> Any:
        """What a move costs, wherever it begins, without regard to the support."""
        return self.cost(direction * 0, direction)

    def within(self, centre: Points, point: Points) -> Array:
        """Whether points lie on the support."""
        inside = jnp.ones(jnp.broadcast_shapes(centre.shape, point.shape)[:-1], bool)
        if self.low is None or self.high is None:
            return inside
        return inside & jnp.all((point >= self.low) & (point <= self.high), axis=-1)

    def log_density(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """Log-density at a point, over the coordinates not pinned; NEVER off the support."""
        normaliser = self.log_normaliser(centre)
        inside = self.within(centre, point)
        return jnp.where(inside, -self.cost(centre, point) / self.epsilon - normaliser, NEVER)

    def log_nearness(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """Log-density on the support, up to a term that is the same for all centres."""
        if self.low is None:
            return -self.cost(centre, point) / self.epsilon
        return self.log_density(centre, point)

    def log_proposal(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """Likewise, how many of its nodes come to lie near a point (``spread``)."""
        return self.log_nearness(centre, point)

    def spread(self, centre: Float[Array, "*b d"], uniform: Float[Array, "*b n d"]) -> Weighted:
        """Nodes from points in the unit cube, and log-weights."""
        nodes = self.from_uniform(centre[..., None, :], uniform)
        return nodes, jnp.full(nodes.shape[:-1], -math.log(uniform.shape[-2]), centre.dtype)

    def draw(self, key: PRNGKeyArray, centre: Float[Array, "*b d"], n: int) -> Weighted:
        """Independent nodes, and log-weights."""
        shape = (*centre.shape[:-1], n, centre.shape[-1])
        tiny = jnp.finfo(centre.dtype).tiny
        return self.spread(centre, jax.random.uniform(key, shape, centre.dtype, minval=tiny))


def in_scales(scale: Array, move: Array) -> Array:
    """A move in units of the scales; pinned coordinates do not move."""
    return jnp.where(scale > 0, move / jnp.where(scale > 0, scale, 1.0), 0.0)


def arrays(*some: Any) -> Any:
    """NumPy for NumPy's arrays, else jax.numpy: the data's own precision is kept."""
    return jnp if any(isinstance(array, jax.Array) for array in some) else np


def invert(
    log_mass_below: Callable[[Array], Array], log_level: Array, ends: tuple[Array, Array]
) -> Array:
    """Find the points below which there is so much mass, by bisection between the ends."""

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        left = log_mass_below(middle) < log_level
        return jnp.where(left, middle, low), jnp.where(left, high, middle)

    low, high = (jnp.broadcast_to(end, log_level.shape) for end in ends)
    low, high = jax.lax.fori_loop(0, HALVINGS, halve, (low, high))
    return (low + high) / 2
