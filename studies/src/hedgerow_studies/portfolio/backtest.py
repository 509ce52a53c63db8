"""A rolling backtest: every month, every method, every return weight, one cell each.

A cell holds the weights that were chosen; how they fared is computed from the market afterwards.
Cells are independent, so they can be spread over processes, and a killed run goes on where it was
(``hedgerow_studies.running``). Fits that diverged are told of in one sentence at the end, not one
by one.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hedgerow import _checks
from hedgerow.losses import MeanCVaR, MeanVariance, PortfolioLoss
from hedgerow_studies.cells import Cell
from hedgerow_studies.portfolio.market import Market
from hedgerow_studies.portfolio.selection import (
    FIXED,
    HEDGING,
    METHODS,
    RULES,
    USUAL,
    Parameters,
    choose,
    parameters_for,
)
from hedgerow_studies.portfolio.windows import Horizon, Window
from hedgerow_studies.running import Engine, Progress, compute
from hedgerow_studies.versions import versions

RISKS = ("variance", "cvar")
DIVERGED = "diverged"


@dataclass(frozen=True)
class Backtest:
    """What is to be compared.

    Parameters
    ----------
    horizon : Horizon
        Months, window, holding period and pool of assets.
    methods : names of ``METHODS``
    rules : names of ``RULES``
        The rules that learning methods use.
    return_weights : floats
        ω: how much risk a unit of return is worth.
    risk : {"variance", "cvar"}
        What is weighed against the return.
    tail : float
        Share of cases that CVaR looks at.
    parameters : dict or None
        ``Parameters`` by method, instead of those chosen on 2019 and 2020.
    seed : int
        Seed of rules and training.
    """

    horizon: Horizon
    methods: tuple[str, ...] = USUAL
    rules: tuple[str, ...] = ("forest",)
    return_weights: tuple[float, ...] = (1.0, 3.0, 5.0, 7.0, 9.0)
    risk: str = "variance"
    tail: float = 0.05
    parameters: dict[str, Parameters] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _checks.instance("horizon", self.horizon, Horizon, 'a Horizon("2021-01", "2022-12")')
        for method in _several("methods", self.methods):
            _checks.one_of("method", method, METHODS)
        for rule in _several("rules", self.rules):
            _checks.one_of("rule", rule, tuple(RULES))
        _checks.one_of("risk", self.risk, RISKS)
        MeanCVaR(tail=self.tail)
        for weight in _several("return_weights", self.return_weights):
            self.loss(weight)
        by_method = self.parameters or {}
        _checks.instance("parameters", by_method, dict, "None, or a dict of Parameters by method")
        for method, given in by_method.items():
            _checks.one_of("method", method, tuple(HEDGING))
            name, hint = f"parameters of {method}", "a Parameters(penalty=3.0)"
            _checks.instance(name, given, Parameters, hint)
        _checks.count("seed", self.seed, least=0)

    def loss(self, return_weight: float) -> PortfolioLoss:
        """The loss at one return weight."""
        return _loss(self.risk, return_weight, self.tail)

    def tasks(self, windows: list[Window]) -> list[Task]:
        """Everything that is to be chosen, method by method."""
        return [
            self._task(method, rule, weight, window)
            for method in self.methods
            for rule in (("",) if method in FIXED else self.rules)
            for weight in self.return_weights
            for window in windows
        ]

    def run(
        self,
        market: Market,
        folder: str | os.PathLike[str],
        *,
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> list[Outcome]:
        """Choose what has not been chosen yet, and return all of it.

        Warns once, at the end, if trainings diverged (``diverged``), and once, at the beginning, of
        covariates that never vary in a window.
        """
        windows = self.horizon.windows(market)
        engine = Engine(jobs=jobs)
        if not all(method in FIXED for method in self.methods):
            _warn_of_constant_covariates(windows, market)
        tasks = self.tasks(windows)
        work = Choices(market, self.horizon)
        results = compute([(work, self._cell(task)) for task in tasks], folder, engine, progress)
        outcomes = [
            Outcome(task, np.asarray(result.value["weights"], np.float64), result.value["status"])
            for task, result in zip(tasks, results, strict=True)
        ]
        if sentence := diverged(outcomes):
            warnings.warn(sentence, ConvergenceWarning, stacklevel=2)
        return outcomes

    def _task(self, method: str, rule: str, weight: float, window: Window) -> Task:
        chosen = Parameters()
        if method in HEDGING:
            given = (self.parameters or {}).get(method)
            chosen = given or parameters_for(method)
        return Task(method, rule, weight, self.loss(weight), chosen, self.seed, window)

    def _cell(self, task: Task) -> Cell:
        """Everything that a choice depends on besides the market and the windows in it."""
        return {
            "method": task.method,
            "rule": task.rule,
            "date": task.date,
            "risk": self.risk,
            "return_weight": float(task.return_weight),
            "tail": None if self.risk == "variance" else self.tail,
            "parameters": asdict(task.parameters) if task.method in HEDGING else {},
            "seed": task.seed,
        }


@dataclass(frozen=True)
class Task:
    """One portfolio to choose, with the window that it is chosen from."""

    method: str
    rule: str
    return_weight: float
    loss: PortfolioLoss = field(compare=False)
    parameters: Parameters
    seed: int
    window: Window = field(compare=False)
    date: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "date", str(self.window.date))


@dataclass(frozen=True)
class Choices:
    """Portfolios to be chosen on a market, as work that any process can do."""

    market: Market
    horizon: Horizon
    name: str = "portfolio"

    def depends(self) -> dict[str, Any]:
        """Versions, the market by its content, and how a month's window is cut from it."""
        horizon = self.horizon
        return {
            **versions("portfolio"),
            "market": self.market.fingerprint(),
            "window": horizon.window,
            "holding": horizon.holding,
            "pool": horizon.pool,
            "seed": horizon.seed,
        }

    def run(self, cell: Cell) -> dict[str, Any]:
        """Choose, and return plain values."""
        choice = choose(
            cell["method"],
            cell["rule"],
            self.horizon.window_of(self.market, cell["date"][:7]),
            _loss(cell["risk"], cell["return_weight"], cell["tail"]),
            Parameters(**cell["parameters"]),
            cell["seed"],
        )
        return {"weights": choice.weights.tolist(), "status": choice.status}

    def label(self, cell: Cell) -> str:
        """Method and date."""
        return f"{cell['method']} {cell['date']}"


