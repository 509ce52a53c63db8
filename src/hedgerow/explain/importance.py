"""What a policy looks at, over all decisions (paper: ecsec-interpretability-global).

    C_j = (1/N) Σ_i ‖∂f(x^i)/∂x_j‖₁,          shares C̄_j = C_j / Σ_m C_m

The paper's second form sums the norms of routes, (1/NT) Σ ‖∂p_l/∂x_j · π_l‖₁. It is not the same
number: opposing routes cancel in the decision and in C_j, but not there. It is an upper bound of
C_j, ``route_importance``. Derivatives are per standard deviation of the feature, so that
importance does not depend on what a feature is measured in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float, Int
from sklearn.inspection import permutation_importance as _permuted

from hedgerow import _checks, _row_checks
from hedgerow._frames import as_pandas, require_pandas
from hedgerow.describe.display import Display
from hedgerow.describe.numbers import number, percent
from hedgerow.explain.lens import Lens, gathered, lens_of, trees_of

L = TypeVar("L", bound=Lens)


@dataclass(frozen=True, repr=False)
class Importance(Display):
    """How much every feature counts, one number per feature.

    Attributes
    ----------
    scores : (features,)
        In what they are measured in: for ``importance`` the mean absolute derivative, in decision
        units per standard deviation of the feature; for ``permutation_importance`` the mean loss
        that goes up when the feature is shuffled.
    names : tuple of str
        What the features are called.
    errors : (features,) or None
        Permutations: standard deviations over repeats.
    """

    scores: Float[np.ndarray, " d"]
    names: tuple[str, ...]
    errors: Float[np.ndarray, " d"] | None = None

    @property
    def values(self) -> Float[np.ndarray, " d"]:
        """C̄: shares that sum to 1 (all 0 if nothing counts); harmful features count nothing."""
        scores = np.maximum(self.scores, 0.0)
        return scores / (scores.sum() or 1.0)

    def ranked(self) -> Int[np.ndarray, " d"]:
        """Features in the order of their scores, the largest first."""
        return np.argsort(-self.scores, kind="stable")

    def grouped(self, groups: Mapping[str, Sequence[str]]) -> Importance:
        """Add up features that stand for one thing; as for ``Attribution.grouped``."""
        members = gathered(self.names, groups)
        scores = np.array([self.scores[js].sum() for js in members.values()])
        return Importance(scores, tuple(members))

    def _rows(self) -> tuple[list[str], list[Sequence[str]]]:
        shares = self.values
        rows = [
            (self.names[j], percent(float(shares[j])), number(float(self.scores[j])))
            for j in self.ranked()
        ]
        return ["feature", "share", "score"], list(rows)

    def to_frame(self) -> Any:
        """Return a pandas table with a row per feature, the most important first."""
        table = {"feature": list(self.names), "share": self.values, "score": self.scores}
        if self.errors is not None:
            table["error"] = self.errors
        return require_pandas().DataFrame(table).iloc[self.ranked()].reset_index(drop=True)

    def __str__(self) -> str:
        """List the shares, the largest first."""
        shares = self.values
        return "\n".join(f"{percent(float(shares[j])):>8}  {self.names[j]}" for j in self.ranked())


def importance(
    policy: Any, X: Any, sample_weight: Any = None, *, per: str = "deviation"
) -> Importance:
    """Return the mean absolute derivative of the decisions by each feature, over the rows of X.

    A hard forest is flat between its jumps; there the derivative is what the decision changes by
    over one standard deviation of the feature, half of it either way.

    Parameters
    ----------
    policy : RobustPolicy
        Any fitted policy.
    X : (rows, features)
        Contexts to average over, such as the training data.
    sample_weight : (rows,), optional
    per : {"deviation", "unit"}
        Derivatives per standard deviation of each feature (in training), or per its unit.
    """
    lens, rows, weights, spread = _asked(lens_of(policy), X, sample_weight, per)
    steepness = lens.steepness(rows, lens.units.x_spread)
    return Importance(weights @ steepness * spread, lens.names)


def route_importance(
    policy: Any, X: Any, sample_weight: Any = None, *, per: str = "deviation"
) -> Importance:
    """Return the paper's second form, an upper bound of ``importance``, for rules with trees only.

    The sum over routes of ‖∂p/∂x_j · π‖₁: what features move, whether or not it cancels.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy.
    X : (rows, features) array or table
        Contexts in the data's units.
    sample_weight : (rows,) array or None
        Weights of the rows; None: all alike.
    per : str
        As for ``importance``: in what unit of the features.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> by_route = hr.explain.route_importance(policy, data.data).scores
    >>> bool((by_route >= hr.explain.importance(policy, data.data).scores - 1e-9).all())
    True
    """
    lens, rows, weights, spread = _asked(trees_of(policy), X, sample_weight, per)
    norms = np.abs(lens.trees.leaves).sum(axis=2)

    def work(piece: np.ndarray) -> np.ndarray:
        chances, slopes = lens.trees.route_slopes(piece.T)
        sizes = chances.transpose(2, 0, 1) * norms
        return np.einsum("rtl,rtld->rd", sizes, np.abs(slopes)) / len(norms)

    found = lens.in_pieces(work, rows, power=2)
    return Importance(weights @ found * lens.factor * spread, lens.names)


def permutation_importance(
    policy: Any, X: Any, Y: Any, n_repeats: int = 20, random_state: Any = 0, **settings: Any
) -> Importance:
    """Return how much the mean loss rises when a feature is shuffled (scikit-learn's measure).

    Of a table with text or dates, and before a pipeline, its columns are shuffled as they are.

    ``settings`` go to ``sklearn.inspection.permutation_importance``.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy.
    X : (rows, features) array or table
        Contexts in the data's units.
    Y : (rows,) or (rows, outcomes) array
        What then happened.
    n_repeats : int
        How often each feature is shuffled.
    random_state : int, RandomState or None
        Of the shuffles.
    **settings
        Go to ``sklearn.inspection.permutation_importance``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> found = hr.explain.permutation_importance(policy, data.data, data.target, n_repeats=2)
    >>> len(found.values)
    2
    """
    names, X = lens_of(policy).names, as_pandas(X)
    found: Any = _permuted(policy, X, Y, n_repeats=n_repeats, random_state=random_state, **settings)
    scores = found["importances_mean"]
    if len(scores) != len(names):  # columns are shuffled, of which features are made
        columns = getattr(X, "columns", None)
        names = [f"column {j}" for j in range(len(scores))] if columns is None else columns
    return Importance(scores, tuple(map(str, names)), errors=found["importances_std"])


def correlation(first: Any, second: Any) -> float:
    """Return Pearson's correlation of two sets of values; NaN if one of them does not vary.

    Parameters
    ----------
    first, second : arrays of one shape
        Values that are compared, such as two attributions; shapes are flattened.

    Examples
    --------
    >>> import hedgerow as hr
    >>> round(hr.explain.correlation([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]), 6)
    1.0
    """
    given = [getattr(values, "values", values) for values in (first, second)]
    one, two = (np.asarray(values, np.float64).ravel() for values in given)
    if one.shape != two.shape:
        raise ValueError(f"The two have {one.size} and {two.size} values; they must be as many.")
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return float("nan")
    return float(np.corrcoef(one, two)[0, 1])


def _asked(
    lens: L, X: Any, sample_weight: Any, per: str
) -> tuple[L, np.ndarray, np.ndarray, np.ndarray]:
    """The lens, checked rows with weights that sum to 1, and what derivatives are multiplied by."""
    rows = lens.contexts(X)
    _checks.one_of("per", per, ("deviation", "unit"))
    weights = _row_checks.weights(sample_weight, len(rows))
    spread = lens.units.x_spread if per == "deviation" else np.ones(len(lens.names))
    return lens, rows, weights / weights.sum(), spread
