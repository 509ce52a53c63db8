"""One rule for each series, many series at a time in one compiled program.

Series are taken together by length: TOGETHER of about one size (FEWEST_ROWS, doubled as often as
need be) are trained side by side (``solvers.side_by_side``), for as many steps as that size asks
for, on tables that have room for more rows (``ladder``). So a panel of any number of series of any
lengths compiles a few programs, and a series' rule depends on its own rows alone: not on who its
neighbours are, nor on where a run was stopped and went on.

What comes out is what ``RobustPolicy`` with the same parts would learn from each series alone: a
rule, and the units that connect it to the data. A rule that loses to the best constant decision on
its own rows is replaced by it, as there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from hedgerow import fitting
from hedgerow.ambiguity import Problem
from hedgerow.data import TrainingTable, Units
from hedgerow.data.units import FARTHEST_DECIDED as FARTHEST
from hedgerow.fitting import Keys, Parts
from hedgerow.losses import along
from hedgerow.plain import PlainPolicy
from hedgerow.programs import program
from hedgerow.rules import FittedRule, Start
from hedgerow.rules.base import build_rule
from hedgerow.rules.slopes import outcome_slopes
from hedgerow.solvers import StochasticSolver
from hedgerow.solvers.loop import STRETCH
from hedgerow.solvers.side_by_side import SideBySide
from hedgerow.solvers.training import TrainingProblem

TOGETHER = 16
"""Series in one program. On one thread a series takes a quarter less time with 15 neighbours than
alone, or than with 49, whose arrays leave the cache (docs/scale.md)."""
FEWEST_ROWS = 256
FEW, MANY = 32, 512
"""Rows of each series that decisions are made for at a time."""


class OneSeries(NamedTuple):
    """Rows of one series, checked."""

    contexts: Float[np.ndarray, "rows d"]
    outcomes: Float[np.ndarray, "rows y"]
    weights: Float[np.ndarray, " rows"]
    censored: np.ndarray | None = None


@dataclass(frozen=True)
class SeparateRules:
    """Rules of many series.

    Attributes
    ----------
    rule : FittedRule
        All of them: its leaves have a leading axis of series.
    units : dict of arrays
        The fields of ``Units``, likewise.
    constant : (series,) bool
        Where the best constant decision is taken instead.
    loss : (series,)
        Mean loss on the rows that were learned from.
    """

    rule: FittedRule
    units: dict[str, np.ndarray]
    constant: Bool[np.ndarray, " series"]
    loss: Float[np.ndarray, " series"]

    def __len__(self) -> int:
        return len(self.constant)

    @staticmethod
    def units_at(units: dict[str, np.ndarray], place: int) -> Units:
        """Units of one series, out of those of all."""
        own: dict[str, Any] = {name: values[place] for name, values in units.items()}
        for name in ("loss_unit", "constant_loss"):
            own[name] = float(own[name])
        return Units(**own)

    def rule_of(self, place: int) -> FittedRule:
        """Rule of one series."""
        return jax.tree_util.tree_map(lambda leaf: jnp.asarray(leaf[place]), self.rule)

    def plain_of(self, place: int) -> PlainPolicy | None:
        """One series' rule and units with NumPy alone; None if its kind does not offer that."""
        own = {name: values[place] for name, values in self.units.items()}
        rule = jax.tree_util.tree_map(lambda leaf: np.asarray(leaf)[place], self.rule).plain()
        if rule is None:
            return None
        return PlainPolicy(own["x_centre"], own["x_factor"], own["z_unit"], rule)

    def decide(
        self, contexts: Float[np.ndarray, "rows d"], places: Int[np.ndarray, " rows"]
    ) -> Float[np.ndarray, "rows k"]:
        """Decide for rows of given series, in the user's units."""
        decisions = np.empty((len(contexts), self.units["z_unit"].shape[1]))
        for series, rows, there in _blocks(places):
            units = {name: values[series] for name, values in self.units.items()}
            moved = (contexts[rows] - units["x_centre"][:, None]) * units["x_factor"][:, None]
            own = jax.tree_util.tree_map(lambda leaf, at=series: np.asarray(leaf)[at], self.rule)
            made = _decide_each(own, np.clip(moved, -FARTHEST, FARTHEST).astype(np.float32))
            made = np.asarray(made, np.float64) * units["z_unit"][:, None]
            made = np.where(self.constant[series, None, None], units["constant"][:, None], made)
            decisions[rows[there]] = made[there]
        return decisions

    @classmethod
    def joined(cls, pieces: Sequence[SeparateRules]) -> SeparateRules:
        """Return the rules of several sets of series as one."""

        def together(*leaves: Any) -> np.ndarray:
            return np.concatenate([np.asarray(leaf) for leaf in leaves])

        return cls(
            jax.tree_util.tree_map(together, *(piece.rule for piece in pieces)),
            jax.tree_util.tree_map(together, *(piece.units for piece in pieces)),
            together(*(piece.constant for piece in pieces)),
            together(*(piece.loss for piece in pieces)),
        )

    def taken(self, places: Int[np.ndarray, " some"]) -> SeparateRules:
        """Return the rules of some series, in this order."""
        return SeparateRules(
            jax.tree_util.tree_map(lambda leaf: np.asarray(leaf)[places], self.rule),
            {name: values[places] for name, values in self.units.items()},
            self.constant[places],
            self.loss[places],
        )


