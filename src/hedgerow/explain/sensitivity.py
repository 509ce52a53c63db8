"""How decisions move with their inputs: derivatives, interactions, and what is certain.

    |f(x') − f(x)| ≤ L·‖x' − x‖      everywhere (paper: prop-srf-lip, with the sharp constants)
    f(x') ∈ [low, high]              for every x' with |x'_j − x_j| ≤ change_j

The second is local: bounds are carried from the leaves to the root of every tree, or through the
layers of a network, and compared with the gradient at x plus the largest possible curvature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from hedgerow import _checks
from hedgerow.decisions import DecisionSet, Product, Simplex
from hedgerow.explain.lens import ForestLens, Lens, lens_of
from hedgerow.rules.affine import AffineRule, ConstantRule
from hedgerow.rules.two_layer import TwoLayerNetwork
from hedgerow.theory.forests import ForestConstants, constants_of, policy_constants


def gradients(policy: Any, X: Any) -> Float[np.ndarray, "rows k d"]:
    """Return ∂f_k/∂x_j at each row: decision units per unit of the feature."""
    lens = lens_of(policy)
    return lens.gradients(lens.contexts(X))


def interactions(policy: Any, X: Any) -> Float[np.ndarray, "rows k d e"]:
    """Return ∂²f_k/∂x_j∂x_m at each row: how one feature changes what another one does."""
    lens = lens_of(policy)
    return lens.hessians(lens.contexts(X))


def lipschitz(policy: Any) -> ForestConstants:
    """Return how steep a forest can be, in decision units per unit of the features.

    ``.lipschitz`` and ``.smoothness`` are the sharpest known here, ``.uniform_…`` those of DESIGN
    §2.6, ``.printed_…`` the paper's. Only forests have them; ``certificate`` serves every rule.
    """
    return policy_constants(_checks.fitted_policy(policy))


@dataclass(frozen=True)
class Certificate:
    """What a decision cannot leave while its inputs stay within reach of x.

    Attributes
    ----------
    decision : (decisions,)
        f(x).
    low, high : (decisions,)
        Every decision for every input of the box lies between them.
    change : (features,)
        How far each feature may move, either way.
    names : tuple of str
        What the features are called.
    """

    decision: Float[np.ndarray, " k"]
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]
    change: Float[np.ndarray, " d"]
    names: tuple[str, ...]

    @property
    def bound(self) -> Float[np.ndarray, " k"]:
        """Most that each decision moves."""
        return np.maximum(self.high - self.decision, self.decision - self.low)

    def __str__(self) -> str:
        """Say it in one sentence per decision."""
        moved = [
            f"{name} by {change:.4g}"
            for name, change in zip(self.names, self.change, strict=True)
            if change > 0
        ]
        inputs = ", ".join(moved[:5]) + (f" and {len(moved) - 5} more" if len(moved) > 5 else "")
        lines = []
        for k, bound in enumerate(self.bound):
            which = "The decision" if len(self.bound) == 1 else f"Decision {k}"
            lines.append(
                f"{which} ({self.decision[k]:.4g}) moves by at most {bound:.3g}, to between "
                f"{self.low[k]:.4g} and {self.high[k]:.4g}, if inputs move by at most: {inputs}."
            )
        return "\n".join(lines)


def certificate(policy: Any, x: Any, change: Any) -> Certificate:
    """Return bounds that hold for every input within ``change`` of x.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted forest, affine or constant rule, or two-layer network.
    x : (features,)
        The input.
    change : float, (features,) or dict of name → float
        How far features may move: one number is a share of every feature's standard deviation,
        several are in the features' own units; features that a dict does not name stay.
    """
    lens = lens_of(policy)
    one = lens.context(x)
    room = _room(lens, change)
    centre, width = lens.standard(one[None]).T, (room * lens.factor)[:, None]
    decision = lens.decide(one[None])[0]
    if isinstance(lens, ForestLens):
        low, high = (end[:, 0] for end in lens.forest.bounds(centre, width))
        steepest = _taylor(lens, centre, width[:, 0])
        low, high = np.maximum(low, decision - steepest), np.minimum(high, decision + steepest)
    else:
        low, high = _through_layers(lens, centre[:, 0], width[:, 0])
    # Rounding must not leave the decision outside of its own bounds.
    return Certificate(
        decision, np.minimum(low, decision), np.maximum(high, decision), room, lens.names
    )


def _room(lens: Lens, change: Any) -> np.ndarray:
    """How far every feature may move, in its own units."""
    if isinstance(change, Mapping):
        unknown = [str(name) for name in change if str(name) not in lens.names]
        if unknown:
            raise ValueError(
                f"There is no feature {unknown[0]!r}; the features are {', '.join(lens.names[:12])}"
                f"{', …' if len(lens.names) > 12 else ''}."
            )
        given = {str(name): _checks.nonnegative(str(name), v) for name, v in change.items()}
        return np.array([given.get(name, 0.0) for name in lens.names])
    if np.ndim(change) == 0:
        return _checks.nonnegative("change", change) * lens.units.x_spread
    room = _checks.parameter("change", change)
    if room.shape != (len(lens.names),) or np.any(room < 0):
        raise ValueError(
            f"change must hold one number >= 0 for each of the {len(lens.names)} features."
        )
    return room


def _taylor(lens: ForestLens, x: np.ndarray, width: np.ndarray) -> np.ndarray:
    """|∂f|·change + ½·S·‖u‖², and no more than L·‖u‖, per decision, with u = (x' − x)/change.

    In these coordinates the box is the cube [−1, 1]^d, whatever the features' units.
    """
    forest, moving = lens.forest, np.count_nonzero(width)
    first = np.abs(forest.gradients(x)[0]) @ width
    constants = [
        constants_of(forest.weights * width, forest.leaves[:, :, [k]], 1.0)
        for k in range(forest.leaves.shape[2])
    ]
    curved = np.array([one.smoothness for one in constants]) * moving / 2
    steep = np.array([one.lipschitz for one in constants]) * np.sqrt(moving)
    return np.minimum(first + curved, steep)


def _through_layers(
    lens: Lens, centre: np.ndarray, width: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on f over a box, interval by interval through the rule's layers."""
    rule: Any = lens.policy.rule_
    if isinstance(rule, ConstantRule):
        low = high = np.asarray(rule.offset, np.float64)
    elif isinstance(rule, AffineRule):
        matrix = np.asarray(rule.matrix, np.float64)
        middle, reach = matrix @ centre + np.asarray(rule.offset), np.abs(matrix) @ width
        low, high = middle - reach, middle + reach
    elif isinstance(rule, TwoLayerNetwork):
        hidden, output = (np.asarray(part, np.float64) for part in (rule.hidden, rule.output))
        middle, reach = hidden @ centre + np.asarray(rule.bias), np.abs(hidden) @ width
        least, most = np.maximum(middle - reach, 0), np.maximum(middle + reach, 0)
        up, down = np.maximum(output, 0), np.minimum(output, 0)
        offset = np.asarray(rule.offset, np.float64)
        low = offset + np.sum(up * least + down * most, axis=1) / hidden.shape[1]
        high = offset + np.sum(up * most + down * least, axis=1) / hidden.shape[1]
    else:
        raise TypeError(f"A {type(rule).__name__} has no certificate: its inside is not known.")
    with jax.enable_x64(True):
        low, high = _onto(rule.decision_set, low, high)
    return low * lens.units.z_unit, high * lens.units.z_unit


def _onto(
    decision_set: DecisionSet, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the map onto the decision set, of raw numbers between low and high."""
    if isinstance(decision_set, Product):
        ends = np.cumsum([part.dimension for part in decision_set.sets])[:-1]
        blocks = zip(decision_set.sets, np.split(low, ends), np.split(high, ends), strict=True)
        bounds = [_onto(*block) for block in blocks]
        return tuple(np.concatenate(side) for side in zip(*bounds, strict=True))  # pyright: ignore[reportReturnType]
    if isinstance(decision_set, Simplex):  # a share is least when it is low and the others high
        own = np.eye(len(low), dtype=bool)
        low, high = np.where(own, low[:, None], high), np.where(own, high[:, None], low)
        return np.diag(_mapped(decision_set, low)), np.diag(_mapped(decision_set, high))
    return _mapped(decision_set, low), _mapped(decision_set, high)


def _mapped(decision_set: DecisionSet, raw: np.ndarray) -> np.ndarray:
    return np.asarray(decision_set.from_raw(jnp.asarray(raw)))
