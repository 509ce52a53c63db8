"""How decisions move with their inputs: derivatives, interactions, and what is certain.

    |f(x') − f(x)| ≤ L·‖x' − x‖      everywhere (paper: prop-srf-lip, with the sharp constants)
    f(x') ∈ [low, high]              for every x' with |x'_j − x_j| ≤ change_j

The second is local: the rule states bounds over a box (``FittedRule.bounds``); those of trees are
compared with the gradient at x plus the largest possible curvature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from hedgerow import _checks
from hedgerow._frames import require_pandas
from hedgerow.describe.display import Display
from hedgerow.describe.numbers import listed, number
from hedgerow.describe.parts import offered
from hedgerow.explain.lens import Lens, lens_of
from hedgerow.rules.forest_arrays import ForestArrays
from hedgerow.theory.forests import ForestConstants, constants_of, policy_constants


def gradients(policy: Any, X: Any) -> Float[np.ndarray, "rows k d"]:
    """Return ∂f_k/∂x_j at each row: decision units per unit of the feature.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy.
    X : (rows, features) array or table
        Contexts in the data's units.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> hr.explain.gradients(policy, data.data[:3]).shape  # rows, decisions, features
    (3, 1, 2)
    """
    lens = lens_of(policy)
    return lens.gradients(lens.contexts(X))


def interactions(policy: Any, X: Any) -> Float[np.ndarray, "rows k d e"]:
    """Return ∂²f_k/∂x_j∂x_m at each row: how one feature changes what another one does.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy.
    X : (rows, features) array or table
        Contexts in the data's units.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> hr.explain.interactions(policy, data.data[:3]).shape
    (3, 1, 2, 2)
    """
    lens = lens_of(policy)
    return lens.hessians(lens.contexts(X))


def lipschitz(policy: Any) -> ForestConstants:
    """Return how steep a forest can be, in decision units per unit of the features.

    ``.lipschitz`` and ``.smoothness`` are the sharpest known here, ``.uniform_…`` those of norms
    alone, ``.printed_…`` the paper's. Only rules with trees have them; ``certificate`` serves more.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy whose rule has trees.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> steepness = hr.explain.lipschitz(policy)
    >>> bool(steepness.lipschitz <= steepness.uniform_lipschitz)
    True
    """
    return policy_constants(policy)


@dataclass(frozen=True, repr=False)
class Certificate(Display):
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

    def _heading(self) -> str:
        return "What decisions cannot leave while features move so far"

    def _rows(self) -> tuple[list[str], list[Sequence[str]]]:
        ends = zip(self.decision, self.low, self.high, strict=True)
        return ["decision", "low", "high"], [tuple(map(number, each)) for each in ends]

    def to_frame(self) -> Any:
        """Return a pandas table with a row per decision."""
        table = {"decision": self.decision, "low": self.low, "high": self.high}
        return require_pandas().DataFrame(table)

    @property
    def bound(self) -> Float[np.ndarray, " k"]:
        """Most that each decision moves."""
        return np.maximum(self.high - self.decision, self.decision - self.low)

    def __str__(self) -> str:
        """Say it in one sentence per decision."""
        moved = listed(
            f"{name} by {number(change)}"
            for name, change in zip(self.names, self.change, strict=True)
            if change > 0
        )
        lines = []
        for k, bound in enumerate(self.bound):
            which = "The decision" if len(self.bound) == 1 else f"Decision {k + 1}"
            lines.append(
                f"{which} ({number(self.decision[k])}) moves by at most {number(bound, 3)}, to "
                f"between {number(self.low[k])} and {number(self.high[k])}, if inputs move by at "
                f"most: {moved}."
            )
        return "\n".join(lines)


def certificate(policy: Any, x: Any, change: Any) -> Certificate:
    """Return bounds that hold for every input within ``change`` of x.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy whose rule states bounds: a forest, an affine or constant rule, a
        two-layer network, or one with ``bounds`` of its own.
    x : (features,)
        The input.
    change : float, (features,) or dict of name → float
        How far features may move: one number is a share of every feature's standard deviation,
        several are in the features' own units; features that a dict does not name stay.
    """
    lens = lens_of(policy)
    one = lens.context(x)
    room = _room(lens, change)
    centre, width = lens.standard(one[None])[0], room * lens.factor
    decision, rule = lens.decide(one[None])[0], lens.policy.rule_
    needed = "A certificate needs bounds on decisions over a box"
    bounds = offered(rule.bounds(centre, width), rule, "bounds", needed)
    low, high = (end * lens.units.z_unit for end in bounds)
    if lens.trees is not None and not lens.trees.hard:
        steepest = _taylor(lens.trees, centre, width)
        low, high = np.maximum(low, decision - steepest), np.minimum(high, decision + steepest)
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
                f"There is no feature {unknown[0]!r}; the features are {listed(lens.names)}."
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


def _taylor(trees: ForestArrays, x: np.ndarray, width: np.ndarray) -> np.ndarray:
    """|∂f|·change + ½·S·‖u‖², and no more than L·‖u‖, per decision, with u = (x' − x)/change.

    In these coordinates the box is the cube [−1, 1]^d, whatever the features' units.
    """
    moving = np.count_nonzero(width)
    first = np.abs(trees.gradients(x[:, None])[0]) @ width
    scaled = replace(trees, weights=trees.weights * width)
    constants = [
        constants_of(replace(scaled, leaves=trees.leaves[:, :, [k]]))
        for k in range(trees.leaves.shape[2])
    ]
    curved = np.array([one.smoothness for one in constants]) * moving / 2
    steep = np.array([one.lipschitz for one in constants]) * np.sqrt(moving)
    return np.minimum(first + curved, steep)
