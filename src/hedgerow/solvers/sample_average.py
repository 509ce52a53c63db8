"""Sample average approximation: nodes laid out once, then deterministic minimisation.

    F̂(θ) = T · Σ_k m_k log (1/M) Σ_j exp( e_k(θ; node_kj) )                       (paper: f-saa)

The sampled objective is a plain function of the parameters, in float64, with its gradient, over all
contexts; or over N1 of them, drawn with replacement by their masses (``contexts``), as in the
paper's SAA, each draw with nodes of its own. With dense nodes, such as Gauss's, it is the true
objective as far as anyone can tell; its minimum over few nodes is low by about its log-averages'
variance/(2·nodes).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, PRNGKeyArray
from scipy.optimize import OptimizeResult, minimize

from hedgerow import _checks, ladder
from hedgerow._components import double, single
from hedgerow.kernels import Nodes, Sobol
from hedgerow.programs import program
from hedgerow.rules import FittedRule
from hedgerow.solvers.base import Solver
from hedgerow.solvers.training import (
    Interrupted,
    Objective,
    Parameters,
    Progress,
    Solution,
    TrainingProblem,
    masses,
)

NUMBERS_AT_ONCE = 2**18
"""Contexts × nodes × outcomes × terms whose exponents are held at a time."""
MEMORY = 20
"""Pairs of steps and gradient changes that L-BFGS remembers."""


class SAA(Solver):
    """Fixed nodes and L-BFGS on all contexts: for up to some ten thousand rows.

    Parameters
    ----------
    steps : int
        Iterations at most.
    nodes, outcome_nodes, outcomes_per_context
        As for ``StochasticSolver``; numbers of nodes are of Sobol points.
    contexts : int or None
        N1: so many contexts are drawn from the nominal distribution, once; None: all of it.
    tolerance : float
        Stop once an iteration lowers the objective by less than this share of it.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(
    ...     loss, hr.Sinkhorn(penalty=3, epsilon=0.1), hr.Affine(), solver=hr.SAA()
    ... )
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    steps: int = 500
    nodes: Any = 16
    outcome_nodes: Any = None
    outcomes_per_context: int = 256
    tolerance: float = 1e-7
    contexts: int | None = None

    def check(self) -> None:
        """The tolerance is not negative."""
        super().check()
        if self.contexts is not None:
            _checks.count("contexts", self.contexts)
        _checks.nonnegative("tolerance", self.tolerance)

    def node_rule(self, count: int) -> Nodes:
        """Sobol points."""
        return Sobol(count)

    def run(
        self, training: TrainingProblem, key: PRNGKeyArray, progress: Progress | None = None
    ) -> Solution:
        """Minimise by L-BFGS."""
        average = SampleAverage(training, key, self.contexts)
        steps, best = int(self.steps), average.start
        history = [average(best)[0]]

        def after(intermediate_result: OptimizeResult) -> None:
            nonlocal best
            best = np.array(intermediate_result.x)
            history.append(float(intermediate_result.fun))
            if progress is not None:
                progress(len(history) - 1, steps, history[-1], average.rule(best))

        options = {
            "maxiter": steps,
            "maxfun": 20 * steps,
            "maxcor": MEMORY,
            "ftol": float(self.tolerance),
            "gtol": 0.0,
        }
        try:
            found = minimize(
                average, best, jac=True, method="L-BFGS-B", callback=after, options=options
            )
        except KeyboardInterrupt:
            solution = Solution(average.rule(best), np.array(history), "interrupted")
            raise Interrupted(solution) from None
        status = "step limit" if len(history) > steps else "stopped early"
        if not np.isfinite(found.fun):
            status = "diverged"
        elif found.success:
            status = "converged"
        return Solution(average.rule(best), np.array(history), status)


