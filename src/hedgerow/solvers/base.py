"""What every solver offers: where nodes go, and a run from a task to a trained rule."""

from __future__ import annotations

from typing import Any

from jaxtyping import PRNGKeyArray

from hedgerow import _checks
from hedgerow._components import Component
from hedgerow.kernels.kernel import Kernel
from hedgerow.kernels.nodes import Nodes
from hedgerow.losses import Loss
from hedgerow.solvers.task import Progress, Task, Training

SAMPLED_OUTCOME_NODES = 16


class Solver(Component):
    """Base of all solvers (abstract).

    ``nodes`` and ``outcome_nodes`` are how many nodes of the solver's own kind stand around each
    context and outcome, or node rules. A context with more outcomes than ``outcomes_per_context``
    is represented by a systematic sample of them.
    """

    steps: int
    nodes: Any
    outcome_nodes: Any
    outcomes_per_context: int

    def check(self) -> None:
        """Counts are whole and positive."""
        _checks.count("steps", self.steps)
        _checks.count("outcomes_per_context", self.outcomes_per_context)
        for name in ("nodes", "outcome_nodes"):
            value = getattr(self, name)
            if not (isinstance(value, Nodes) or (value is None and name == "outcome_nodes")):
                _checks.count(name, value)

    def node_rule(self, count: int) -> Nodes:
        """Return a rule that hands out so many nodes, of the kind this solver works with."""
        raise NotImplementedError

    def context_rule(self) -> Nodes:
        """Node rule around contexts."""
        return self.nodes if isinstance(self.nodes, Nodes) else self.node_rule(self.nodes)

    def outcome_rule(self, loss: Loss, kernel: Kernel | None) -> Nodes | None:
        """Node rule around outcomes; None where the loss's closed form serves."""
        if isinstance(self.outcome_nodes, Nodes):
            return self.outcome_nodes
        if self.outcome_nodes is not None:
            return self.node_rule(self.outcome_nodes)
        known = kernel is None or loss.has_log_moment(kernel)
        return None if known else self.node_rule(SAMPLED_OUTCOME_NODES)

    def run(self, task: Task, key: PRNGKeyArray, progress: Progress | None = None) -> Training:
        """Train the task's rule."""
        raise NotImplementedError
