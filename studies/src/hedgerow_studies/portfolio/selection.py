"""How a portfolio is chosen: in hindsight, by rule of thumb, by one program, or by a learned rule.

    PT               hindsight: the best constant portfolio of the days it is held (the oracle H*)
    EW               equal weights
    MV               the best constant portfolio of the window, by a program
    CMV              a rule learned on the empirical risk, for many steps
    CMV-early        the same, stopped early: steps chosen on the window's last fifth
    1-, 2-Causal-SDRO, SDRO, Causal-WDRO, KL-DRO     rules that hedge; SDRO and Causal-WDRO are of
                     order 2 where they do not say 1-SDRO, 1-Causal-WDRO

(paper: Section 6.3). Scales are "auto", so the same parameters serve returns in any unit. With
order 1 the adversary keeps each return within what the window has seen: without bounds its gains
would be infinite. What hedging methods are run with was chosen on earlier years (``TUNED``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import optax

from hedgerow import _checks
from hedgerow.ambiguity import ERM, KL, Ambiguity, CausalSinkhorn, CausalWasserstein, Sinkhorn
from hedgerow.data.nominal import EmpiricalNominal, NeighbourNominal, Nominal
from hedgerow.estimator import RobustPolicy
from hedgerow.losses import PortfolioLoss
from hedgerow.rules import Constant, Rule, SoftForest, TwoLayer
from hedgerow.solvers import SCSC, NestedSGD, Solver
from hedgerow_studies.portfolio.windows import Window

AUTO: dict[str, Any] = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}
LONG = 4000
"""Steps of CMV: many more than others take, too few to converge (docs/results/portfolio.md)."""
EARLY = (0, 10, 30, 100, 300, 1000)
"""Steps among which early stopping chooses; 0 is the best constant portfolio."""
VALIDATION = 0.2
AS_TUNED: dict[str, Any] = {"learning_rate": 0.02, "optimizer": optax.scale_by_adam()}
"""Gates and leaves at one learning rate: that is how the numbers of steps were tuned."""
RULES: dict[str, Callable[[], Rule]] = {
    # Gates that begin along outcomes' slopes would look at differences of indices that move
    # together, of which integrated gradients and SHAP values tell different stories.
    "forest": lambda: SoftForest(trees=20, depth=None, gates="random"),
    "two-layer": TwoLayer,
    "constant": Constant,
}


@dataclass(frozen=True)
class Parameters:
    """What a hedging method is run with."""

    penalty: float = 3.0
    epsilon: float = 1.0
    neighbours: int = 0
    steps: int = 300

    def __post_init__(self) -> None:
        _checks.positive("penalty", self.penalty)
        _checks.nonnegative("epsilon", self.epsilon)
        _checks.count("neighbours", self.neighbours, least=0)
        _checks.count("steps", self.steps)


TUNED: dict[str, Parameters] = {
    "1-Causal-SDRO": Parameters(penalty=3.0, epsilon=0.3, neighbours=0, steps=300),
    "2-Causal-SDRO": Parameters(penalty=3.0, epsilon=0.3, neighbours=0, steps=1000),
    "SDRO": Parameters(penalty=3.0, epsilon=0.3, neighbours=0, steps=1000),
    "Causal-WDRO": Parameters(penalty=3.0, epsilon=0.0, neighbours=0, steps=300),
    "KL-DRO": Parameters(penalty=1.0, epsilon=0.0, neighbours=0, steps=1000),
    # those of their nearest relatives, since the search did not try them
    "1-SDRO": Parameters(penalty=3.0, epsilon=0.3, neighbours=0, steps=300),
    "1-Causal-WDRO": Parameters(penalty=3.0, epsilon=0.0, neighbours=0, steps=300),
}
"""What ``python -m benchmarks.portfolio_tuning`` found best on the decisions of January 2019 to
September 2020, whose holding periods end before 2021: with forests, on average over ω = 1, 5, 9
(each loss between hindsight, 0, and the unconditional program, 1). One set per method serves every
ω and both rules."""


def parameters_for(method: str) -> Parameters:
    """Return what was best on the earlier years; methods that do not hedge need none."""
    return TUNED.get(method, Parameters())


class Choice(NamedTuple):
    """A portfolio: weights on the window's assets, and how choosing them ended."""

    weights: np.ndarray
    status: str


def choose(
    method: str,
    rule: str,
    window: Window,
    loss: PortfolioLoss,
    parameters: Parameters,
    seed: int,
) -> Choice:
    """Choose a portfolio for a window. Only PT looks at what happens while it is held."""
    if method in FIXED:
        weights, status = FIXED[method](window, loss), "solved"
    elif method in EMPIRICAL:
        weights, status = EMPIRICAL[method](rule, window, loss, seed)
    else:
        weights, status = _hedged(HEDGING[method](parameters, rule), rule, window, loss, seed)
    return Choice(np.asarray(weights, np.float64), status)


# --------------------------------------------------------------------------- without a rule


def _hindsight(window: Window, loss: PortfolioLoss) -> np.ndarray:
    return loss.best_constant(window.held, np.ones(len(window.held)))[1:]


def _even(window: Window, loss: PortfolioLoss) -> np.ndarray:
    return np.full(len(window.assets), 1 / len(window.assets))


