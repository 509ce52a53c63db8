"""A radius with a promise: the cost that the next rows stay below, and the radius that covers it.

    excess_b = mean cost of block b − nominal cost of the policy that had not seen it
    promise  = nominal cost + bound on the next block's excess            (``conformal``)
    radius   = the smallest ρ with  v(ρ) ≥ promise                        (``reaching``)

Since v rises with ρ, "the next block costs at most v(ρ)" is monotone in ρ, so choosing ρ by it is
conformal risk control, and all that is random in it is the rank of one block among B + 1. Where
blocks come from, and what they cost beyond what was expected, is for ``held_out``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import jax
import numpy as np

from hedgerow import _checks
from hedgerow.ambiguity import Ambiguity
from hedgerow.certify import conformal
from hedgerow.certify.held_out import HELD_OUT, Asked, HeldOut, held_out_blocks, problem_around
from hedgerow.certify.promise import Calibration, Promise
from hedgerow.certify.reaching import Reached, radius_reaching, with_radius
from hedgerow.describe.numbers import counted, percent

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.estimator import RobustPolicy
    from hedgerow.panels import PanelPolicy

METHODS = ("blocks", "bootstrap", "concentration")
INSTEAD = "; hand over a model whose radius covers the costs, such as ambiguity=hedgerow.KL(1.0)"
SMALLEST = 1e-6
"""A radius that is given to a model must be greater than 0."""


@overload
def calibrate(
    policy: RobustPolicy,
    X: Any,
    Y: Any,
    level: float = ...,
    horizon: int | None = ...,
    *,
    blocks: Any = ...,
    method: str = ...,
    held_out: str = ...,
    folds: int = ...,
    confidence: float | None = ...,
    ambiguity: Ambiguity | None = ...,
    tolerance: float = ...,
    random_state: int = ...,
) -> Calibration: ...
@overload
def calibrate(
    policy: PanelPolicy,
    X: pd.DataFrame,
    Y: Any = ...,
    level: float = ...,
    horizon: int | None = ...,
    *,
    blocks: Any = ...,
    method: str = ...,
    held_out: str = ...,
    folds: int = ...,
    confidence: float | None = ...,
    ambiguity: Ambiguity | None = ...,
    tolerance: float = ...,
    random_state: int = ...,
) -> Promise: ...
def calibrate(
    policy: Any,
    X: Any,
    Y: Any = None,
    level: float = 0.9,
    horizon: int | None = None,
    *,
    blocks: Any = None,
    method: str = "blocks",
    held_out: str = "given",
    folds: int = 5,
    confidence: float | None = None,
    ambiguity: Ambiguity | None = None,
    tolerance: float = 5e-3,
    random_state: int = 0,
) -> Promise | Calibration:
    """Return the smallest radius whose certified value bounds the next rows' mean cost.

    Parameters
    ----------
    policy : RobustPolicy or PanelPolicy
        A fitted policy; with a panel, blocks are of time, and hold the rows of all its series.
    X, Y : array-like
        With ``held_out="given"`` rows that the policy was not trained on; else its whole history.
        In the order in which they came, if they came in time. Of a panel X is the long table, as it
        was trained on or with features, and Y its outcomes where they are no column that the panel
        knows.
    level : float
        Probability of the promise.
    horizon : int or None
        Rows that the promise is about; of a panel, periods. None: as many as leave enough blocks
        for the level.
    blocks : (rows,) array-like or None
        Labels instead of a horizon, such as months: rows with one label are one block.
    method : {"blocks", "bootstrap", "concentration"}
        By rank among held-out blocks, whose level holds at any number of blocks; by resampling
        rows, or by the paper's inequality for means, which hold for large samples and serve for
        comparison.
    held_out : {"given", "folds", "rolling"}
        Rows that the policy has not seen, or its history: without one fold of blocks each, or in
        time on what was before; for these two it is trained again ``folds`` times. Panels know
        "given" and "rolling".
    folds : int
        Folds, or origins in time.
    confidence : float or None
        Ask the level to hold, given the held-out blocks, for this share of histories; None: on
        average over histories. Method "blocks" only.
    ambiguity : Ambiguity or None
        The model whose radius is sought; None: the policy's own. A panel's promise has no radius:
        its costs are those of many series with units of their own.
    tolerance : float
        Numerical tolerance of the value at the radius.
    random_state : int
        Seed of nodes and resampling.

    Returns
    -------
    Calibration
        Of a panel a ``Promise``, which is the same without a radius.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(400, 2, random_state=0)
    >>> loss, hedge = hr.Newsvendor(0.6, 1.0), hr.KL(penalty=2.0)
    >>> policy = hr.RobustPolicy(loss, hedge, solver=hr.SCSC(steps=50), random_state=0)
    >>> _ = policy.fit(data.data[:200], data.target[:200])
    >>> found = hr.calibrate(policy, data.data[200:], data.target[200:], level=0.9, horizon=10)
    >>> found.level
    0.9
    """
    _checks.one_of("method", method, METHODS)
    _checks.one_of("held_out", held_out, HELD_OUT)
    level = _checks.below_one("level", level)
    if confidence is not None:
        _checks.below_one("confidence", confidence)
        if method != "blocks":
            raise ValueError(f"confidence is understood with method='blocks'; got {method!r}.")
    if held_out != "given":
        _checks.count("folds", folds, 2)
    needed = conformal.needed(level, confidence) if method == "blocks" else 1
    asked = Asked(horizon, blocks, needed, held_out, folds)
    own = getattr(policy, "held_out_blocks", None)
    if own is not None:
        if ambiguity is not None:
            raise ValueError(
                "A panel's promise has no radius, for its costs are those of many series: leave "
                "ambiguity out."
            )
        return Promise(
            **_promised(own(X, Y, asked), asked, level, method, confidence, random_state)
        )
    given, policy = policy, _checks.fitted_policy(policy)
    model = with_radius(ambiguity or policy.given_, 1.0, INSTEAD)
    policy.tell_typos(X, Y)
    found = held_out_blocks(policy, X, Y, asked, given)
    promised = _promised(found, asked, level, method, confidence, random_state)
    reached = _radius(policy, X, Y, model, promised["promise"], tolerance, random_state)
    return Calibration(
        **promised,
        radius=reached.radius,
        model=with_radius(model, max(reached.radius, SMALLEST)),
        error=reached.doubt,
        status=reached.status,
    )


def _promised(
    held: HeldOut, asked: Asked, level: float, method: str, confidence: float | None, seed: int
) -> dict[str, Any]:
    """The fields of a promise that held-out blocks support, or what is lacking."""
    size, kept = held.typical, len(held.excess)
    if method == "blocks":
        place = conformal.rank(kept, level, confidence)
        if place > kept:
            raise ValueError(_too_few(level, confidence, asked, held))
        bound = float(np.sort(held.excess)[place - 1])
    elif method == "bootstrap":
        seed = _checks.count("random_state", seed, 0)
        bound = conformal.bootstrap(held.rows, level, size, seed)
    else:
        bound = conformal.concentration(held.rows, level, size)
    return {
        "promise": held.nominal + bound,
        "level": level,
        "horizon": size,
        "unit": held.unit,
        "blocks": kept,
        "needed": asked.needed,
        "nominal": held.nominal,
        "method": method,
        "held_out": asked.held_out,
        "confidence": confidence,
        "excess": held.excess,
        "costs": held.costs,
        "sizes": held.sizes,
        "labels": held.labels,
    }


def _radius(
    policy: RobustPolicy,
    X: Any,
    Y: Any,
    model: Ambiguity,
    promise: float,
    tolerance: float,
    seed: int,
) -> Reached:
    problem = problem_around(policy, X, Y, model)
    key = jax.random.key(_checks.count("random_state", seed, 0), impl="rbg")
    found = radius_reaching(problem, policy.rule_, promise, key, tolerance)
    least = found.least * (1 + 1e-6)  # below it no distribution lies
    return found._replace(radius=max(found.radius, least))


def _too_few(level: float, confidence: float | None, asked: Asked, held: HeldOut) -> str:
    sure = "" if confidence is None else f" with confidence {percent(confidence)}"
    size, blocks, needed = held.typical, len(held.excess), asked.needed
    more = "more history"
    if asked.held_out == "given":
        more = f"about {needed * size:,} held-out {held.unit}s"
    highest = blocks / (blocks + 1) if confidence is None else (1 - confidence) ** (1 / blocks)
    return (
        f"A level of {percent(level)}{sure} needs {counted(needed, 'held-out block')} of "
        f"{counted(size, held.unit)}, but there are {blocks}: bring {more}, ask for a shorter "
        f"horizon, for a level of at most {percent(highest)}, or for method='bootstrap', whose "
        "level is not proved."
    )
