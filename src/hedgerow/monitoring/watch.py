"""Watching a policy: whether the mean cost has passed its bound, and what has moved.

What is compared of a policy's new rows with its history is put together here, of a panel's in
``panels``; the tests are in ``look``, and what they say in ``seen``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow import _checks
from hedgerow.certify.reaching import with_radius
from hedgerow.describe.names import feature_names, outcome_names
from hedgerow.monitoring.look import Streams, Terms, look
from hedgerow.monitoring.panels import panel_streams
from hedgerow.monitoring.reference import Reference, bound_of, columns_of, reference_of
from hedgerow.monitoring.seen import Watch
from hedgerow.stored import is_panel

if TYPE_CHECKING:
    from hedgerow.estimator import RobustPolicy
    from hedgerow.panels import PanelPolicy

RECENT = 50


def watch(
    policy: RobustPolicy | PanelPolicy,
    X: Any,
    Y: Any = None,
    *,
    history: Any = None,
    bound: float | None = None,
    level: float = 0.05,
    floor: float = 0.0,
    ignore: Any = (),
    recent: int = RECENT,
    random_state: int = 0,
) -> Watch:
    """Watch a policy on what has arrived since it was made.

    Parameters
    ----------
    policy : RobustPolicy or PanelPolicy
        A fitted policy. Of a panel the mean cost of all series together is watched, period by
        period, and it is said which series moved.
    X, Y : array-like
        All rows since the policy began to decide, in their order; look as often as you like. Of a
        panel X is the long table, and Y its outcomes where they are no column that it knows.
    history : (X, Y) or None
        Rows that the policy was not trained on and that new ones are compared with, better than
        what the policy remembers (``hedgerow.remember``), since residuals can be compared. A panel
        remembers nothing, so it needs them: a long table, or that and its outcomes.
    bound : float or None
        What the mean cost is not to exceed; None: the promise, else the robust value. A panel needs
        one, such as the promise of ``hedgerow.calibrate``.
    level : float
        Chance of any false alarm, however often one looks.
    floor : float
        A cost that no row falls below: bets are limited by it.
    ignore : sequence of str
        Columns that are meant to move, such as the month or a trend.
    recent : int
        Rows (of a panel periods) at the end that the distance is about.
    random_state : int
        Breaks ties.

    Returns
    -------
    Watch

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> seen = hr.remember(policy, data.data, data.target)
    >>> new = hr.datasets.make_newsvendor(60, 2, beta=data.beta, random_state=1)
    >>> state = hr.watch(policy, new.data, new.target)
    """
    terms = Terms(math.nan, level, floor, ignore, recent, random_state)
    terms.check()
    if bound is not None:
        bound = _checks.finite("bound", bound)
    asked: Any = policy
    if is_panel(asked):
        streams = panel_streams(asked, X, Y, history)
    else:
        streams, bound = _streams(asked, X, Y, history, bound)
    if bound is None or bound == math.inf:
        raise ValueError(_no_bound(policy, bound))
    return look(streams, replace(terms, bound=bound))


def _streams(
    policy: RobustPolicy, X: Any, Y: Any, history: Any, bound: float | None
) -> tuple[Streams, float | None]:
    """What is compared of a policy, and the bound of its mean cost."""
    policy = _checks.fitted_policy(policy)
    policy.tell_typos(X, Y, stacklevel=4)
    costs = policy.losses(X, Y)
    if history is not None:
        if not isinstance(history, tuple | list) or len(history) != 2:
            raise TypeError(
                f"history must be a pair (X, Y) of rows; got a {type(history).__name__}."
            )
        policy.tell_typos(*history, stacklevel=4)
        known = reference_of(policy, *history, unseen=True)
    else:
        known = remembered(policy)
    names = _names(policy, X, Y, known.samples.shape[1])
    columns = columns_of(policy, X, Y, residuals=history is not None)
    scales, order, room = _measure(policy)
    scales = np.append(scales, np.zeros(columns.shape[1] - len(scales)))  # residuals move with y
    single = np.zeros(columns.shape[1], dtype=bool)
    streams = Streams(costs, known.samples, columns, names, scales, order, room, single)
    return streams, known.bound if bound is None else bound


def _no_bound(policy: Any, bound: float | None) -> str:
    """What to do about a bound that is not known."""
    if is_panel(policy):
        why = "A panel keeps no bound of its mean cost"
    elif bound is None:
        why = "The policy has no promise and its robust value was not kept"
    else:
        why = "The policy has no promise and its robust value is infinite, so nothing bounds it"
    return (
        f"{why}: give bound=, the mean cost that is not to be exceeded, such as the promise of "
        "hedgerow.calibrate."
    )


def remembered(policy: RobustPolicy) -> Reference:
    """What the policy remembers, or what to do about it."""
    samples = getattr(policy, "reference_", None)
    if samples is None:
        raise ValueError(
            "The policy remembers nothing to compare with: give history=(X, Y), rows that it was "
            "not trained on, or call hedgerow.remember(policy, X, Y) before it is saved."
        )
    return Reference(samples, bound_of(policy))


def _names(policy: RobustPolicy, X: Any, Y: Any, columns: int) -> list[str]:
    outcomes = outcome_names(policy, Y)
    names = [*feature_names(policy), *outcomes]
    return [*names, *(f"{name} beyond decision" for name in outcomes)][:columns]


def _measure(policy: RobustPolicy) -> tuple[np.ndarray, float, float | None]:
    """Scales of columns, order and room of the policy's model; else spreads, 2 and None."""
    model, units = policy.ambiguity_, policy.units_
    one = model.moves(1.0, 1.0)
    if one is None or one.outcomes is None or one.contexts is None:
        return np.append(units.x_spread, units.y_spread), 2.0, None
    order = math.log2(with_radius(model, 1.0).power(2.0))
    room = getattr(policy, "room_", None)
    return np.append(one.contexts, one.outcomes), order, room