def _program(window: Window, loss: PortfolioLoss) -> np.ndarray:
    return loss.best_constant(window.outcomes, np.ones(len(window.outcomes)))[1:]


# --------------------------------------------------------------------------- by empirical risk


def _trained_long(
    rule: str, window: Window, loss: PortfolioLoss, seed: int
) -> tuple[np.ndarray, str]:
    """Train for many steps, whatever they do out of sample."""
    return _today(_empirical(LONG, rule, loss, seed, window.contexts, window.outcomes), window)


def _stopped_early(
    rule: str, window: Window, loss: PortfolioLoss, seed: int
) -> tuple[np.ndarray, str]:
    """Choose the number of steps on the window's last days, then learn on all of it."""
    cut = round(len(window.outcomes) * (1 - VALIDATION))
    X, Y = window.contexts, window.outcomes
    constant = loss.best_constant(Y[:cut], np.ones(cut))[1:]
    scores = {0: loss.realised(Y[cut:] @ constant)}
    for steps in EARLY[1:]:
        weights = _empirical(steps, rule, loss, seed, X[:cut], Y[:cut]).predict(X[cut:])[:, 1:]
        scores[steps] = loss.realised(np.sum(weights * Y[cut:], axis=1))
    best = min(scores, key=lambda steps: scores[steps])
    if best == 0:
        return _program(window, loss), "solved"
    return _today(_empirical(best, rule, loss, seed, X, Y), window)


def _empirical(
    steps: int, rule: str, loss: PortfolioLoss, seed: int, X: np.ndarray, Y: np.ndarray
) -> RobustPolicy:
    solver = NestedSGD(steps=steps, batch=64, **AS_TUNED)
    policy = RobustPolicy(loss, ERM(), RULES[rule](), EmpiricalNominal(), solver, random_state=seed)
    return policy.fit(X, Y)


# --------------------------------------------------------------------------- hedged


class Hedge(NamedTuple):
    """What a hedging method trains with."""

    model: Ambiguity
    nominal: Nominal
    solver: Solver


def _hedged(
    hedge: Hedge, rule: str, window: Window, loss: PortfolioLoss, seed: int
) -> tuple[np.ndarray, str]:
    """Train a rule against the worst near the window."""
    if getattr(hedge.model, "order", 2) == 1:
        seen = window.outcomes.min(axis=0), window.outcomes.max(axis=0)
        loss = loss.replace(outcome_support=seen)
    policy = RobustPolicy(
        loss, hedge.model, RULES[rule](), hedge.nominal, hedge.solver, random_state=seed
    )
    return _today(policy.fit(window.contexts, window.outcomes), window)


def _today(policy: RobustPolicy, window: Window) -> tuple[np.ndarray, str]:
    """Decide on the covariates of the evening before."""
    return policy.predict(window.today[None])[0, 1:], policy.status_


def _smeared(
    model: type[CausalSinkhorn | Sinkhorn], order: int, parameters: Parameters, rule: str
) -> Hedge:
    # the inner moment of order 1 costs forty times that of order 2, a wide rule ten times
    few = order == 1 or rule == "two-layer"
    batch, nodes = (16, 1) if few else (64, 2)
    return Hedge(
        model(parameters.penalty, parameters.epsilon, order, **AUTO),
        _nominal(parameters),
        SCSC(steps=parameters.steps, batch=batch, nodes=nodes, **AS_TUNED),
    )


def _moved(order: int, parameters: Parameters, rule: str) -> Hedge:
    solver = NestedSGD(steps=parameters.steps, batch=16, nodes=1, **AS_TUNED)
    return Hedge(CausalWasserstein(parameters.penalty, order, **AUTO), _nominal(parameters), solver)


def _reweighted(parameters: Parameters, rule: str) -> Hedge:
    solver = SCSC(steps=parameters.steps, batch=64, **AS_TUNED)
    return Hedge(KL(parameters.penalty, loss_scale="auto"), EmpiricalNominal(), solver)


def _nominal(parameters: Parameters) -> Nominal:
    """Neighbours give each context several outcomes, which is where causality begins to matter."""
    if not parameters.neighbours:
        return EmpiricalNominal()
    return NeighbourNominal(parameters.neighbours)


FIXED: dict[str, Callable[[Window, PortfolioLoss], np.ndarray]] = {
    "PT": _hindsight,
    "EW": _even,
    "MV": _program,
}
EMPIRICAL: dict[str, Callable[[str, Window, PortfolioLoss, int], tuple[np.ndarray, str]]] = {
    "CMV": _trained_long,
    "CMV-early": _stopped_early,
}
HEDGING: dict[str, Callable[[Parameters, str], Hedge]] = {
    "1-Causal-SDRO": partial(_smeared, CausalSinkhorn, 1),
    "2-Causal-SDRO": partial(_smeared, CausalSinkhorn, 2),
    "SDRO": partial(_smeared, Sinkhorn, 2),
    "Causal-WDRO": partial(_moved, 2),
    "KL-DRO": _reweighted,
    "1-SDRO": partial(_smeared, Sinkhorn, 1),
    "1-Causal-WDRO": partial(_moved, 1),
}
METHODS = (*FIXED, *EMPIRICAL, *HEDGING)
USUAL = tuple(name for name in METHODS if name not in ("1-SDRO", "1-Causal-WDRO"))
"""What is compared where nobody says: order 1 is slow."""
