"""Watching a policy: whether the mean cost has passed its bound, and what has moved.

Three questions, each with its own kind of answer:

cost      Is E[cost | past] ≤ bound? A test that may be looked at every day (``evidence``).
shift     Are new rows exchangeable with history, column by column? Likewise; the columns'
          evidence is averaged, and those that would pass alone are named.
distance  How far are recent rows? Column by column, in units of the transport cost,

              Σ_j W_p^p(column j)  ≤  W_p^p(rows),

          less what samples of history as long are apart by chance: an estimate from below of how
          much of the radius is used up, and a p-value for this one look.

The level is the chance of any false alarm, however often one looks; half of it is each test's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from hedgerow import _checks
from hedgerow.certify.reaching import with_radius
from hedgerow.data.table_files import require_pandas
from hedgerow.describe.names import feature_names, outcome_names
from hedgerow.describe.numbers import counted, listed, number
from hedgerow.monitoring.evidence import conformal_ranks, evidence
from hedgerow.monitoring.reference import Reference, bound_of, columns_of, reference_of

if TYPE_CHECKING:
    from hedgerow.estimator import RobustPolicy

QUIET, MOVED, BEYOND = "quiet", "moved", "beyond"
EXIT = {QUIET: 0, MOVED: 3, BEYOND: 4}
"""For schedulers; 1 and 2 are mistakes and wrong options."""
RECENT = 50
COMPARED, LEVELS = 400, 100
"""Samples of history that say what a distance usually is; quantiles that are compared."""


@dataclass(frozen=True, repr=False)
class Watch:
    """What was seen of new rows.

    Attributes
    ----------
    status : str
        "quiet", "moved" (new rows are not exchangeable with history) or "beyond" (the mean cost
        has passed the bound).
    level : float
        Chance of any false alarm, however often one looks.
    bound, mean_cost : float
        What the mean cost is not to exceed, and what it was.
    cost_evidence, shift_evidence : (rows,) arrays
        Wealth of each bet after every row, as logarithms; an alarm at log(2/level).
    alarm : int or None
        The row, counted from 1, at which the first alarm was given.
    columns : tuple of str
        Features, outcomes and what outcomes were off by.
    column_evidence : (columns,) array
        The most that each column's own bet was worth, as a logarithm.
    moved : tuple of str
        Columns whose own evidence passes an alarm for as many columns as there are.
    means_before, means_now : (columns,) arrays
        Of history, and of recent rows.
    distance : float
        How far recent rows are at least, in the units of the radius, beyond what chance explains.
    distance_p : float
        How often samples of history are as far as that; for one look, not for many.
    distances : (columns,) array
        The same column by column.
    room : float or None
        How far the model's radius lets rows move; None: it does not move rows, or has no radius.
    """

    status: str
    level: float
    rows: int
    bound: float
    mean_cost: float
    cost_evidence: np.ndarray
    shift_evidence: np.ndarray
    alarm: int | None
    columns: tuple[str, ...]
    column_evidence: np.ndarray
    moved: tuple[str, ...]
    means_before: np.ndarray
    means_now: np.ndarray
    distance: float
    distance_p: float
    distances: np.ndarray
    room: float | None

    @property
    def exit_code(self) -> int:
        """0: quiet, 3: moved, 4: beyond the bound."""
        return EXIT[self.status]

    @property
    def threshold(self) -> float:
        """Log-wealth at which an alarm is given."""
        return math.log(2 / self.level)

    def __str__(self) -> str:
        """Say what was seen."""
        seen = f"{counted(self.rows, 'new row')}, mean cost {number(self.mean_cost)}"
        against = f"the bound is {number(self.bound)}"
        if self.status == BEYOND:
            said = f"ALARM at row {self.alarm:,}: the mean cost has passed its bound"
        elif self.status == MOVED:
            names = listed(self.moved, 5) or "no single column stands out"
            said = f"ALARM at row {self.alarm:,}: the data have moved ({names})"
        else:
            said = "Quiet: nothing that chance does not explain"
        return f"{said}. {seen}; {against}. {self.distance_words()}"

    __repr__ = __str__

    def distance_words(self) -> str:
        """How much of the radius recent rows use up."""
        if self.distance == 0:
            return "Recent rows are no farther away than chance explains."
        far = f"Recent rows are at least {number(self.distance, 3)} away"
        if self.room is None:
            return f"{far}, in standard units."
        within = "within" if self.distance <= self.room else "BEYOND"
        return f"{far}: {within} the {number(self.room, 3)} that the radius lets rows move."

    def to_json(self) -> dict[str, Any]:
        """Return what a scheduler reads: plain values."""
        return {
            "status": self.status,
            "exit_code": self.exit_code,
            "level": self.level,
            "rows": self.rows,
            "alarm_row": self.alarm,
            "bound": self.bound,
            "mean_cost": self.mean_cost,
            "cost_log_evidence": float(self.cost_evidence.max(initial=0.0)),
            "shift_log_evidence": float(self.shift_evidence.max(initial=0.0)),
            "alarm_log_evidence": self.threshold,
            "moved": list(self.moved),
            "distance": self.distance,
            "distance_p": self.distance_p,
            "room": self.room,
            "columns": [
                {
                    "name": name,
                    "mean_before": float(self.means_before[j]),
                    "mean_now": float(self.means_now[j]),
                    "distance": float(self.distances[j]),
                    "log_evidence": float(self.column_evidence[j]),
                }
                for j, name in enumerate(self.columns)
            ],
        }

    def to_frame(self) -> Any:
        """Return the columns as a pandas table, those with most evidence first."""
        table = require_pandas().DataFrame(self.to_json()["columns"])
        return table.sort_values("log_evidence", ascending=False, ignore_index=True)


def watch(
    policy: RobustPolicy,
    X: Any,
    Y: Any,
    *,
    history: tuple[Any, Any] | None = None,
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
    policy : RobustPolicy
        A fitted policy.
    X, Y : array-like
        All rows since the policy began to decide, in their order; look as often as you like.
    history : (X, Y) or None
        Rows that the policy was not trained on and that new ones are compared with, better than
        what the policy remembers (``hedgerow.remember``), since residuals can be compared.
    bound : float or None
        What the mean cost is not to exceed; None: the promise, else the robust value.
    level : float
        Chance of any false alarm, however often one looks.
    floor : float
        A cost that no row falls below: bets are limited by it.
    ignore : sequence of str
        Columns that are meant to move, such as the month or a trend.
    recent : int
        Rows at the end that the distance is about.
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
    _checks.fitted_policy(policy)
    level = _checks.fraction("level", level)
    policy.tell_typos(X, Y)
    costs = policy.losses(X, Y)
    if history is not None:
        policy.tell_typos(*history)
        known = reference_of(policy, *history, unseen=True)
    else:
        known = remembered(policy)
    bound = known.bound if bound is None else float(bound)
    if bound is None:
        raise ValueError(
            "The policy has no promise and its robust value was not kept: give bound=, the mean "
            "cost that is not to be exceeded."
        )
    if not bound > floor:
        raise ValueError(f"bound={bound:g} must exceed floor={floor:g}, the least cost of a row.")
    if costs.min(initial=math.inf) < floor:
        raise ValueError(
            f"A row cost {costs.min():g}, less than floor={floor:g}: give a floor that no cost "
            "falls below."
        )
    names = _names(policy, X, Y, known.samples.shape[1])
    columns = columns_of(policy, X, Y, residuals=history is not None)
    ignored = _ignored(ignore, names)
    threshold = math.log(2 / level)
    spent = evidence((costs - floor) / (bound - floor) - 1) if math.isfinite(bound) else None
    spent = np.zeros(len(costs)) if spent is None else spent
    each = np.zeros((len(columns), columns.shape[1]))
    for j in np.flatnonzero(~ignored):
        sign = 1 - 2 * conformal_ranks(known.samples[:, j], columns[:, j], random_state + int(j))
        each[:, j] = evidence(np.stack([sign, -sign], axis=1))
    used = np.flatnonzero(~ignored)
    shift = np.logaddexp.reduce(each[:, used], axis=1) - math.log(max(len(used), 1))
    most = each.max(axis=0, initial=0.0)
    alarms = {
        BEYOND: np.flatnonzero(spent >= threshold),
        MOVED: np.flatnonzero(shift >= threshold) if len(used) else np.zeros(0, int),
    }
    given = {name: int(rows[0]) + 1 for name, rows in alarms.items() if len(rows)}
    status = next((name for name in (BEYOND, MOVED) if name in given), QUIET)
    alone = threshold + math.log(max(len(used), 1))
    now = columns[-recent:]
    scales, order, room = _measure(policy)
    scales = np.append(scales, np.zeros(columns.shape[1] - len(scales)))  # residuals move with y
    distance, p_value, distances = _distances(
        known.samples, now, np.where(ignored, 0.0, scales), order, level, random_state
    )
    return Watch(
        status=status,
        level=level,
        rows=len(costs),
        bound=bound,
        mean_cost=float(costs.mean()),
        cost_evidence=spent,
        shift_evidence=shift,
        alarm=given.get(status),
        columns=tuple(names),
        column_evidence=most,
        moved=tuple(names[j] for j in np.argsort(-most) if most[j] >= alone),
        means_before=known.samples.mean(axis=0),
        means_now=now.mean(axis=0),
        distance=distance,
        distance_p=p_value,
        distances=distances,
        room=room,
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


def _ignored(ignore: Any, names: list[str]) -> np.ndarray:
    wanted = [ignore] if isinstance(ignore, str) else list(ignore)
    for name in wanted:
        if name not in names:
            raise ValueError(f"There is no column {name!r} to ignore; there are {listed(names)}.")
    return np.array([name in wanted for name in names])


def _measure(policy: RobustPolicy) -> tuple[np.ndarray, float, float | None]:
    """Scales of columns, order and room of the policy's model; else spreads, 2 and None."""
    model, units = policy.ambiguity_, policy.units_
    one = model.moves(1.0, 1.0)
    if one is None or one.outcomes is None or one.contexts is None:
        return np.append(units.x_spread, units.y_spread), 2.0, None
    order = math.log2(with_radius(model, 1.0).power(2.0))
    room = getattr(policy, "room_", None)
    return np.append(one.contexts, one.outcomes), order, room


