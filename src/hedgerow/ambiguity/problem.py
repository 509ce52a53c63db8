"""A problem: a loss and a model on a nominal distribution, restated in working units once.

Training, certified values and worst cases are all asked about the same problem, with a rule of
their own. The model appears in it three times: as it was given, with numbers in the user's units
("auto" scales resolved, an inadmissible penalty refused), and in working units.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from hedgerow._components import double
from hedgerow.ambiguity.base import Ambiguity, Kernels, Setting
from hedgerow.data import NominalDistribution, TrainingTable, Units
from hedgerow.kernels import Nodes, Reference
from hedgerow.losses import Loss, along, bound, by_row, parameters
from hedgerow.programs import refuse_in_forked_process
from hedgerow.rules import FittedRule
from hedgerow.rules.base import decide_rows

COVERED = 2000


@dataclass(frozen=True)
class Problem:
    """What all the rest is asked about.

    Attributes
    ----------
    nominal, units, loss : the data, what connects them to working units, and what decisions cost
        in each context
    given, model, working : Ambiguity
        The model as given, in the user's units and in working units.
    kernels : Kernels or None
        Around nominal points, in working units; None if points never move.
    pool : object or None
        What the loss grows for compiled programs (``Loss.pool``): this problem's own.
    """

    nominal: NominalDistribution
    units: Units
    loss: Loss
    given: Ambiguity
    model: Ambiguity
    working: Ambiguity
    kernels: Kernels | None
    pool: Any

    @classmethod
    def of(
        cls,
        nominal: NominalDistribution,
        units: Units,
        loss: Loss,
        given: Ambiguity,
        pool: Any = None,
    ) -> Problem:
        """Resolve and restate a model; ``pool`` goes on with what another problem has grown."""
        refuse_in_forked_process()  # here begin fits, values and worst cases
        loss = along(loss, nominal.contexts)
        model = given.resolve(units, loss, nominal)
        censored = nominal.entry_low is not None
        kernels = model.censored_kernels(units, loss) if censored else model.kernels(units, loss)
        working = model.in_units(units)
        return cls(nominal, units, loss, given, model, working, kernels, pool or loss.pool())

    def against(self, given: Ambiguity) -> Problem:
        """Return another model on the same data."""
        return Problem.of(self.nominal, self.units, self.loss, given, self.pool)

    def working_loss(self) -> Loss:
        """Return the loss in working units, as compiled programs may evaluate it by now.

        Parameters that are read from contexts are still to be put in (``Setting.at``).
        """
        units, loss = self.units, self.loss if self.pool is None else self.pool.loss()
        return loss.in_units(units.y_unit, units.z_unit, units.loss_unit)

    def parameters(self) -> Float[np.ndarray, "contexts p"] | None:
        """Return what the working loss reads from each context; None: nothing."""
        if not self.loss.varies():
            return None
        return parameters(self.working_loss(), self.nominal.contexts)

    def table(self, outcomes_per_context: int) -> TrainingTable:
        """Return the nominal distribution on the device, to train on: one, however often asked."""
        if outcomes_per_context not in self._tables:
            self._tables[outcomes_per_context] = TrainingTable.build(
                self.nominal, self.units, outcomes_per_context, parameters=self.parameters()
            )
        return self._tables[outcomes_per_context]

    @cached_property
    def _tables(self) -> dict[int, TrainingTable]:
        return {}

    def loss_of(self, contexts: np.ndarray) -> Loss:
        """Return the working loss of rows that have these contexts, by their places."""
        read = self.parameters()
        return by_row(self.working_loss(), None if read is None else read[contexts])

    def one_loss(self) -> Loss:
        """Return the working loss of one context, to ask what it knows of itself."""
        read = self.parameters()
        return self.working_loss() if read is None else bound(self.working_loss(), read[0])

    def working_slopes(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the least and the largest derivative of any row's loss in the decisions."""
        with jax.enable_x64(True):
            found = by_row(self.working_loss(), self.parameters()).decision_slopes()
            return found and (np.asarray(found[0]), np.asarray(found[1]))

    def setting(self, context_nodes: Nodes, outcome_nodes: Nodes | None) -> Setting:
        """Return loss and kernels in working units, in float64, with the given nodes."""
        return double(Setting(self.working_loss(), self.kernels, context_nodes, outcome_nodes))

    def cover(self, rule: FittedRule, widen: float = 0.0) -> Any:
        """Grow the loss's pool around a rule's decisions and the data, and return its report.

        Some contexts are jittered, their decisions multiplied by up to 1 ± ``widen``, and paired
        with outcomes of their own and of others, all stretched at random. None without a pool.
        """
        if self.pool is None:
            return None
        rng = np.random.default_rng(0)
        nominal, units = self.nominal, self.units
        rows = rng.integers(len(nominal.contexts), size=COVERED)
        contexts = units.contexts(nominal.contexts[rows], np.float64)
        contexts = contexts + 0.3 * rng.normal(size=contexts.shape) * (units.x_factor > 0)
        decisions = decide_rows(rule, contexts.astype(np.float32)) * units.z_unit
        decisions = decisions * rng.uniform(1 - widen, 1 + widen, decisions.shape)
        own = nominal.entry_outcome[nominal.start[rows]]
        other = rng.integers(len(nominal.outcomes), size=COVERED)
        outcomes = nominal.outcomes[np.where(rng.random(COVERED) < 0.5, own, other)]
        outcomes = outcomes * rng.uniform(0.5, 1.5, outcomes.shape)
        support = self.loss.support_for(outcomes.shape[1])
        if support is not None:
            outcomes = np.clip(outcomes, *support)
        return self.pool.grow(decisions, outcomes)

    def in_working_units(self, reference: tuple[Reference, Reference]) -> tuple[Reference, ...]:
        """Return reference measures on contexts and outcomes, restated from the user's units."""
        contexts, outcomes = reference
        return (
            contexts.replace(points=self.units.contexts(np.asarray(contexts.points), np.float64)),
            outcomes.replace(points=self.units.outcomes(np.asarray(outcomes.points), np.float64)),
        )
