"""What every solver offers: where nodes go, and a run from a training problem to a trained rule."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from hedgerow import _checks
from hedgerow._components import ABSENT, Component, single
from hedgerow.ambiguity import Budget, Problem, Setting
from hedgerow.data import TrainingTable
from hedgerow.kernels import Nodes
from hedgerow.rules import FittedRule
from hedgerow.solvers.training import Objective, Parameters, Progress, Solution, TrainingProblem

SAMPLED_OUTCOME_NODES = 16
ABOVE_FLOOR, CLEAR_OF_FLOOR = 1e-4, 2.0
"""Above the smallest admissible penalty at which the search for one begins: in working units, and
in such penalties. A rule that is yet to learn slopes will need more than the first one."""
FARTHEST = 10.0
"""Of what a radius allows on average: what training lets a single point move."""


class Solver(Component):
    """Base of all solvers (abstract).

    ``nodes`` and ``outcome_nodes`` are how many nodes of the solver's own kind stand around each
    context and outcome, or node rules. A context with more outcomes than ``outcomes_per_context``
    is represented by a systematic sample of them.
    """

    steps = ABSENT
    nodes = ABSENT
    outcome_nodes = ABSENT
    outcomes_per_context = ABSENT

    def check(self) -> None:
        """Counts are whole and positive."""
        _checks.count("steps", self.steps)
        _checks.count("outcomes_per_context", self.outcomes_per_context)
        for name in ("nodes", "outcome_nodes"):
            value = getattr(self, name)
            if not (isinstance(value, Nodes) or (value is None and name == "outcome_nodes")):
                _checks.count(name, value)

    @abstractmethod
    def node_rule(self, count: int) -> Nodes:
        """Return a rule that hands out so many nodes, of the kind this solver works with."""

    @abstractmethod
    def run(
        self, training: TrainingProblem, key: PRNGKeyArray, progress: Progress | None = None
    ) -> Solution:
        """Train."""

    def compile(self, training: TrainingProblem, key: PRNGKeyArray) -> None:
        """Compile what ``run`` will need for a problem of this shape; here nothing is known."""
        return

    def training(
        self,
        problem: Problem,
        rule: FittedRule,
        penalty: float | None = None,
        budget: Budget | None = None,
        table: TrainingTable | None = None,
    ) -> TrainingProblem:
        """Return what to train on, from a rule to begin with.

        Under a radius ``budget`` is what it leaves and ``penalty`` where to begin. ``table`` is
        what to train on if it is not the problem's own.
        """
        if table is None:
            table = problem.table(self.outcomes_per_context)
        nodes = self._rule(self.nodes), self._outcome_rule(problem)
        setting = Setting(problem.working_loss(), problem.kernels, *nodes)
        if budget is not None:
            setting = replace(setting, farthest=np.float64(FARTHEST * budget.excess))
        model = problem.working if penalty is None else problem.working.at_penalty(penalty)
        parameters, fixed = rule.split()
        model, budget = single(model), single(budget)
        log_penalty = None
        if budget is not None:
            # at the floor itself, where a radius of order 1 may lead, the logarithm would be −∞
            floor = float(budget.floor)
            above = max(float(penalty or 0.0) - floor, ABOVE_FLOOR, CLEAR_OF_FLOOR * floor)
            log_penalty = jax.device_put(np.log(np.float32(above)))
        return TrainingProblem(
            Objective(fixed, table, single(setting), model, budget),
            Parameters(parameters, log_penalty),
            table.slots(problem.model.slots(problem.nominal)),
        )

    def _rule(self, nodes: Any) -> Nodes:
        return nodes if isinstance(nodes, Nodes) else self.node_rule(nodes)

    def _outcome_rule(self, problem: Problem) -> Nodes | None:
        """Node rule around outcomes; None where the loss's closed form serves."""
        if self.outcome_nodes is not None:
            return self._rule(self.outcome_nodes)
        kernels = problem.kernels
        if kernels is None or problem.one_loss().closed_moments(kernels.outcome) is not None:
            return None
        return self.node_rule(SAMPLED_OUTCOME_NODES)
