"""A radius with a promise: the cost that the next rows stay below, and the radius that covers it.

    excess_b = mean cost of block b − nominal cost of the policy that had not seen it
    promise  = nominal cost + bound on the next block's excess            (``conformal``)
    radius   = the smallest ρ with  v(ρ) ≥ promise                        (``reaching``)

Since v rises with ρ, "the next block costs at most v(ρ)" is monotone in ρ, so choosing ρ by it is
conformal risk control, and all that is random in it is the rank of one block among B + 1. Where
blocks come from, and what they cost beyond what was expected, is for ``held_out``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from hedgerow import _checks
from hedgerow.ambiguity import Ambiguity
from hedgerow.certify import conformal
from hedgerow.certify.held_out import HELD_OUT, block_labels, held_out_costs, problem_around
from hedgerow.certify.reaching import Reached, radius_reaching, with_radius
from hedgerow.data.table_files import require_pandas
from hedgerow.describe.display import Display, Facts
from hedgerow.describe.numbers import counted, number, percent

if TYPE_CHECKING:
    from hedgerow.estimator import RobustPolicy

METHODS = ("blocks", "bootstrap", "concentration")
SMALLEST = 1e-6
"""A radius that is given to a model must be greater than 0."""


@dataclass(frozen=True, repr=False)
class Calibration(Display):
    """A promise about the mean cost of what comes next, and the radius that covers it.

    Attributes
    ----------
    promise : float
        What the mean cost of the next block is at most, with probability ``level``.
    radius : float
        The smallest radius whose certified value is at least the promise; infinite if none is.
    level : float
        Probability, over histories and what comes next.
    horizon : int
        Rows of a block; of labelled blocks their median number.
    blocks : int
        Blocks that were held out.
    needed : int
        Blocks that the level needs at least (method "blocks").
    nominal : float
        Mean cost under the nominal distribution: the cost if nothing changes.
    method, held_out, confidence
        How it was found.
    excess : (blocks,) array
        By how much each held-out block cost more than was expected of the policy that met it.
    costs, sizes : (blocks,) arrays
        Mean cost of each block, and its rows.
    model : Ambiguity
        The model with the radius.
    error : float
        Numerical error of the value at the radius. Sampling error is covered by the level.
    status : str
        "converged", or "node limit" if the numerical tolerance was not met.
    """

    promise: float
    radius: float
    level: float
    horizon: int
    blocks: int
    needed: int
    nominal: float
    method: str
    held_out: str
    confidence: float | None
    excess: np.ndarray
    costs: np.ndarray
    sizes: np.ndarray
    labels: np.ndarray
    model: Ambiguity
    error: float
    status: str

    @property
    def assumption(self) -> str:
        """What the promise rests on, in one sentence."""
        if self.method == "concentration":
            return (
                "The next rows are drawn as the held-out rows were, independently, and deviations "
                "are small enough for the paper's inequality."
            )
        if self.method == "bootstrap":
            return (
                "The next rows are drawn as the held-out rows were, depend on near rows only, and "
                "there are many."
            )
        return (
            "The next block is exchangeable with the held-out blocks: any order of them all was "
            "equally likely."
        )

    @property
    def guarantee(self) -> str:
        """How much of the level is proved under the assumption."""
        if self.method != "blocks":
            return "for large samples; nothing is proved for so many rows"
        if self.held_out != "given":
            return "approximate: the held-out blocks judged policies trained on fewer rows"
        if self.confidence is not None:
            return f"exact, for {percent(self.confidence)} of all histories at least"
        return "exact at any number of blocks, on average over histories"

    def __str__(self) -> str:
        """Say the promise in one sentence."""
        return (
            f"With probability {percent(self.level)} the mean cost of the next "
            f"{counted(self.horizon, 'row')} is at most {number(self.promise)}: a radius of "
            f"{number(self.radius)}."
        )

    def _heading(self) -> str:
        return str(self)

    def _facts(self) -> Facts:
        proof = f"{self.method}, {self.held_out}"
        return [
            ("if nothing changes", number(self.nominal)),
            ("blocks", f"{self.blocks:,} held out ({proof}); {self.needed:,} needed"),
            ("assumption", self.assumption),
            ("guarantee", self.guarantee),
            ("numerical error", number(self.error, 2)),
        ]

    def to_frame(self) -> Any:
        """Return the held-out blocks as a pandas table: label, rows, cost, excess, kept."""
        found = {"block": self.labels, "rows": self.sizes, "cost": self.costs}
        kept = self.nominal + self.excess <= self.promise
        return require_pandas().DataFrame(found | {"excess": self.excess, "kept": kept})

    def promise_at(self, level: float) -> float:
        """Return the promise at another level from these blocks; infinite if they are too few."""
        if self.method != "blocks":
            raise ValueError("Other levels are read off blocks; calibrate again for this method.")
        place = conformal.rank(self.blocks, _below_one("level", level), self.confidence)
        if place > self.blocks:
            return float("inf")
        return self.nominal + float(np.sort(self.excess)[place - 1])

    def to_json(self) -> dict[str, Any]:
        """Return what a policy file or a scheduler is told."""
        return {
            "promise": float(self.promise),
            "radius": float(self.radius),
            "level": float(self.level),
            "horizon": int(self.horizon),
            "blocks": int(self.blocks),
            "nominal": float(self.nominal),
            "method": self.method,
            "held_out": self.held_out,
        }


def calibrate(
    policy: RobustPolicy,
    X: Any,
    Y: Any,
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
) -> Calibration:
    """Return the smallest radius whose certified value bounds the next rows' mean cost.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy.
    X, Y : array-like
        With ``held_out="given"`` rows that the policy was not trained on; else its whole history.
        In the order in which they came, if they came in time.
    level : float
        Probability of the promise.
    horizon : int or None
        Rows that the promise is about. None: as many as leave enough blocks for the level.
    blocks : (rows,) array-like or None
        Labels instead of a horizon, such as months: rows with one label are one block.
    method : {"blocks", "bootstrap", "concentration"}
        By rank among held-out blocks, whose level holds at any number of blocks; by resampling
        rows, or by the paper's inequality for means, which hold for large samples and serve for
        comparison.
    held_out : {"given", "folds", "rolling"}
        Rows that the policy has not seen, or its history: without one fold of blocks each, or in
        time on what was before; for these two it is trained again ``folds`` times.
    folds : int
        Folds, or origins in time.
    confidence : float or None
        Ask the level to hold, given the held-out blocks, for this share of histories; None: on
        average over histories. Method "blocks" only.
    ambiguity : Ambiguity or None
        The model whose radius is sought; None: the policy's own.
    tolerance : float
        Numerical tolerance of the value at the radius.
    random_state : int
        Seed of nodes and resampling.

    Returns
    -------
    Calibration

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
    policy = _checks.fitted_policy(policy)
    _checks.one_of("method", method, METHODS)
    _checks.one_of("held_out", held_out, HELD_OUT)
    level = _below_one("level", level)
    if confidence is not None:
        _below_one("confidence", confidence)
        if method != "blocks":
            raise ValueError(f"confidence is understood with method='blocks'; got {method!r}.")
    model = with_radius(ambiguity or policy.given_, 1.0)
    contexts = policy.contexts(X)
    if policy.alone() is not policy:
        if held_out != "given":
            raise ValueError(
                f"held_out={held_out!r} would train the last step of a pipeline without the "
                "others: give rows that it was not trained on, with held_out='given'."
            )
        X, policy = contexts, policy.alone()  # what the other steps made
        if hasattr(policy, "feature_names_in_"):
            X = require_pandas().DataFrame(contexts, columns=policy.feature_names_in_)
    outcomes = policy.outcomes(Y, contexts)
    policy.tell_typos(contexts, outcomes)
    if held_out != "given":
        _checks.count("folds", folds, 2)
    needed = conformal.needed(level, confidence) if method == "blocks" else 1
    labels = block_labels(len(contexts), horizon, blocks, needed, held_out, folds)
    held = held_out_costs(policy, X, Y, labels, held_out, folds)
    size, kept = held.typical, len(held.excess)
    if method == "blocks":
        place = conformal.rank(kept, level, confidence)
        if place > kept:
            raise ValueError(_too_few(level, confidence, needed, kept, size, held_out))
        bound = float(np.sort(held.excess)[place - 1])
    elif method == "bootstrap":
        bound = conformal.bootstrap(held.rows, level, size, random_state)
    else:
        bound = conformal.concentration(held.rows, level, size)
    promise = held.nominal + bound
    reached = _radius(policy, contexts, outcomes, model, promise, tolerance, random_state)
    return Calibration(
        promise=promise,
        radius=reached.radius,
        level=level,
        horizon=size,
        blocks=kept,
        needed=needed,
        nominal=held.nominal,
        method=method,
        held_out=held_out,
        confidence=confidence,
        excess=held.excess,
        costs=held.costs,
        sizes=held.sizes,
        labels=held.labels,
        model=with_radius(model, max(reached.radius, SMALLEST)),
        error=reached.doubt,
        status=reached.status,
    )


def _radius(
    policy: RobustPolicy,
    X: np.ndarray,
    Y: np.ndarray,
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


def _too_few(
    level: float, confidence: float | None, needed: int, blocks: int, size: int, held_out: str
) -> str:
    sure = "" if confidence is None else f" with confidence {percent(confidence)}"
    rows = f"about {needed * size:,} held-out rows" if held_out == "given" else "more history"
    highest = blocks / (blocks + 1) if confidence is None else (1 - confidence) ** (1 / blocks)
    return (
        f"A level of {percent(level)}{sure} needs {counted(needed, 'held-out block')} of "
        f"{counted(size, 'row')}, but there are {blocks}: bring {rows}, ask for a shorter horizon, "
        f"for a level of at most {percent(highest)}, or for method='bootstrap', whose level is not "
        "proved."
    )


def _below_one(name: str, value: Any) -> float:
    """A probability that can be promised: between 0 and 1, and neither."""
    share = _checks.fraction(name, value)
    if share == 1:
        raise ValueError(f"{name} must be less than 1: nothing is certain; got {value!r}.")
    return share