def _distances(
    before: Float[np.ndarray, "rows columns"],
    now: Float[np.ndarray, "recent columns"],
    scales: np.ndarray,
    order: float,
    level: float,
    seed: int,
) -> tuple[float, float, np.ndarray]:
    """How far apart all columns with a scale are and its p-value; how far each is.

    W_p^p of each column in its scale, and their sum, less what chance makes of samples of history
    as long as the recent rows, except for a share ``level`` of them.
    """
    rng = np.random.default_rng(seed)
    levels = (np.arange(LEVELS) + 0.5) / LEVELS
    far, usual = np.zeros(before.shape[1]), np.zeros((COMPARED, before.shape[1]))
    for j in np.flatnonzero(scales > 0):
        old = np.quantile(before[:, j], levels)
        drawn = rng.choice(before[:, j], size=(COMPARED, len(now)))
        apart = np.abs(np.quantile(now[:, j], levels) - old) / scales[j]
        chance = np.abs(np.quantile(drawn, levels, axis=1) - old[:, None]) / scales[j]
        far[j], usual[:, j] = np.mean(apart**order), np.mean(chance**order, axis=0)

    def beyond(found: float, by_chance: np.ndarray) -> float:
        return max(found - float(np.quantile(by_chance, 1 - level)), 0.0) ** (1 / order)

    sums = usual.sum(axis=1)
    p_value = float((1 + np.sum(sums >= far.sum())) / (1 + len(sums)))
    each = np.array([beyond(far[j], usual[:, j]) for j in range(len(far))])
    return beyond(far.sum(), sums), p_value, each
