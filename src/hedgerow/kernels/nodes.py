"""Nodes: expectations under a kernel as log-sum-exps.

    log E[exp g(u)] ≈ logsumexp_j( log_weights_j + g(nodes_j) )

Four rules hand out nodes and log-weights around centres: ``MonteCarlo``, ``Sobol``,
``GaussQuadrature``, and ``Reference``, the points of a discrete reference measure ν, where the sum
is exact. One core then serves training, evaluation and exact checks on discretised problems.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.stats import qmc

from hedgerow import _checks
from hedgerow._components import Component
from hedgerow.kernels.base import AbstractKernel, Weighted
from hedgerow.kernels.tilted import NEVER

Centres = Float[Array, "*b d"]


class Nodes(Component):
    """A rule that hands out nodes and log-weights around centres (abstract)."""

    @abstractmethod
    def __call__(self, kernel: AbstractKernel, centre: Centres, key: PRNGKeyArray) -> Weighted:
        """Return nodes (…, n, d) and log-weights (…, n) for each centre (…, d)."""

    def reference(self) -> Reference | None:
        """Return the discrete reference measure that the nodes are; None: Lebesgue measure."""
        return None


class MonteCarlo(Nodes):
    """Independent draws from the kernel, equally weighted.

    Parameters
    ----------
    n : int
        How many draws.

    Examples
    --------
    >>> import hedgerow as hr
    >>> hr.SCSC(nodes=hr.MonteCarlo(8)).nodes.n
    8
    """

    n: int = 8

    def check(self) -> None:
        """There must be at least one node."""
        _checks.count("n", self.n)

    def __call__(self, kernel: AbstractKernel, centre: Centres, key: PRNGKeyArray) -> Weighted:
        """Draw n nodes per centre."""
        return kernel.draw(key, centre, self.n)


class Sobol(Nodes):
    """Scrambled Sobol points, shifted at random (modulo 1) for each centre, equally weighted.

    Parameters
    ----------
    n : int
        Number of nodes; powers of two balance best.
    seed : int
        Seed of the scrambling.

    Examples
    --------
    >>> import hedgerow as hr
    >>> hr.SCSC(nodes=hr.Sobol(8)).nodes.n
    8
    """

    n: int = 64
    seed: int = 0

    def check(self) -> None:
        """There must be at least one node."""
        _checks.count("n", self.n)

    def __call__(self, kernel: AbstractKernel, centre: Centres, key: PRNGKeyArray) -> Weighted:
        """Shift the one scrambled point set for each centre."""
        dimension = centre.shape[-1]
        sequence = qmc.Sobol(dimension, scramble=True, rng=self.seed)
        points = sequence.random_base2(math.ceil(math.log2(self.n)))[: self.n]
        shift = jax.random.uniform(key, (*centre.shape[:-1], 1, dimension), centre.dtype)
        edge = jnp.finfo(centre.dtype).epsneg
        uniform = jnp.clip((jnp.asarray(points, centre.dtype) + shift) % 1, edge, 1 - edge)
        return kernel.spread(centre, uniform)


class GaussQuadrature(Nodes):
    """Tensor-product Gauss rules: Hermite (p = 2), two-sided Laguerre (p = 1), Legendre (panels).

    Meant for one to three coordinates. The Legendre rule is composite, the centre being a panel
    edge; it serves kernels with a cut support and, with ``panels``, integrands that are steep or
    large far from the centre.

    Parameters
    ----------
    n : int
        Nodes per coordinate, or per panel for the Legendre rule.
    panels : int or None
        Panels on each side of the centre. None: 8 where the support is cut, else no panels.
    reach : float or None
        How far the panels go, in units of the scales. None: 12 standard deviations (p = 2) or 40
        widths (p = 1).

    Examples
    --------
    >>> import hedgerow as hr
    >>> hr.SAA(nodes=hr.GaussQuadrature(16)).nodes.n
    16
    """

    traced = ("reach",)
    MOST: ClassVar[int] = 2_000_000
    n: int = 32
    panels: int | None = None
    reach: Any = None

    def check(self) -> None:
        """There must be at least one node per coordinate."""
        _checks.count("n", self.n)
        if self.panels is not None:
            _checks.count("panels", self.panels)

    def __call__(self, kernel: AbstractKernel, centre: Centres, key: PRNGKeyArray) -> Weighted:
        """Return the product rule; ``key`` is not used."""
        exact = kernel.all_nodes(centre)
        if exact is not None:
            return exact
        axes = kernel.continuous
        offsets, log_weights = self._per_coordinate(kernel.smooth, centre)
        per_axis, dimension = offsets.shape[-2], len(axes)
        if per_axis**dimension > self.MOST:
            raise ValueError(
                f"Gauss quadrature with {per_axis} nodes in each of {dimension} coordinates would "
                f"need {per_axis**dimension} nodes; use Sobol or MonteCarlo nodes instead."
            )
        grid = np.array(list(itertools.product(range(per_axis), repeat=dimension)), int)
        if dimension < centre.shape[-1]:
            moved = jnp.zeros((*centre.shape[:-1], len(grid), centre.shape[-1]), centre.dtype)
            nodes = centre[..., None, :] + moved.at[..., axes].set(offsets[..., grid, axes])
        else:
            nodes = centre[..., None, :] + offsets[..., grid, axes]
        log_weights = jnp.sum(log_weights[..., grid, axes], axis=-1)
        if kernel.summed() is None:
            raise ValueError(
                "Gauss quadrature would sum over too many combinations of categorical values; use "
                "Sobol or MonteCarlo nodes instead."
            )
        return kernel.crossed(centre, nodes, log_weights)

    def _per_coordinate(self, kernel: AbstractKernel, centre: Array) -> tuple[Array, Array]:
        """Offsets and log-weights (…, nodes, d) along each coordinate."""
        rule = None if self.panels is not None else kernel.gauss(self.n)
        if rule is None:
            return self._legendre(kernel, centre, self.panels or 8)
        points, log_weights = rule
        offsets = jnp.asarray(points, centre.dtype)[:, None] * kernel.width
        log_weights = jnp.asarray(log_weights, centre.dtype)  # the weights underflow float32
        shape = (*centre.shape[:-1], len(points), centre.shape[-1])
        return jnp.broadcast_to(offsets, shape), jnp.broadcast_to(log_weights[:, None], shape)

    def _legendre(self, kernel: AbstractKernel, centre: Array, panels: int) -> tuple[Array, Array]:
        along = kernel.by_coordinate()
        if along is None:
            raise ValueError(
                "Gauss quadrature needs a kernel whose coordinates are independent, and with "
                "norm= over several columns they are not; use Sobol or MonteCarlo nodes instead."
            )
        reach = kernel.reach
        if self.reach is not None:
            reach = self.reach * kernel.scale
        low, high = kernel.bounds(centre)
        low, high = jnp.maximum(low, -reach), jnp.minimum(high, reach)
        points, weights = np.polynomial.legendre.leggauss(self.n)
        unit = (np.arange(panels)[:, None] + (points + 1) / 2).ravel() / panels
        log_unit = jnp.asarray(np.log(np.tile(weights / 2, panels) / panels), centre.dtype)
        unit = jnp.asarray(unit, centre.dtype)[:, None]
        halves = []
        for edge in (low[..., None, :], high[..., None, :]):
            length = jnp.abs(edge)
            log_density = along.exponent(unit * length)
            log_length = jnp.log(jnp.where(length > 0, length, 1.0))
            log_weight = jnp.where(length > 0, log_unit[:, None] + log_length + log_density, NEVER)
            halves.append((unit * edge, log_weight))
        offsets = jnp.concatenate([half[0] for half in halves], axis=-2)
        log_weights = jnp.concatenate([half[1] for half in halves], axis=-2)
        return offsets, jax.nn.log_softmax(log_weights, axis=-2)


class Reference(Nodes):
    """The points of a discrete reference measure ν: sums over it are exact, not sampled.

    Parameters
    ----------
    points : (n, d)
    weights : (n,) or None
        Masses ν gives the points; None: 1 each (the counting measure).

    Examples
    --------
    >>> import numpy as np
    >>> import hedgerow as hr
    >>> grid = hr.Reference(np.linspace(-3, 3, 61)[:, None])
    >>> grid.points.shape
    (61, 1)
    """

    traced = ("points", "weights")
    points: Array | np.ndarray
    weights: Array | np.ndarray | None = None

    def __call__(self, kernel: AbstractKernel, centre: Centres, key: PRNGKeyArray) -> Weighted:
        """Return the reference points with normalised kernel weights; ``key`` is not used."""
        log_weights = jax.nn.log_softmax(self._log_terms(kernel, centre), axis=-1)
        points = jnp.asarray(self.points, centre.dtype)
        return jnp.where(kernel.pinned, centre[..., None, :], points), log_weights

    def reference(self) -> Reference:
        """Itself."""
        return self

    def log_normaliser(
        self, kernel: AbstractKernel, centre: Float[Array, "*b d"]
    ) -> Float[Array, "*b"]:
        """Log Σ_j ν_j exp(−‖(u_j − c)/s‖_p^p / ε)."""
        return jax.nn.logsumexp(self._log_terms(kernel, centre), axis=-1)

    def _log_terms(self, kernel: AbstractKernel, centre: Array) -> Array:
        points = jnp.asarray(self.points, centre.dtype)
        log_terms = -kernel.cost(centre[..., None, :], points) / kernel.epsilon
        log_terms = jnp.where(kernel.within(centre[..., None, :], points), log_terms, NEVER)
        if self.weights is None:
            return log_terms
        return log_terms + jnp.log(jnp.asarray(self.weights, centre.dtype))


class Anchored(Nodes):
    """Another rule's nodes, and the centre itself as a last node of no weight.

    Gives the value at the centre along with a kernel average, in one evaluation.
    """

    traced = ("nodes",)
    nodes: Nodes

    def __call__(self, kernel: AbstractKernel, centre: Centres, key: PRNGKeyArray) -> Weighted:
        """Append the centre."""
        return _with_weightless(self.nodes(kernel, centre, key), centre[..., None, :])


class Scattered(Nodes):
    """Another rule's nodes, and places common to all centres: where searches start.

    ``moved`` says in which coordinates a place differs from a centre; in the others it is the
    centre. The places have no weight, so this is not a rule to integrate with.
    """

    traced = ("nodes", "places", "moved")
    nodes: Nodes
    places: Any
    moved: Any

    def __call__(self, kernel: AbstractKernel, centre: Centres, key: PRNGKeyArray) -> Weighted:
        """Append the places; pinned coordinates are the centre's as well."""
        moved = jnp.asarray(self.moved) & kernel.movable
        places = jnp.where(moved, jnp.asarray(self.places, centre.dtype), centre[..., None, :])
        return _with_weightless(self.nodes(kernel, centre, key), places)


def _with_weightless(weighted: Weighted, places: Array) -> Weighted:
    """Append nodes (…, places, d) that take no part in sums."""
    nodes, log_weights = weighted
    weightless = jnp.full(places.shape[:-1], NEVER, log_weights.dtype)
    return (
        jnp.concatenate([nodes, places], axis=-2),
        jnp.concatenate([log_weights, weightless], axis=-1),
    )