@dataclass(frozen=True)
class Outcome:
    """A task with the weights that were chosen for it, and how the choice ended.

    ``status`` is "solved" for a program, else that of the training (``RobustPolicy.status_``).
    """

    task: Task
    weights: np.ndarray
    status: str

    @property
    def returns(self) -> np.ndarray:
        """Daily returns over the holding period, in percent."""
        return self.task.window.held @ self.weights


def diverged(outcomes: list[Outcome]) -> str:
    """Say in one sentence how many choices of which methods diverged; nothing if none did."""
    made = Counter((outcome.task.method, outcome.task.rule) for outcome in outcomes)
    failed = Counter((o.task.method, o.task.rule) for o in outcomes if o.status == DIVERGED)
    if not failed:
        return ""
    each = [
        f"{failed[method, rule]} of {count} choices of {method} ({rule})"
        for (method, rule), count in made.items()
        if (method, rule) in failed
    ]
    listed = each[0] if len(each) == 1 else f"{', '.join(each[:-1])} and {each[-1]}"
    return f"Training diverged for {listed}; the last finite rule was used."


def _loss(risk: str, return_weight: float, tail: float | None) -> PortfolioLoss:
    if risk == "variance" or tail is None:
        return MeanVariance(return_weight)
    return MeanCVaR(return_weight, tail)


def _several(name: str, values: Any) -> tuple[Any, ...] | list[Any]:
    """Return what is compared: one or more of a kind, each once."""
    if not isinstance(values, tuple | list) or not values:
        raise ValueError(f"{name} must be a tuple of one or more, got {values!r}.")
    repeated = [value for i, value in enumerate(values) if value in values[:i]]
    if repeated:
        raise ValueError(f"{name} lists {repeated[0]!r} more than once.")
    return values


def _warn_of_constant_covariates(windows: list[Window], market: Market) -> None:
    """One sentence for the whole run; every fit would say it again."""
    still = np.array([np.ptp(window.contexts, axis=0) == 0 for window in windows])
    names = [market.features[i] for i in np.flatnonzero(np.any(still, axis=0))]
    if names:
        count = int(np.sum(np.any(still, axis=1)))
        warnings.warn(
            f"Covariate(s) {', '.join(names)} never vary in {count} of {len(windows)} windows and "
            "are ignored there.",
            UserWarning,
            stacklevel=3,
        )
