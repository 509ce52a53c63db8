"""A problem: everything that training, certified values and worst cases have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow._components import double, single
from hedgerow.ambiguity import Allowance, Ambiguity, Setting
from hedgerow.data.nominal import NominalDistribution
from hedgerow.data.training_table import TrainingTable
from hedgerow.data.units import Units
from hedgerow.kernels.nodes import Nodes, Reference
from hedgerow.losses import Loss
from hedgerow.rules import FittedRule
from hedgerow.rules.base import decide_rows
from hedgerow.solvers import Solver, Task

COVERED = 2000


@dataclass(frozen=True)
class Problem:
    """A fixed rule, in working units, against a model as it was given, on a nominal."""

    rule: FittedRule
    nominal: NominalDistribution
    units: Units
    loss: Loss
    ambiguity: Ambiguity

    def resolved(self) -> Ambiguity:
        """Return the model with numbers in the user's units."""
        return self.ambiguity.resolve(self.units, self.loss, self.nominal)

    def working_loss(self) -> Loss:
        """Return the loss in working units."""
        units = self.units
        return self.loss.in_units(units.y_unit, units.z_unit, units.loss_unit)

    def cover(self, widen: float = 0.0) -> Any:
        """Prepare the loss for decisions and outcomes near the data, and return its report.

        Some contexts are jittered, their decisions multiplied by up to 1 ± ``widen``, and paired
        with outcomes of their own and of others, all stretched at random.
        """
        if type(self.loss).prepare is Loss.prepare:
            return None
        rng = np.random.default_rng(0)
        nominal, units = self.nominal, self.units
        rows = rng.integers(len(nominal.contexts), size=COVERED)
        contexts = units.contexts(nominal.contexts[rows], np.float64)
        contexts = contexts + 0.3 * rng.normal(size=contexts.shape) * (units.x_factor > 0)
        decisions = decide_rows(self.rule, contexts.astype(np.float32)) * units.z_unit
        decisions = decisions * rng.uniform(1 - widen, 1 + widen, decisions.shape)
        own = nominal.entry_outcome[nominal.start[rows]]
        other = rng.integers(len(nominal.outcomes), size=COVERED)
        outcomes = nominal.outcomes[np.where(rng.random(COVERED) < 0.5, own, other)]
        outcomes = outcomes * rng.uniform(0.5, 1.5, outcomes.shape)
        support = self.loss.support_for(outcomes.shape[1])
        if support is not None:
            outcomes = np.clip(outcomes, *support)
        return self.loss.prepare(decisions, outcomes)

    def setting(self, context_nodes: Nodes, outcome_nodes: Nodes | None) -> Setting:
        """Return loss and kernels in working units, in float64, with the given nodes."""
        return double(
            Setting(
                loss=self.working_loss(),
                neighbourhood=self.resolved().neighbourhood(self.units, self.loss),
                context_nodes=context_nodes,
                outcome_nodes=outcome_nodes,
            )
        )

    def task(
        self,
        solver: Solver,
        penalty: float | None = None,
        allowance: Allowance | None = None,
        table: TrainingTable | None = None,
    ) -> Task:
        """Return what a solver trains on, in working units and float32.

        Under a radius ``allowance`` is what it leaves and ``penalty`` where to begin. ``table``
        saves building the same one again for another model.
        """
        model, loss = self.resolved(), self.working_loss()
        around = model.neighbourhood(self.units, self.loss)
        setting = Setting(
            loss=loss,
            neighbourhood=around,
            context_nodes=solver.context_rule(),
            outcome_nodes=solver.outcome_rule(loss, around and around.outcome),
        )
        priced = model.in_units(self.units)
        if penalty is not None:
            priced = priced.replace(penalty=penalty)
        return Task(
            rule=self.rule,
            table=table
            or TrainingTable.build(self.nominal, self.units, solver.outcomes_per_context),
            setting=single(setting),
            ambiguity=single(priced),
            slots=model.slots(self.nominal),
            allowance=single(allowance),
        )

    def in_working_units(self, reference: tuple[Reference, Reference]) -> tuple[Reference, ...]:
        """Return reference measures on contexts and outcomes, restated from the user's units."""
        contexts, outcomes = reference
        return (
            contexts.replace(points=self.units.contexts(np.asarray(contexts.points), np.float64)),
            outcomes.replace(points=self.units.outcomes(np.asarray(outcomes.points), np.float64)),
        )
