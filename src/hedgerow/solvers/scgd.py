"""Stochastic compositional gradient descent (Wang, Fang & Liu 2017), in the log domain.

u ← log( (1−β)·e^u + β·e^now ),     one u per logarithm of the problem.
"""

from __future__ import annotations

from typing import Any

from hedgerow.solvers.remembered import memory_without_logs, step_without_logs
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.solvers.trackers import no_trackers, tracked_step
from hedgerow.solvers.training import At, Objective, Parameters, Step


class SCGD(StochasticSolver):
    """Remember a moving average of each expectation.

    Takes the parameters of ``StochasticSolver``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(
    ...     loss, hr.Sinkhorn(penalty=3, epsilon=0.1), hr.Affine(), solver=hr.SCGD(steps=50)
    ... )
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def init(self, objective: Objective, parameters: Parameters, slots: int) -> Any:
        """One tracker per logarithm; without any, what that asks for."""
        reduction = objective.logs(parameters)
        if reduction is None:
            return memory_without_logs(objective, parameters)
        return no_trackers(reduction, slots)

    def step(self, objective: Objective, at: At) -> Step:
        """Mix this step's log-averages into the remembered ones."""
        drawn, share = self.draw(objective, at.key), self.tracking_at(at.step)
        if objective.logs(at.parameters) is None:
            return step_without_logs(objective, at, drawn)
        return tracked_step(objective, at, drawn, at.memory, share, objective.logs)
