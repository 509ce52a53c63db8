"""How a portfolio is chosen: in hindsight, by rule of thumb, by one program, or by a learned rule.

    PT               hindsight: the best constant portfolio of the days it is held (the oracle H*)
    EW               equal weights
    MV               the best constant portfolio of the window, by a program
    CMV              a rule learned on the empirical risk, to convergence
    CMV-early        the same, stopped early: steps chosen on the window's last fifth
    1-, 2-Causal-SDRO, SDRO, Causal-WDRO, KL-DRO     rules that hedge

(paper: Section 6.3). Scales are "auto", so the same parameters serve returns in any unit. With
order 1 the adversary keeps each return within what the window has seen: without bounds its gains
would be infinite.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from hedgerow.ambiguity import ERM, KL, Ambiguity, CausalSinkhorn, CausalWasserstein, Sinkhorn
from hedgerow.estimator import RobustPolicy
from hedgerow.losses import PortfolioLoss
from hedgerow.nominal import EmpiricalNominal, NeighbourNominal, Nominal
from hedgerow.portfolio.windows import Window
from hedgerow.rules import Rule, SoftForest, TwoLayer
from hedgerow.solvers import SCSC, NestedSGD, Solver

AUTO: dict[str, Any] = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}
CONVERGED = 4000
"""Steps after which the empirical risk has stopped falling."""
EARLY = (0, 10, 30, 100, 300, 1000)
"""Steps among which early stopping chooses; 0 is the best constant portfolio."""
VALIDATION = 0.2
RULES: dict[str, Callable[[], Rule]] = {
    "forest": lambda: SoftForest(trees=20, depth=None),
    "two-layer": TwoLayer,
}


@dataclass(frozen=True)
class Parameters:
    """What a hedging method is run with; chosen on earlier years (``tuned.py``)."""

    penalty: float = 3.0
    epsilon: float = 1.0
    neighbours: int = 0
    steps: int = 300

    def describe(self) -> dict[str, Any]:
        """Return them as plain values."""
        return asdict(self)


class Choice(NamedTuple):
    """A portfolio: weights on the window's assets, what it took, and how it ended."""

    weights: np.ndarray
    seconds: float
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
    begin = time.perf_counter()
    assets = len(window.assets)
    status = "solved"
    if method == "PT":
        weights = loss.best_constant(window.held, np.ones(len(window.held)))[1:]
    elif method == "EW":
        weights = np.full(assets, 1 / assets)
    elif method == "MV":
        weights = loss.best_constant(window.outcomes, np.ones(len(window.outcomes)))[1:]
    else:
        learn = _stopped_early if method == "CMV-early" else _learned
        policy = learn(method, rule, window, loss, parameters, seed)
        if policy is None:
            return choose("MV", rule, window, loss, parameters, seed)
        weights, status = policy.predict(window.today[None])[0, 1:], policy.status_
    return Choice(np.asarray(weights, np.float64), time.perf_counter() - begin, status)


def _learned(
    method: str, rule: str, window: Window, loss: PortfolioLoss, parameters: Parameters, seed: int
) -> RobustPolicy:
    """Learn a rule by one of the methods."""
    build = METHODS[method]
    if build is None:
        raise ValueError(f"{method} learns nothing.")
    model, nominal, solver = build(parameters, rule)
    if getattr(model, "order", 2) == 1:
        seen = window.outcomes.min(axis=0), window.outcomes.max(axis=0)
        loss = loss.replace(outcome_support=seen)
    return _fit(loss, model, rule, nominal, solver, seed, window.contexts, window.outcomes)


def _stopped_early(
    method: str, rule: str, window: Window, loss: PortfolioLoss, parameters: Parameters, seed: int
) -> RobustPolicy | None:
    """Choose the number of steps on the window's last days, then learn on all of it.

    None: the best constant portfolio did best.
    """
    cut = round(len(window.outcomes) * (1 - VALIDATION))
    X, Y = window.contexts, window.outcomes
    constant = loss.best_constant(Y[:cut], np.ones(cut))[1:]
    scores = {0: loss.realised(Y[cut:] @ constant)}
    for steps in EARLY[1:]:
        policy = _fit(loss, ERM(), rule, None, _empirical(steps), seed, X[:cut], Y[:cut])
        weights = policy.predict(X[cut:])[:, 1:]
        scores[steps] = loss.realised(np.sum(weights * Y[cut:], axis=1))
    best = min(scores, key=lambda steps: scores[steps])
    return _fit(loss, ERM(), rule, None, _empirical(best), seed, X, Y) if best else None


def _fit(
    loss: PortfolioLoss,
    model: Ambiguity,
    rule: str,
    nominal: Nominal | None,
    solver: Solver,
    seed: int,
    X: np.ndarray,
    Y: np.ndarray,
) -> RobustPolicy:
    policy = RobustPolicy(loss, model, RULES[rule](), nominal, solver, random_state=seed)
    with warnings.catch_warnings():
        # covariates do not repeat: without neighbours the causal model coincides with its plain one
        warnings.filterwarnings("ignore", message=".*occurs once, so", category=UserWarning)
        return policy.fit(X, Y)


def _empirical(steps: int) -> Solver:
    return NestedSGD(steps=steps, batch=64)


def _hedging(model: type, order: int) -> Callable[[Parameters, str], tuple]:
    """A Sinkhorn model with its nominal and solver."""

    def build(parameters: Parameters, rule: str) -> tuple[Ambiguity, Nominal, Solver]:
        ambiguity = model(parameters.penalty, parameters.epsilon, order, **AUTO)
        # the inner moment of order 1 costs forty times that of order 2, a wide rule ten times
        few = order == 1 or rule == "two-layer"
        batch, nodes = (16, 1) if few else (64, 2)
        solver = SCSC(steps=parameters.steps, batch=batch, nodes=nodes)
        return ambiguity, _nominal(parameters, ambiguity), solver

    return build


def _transported(parameters: Parameters, rule: str) -> tuple[Ambiguity, Nominal, Solver]:
    ambiguity = CausalWasserstein(parameters.penalty, 2, **AUTO)
    solver = NestedSGD(steps=parameters.steps, batch=16, nodes=1)
    return ambiguity, _nominal(parameters, ambiguity), solver


def _reweighted(parameters: Parameters, rule: str) -> tuple[Ambiguity, Nominal, Solver]:
    return (
        KL(parameters.penalty, loss_scale="auto"),
        EmpiricalNominal(),
        SCSC(steps=parameters.steps, batch=64),
    )


def _nominal(parameters: Parameters, ambiguity: Ambiguity) -> Nominal:
    """Neighbours give each context several outcomes, which is where causality begins to matter."""
    if ambiguity.plain is None or not parameters.neighbours:
        return EmpiricalNominal()
    return NeighbourNominal(parameters.neighbours)


METHODS: dict[str, Callable[[Parameters, str], tuple[Ambiguity, Nominal, Solver]] | None] = {
    "PT": None,
    "EW": None,
    "MV": None,
    "CMV": lambda parameters, rule: (ERM(), EmpiricalNominal(), _empirical(CONVERGED)),
    "CMV-early": None,
    "1-Causal-SDRO": _hedging(CausalSinkhorn, 1),
    "2-Causal-SDRO": _hedging(CausalSinkhorn, 2),
    "SDRO": _hedging(Sinkhorn, 2),
    "Causal-WDRO": _transported,
    "KL-DRO": _reweighted,
}
FIXED = ("PT", "EW", "MV")
"""Methods without a rule."""
HEDGING = ("1-Causal-SDRO", "2-Causal-SDRO", "SDRO", "Causal-WDRO", "KL-DRO")
