"""What a policy remembers of its history, to watch by: samples of columns, a bound, and a room.

Each column's sample is shuffled on its own, so that no row of the history can be put together
again: MOST values per feature and outcome, some kilobytes in a policy file.

    room^p = ρ^p − least     how far rows may move within the radius, beyond what smearing takes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from hedgerow import _checks
from hedgerow._warnings import OutsideWarning, unsaid
from hedgerow.certify.radii import least_discrepancy
from hedgerow.certify.reaching import with_radius

if TYPE_CHECKING:
    from hedgerow.estimator import RobustPolicy

MOST = 200


@dataclass(frozen=True)
class Reference:
    """What is remembered.

    Attributes
    ----------
    samples : (rows, features + outcomes [+ residuals]) array
        Values of each column, in an order of its own.
    bound : float or None
        What the mean cost is not to exceed: the promise, else the robust value; None: not known.
    """

    samples: Float[np.ndarray, "rows columns"]
    bound: float | None


def remember(policy: RobustPolicy, X: Any, Y: Any, *, promise: float | None = None) -> RobustPolicy:
    """Have a policy remember what it is watched by; policy files keep it.

    Samples of at most 200 values a column, each column in an order of its own, so that no row can
    be put together; and how far the model moves rows. ``promise`` is a bound of the mean cost, such
    as that of ``hedgerow.calibrate``; None: what was calibrated in ``fit``, else the robust value.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy; it is changed and returned.
    X : (rows, features) array or table
        Contexts of history.
    Y : (rows,) or (rows, outcomes) array
        Their outcomes.
    promise : float or None
        A bound of the mean cost, such as that of ``hedgerow.calibrate``; None: what was calibrated
        in ``fit``, else the robust value.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> policy = hr.remember(policy, data.data, data.target)
    >>> policy.reference_ is not None
    True
    """
    given: Any = policy
    policy = _checks.fitted_policy(given)
    promised = None if promise is None else _checks.finite("promise", promise)
    keeper: Any = given[-1] if hasattr(given, "steps") else given  # a pipeline's last step
    keeper.reference_ = reference_of(policy, X, Y).samples
    keeper.room_ = _room(policy, X, Y)
    if promised is not None:
        keeper.promise_ = promised
    return given


def _room(policy: RobustPolicy, X: Any, Y: Any) -> float | None:
    """What a radius, or the worst case at the penalty, spends beyond what smearing takes."""
    one = policy.ambiguity_.moves(1.0, 1.0)
    if one is None or one.outcomes is None:
        return None
    given = with_radius(policy.given_, 1.0)
    radius, spent = policy.given_.radius, policy.robust_value_.discrepancy
    if radius is not None:
        spent = given.power(float(radius))
    spare = max((spent or 0.0) - least_discrepancy(policy.problem(X, Y)), 0.0)
    return float(given.root(spare))


def reference_of(
    policy: RobustPolicy, X: Any, Y: Any, *, unseen: bool = False, seed: int = 0
) -> Reference:
    """Sample columns of a history; with ``unseen`` rows also what decisions were off by."""
    policy = _checks.fitted_policy(policy)
    columns = columns_of(policy, X, Y, residuals=unseen)
    rng = np.random.default_rng(seed)
    chosen = np.unique(np.linspace(0, len(columns) - 1, min(MOST, len(columns))).astype(int))
    samples = rng.permuted(columns[chosen], axis=0)
    return Reference(samples, bound_of(policy))


def columns_of(policy: RobustPolicy, X: Any, Y: Any, *, residuals: bool) -> np.ndarray:
    """Features, outcomes and, where decisions prepare for outcomes, what those were off by."""
    contexts = policy.contexts(X)
    outcomes = policy.outcomes(Y, contexts)
    parts = [contexts, outcomes]
    if residuals and policy.n_decisions_ == policy.n_outcomes_:
        with unsaid(OutsideWarning):  # whoever asked for costs of these rows was told
            parts.append(outcomes - policy.predict(X).reshape(len(contexts), -1))
    return np.hstack(parts)


def bound_of(policy: RobustPolicy) -> float | None:
    """The promise that was made, else the robust value; None if neither was kept."""
    found = getattr(policy, "promise_", None)
    if found is not None:
        return float(found)
    value = getattr(policy, "robust_value_", None)
    return None if value is None else float(value.value)
