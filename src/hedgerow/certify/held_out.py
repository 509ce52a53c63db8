"""What blocks of rows cost that a policy has not seen, beyond what was expected of it.

    excess_b = mean cost of block b − nominal cost of the policy that had not seen it

A block is ``horizon`` rows in a row, or what a label says. Where blocks come from:

    given     rows that the policy has not seen: nothing is trained again
    folds     policies learned without one fold of blocks each, measured on it
    rolling   policies learned on what was before, measured on what came next (time)

The last two measure other policies than the one at hand, trained alike on fewer rows, so what is
promised from them (``calibration``) is approximate, and said to be.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import jax
import numpy as np
from jaxtyping import Float, Int
from sklearn.base import clone
from sklearn.model_selection import KFold, TimeSeriesSplit

from hedgerow import _checks
from hedgerow._warnings import HedgerowWarning, SeenRowsWarning
from hedgerow.ambiguity import ERM, Ambiguity, Problem
from hedgerow.certify.value import certify
from hedgerow.describe.numbers import counted, percent

if TYPE_CHECKING:
    from hedgerow.estimator import RobustPolicy

HELD_OUT = ("given", "folds", "rolling")


class Asked(NamedTuple):
    """How blocks are to be made, and who judges; ``needed`` is how many the level needs."""

    horizon: int | None
    blocks: Any
    needed: int
    held_out: str
    folds: int

    def labels(self, length: int, unit: str = "row") -> np.ndarray:
        """Return the block of each row; −1 for rows at the beginning that fill none."""
        if self.blocks is not None:
            if self.horizon is not None:
                raise ValueError("Give a horizon or blocks, not both.")
            return checked_labels(self.blocks, length)
        asked = {
            "given": self.needed,
            "folds": max(self.needed, self.folds + 1),
            # the first part is only learned from
            "rolling": (self.folds + 1) * -(-self.needed // self.folds),
        }[self.held_out]
        horizon = self.horizon
        if horizon is None:
            horizon = length // asked
            if horizon < 1:
                raise ValueError(
                    f"The level needs {counted(asked, 'block')}, of a {unit} each at least, but "
                    f"there are {counted(length, unit)}: bring more history, or ask for a lower "
                    "level."
                )
        horizon = _checks.count("horizon", horizon)
        if horizon > length:
            raise ValueError(
                f"horizon={horizon} is longer than the {counted(length, unit)} there are."
            )
        first = length % horizon  # the latest rows are kept
        return np.where(np.arange(length) < first, -1, (np.arange(length) - first) // horizon)


class HeldOut(NamedTuple):
    """What held-out rows cost beyond what was expected: row by row, and by blocks.

    ``nominal`` is what the policy itself is expected to cost; ``excess``, ``costs``, ``sizes`` and
    ``labels`` have an entry per block, ``rows`` one per ``unit``, which sizes are counted in.
    """

    nominal: float
    rows: Float[np.ndarray, " rows"]
    excess: Float[np.ndarray, " blocks"]
    costs: Float[np.ndarray, " blocks"]
    sizes: Int[np.ndarray, " blocks"]
    labels: np.ndarray
    unit: str = "row"

    @property
    def typical(self) -> int:
        """The length of a block, or the median length."""
        return round(float(np.median(self.sizes)))


def checked_labels(blocks: Any, rows: int) -> np.ndarray:
    """Labels of rows as an array, or what is wrong with them."""
    found = np.asarray(blocks)
    if found.shape != (rows,):
        raise ValueError(
            f"blocks must label each of {counted(rows, 'row')}; got shape {found.shape}."
        )
    none = found != found  # NaN and NaT, in arrays of objects as well
    missing = np.flatnonzero(none | np.array([label is None for label in found], dtype=bool))
    if len(missing):
        raise ValueError(
            f"blocks has no label for {counted(len(missing), 'row')}, the first of them row "
            f"{missing[0]} (counted from 0): leave out rows that belong to no block."
        )
    return found


def held_out_blocks(policy: RobustPolicy, X: Any, Y: Any, asked: Asked, given: Any) -> HeldOut:
    """Measure policies on blocks not seen by them; ``given`` is what is trained again for it."""
    labels = asked.labels(len(policy.contexts(X)))
    return held_out_costs(policy, X, Y, labels, asked.held_out, asked.folds, given)


def held_out_costs(
    policy: RobustPolicy,
    X: Any,
    Y: Any,
    labels: np.ndarray,
    held_out: str,
    folds: int,
    given: Any = None,
) -> HeldOut:
    """Measure policies on rows not seen by them; ``labels`` are the rows' blocks, −1: none.

    ``given`` is what is trained again, a pipeline that ends in the policy, say; None: the policy.
    """
    contexts = policy.contexts(X)
    outcomes = policy.outcomes(Y, contexts)
    names, places = blocks_of(labels)
    given = policy if given is None else given
    nominal = nominal_cost(policy, X, Y)
    costs, excess = np.full((2, len(contexts)), np.nan)
    if held_out == "given":
        warn_of_seen(policy, contexts)
        measured: Any = [(policy, nominal, np.concatenate(places))]
    else:
        measured = _trained_apart(given, X, Y, places, held_out, folds)
    for trained, expected, members in measured:
        costs[members] = trained.losses(_taken(X, members), outcomes[members])
        excess[members] = costs[members] - expected
    kept = [i for i, rows in enumerate(places) if np.isfinite(excess[rows]).all()]
    return HeldOut(
        nominal=nominal,
        rows=excess[np.isfinite(excess)],
        excess=np.array([excess[places[i]].mean() for i in kept]),
        costs=np.array([costs[places[i]].mean() for i in kept]),
        sizes=np.array([len(places[i]) for i in kept], dtype=int),
        labels=names[kept],
    )


def nominal_cost(policy: RobustPolicy, X: Any, Y: Any) -> float:
    """Return the mean cost under the nominal that was trained on, else that of these rows."""
    problem = problem_around(policy, X, Y, ERM())
    return certify(problem, policy.rule_, jax.random.key(0, impl="rbg")).robust.nominal


def problem_around(policy: RobustPolicy, X: Any, Y: Any, model: Ambiguity) -> Problem:
    """Return the problem that radii are about: around the training data, if they are known."""
    nominal = getattr(policy, "nominal_", None)  # policy files hold none
    if nominal is None:
        return policy.problem(X, Y, ambiguity=model)
    return Problem.of(nominal, policy.units_, policy.loss_, model)


def _trained_apart(
    given: Any, X: Any, Y: Any, places: Sequence[np.ndarray], held_out: str, folds: int
) -> Iterator[tuple[RobustPolicy, float, np.ndarray]]:
    """Policies, what each is expected to cost, and rows that it has not seen."""
    for learned, met in split(len(places), held_out, folds):
        rows, members = (
            np.concatenate([places[block] for block in part]) for part in (learned, met)
        )
        other = cast(Any, clone(given))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HedgerowWarning)  # said of the policy itself
            other.fit(_taken(X, rows), _taken(Y, rows))
        other = _checks.fitted_policy(other)
        yield other, nominal_cost(other, _taken(X, rows), _taken(Y, rows)), members


def split(blocks: int, held_out: str, folds: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks to learn from and blocks to judge by, for each of the folds or origins."""
    if blocks <= folds:
        raise ValueError(
            f"{counted(blocks, 'block')} cannot be split into {folds} folds: ask for a "
            "shorter horizon or fewer folds."
        )
    splitter = KFold(folds) if held_out == "folds" else TimeSeriesSplit(folds)
    yield from splitter.split(np.arange(blocks))