def batches_of(lengths: Int[np.ndarray, " series"]) -> list[Int[np.ndarray, " some"]]:
    """Return places of series that are trained together: of one size, at most TOGETHER."""
    sizes = np.array([size_of(length) for length in lengths])
    return [
        alike[start : start + TOGETHER]
        for size in np.unique(sizes)
        for alike in (np.flatnonzero(sizes == size),)
        for start in range(0, len(alike), TOGETHER)
    ]


def size_of(rows: int) -> int:
    """Return the size that so many rows are trained as: the next of FEWEST_ROWS doubled."""
    size = FEWEST_ROWS
    while size < rows:
        size *= 2
    return size


def learn_together(parts: Parts, several: Sequence[OneSeries], keys: Keys) -> SeparateRules:
    """Train a rule for each of at most TOGETHER series of one size.

    A batch that is not full is filled up with its last series, so that all have one width.
    """
    solver = parts.solver
    if not isinstance(solver, StochasticSolver):
        raise ValueError(
            "Series are trained side by side by a stochastic solver such as hedgerow.SCSC(); "
            f"{type(solver).__name__} is none."
        )
    problems = [fitting.pose(parts, *one) for one in several]
    problems += problems[-1:] * (TOGETHER - len(problems))
    tables = [
        TrainingTable.build(
            problem.nominal,
            problem.units,
            solver.outcomes_per_context,
            parameters=problem.parameters(),
        )
        for problem in problems
    ]
    trainings = [
        solver.training(problem, _first_rule(parts, problem, keys), table=table)
        for problem, table in zip(problems, TrainingTable.alike(tables), strict=True)
    ]
    _refuse_uneven(trainings)
    running = SideBySide.of(trainings, solver)
    steps = min(int(solver.steps), solver.stop_after or int(solver.steps))
    plain = solver.replace(stop_after=None)
    for done in range(0, steps, STRETCH):
        running = running.advanced(min(STRETCH, steps - done), plain, keys.training)
    units = [vars(problem.units) for problem in problems]
    learned = SeparateRules(
        running.rules(),
        {name: np.array([own[name] for own in units]) for name in units[0]},
        np.zeros(TOGETHER, bool),
        np.zeros(TOGETHER),
    ).taken(np.arange(len(several)))
    return _judged(learned, parts, several)


def _refuse_uneven(trainings: Sequence[TrainingProblem]) -> None:
    """Kernels of one program have one shape; those of categories have one that data decide on."""
    kernels = [jax.tree_util.tree_flatten(each.objective.setting.kernels) for each in trainings]
    shapes = [([np.shape(leaf) for leaf in leaves], form) for leaves, form in kernels]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError(
            "Series are trained side by side, but contexts that are Categorical have other values "
            "in one of them than in another: leave these out of contexts, or train one rule for "
            "all series, strategy='pooled'."
        )


def _first_rule(parts: Parts, problem: Problem, keys: Keys) -> FittedRule:
    """Where a series' training begins; all look at all features, so that rules have one shape."""
    units = problem.units
    slopes = outcome_slopes(problem.nominal, units) if parts.rule.begins_along_slopes else None
    start = Start.of(units, parts.loss.decisions_for(len(units.y_unit)), slopes)
    return build_rule(parts.rule, keys.rule, replace(start, varying=()))


def _judged(learned: SeparateRules, parts: Parts, several: Sequence[OneSeries]) -> SeparateRules:
    """Note mean losses, and take the constant where the rule loses to it or is not finite."""
    contexts = np.concatenate([one.contexts for one in several])
    places = np.repeat(np.arange(len(several)), [len(one.outcomes) for one in several])
    made = np.split(learned.decide(contexts, places), np.flatnonzero(np.diff(places)) + 1)
    loss, fixed = (
        np.array(
            [
                np.average(along(parts.loss, one.contexts)(z, one.outcomes), weights=one.weights)
                for z, one in zip(decisions, several, strict=True)
            ]
        )
        for decisions in (
            made,
            [
                np.broadcast_to(c, z.shape)
                for c, z in zip(learned.units["constant"], made, strict=True)
            ],
        )
    )
    worse = fitting.loses(loss, fixed, learned.units["loss_unit"])
    return replace(learned, constant=worse, loss=np.where(worse, fixed, loss))


def _blocks(
    places: Int[np.ndarray, " rows"],
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (series, rows of each, which of them there are): TOGETHER series of at most some rows.

    Blocks have one of two shapes, so that deciding compiles at most two programs.
    """
    order = np.argsort(places, kind="stable")
    series, start = np.unique(places[order], return_index=True)
    count = np.diff(np.append(start, len(order)))
    width = FEW if count.max(initial=0) <= FEW else MANY
    pieces = np.maximum(-(-count // width), 1)
    owner = np.repeat(np.arange(len(series)), pieces)
    nth = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    for first in range(0, len(owner), TOGETHER):
        own, own_nth = owner[first : first + TOGETHER], nth[first : first + TOGETHER]
        own, own_nth = (np.pad(a, (0, TOGETHER - len(a)), mode="edge") for a in (own, own_nth))
        within = own_nth[:, None] * width + np.arange(width)
        there = within < count[own][:, None]
        there[len(owner) - first :] = False
        rows = order[start[own][:, None] + np.minimum(within, count[own][:, None] - 1)]
        yield series[own], rows, there


@program
def _decide_each(rules: FittedRule, contexts: Float[Array, "series rows d"]) -> Array:
    return jax.vmap(lambda rule, x: rule(x.T).T)(rules, contexts)
