"""What every rule offers: a description the user composes, and a fitted function.

A ``Rule`` is the description (how many trees, how deep). ``build`` turns it into a ``FittedRule``,
an Equinox module that maps standardised contexts, rows last (features, rows), to decisions in
working units (decisions, rows). Rows last keeps the forest's inner loop contiguous.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow._components import Component
from hedgerow.decisions import DecisionSet
from hedgerow.programs import program

ROWS_AT_ONCE = 8192
FEWEST_ROWS = 1024


class FittedRule(eqx.Module):
    """A rule with parameters. Fields named in ``trainable`` are learned, the rest are fixed.

    ``bounded``: decisions stay within bounds however far contexts go.
    """

    trainable: ClassVar[tuple[str, ...]] = ()
    bounded: ClassVar[bool] = False
    decision_set: eqx.AbstractVar[DecisionSet]

    def __call__(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Decide for every column of x."""
        raise NotImplementedError

    def paces(self) -> dict[str, float]:
        """How much faster than the learning rate a field moves with Adam; 1 where not named."""
        return {}

    def split(self) -> tuple[FittedRule, FittedRule]:
        """Return (parameters, everything else); ``eqx.combine`` puts them together again."""
        fixed = jax.tree_util.tree_map(lambda _: False, self)
        names = self.trainable
        learned = eqx.tree_at(
            lambda rule: [getattr(rule, n) for n in names], fixed, [True] * len(names)
        )
        return eqx.partition(self, learned)


class Slopes(NamedTuple):
    """Directions in which outcomes rise, of unit variance, and the share of each they explain."""

    directions: Float[np.ndarray, "m d"]
    explained: Float[np.ndarray, " m"]


class Rule(Component):
    """The description of a rule (abstract)."""

    @property
    def begins_along_slopes(self) -> bool:
        """Whether ``build`` looks at slopes; if not, nobody need find them."""
        return False

    def build(
        self,
        key: PRNGKeyArray,
        n_features: int,
        decision_set: DecisionSet,
        start: Float[Array, " k"],
        slopes: Slopes | None = None,
    ) -> FittedRule:
        """Return an initial rule whose decisions are near the constant decision ``start``."""
        raise NotImplementedError


def through(decision_set: DecisionSet, raw: Float[Array, "k rows"]) -> Float[Array, "k rows"]:
    """Send raw outputs, rows last, through the map onto the decision set."""
    return jnp.moveaxis(decision_set.from_raw(jnp.moveaxis(raw, 0, -1)), -1, 0)


@program(static_argnames="n_features")
def build_rule(
    rule: Rule,
    key: PRNGKeyArray,
    n_features: int,
    decision_set: DecisionSet,
    start: Float[Array, " k"],
    slopes: Slopes | None = None,
) -> FittedRule:
    """Initialise a rule in one program: many small ones would take seconds to compile."""
    return rule.build(key, n_features, decision_set, start, slopes)


def decide_rows(rule: FittedRule, contexts: np.ndarray) -> np.ndarray:
    """Decisions (rows, k) for standardised contexts (rows, d), in pieces of few sizes."""
    pieces = [
        _decide_piece(rule, contexts[start : start + ROWS_AT_ONCE])
        for start in range(0, len(contexts), ROWS_AT_ONCE)
    ]
    return np.concatenate(pieces).astype(np.float64)


def _decide_piece(rule: FittedRule, contexts: np.ndarray) -> np.ndarray:
    """Decide for up to ROWS_AT_ONCE rows, padded to one of few sizes so that nothing recompiles."""
    rows = len(contexts)
    size = FEWEST_ROWS if rows <= FEWEST_ROWS else ROWS_AT_ONCE
    padded = np.zeros((contexts.shape[1], size), np.float32)
    padded[:, :rows] = contexts.T
    return np.asarray(_decide(rule, padded))[:, :rows].T


@program
def _decide(rule: FittedRule, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
    return rule(x)