class SampleAverage:
    """F̂ and its gradient as functions of one flat vector; ``start`` is where training begins."""

    def __init__(
        self, training: TrainingProblem, key: PRNGKeyArray, contexts: int | None = None
    ) -> None:
        self._training = training
        with jax.enable_x64(True):
            start = double(training.start)
            self._parameters = ravel_pytree(start)[1]
            self._sample = _Sample.of(double(training.objective), start, key, contexts)
        self.start = _flat(training.start)

    def __call__(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient, in working units."""
        with jax.enable_x64(True):
            value, gradient = _value_and_gradient(
                self._parameters(jax.device_put(point)), self._sample
            )
            return float(value), _flat(gradient)

    def rule(self, point: np.ndarray) -> FittedRule:
        """Return the rule with these parameters, in float32."""
        with jax.enable_x64(True):
            return single(self._training.rule(self._parameters(jax.device_put(point))))

    def point(self, rule: FittedRule) -> np.ndarray:
        """Return the parameters of a rule; the penalty, if it is learned, stays at its start."""
        rule_only = _flat(Parameters(rule.split()[0], None))
        return np.concatenate([rule_only, self.start[len(rule_only) :]])


class _Sample(NamedTuple):
    """Contexts, all or drawn, in pieces of one length, padded with contexts without mass."""

    objective: Objective
    pieces: Int[Array, "pieces c"]
    mass: Float[Array, "pieces c"]
    key: PRNGKeyArray

    @classmethod
    def of(
        cls, objective: Objective, start: Parameters, key: PRNGKeyArray, drawn: int | None
    ) -> _Sample:
        mass = objective.table.masses()
        chosen = np.arange(len(mass), dtype=np.int32)
        if drawn is not None:
            seed = np.asarray(jax.random.key_data(key)).ravel()
            draws = np.random.default_rng(seed).choice(len(mass), drawn, p=mass / mass.sum())
            chosen, mass = draws.astype(np.int32), np.full(drawn, 1 / drawn)
        total = len(mass)
        most = max(1, NUMBERS_AT_ONCE // _effort(objective, start, key))
        at_once = min(2 ** int(math.log2(most)), ladder.near(total))
        pieces = ladder.near(-(-total // at_once))
        padding = (0, pieces * at_once - total)
        contexts = np.pad(chosen, padding, mode="edge")
        return cls(
            objective=objective,
            pieces=jax.device_put(contexts.reshape(pieces, at_once)),
            mass=jax.device_put(np.pad(mass, padding).reshape(pieces, at_once)),
            key=key,
        )

    def value(self, parameters: Parameters) -> Float[Array, ""]:
        """Return the reduction of the log-moments of all contexts."""
        objective = self.objective

        @jax.checkpoint  # one piece's exponents at a time, in the reverse pass too
        def log_moments(piece: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            contexts, mass, number = piece
            batch = objective.table.gather(contexts, mass)
            tilt = objective.tilt(parameters, batch, jax.random.fold_in(self.key, number))
            return tilt.log_moments(), masses(tilt, batch)

        numbers = jnp.arange(len(self.pieces))
        moments, mass = jax.lax.map(log_moments, (self.pieces, self.mass, numbers))
        moments, mass = (part.reshape(-1, part.shape[-1]) for part in (moments, mass))
        return objective.reduction(parameters).value(moments, mass) + objective.reserved(parameters)


@program
def _value_and_gradient(parameters: Parameters, sample: _Sample) -> tuple[Array, Parameters]:
    return jax.value_and_grad(sample.value)(parameters)


def _flat(parameters: Parameters) -> np.ndarray:
    leaves = jax.tree_util.tree_leaves(parameters)
    return np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in leaves])


def _effort(objective: Objective, start: Parameters, key: PRNGKeyArray) -> int:
    """How many numbers one context brings."""

    def one() -> Any:
        batch = objective.table.gather(jnp.zeros(1, jnp.int32), jnp.ones(1))
        return objective.tilt(start, batch, key)

    exponents = jax.eval_shape(one).exponents
    setting = objective.setting
    around_outcomes = getattr(setting.outcome_nodes, "n", 1) * objective.table.most_outcomes
    return math.prod(exponents.shape) * around_outcomes * setting.loss.terms
