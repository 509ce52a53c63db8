"""What was promised: a bound on the mean cost of what comes next, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow import _checks
from hedgerow._frames import require_pandas
from hedgerow.ambiguity import Ambiguity
from hedgerow.certify import conformal
from hedgerow.describe.display import Display, Facts
from hedgerow.describe.numbers import counted, number, percent


@dataclass(frozen=True, repr=False)
class Promise(Display):
    """A promise about the mean cost of what comes next.

    Attributes
    ----------
    promise : float
        What the mean cost of the next block is at most, with probability ``level``.
    level : float
        Probability, over histories and what comes next.
    horizon : int
        How long a block is, in ``unit``; of labelled blocks their median length.
    unit : str
        "row", or for panels "period": all series in one of them.
    blocks : int
        Blocks that were held out.
    needed : int
        Blocks that the level needs at least (method "blocks").
    nominal : float
        Mean cost of a row under the nominal distribution, of a panel in training: the cost if
        nothing changes.
    method, held_out, confidence
        How it was found.
    excess : (blocks,) array
        By how much each held-out block cost more than was expected of the policy that met it.
    costs, sizes : (blocks,) arrays
        Mean cost of a row of each block, and how long it is.
    """

    promise: float
    level: float
    horizon: int
    unit: str
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

    @property
    def assumption(self) -> str:
        """What the promise rests on, in one sentence."""
        units = f"{self.unit}s"
        if self.method == "concentration":
            return (
                f"The next {units} are drawn as the held-out {units} were, independently, and "
                "deviations are small enough for the paper's inequality."
            )
        if self.method == "bootstrap":
            return (
                f"The next {units} are drawn as the held-out {units} were, depend on near {units} "
                "only, and there are many."
            )
        return (
            "The next block is exchangeable with the held-out blocks: any order of them all was "
            "equally likely."
        )

    @property
    def guarantee(self) -> str:
        """How much of the level is proved under the assumption."""
        if self.method != "blocks":
            return f"for large samples; nothing is proved for so many {self.unit}s"
        if self.held_out != "given":
            return "approximate: the held-out blocks judged policies trained on fewer rows"
        if self.confidence is not None:
            return f"exact, for {percent(self.confidence)} of all histories at least"
        return "exact at any number of blocks, on average over histories"

    def __str__(self) -> str:
        """Say the promise in one sentence."""
        return f"{self._sentence()}."

    def _sentence(self) -> str:
        next_ones = f"the next {counted(self.horizon, self.unit)}"
        cost = "the mean cost of" if self.unit == "row" else "the mean cost of a row over"
        promise = number(self.promise)
        return f"With probability {percent(self.level)} {cost} {next_ones} is at most {promise}"

    def _heading(self) -> str:
        return str(self)

    def _facts(self) -> Facts:
        proof = f"{self.method}, {self.held_out}"
        return [
            ("if nothing changes", number(self.nominal)),
            ("blocks", f"{self.blocks:,} held out ({proof}); {self.needed:,} needed"),
            ("assumption", self.assumption),
            ("guarantee", self.guarantee),
        ]

    def to_frame(self) -> Any:
        """Return the held-out blocks as a pandas table: label, length, cost, excess, kept."""
        found = {"block": self.labels, f"{self.unit}s": self.sizes, "cost": self.costs}
        kept = self.nominal + self.excess <= self.promise
        return require_pandas().DataFrame(found | {"excess": self.excess, "kept": kept})

    def promise_at(self, level: float) -> float:
        """Return the promise at another level from these blocks; infinite if they are too few."""
        if self.method != "blocks":
            raise ValueError("Other levels are read off blocks; calibrate again for this method.")
        place = conformal.rank(self.blocks, _checks.below_one("level", level), self.confidence)
        if place > self.blocks:
            return float("inf")
        return self.nominal + float(np.sort(self.excess)[place - 1])

    def to_json(self) -> dict[str, Any]:
        """Return what a policy file or a scheduler is told."""
        return {
            "promise": float(self.promise),
            "level": float(self.level),
            "horizon": int(self.horizon),
            "blocks": int(self.blocks),
            "nominal": float(self.nominal),
            "method": self.method,
            "held_out": self.held_out,
        }


@dataclass(frozen=True, repr=False)
class Calibration(Promise):
    """A promise about the mean cost of what comes next, and the radius that covers it.

    Attributes
    ----------
    promise, level, horizon, blocks, nominal, excess, ...
        As of a ``Promise``.
    radius : float
        The smallest radius whose certified value is at least the promise; infinite if none is.
    model : Ambiguity
        The model with the radius.
    error : float
        Numerical error of the value at the radius. Sampling error is covered by the level.
    status : str
        "converged", or "node limit" if the numerical tolerance was not met.
    """

    radius: float
    model: Ambiguity
    error: float
    status: str

    def __str__(self) -> str:
        """Say the promise and its radius in one sentence."""
        if self.radius == float("inf"):
            name = type(self.model).__name__
            return f"{self._sentence()}, which is more than {name} reaches within any radius."
        return f"{self._sentence()}: a radius of {number(self.radius)}."

    def _facts(self) -> Facts:
        return [*super()._facts(), ("numerical error", number(self.error, 2))]

    def to_json(self) -> dict[str, Any]:
        """Return what a policy file or a scheduler is told."""
        return super().to_json() | {"radius": float(self.radius)}
