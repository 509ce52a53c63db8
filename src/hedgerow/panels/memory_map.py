"""Rows of a pooled panel on disk: more than memory holds, and drawn from as if they were in it.

    pieces of float32 rows (contexts, outcome)  →  a gather of GATHERED rows  →  a table to train on

A gather takes row ⌊(i + u_i)·N/n⌋, u_i uniform on [0, 1), for i = 0 … n − 1: one from each of n
equal strata, so that every row is equally likely and the file is read from front to back. Training
takes its minibatches from a fresh gather for every stretch of steps; a minibatch of a gather is one
of all rows, and what is minimised is the same mean. With no more than GATHERED rows a gather is all
of them, and training is that of rows in memory, but for float32.

Units, the first rule's slopes and the comparison with the best constant are read off one gather.
What a solver remembers of single rows (``solvers.trackers``) ends with their gather: of so many
rows each is seen once or never.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from hedgerow import fitting, judging
from hedgerow._files import whole_file
from hedgerow._frames import require_pandas
from hedgerow.ambiguity import Problem
from hedgerow.data import NominalDistribution, TrainingTable
from hedgerow.estimator import RobustPolicy
from hedgerow.fitting import Parts
from hedgerow.losses import parameters
from hedgerow.panels.pooled import SEEDS, mean_of_fits
from hedgerow.solvers import StochasticSolver
from hedgerow.solvers.loop import descend

GATHERED = 2**16
"""Rows of a gather: 8 MB of 30 features, more than the minibatches of a stretch take."""
DTYPE = np.dtype("<f4")


@dataclass(frozen=True)
class MappedRows:
    """Rows in files: features by name, and last the outcome in units of its scale."""

    names: tuple[str, ...]
    pieces: tuple[Path, ...]

    @classmethod
    def of(cls, names: Sequence[str], pieces: Sequence[str | os.PathLike[str]]) -> MappedRows:
        """Take files that ``write_rows`` wrote, all with these features."""
        made = cls(tuple(names), tuple(Path(piece) for piece in pieces))
        for piece in made.pieces:
            if piece.stat().st_size % made._row_bytes:
                raise ValueError(
                    f"{piece} does not hold whole rows of {len(made.names)} features and an "
                    "outcome: it was written for other features."
                )
        return made

    def __len__(self) -> int:
        return sum(self._counts())

    def gather(
        self, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
        """Return contexts and outcomes of at most GATHERED rows, in float64.

        Files are mapped for the moment only, so that their pages do not stay.
        """
        total, counts = len(self), self._counts()
        places = np.arange(total)
        if total > GATHERED:
            places = ((np.arange(GATHERED) + rng.random(GATHERED)) * (total / GATHERED)).astype(int)
        ends = np.cumsum(counts)
        cuts = np.searchsorted(np.minimum(places, total - 1), ends[:-1])
        found = [
            np.array(self._map(piece)[own - (end - count)])
            for piece, own, end, count in zip(
                self.pieces, np.split(places, cuts), ends, counts, strict=True
            )
            if len(own)
        ]
        rows = np.concatenate(found).astype(np.float64)
        return rows[:, :-1], rows[:, -1]

    @property
    def _row_bytes(self) -> int:
        return DTYPE.itemsize * (len(self.names) + 1)

    def _counts(self) -> list[int]:
        return [piece.stat().st_size // self._row_bytes for piece in self.pieces]

    def _map(self, piece: Path) -> np.ndarray:
        return np.memmap(piece, DTYPE, mode="r").reshape(-1, len(self.names) + 1)


def write_rows(
    path: str | os.PathLike[str],
    contexts: Float[np.ndarray, "rows d"],
    outcomes: Float[np.ndarray, " rows"],
) -> None:
    """Write a piece, whole or not at all."""
    with whole_file(path) as temporary:
        np.column_stack([contexts, outcomes]).astype(DTYPE).tofile(temporary)


def learn_mapped(
    template: RobustPolicy,
    rows: MappedRows,
    seeds: int = SEEDS,
    made: Sequence[str] = (),
) -> RobustPolicy:
    """Train on rows on disk what ``learn_pooled`` trains on rows in memory."""
    if not len(rows):
        raise ValueError("There are no rows to learn from.")
    return mean_of_fits(template, len(rows), lambda own: _fit(own, rows), seeds, made)


def _fit(policy: RobustPolicy, rows: MappedRows) -> RobustPolicy:
    rng = np.random.default_rng(int(policy.random_state))
    contexts, outcomes = rows.gather(rng)
    table = require_pandas().DataFrame(contexts, columns=list(rows.names))
    if len(rows) <= GATHERED:
        return policy.fit(table, outcomes)
    parts, _, single_outcome = policy.read_history(table, outcomes, None, None)
    solver = parts.solver
    if not isinstance(solver, StochasticSolver):
        raise ValueError(
            "More rows than memory holds are trained on by a stochastic solver such as "
            f"hedgerow.SCSC(); {type(solver).__name__} is none."
        )
    problem = fitting.posed(parts, _alone(parts, contexts, outcomes))
    keys = fitting.keys_of(policy.random_state)
    rule = fitting.first_rule(parts, problem, keys.rule)
    problem.cover(rule, widen=0.9)
    training = fitting.training_of(problem, rule, solver, keys.value)
    solution = descend(training, solver, keys.training, tables=_tables(parts, problem, rows, rng))
    report = problem.cover(solution.rule)
    solution, _ = judging.judged(problem, solution, keys.value)
    policy._keep(problem, solution, keys.value, single_outcome, report)
    return policy


def _tables(
    parts: Parts, problem: Problem, rows: MappedRows, rng: np.random.Generator
) -> Iterator[TrainingTable]:
    """Tables of one shape, each of a fresh gather."""
    solver: Any = parts.solver
    loss = problem.working_loss() if problem.loss.varies() else None
    while True:
        nominal = _alone(parts, *rows.gather(rng))
        read = None if loss is None else parameters(loss, nominal.contexts)
        yield TrainingTable.build(
            nominal, problem.units, solver.outcomes_per_context, parameters=read
        )


def _alone(parts: Parts, contexts: np.ndarray, outcomes: np.ndarray) -> NominalDistribution:
    """Rows as they are, each a context of its own: ties would change a table's shape."""
    count = len(contexts)
    nominal = NominalDistribution(
        contexts=contexts,
        context_mass=np.full(count, 1 / count),
        outcomes=outcomes[:, None],
        start=np.arange(count),
        count=np.ones(count, np.int64),
        entry_outcome=np.arange(count),
        entry_mass=np.ones(count),
    )
    return nominal.within(parts.loss.support_for(1))
