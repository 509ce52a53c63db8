"""Stochastically corrected compositional gradients (Chen, Sun & Yin 2021; paper: algo-SCSC-ML).

Before mixing, what is remembered is brought up to date by its drift since it was remembered:

    u ← log( (1−β)·e^{u + drift} + β·e^now ).

The published correction is (1−β)(y + t(θ_k) − t(θ_{k−1})) + β t(θ_k). Here it is taken in the log
domain, a ratio instead of a difference, where it cannot make the tracked expectation negative.

``trackers="per-context"`` keeps one u for each logarithm in F, which is what the gradient of F
needs. A context is visited once in many steps, so its drift since the *last visit* counts; it is
measured at the nominal point, whose value then and now is known exactly. Without it (``SCGD``)
trackers go stale, and contexts that have improved since are held down by their own past.

``trackers="shared"`` keeps a single u for all contexts: with one outcome per context Algorithm 1's
y₁ and y₂ follow one recursion, and what it minimises is T·log E_x̂ E_ξ exp(Ψ/T), not F. Its drift
is that of this step's nodes since the last step, as published.

``trackers="printed"`` is Algorithm 1 to the letter, with y₁, y₂ ∈ ℝⁿ and differences
(``solvers.printed``). Both are here so that the printed algorithm can be run and compared.

A risk that is made of no logarithms has its entries' losses remembered instead (``remembered``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array

from hedgerow import _checks
from hedgerow._components import Component
from hedgerow._warnings import HedgerowWarning
from hedgerow.ambiguity import LogReduction, Tilt
from hedgerow.kernels import Anchored
from hedgerow.solvers.printed import PrintedMemory, printed_memory, printed_remarks, printed_step
from hedgerow.solvers.remembered import memory_without_logs, step_without_logs
from hedgerow.solvers.stochastic import StochasticSolver
from hedgerow.solvers.trackers import Trackers, no_trackers, tracked_step
from hedgerow.solvers.training import At, Objective, Parameters, Step, masses


class Memory(NamedTuple):
    """Trackers and, where drift is measured from step to step, the last step's parameters."""

    trackers: Trackers
    previous: Parameters | None


class Tracked(Component):
    """Brings the kind of trackers, as a first parameter."""

    trackers: str = "per-context"


class SCSC(StochasticSolver, Tracked):
    """Corrected tracking.

    Takes the parameters of ``StochasticSolver``, and ``trackers``.

    Parameters
    ----------
    trackers : {"per-context", "shared", "printed"}
        One tracker per logarithm of the objective, a single one, or the printed algorithm's y₁ and
        y₂, for models whose averages stand inside one another, such as ``CausalSinkhorn``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(
    ...     loss, hr.Sinkhorn(penalty=3, epsilon=0.1), hr.Affine(), solver=hr.SCSC(steps=50)
    ... )
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def check(self) -> None:
        """The kind of trackers is one of three."""
        super().check()
        _checks.one_of("trackers", self.trackers, ("per-context", "shared", "printed"))

    def init(self, objective: Objective, parameters: Parameters, slots: int) -> Any:
        """One tracker per logarithm, or one in all."""
        reduction = self._followed(objective, parameters)
        if reduction is None:
            return memory_without_logs(objective, parameters)
        if self.trackers == "printed":
            return printed_memory(objective, parameters)
        previous = parameters if reduction.spans_contexts() else None
        return Memory(no_trackers(reduction, slots), previous)

    def step(self, objective: Objective, at: At) -> Step:
        """Mix this step's log-averages into the corrected ones."""
        drawn, memory = self.draw(objective, at.key), at.memory
        if isinstance(memory, PrintedMemory):
            return printed_step(objective, at, drawn, self.tracking_at(at.step))
        if not isinstance(memory, Memory):
            return step_without_logs(objective, at, drawn)
        logs, setting, previous = partial(self._followed, objective), objective.setting, None
        if memory.previous is None:  # the value at the nominal point comes along as a last node
            anchored = Anchored(setting.context_nodes)
            setting = eqx.tree_at(lambda s: s.context_nodes, setting, anchored)
        else:
            previous = at.parameters

        def drift(reduction: LogReduction, tilt: Tilt, now: Array) -> tuple[Any, Any]:
            if memory.previous is None:  # remembered relative to the value at the nominal point
                return tilt.exponents[:, :, -1], tilt.exponents[:, :, -1]
            before = objective.tilt(memory.previous, *drawn, setting)
            levels = reduction.levels(before.log_moments(), masses(before, drawn[0]))
            return now - levels, 0.0

        share = self.tracking_at(at.step)
        found = tracked_step(objective, at, drawn, memory.trackers, share, logs, drift, setting)
        return found._replace(memory=Memory(found.memory, previous))

    def _followed(self, objective: Objective, parameters: Parameters) -> LogReduction | None:
        """The logarithms to follow: the objective's own, or one in the place of all."""
        logs = objective.logs(parameters)
        return logs.pooled() if logs is not None and self.trackers == "shared" else logs

    def remarks(self, memory: Any, steps: int) -> Iterator[HedgerowWarning]:
        """What became of the printed corrections."""
        return printed_remarks(memory, steps) if isinstance(memory, PrintedMemory) else iter(())
