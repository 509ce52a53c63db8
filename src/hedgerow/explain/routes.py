"""Routes: how an input comes to its decision, and how that changes (paper: prop-srt-derivation).

    f(x) = (1/T) Σ_t Σ_l p_{l,t}(x) · π_{l,t}

A route's probability is a product of gates, so most routes have next to none: a few dominate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from hedgerow import _checks
from hedgerow._frames import require_pandas
from hedgerow.describe.display import Display, Facts
from hedgerow.describe.numbers import counted
from hedgerow.explain.lens import trees_of


@dataclass(frozen=True, repr=False)
class Routes(Display):
    """Probabilities of all routes of all trees, for each row.

    Attributes
    ----------
    probabilities : (rows, trees, leaves)
        Sum to 1 over leaves.
    decisions : (trees, leaves, decisions)
        π: what each leaf decides, in the decisions' units.
    """

    probabilities: Float[np.ndarray, "rows trees leaves"]
    decisions: Float[np.ndarray, "trees leaves k"]

    def _heading(self) -> str:
        return f"Routes of {counted(len(self.probabilities), 'row')}"

    def _facts(self) -> Facts:
        _, trees, leaves = self.probabilities.shape
        return [("trees", f"{trees:,}, with {counted(leaves, 'route')} each")]

    def to_frame(self) -> Any:
        """Return a pandas table with a row for each row, tree and leaf, all counted from 0."""
        row, tree, leaf = np.indices(self.probabilities.shape).reshape(3, -1)
        table = {"row": row, "tree": tree, "leaf": leaf, "probability": self.probabilities.ravel()}
        several = self.decisions.shape[2] > 1
        for k in range(self.decisions.shape[2]):
            name = f"decision {k + 1}" if several else "decision"
            table[name] = self.decisions[tree, leaf, k]
        return require_pandas().DataFrame(table)

    def order(self) -> Int[np.ndarray, "rows trees leaves"]:
        """Leaves of each tree, the most probable first."""
        return np.argsort(-self.probabilities, axis=-1, kind="stable")

    def needed(self, mass: float = 0.99) -> Int[np.ndarray, "rows trees"]:
        """How many routes of each tree carry this much of the probability."""
        share = _checks.fraction("mass", mass)
        largest = -np.sort(-self.probabilities, axis=-1)
        # Rounding must not ask for one more route than carries everything.
        carried = np.cumsum(largest, axis=-1) >= share * (1 - 1e-12)
        carried[..., -1] = True
        return np.argmax(carried, axis=-1) + 1

    def dominant(self, row: int, tree: int, mass: float = 0.99) -> list[tuple[int, float]]:
        """(leaf, probability) of the routes that carry this much, the most probable first."""
        count = self.needed(mass)[row, tree]
        leaves = self.order()[row, tree, :count]
        return [(int(leaf), float(self.probabilities[row, tree, leaf])) for leaf in leaves]


def routes(policy: Any, X: Any) -> Routes:
    """Return the probability of every route of every tree, for each row of X.

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
    >>> found = hr.explain.routes(policy, data.data[:3])
    >>> found.probabilities.shape  # rows, trees, leaves
    (3, 20, 4)
    """
    lens = trees_of(policy)
    rows = lens.contexts(X)
    found = lens.in_pieces(lambda x: lens.trees.routes(x.T).transpose(2, 0, 1), rows)
    return Routes(found, lens.trees.leaves)


def route_gradients(policy: Any, X: Any) -> Float[np.ndarray, "rows trees leaves d"]:
    """Return ∂p/∂x_j of every route, per unit of each feature.

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
    >>> hr.explain.route_gradients(policy, data.data[:3]).shape  # rows, trees, leaves, features
    (3, 20, 4, 2)
    """
    lens = trees_of(policy)

    def work(x: np.ndarray) -> np.ndarray:
        chances, slopes = lens.trees.route_slopes(x.T)
        return chances.transpose(2, 0, 1)[..., None] * slopes

    return lens.in_pieces(work, lens.contexts(X), power=2) * lens.factor


def route_hessians(policy: Any, X: Any) -> Float[np.ndarray, "rows trees leaves d e"]:
    """Return ∂²p/∂x_j∂x_m of every route, per units of the two features.

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
    >>> hr.explain.route_hessians(policy, data.data[:3]).shape
    (3, 20, 4, 2, 2)
    """
    lens = trees_of(policy)
    rows = lens.contexts(X)
    found = lens.in_pieces(lambda x: lens.trees.route_hessians(x.T), rows, power=2)
    return found * lens.factor[:, None] * lens.factor