def blocks_of(labels: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Labels of blocks in order of appearance, and their rows."""
    used = np.flatnonzero(labels != -1) if labels.dtype.kind in "iu" else np.arange(len(labels))
    names, first, codes = np.unique(labels[used], return_index=True, return_inverse=True)
    order = np.argsort(first)
    places = [used[np.flatnonzero(codes == label)] for label in order]
    return names[order], places


def _taken(table: Any, rows: np.ndarray) -> Any:
    """Some rows of an array or table."""
    return table.iloc[rows] if hasattr(table, "iloc") else np.asarray(table)[rows]


def warn_of_seen(policy: RobustPolicy, contexts: Float[np.ndarray, "rows d"]) -> None:
    """Say so if nearly all contexts are those of training."""
    nominal = getattr(policy, "nominal_", None)
    if nominal is None:
        return
    known = {row.tobytes() for row in np.ascontiguousarray(nominal.contexts)}
    share = np.mean([row.tobytes() in known for row in np.ascontiguousarray(contexts)])
    if share > 0.9 and len(np.unique(contexts, axis=0)) > 0.5 * len(contexts):
        warnings.warn(
            SeenRowsWarning(
                f"{percent(float(share))} of these contexts were trained on: costs on rows that a "
                "policy has seen promise too little. Give rows that it has not seen, or "
                "held_out='folds' (in time: 'rolling')."
            ),
            stacklevel=4,
        )
