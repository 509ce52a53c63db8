"""A rule and thresholds: numbers of the loss that are the same in all contexts, learned with it.

    f(x) = (η, g(x))

Training sees one rule (``Loss.with_thresholds``); what a policy keeps is g, and η apart from it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow._components import single
from hedgerow.data.units import Units
from hedgerow.decisions import DecisionSet
from hedgerow.losses import Loss
from hedgerow.rules.affine import ConstantRule
from hedgerow.rules.base import FittedRule, Rule, Start, build_rule
from hedgerow.rules.slopes import Slopes


class JointRule(FittedRule):
    """Thresholds, and the rule that decides."""

    trainable: ClassVar[tuple[str, ...]] = ("thresholds", "rule")
    thresholds: Float[Array, " n"]
    rule: FittedRule
    decision_set: DecisionSet

    def __call__(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """The thresholds, once per column of x, and what the rule decides there."""
        decided = self.rule(x)
        thresholds = jnp.asarray(self.thresholds, decided.dtype)[:, None]
        same = jnp.broadcast_to(thresholds, (len(self.thresholds), x.shape[1]))
        return jnp.concatenate([same, decided])

    def split(self) -> tuple[FittedRule, FittedRule]:
        """What the rule itself learns, and the thresholds."""
        learned = jax.tree_util.tree_map(lambda _: False, self)
        own = jax.tree_util.tree_map(
            lambda leaf: leaf is not None, self.rule.split()[0], is_leaf=lambda leaf: leaf is None
        )
        return eqx.partition(self, replace(learned, thresholds=True, rule=own))

    def at_paces(self) -> Self:
        """The rule at its own paces."""
        return replace(self, rule=self.rule.at_paces())

    def is_bounded(self) -> bool:
        """As the rule: thresholds do not depend on contexts."""
        return self.rule.is_bounded()

    def words(self) -> str:
        """As of the rule."""
        return self.rule.words()


def stripped(units: Units, count: int) -> Units:
    """Units without those of the first decisions, which are thresholds."""
    if count == 0:
        return units
    return replace(units, z_unit=units.z_unit[count:], constant=units.constant[count:])


def begun(
    rule: Rule, key: PRNGKeyArray, units: Units, loss: Loss, slopes: Slopes | None = None
) -> FittedRule:
    """Return the rule that training begins with, together with the thresholds of the loss."""
    outcomes, count = len(units.y_unit), loss.thresholds
    start = Start.of(stripped(units, count), loss.decided_for(outcomes), slopes)
    built = build_rule(rule, key, start)
    return joined(built, units.constant[:count], units, loss)


def joined(rule: FittedRule, thresholds: np.ndarray, units: Units, loss: Loss) -> FittedRule:
    """Return a rule with thresholds, in the user's units, before its decisions."""
    count = loss.thresholds
    if count == 0:
        return rule
    at = single(np.asarray(thresholds, np.float64) / units.z_unit[:count])
    decision_set = single(loss.decisions_for(len(units.y_unit)).in_units(units.z_unit))
    return JointRule(thresholds=at, rule=rule, decision_set=decision_set)


def parted(rule: FittedRule, units: Units, loss: Loss) -> tuple[FittedRule, np.ndarray | None]:
    """Return the rule that decides, and the thresholds in the user's units; None: there are none.

    A rule that has none of its own is the best constant, which units know.
    """
    count = loss.thresholds
    if count == 0:
        return rule, None
    if isinstance(rule, JointRule):
        return rule.rule, np.asarray(rule.thresholds, np.float64) * units.z_unit[:count]
    start = Start.of(stripped(units, count), loss.decided_for(len(units.y_unit)))
    return ConstantRule.at(start), units.constant[:count]
