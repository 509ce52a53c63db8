"""How steep a soft forest is (paper: prop-srf-lip).

Think of x walking down one tree. With ψ_i = 1 − s_i when it turns left at gate i and −s_i when it
turns right, M = Σ_i ψ_i w_i·u/τ along the route is a martingale in the levels, and for unit vectors
a, u

    a·∂f[u] = E[ a·π M ],     a·∂²f[u,u] = E[ a·π (M² − ⟨M⟩) ],     ⟨M⟩ = Σ_i s_i(1−s_i)(w_i·u/τ)².

Both factors beside a·π have mean 0, so π counts only through its spread; and E M² = E⟨M⟩, whose
terms are at most (w_i·u/τ)²/4, so D gates on a route count as √D and not as D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import pdist

from hedgerow import _checks
from hedgerow.describe.parts import offered
from hedgerow.estimator import RobustPolicy
from hedgerow.rules import FittedRule
from hedgerow.rules.forest_arrays import ForestArrays


@dataclass(frozen=True)
class ForestConstants:
    """How steep a soft forest is: ‖f(x) − f(x')‖ ≤ L‖x − x'‖, ‖∂f(x) − ∂f(x')‖ ≤ S‖x − x'‖.

    Norms are Euclidean, those of derivatives the operator norms. ``lipschitz`` and ``smoothness``
    are L and S of this forest, valid everywhere; the sharpest known here.
    """

    lipschitz: float
    smoothness: float
    depth: int
    """D: gates on a route, of a tree with 2^D leaves."""
    gate_norm: float
    """W = max ‖w‖/τ over all gates."""
    leaf_norm: float
    """Π = max ‖π‖ over all leaves."""
    leaf_spread: float
    """R: half the largest distance between two leaves of one tree; at most Π."""

    @property
    def uniform_lipschitz(self) -> float:
        """½·√D·W·Π: valid for every forest with these norms, and attained at depth 1."""
        return math.sqrt(self.depth) * self.gate_norm * self.leaf_norm / 2

    @property
    def uniform_smoothness(self) -> float:
        """½·D·W²·Π: valid for every forest with these norms."""
        return self.depth * self.gate_norm**2 * self.leaf_norm / 2

    @property
    def printed_lipschitz(self) -> float:
        """(D−1)·W·Π, as in the paper (prop-srf-lip); wrong at depth 1, where it is 0."""
        return (self.depth - 1) * self.gate_norm * self.leaf_norm

    @property
    def printed_smoothness(self) -> float:
        """(D−1)·(D−¾)·W²·Π, as in the paper (prop-srf-lip); wrong at depth 1, where it is 0."""
        return (self.depth - 1) * (self.depth - 0.75) * self.gate_norm**2 * self.leaf_norm


def forest_constants(rule: FittedRule) -> ForestConstants:
    """Return the constants of a fitted forest, per standardised context and in working units.

    A tree whose leaves lie at most 2R apart is bounded by

        L = ½·R·max_l ‖W_l‖/τ,      S = R·min( ½·max_l ‖W_l‖², √q_D·W² )/τ²,

    where W_l stacks the gates on the route to leaf l (an operator norm, at most √D·W), W is the
    largest gate, and q_D = Σ_{k<D} (½√k + ¼)². A forest is the mean of its trees, and so are these.

    L is Cauchy–Schwarz: E[a·π M] ≤ sd(a·π)·sd(M) ≤ R·½·max_l ‖W_l u‖/τ. S is R·E|M² − ⟨M⟩|: at most
    R·2·E⟨M⟩, and at most R times the root mean square, which adds up over levels. There the step
    from M_k is ψ·ω·(2M_k + (1−2s)·ω) with ω = w·u/τ, in the mean square at most (½√k + ¼)²·W⁴/τ⁴.

    Parameters
    ----------
    rule : FittedRule
        A fitted forest, such as ``policy.rule_``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> steepness = hr.theory.forest_constants(policy.rule_)
    >>> bool(steepness.lipschitz <= steepness.uniform_lipschitz)
    True
    """
    _checks.instance("rule", rule, FittedRule, "a fitted forest, such as rule_ of a fitted policy")
    return constants_of(_trees_of(rule))


def policy_constants(policy: RobustPolicy) -> ForestConstants:
    """Return the constants of a fitted policy's forest in the user's units.

    ``lipschitz`` is in units of the decision per unit of the features. The weights of every gate
    are divided by their features' standard deviations and every leaf multiplied by the decisions'
    units before norms are taken, so a feature that no gate looks at costs nothing.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> bool(hr.theory.policy_constants(policy).lipschitz > 0)
    True
    """
    units = _checks.fitted_policy(policy).units_
    trees = _trees_of(policy.rule_, policy.n_features_in_)
    weights, leaves = trees.weights * units.x_factor, trees.leaves * units.z_unit
    return constants_of(replace(trees, weights=weights, leaves=leaves))


def constants_of(trees: ForestArrays) -> ForestConstants:
    """Return the constants of a forest given by its numbers, in their units."""
    trees.check_smooth()
    depth, weights, leaves = trees.depth, trees.weights, trees.leaves
    gate_norms = np.linalg.norm(weights, axis=2).max(axis=1)
    spreads = np.array([pdist(tree).max() / 2 for tree in leaves])
    # a squared operator norm is the largest eigenvalue of the gates' Gram matrix; tree by tree,
    # since all gates on all routes at once may be too many
    grams = (gates @ gates.swapaxes(1, 2) for gates in (tree[trees.on_route] for tree in weights))
    squared_routes = np.array([np.linalg.eigvalsh(gram)[:, -1].max() for gram in grams])
    added = [(math.sqrt(level) / 2 + 0.25) ** 2 for level in range(depth)]
    increments = np.cumsum(added)[trees.depths - 1]
    curvatures = np.minimum(squared_routes / 2, np.sqrt(increments) * gate_norms**2)
    return ForestConstants(
        lipschitz=float(np.mean(spreads * np.sqrt(squared_routes) / 2)),
        smoothness=float(np.mean(spreads * curvatures)),
        depth=depth,
        gate_norm=float(gate_norms.max()),
        leaf_norm=float(np.linalg.norm(leaves, axis=2).max()),
        leaf_spread=float(spreads.max()),
    )


def _trees_of(rule: FittedRule, n_features: int | None = None) -> ForestArrays:
    needed = "Only rules with trees have these constants"
    return offered(rule.trees(n_features), rule, "trees", needed)
