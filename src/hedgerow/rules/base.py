"""What every rule offers: a description the user composes, and a fitted function.

A ``Rule`` is the description (how many trees, how deep). ``build`` turns it into a ``FittedRule``
that begins at a ``Start``: an Equinox module that maps standardised contexts, rows last (features,
rows), to decisions in working units (decisions, rows). Rows last keeps the forest's inner loop
contiguous.

To be trained, valued and saved a fitted rule needs no more than ``__call__``, ``decision_set`` and
``trainable``. Everything else is a capability that it may offer: one it does not offer is None, and
whoever asks for it says which method to write.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow._components import Component, single
from hedgerow.data.units import Units
from hedgerow.decisions import DecisionSet
from hedgerow.describe.numbers import counted
from hedgerow.describe.page_form import PageForm
from hedgerow.plain import PlainRule
from hedgerow.plain.policy import by_blocks
from hedgerow.programs import program
from hedgerow.rules.expansion import Expansion
from hedgerow.rules.forest_arrays import ForestArrays
from hedgerow.rules.slopes import Slopes

ROWS_AT_ONCE = 8192
FEWEST_ROWS = 1024


class FittedRule(eqx.Module):
    """A rule with parameters. Fields named in ``trainable`` are learned, the rest are fixed."""

    trainable: ClassVar[tuple[str, ...]] = ()
    decision_set: eqx.AbstractVar[DecisionSet]

    @abstractmethod
    def __call__(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Decide for every column of x."""

    def paces(self) -> dict[str, float]:
        """How much faster than the learning rate a field moves with Adam; 1 where not named."""
        return {}

    def at_paces(self) -> Self:
        """Return updates, shaped like the rule itself, with every field at its own pace."""
        paces = self.paces()
        if not paces:
            return self
        fields = [getattr(self, name) * pace for name, pace in paces.items()]
        return eqx.tree_at(lambda rule: [getattr(rule, name) for name in paces], self, fields)

    def split(self) -> tuple[FittedRule, FittedRule]:
        """Return (parameters, everything else); ``eqx.combine`` puts them together again."""
        fixed = jax.tree_util.tree_map(lambda _: False, self)
        names = self.trainable
        learned = eqx.tree_at(
            lambda rule: [getattr(rule, n) for n in names], fixed, [True] * len(names)
        )
        return eqx.partition(self, learned)

    def decide(self, contexts: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, "rows k"]:
        """Decisions for standardised contexts: by the plain form, or else compiled, in float32."""
        form = self.plain()
        if form is None:
            return decide_rows(self, contexts)
        return by_blocks(form.decide, contexts, self.decision_set.dimension)

    def plain(self) -> PlainRule | None:
        """The rule with NumPy alone, for decisions without JAX and for exports; None: JAX decides.

        A part of ``hedgerow.plain``, or any object with the methods of a ``PlainRule``.
        """
        return None

    def words(self) -> str:
        """What kind of rule it is, for people."""
        learned = sum(int(np.size(getattr(self, name))) for name in self.trainable)
        return f"A {type(self).__name__} with {counted(learned, 'parameter')}"

    def is_bounded(self) -> bool:
        """Whether decisions stay within bounds however far contexts go."""
        return False

    def check_storable(self) -> None:
        """Raise one sentence if the rule cannot go into a file."""

    def check_restored(self, n_features: int) -> None:
        """Raise one sentence if numbers that a file held, finite ones, cannot be this rule's."""

    def trees(self, n_features: int | None = None) -> ForestArrays | None:
        """The rule as soft trees, if it is their mean; explanations are then closed form.

        ``n_features`` says how many features there are, where trees look at some only.
        """
        return None

    def bounds(
        self, centre: Float[np.ndarray, " d"], width: Float[np.ndarray, " d"]
    ) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]] | None:
        """Bounds on the decisions for all standardised contexts with |x − centre| ≤ width."""
        return None

    def expansion(self, n_features: int) -> Expansion | None:
        """What is certain around any context; upper bounds on robust values need it."""
        return None

    def path_integrals(
        self,
        starts: Float[np.ndarray, "n d"],
        end: Float[np.ndarray, " d"],
        weights: Float[np.ndarray, " n"],
        tolerance: Float[np.ndarray, " k"],
    ) -> Float[np.ndarray, "k d"] | None:
        """Weighted sum over starts of (end − start)·∫₀¹ ∂f, where quadrature would be slow.

        Contexts are standardised, decisions in working units; so is the error allowed in each.
        """
        return None

    def hardened(self) -> FittedRule | None:
        """Return the same rule with every gate answered by yes or no (τ → 0), if it has gates."""
        return None

    def averaged(self, others: Sequence[FittedRule]) -> FittedRule | None:
        """Return one rule that decides like the mean of this one and others of its kind."""
        return None

    def page_form(self) -> PageForm | None:
        """What a report's page decides with, or None: then it shows no decisions for new inputs."""
        return None


class Start(eqx.Module):
    """What a rule begins with: which features there are, and a constant decision.

    Attributes
    ----------
    n_features : int
    decision_set : DecisionSet
        Where decisions lie, in working units.
    decision : (decisions,)
        The best constant decision, in working units.
    slopes : Slopes, optional
        Where outcomes rise; for rules with ``begins_along_slopes`` only.
    varying : tuple of int
        The features that vary, if some do not; empty: all are to be looked at.
    """

    n_features: int = eqx.field(static=True)
    decision_set: DecisionSet
    decision: Float[Array, " k"]
    slopes: Slopes | None = None
    varying: tuple[int, ...] = eqx.field(static=True, default=())

    @classmethod
    def of(cls, units: Units, decision_set: DecisionSet, slopes: Slopes | None = None) -> Start:
        """The best constant decision of the data, whose decisions lie in a set in its units."""
        decision_set = single(decision_set.in_units(units.z_unit))
        varies = units.x_factor > 0
        varying = () if varies.all() else tuple(np.flatnonzero(varies).tolist())
        decision = single(units.constant / units.z_unit)
        return cls(len(varies), decision_set, decision, slopes, varying)

    @property
    def looked_at(self) -> tuple[int, ...]:
        """Features to look at: those that vary, or all if none is known to."""
        return self.varying or tuple(range(self.n_features))

    @property
    def raw(self) -> Float[Array, " k"]:
        """What is mapped to the decision."""
        return self.decision_set.start_raw(self.decision)


class Rule(Component):
    """The description of a rule (abstract)."""

    @property
    def begins_along_slopes(self) -> bool:
        """Whether ``build`` looks at slopes; if not, nobody need find them."""
        return False

    def mean_of(self, count: int) -> Rule | None:
        """Return the description of ``FittedRule.averaged`` of so many; None: there is none."""
        return None

    @abstractmethod
    def build(self, key: PRNGKeyArray, start: Start) -> FittedRule:
        """Return an initial rule whose decisions are near the one to start with."""


@program(brief=True)
def build_rule(rule: Rule, key: PRNGKeyArray, start: Start) -> FittedRule:
    """Initialise a rule in one program: many small ones would take seconds to compile."""
    return rule.build(key, start)


def decide_rows(rule: FittedRule, contexts: np.ndarray) -> np.ndarray:
    """Decisions (rows, k) for standardised contexts (rows, d), in float32, few sizes at a time."""
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
    return np.asarray(decide_columns(rule, padded))[:, :rows].T


@program
def decide_columns(rule: FittedRule, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
    """Decisions for every column of x, compiled."""
    return rule(x)
