"""Studies of the synthetic problems: rules, parameters and models out of sample, and a fitted rule.

fig4, fig8     forests and networks, orders 1 and 2, at the paper's sixteen sizes
fig5           a fitted forest and a fitted network along the true index
fig6, fig13    penalties and epsilons
fig7, fig15    Causal-SDRO, SDRO, Causal-WDRO and KL-DRO
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from hedgerow.ambiguity import InadmissiblePenaltyError
from hedgerow.data import EmpiricalNominal
from hedgerow.datasets import oracle_newsvendor_decision
from hedgerow.estimator import RobustPolicy
from hedgerow_studies.paper import synthetic_training as training
from hedgerow_studies.paper.study import Cell, Row, Study
from hedgerow_studies.paper.synthetic_models import MODELS, RULES, TUNED, model, rule_of
from hedgerow_studies.paper.synthetic_problems import DRAWS, TEST_ROWS, Draw, draw, sizes
from hedgerow_studies.trials.newsvendor_trial import HOLDING, STOCKOUT

SHOWN = 300
ORDERS = ("1-Causal-SDRO", "2-Causal-SDRO")


@dataclass(frozen=True)
class Synthetic(Study):
    """Base of studies of one synthetic problem (abstract)."""

    family: ClassVar[str | None] = "synthetic"
    problem: str

    @property
    def title(self) -> str:
        """What is shown of which problem."""
        return f"{self.what}, {self.problem}"

    def _cells(self, scale: str, places: list[tuple[int, int]]) -> list[Cell]:
        return [
            {"rows": n, "features": d, "seed": seed, "scale": scale}
            for seed in range(DRAWS[scale])
            for n, d in places
        ]

    def _draw(self, cell: Cell) -> Draw:
        test_rows = TEST_ROWS[cell["scale"]]
        return draw(self.problem, cell["rows"], cell["features"], cell["seed"], test_rows)

    def _judged(self, cell: Cell, drawn: Draw, models: tuple[str, ...], rule: str) -> list[Row]:
        """Losses of rules hedged against models, and of two trained on the empirical risk."""
        seed = cell["seed"]
        fitted: dict[str, Any] = {n: training.hedged(drawn, n, rule, seed) for n in models}
        fitted[training.CONVERGED] = training.converged(drawn, rule, seed, cell["scale"])
        fitted[training.EARLY] = training.stopped_early(drawn, rule, seed)
        oracle = drawn.oracle()
        return [
            {
                "method": name,
                "loss": drawn.mean_loss(estimator.predict),
                "oracle": oracle,
                "status": getattr(estimator, "status_", ""),
            }
            for name, estimator in fitted.items()
        ]


class Rules(Synthetic):
    """Forests and networks, hedged and not, at every size."""

    what: ClassVar[str] = "Decision rules"

    def cells(self, scale: str) -> list[Cell]:
        """One per size, draw and rule."""
        rules = list(RULES)
        if scale == "tiny" and self.problem == "inventory":  # a test of the newsvendor has both
            rules = rules[:1]
        return [
            c | {"rule": r} for c in self._cells(scale, sizes(self.problem, scale)) for r in rules
        ]

    def run(self, cell: Cell) -> list[Row]:
        """Losses of two hedged rules and of two trained on the empirical risk."""
        drawn = self._draw(cell)
        rows = self._judged(cell, drawn, ORDERS, cell["rule"])
        for name in ORDERS if cell["rule"] == "forest" else ():
            policy, penalty = training.at_published(drawn, name, cell["seed"])
            found = {"loss": drawn.mean_loss(policy.predict), "oracle": rows[0]["oracle"]}
            rows.append({"method": training.as_published(name), "penalty": penalty, **found})
        return rows


class Models(Synthetic):
    """What to hedge against: every model with a forest."""

    what: ClassVar[str] = "Models of ambiguity"

    def cells(self, scale: str) -> list[Cell]:
        """One per size and draw: all rows at one width, all widths at one number of rows."""
        places = sizes(self.problem, scale)
        if scale == "full":
            places = [(n, d) for n, d in places if n == 400 or d == 20]
        return self._cells(scale, places)

    def run(self, cell: Cell) -> list[Row]:
        """Losses of forests hedged against each model, and of the empirical risk."""
        few = ("2-Causal-SDRO", "2-SDRO", "KL-DRO")
        models = few if cell["scale"] == "tiny" else MODELS
        return self._judged(cell, self._draw(cell), models, "forest")


PENALTIES = (3.0, 10.0, 30.0, 100.0, 1_000.0, 10_000.0)
"""Up to where nothing is hedged any more and only the blur of the kernels is left."""
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0)
BASELINES = "baselines"
MAPPED = {"newsvendor": (400, 10), "inventory": (200, 10)}


class Parameters(Synthetic):
    """Losses over penalties and epsilons, at one size."""

    what: ClassVar[str] = "Penalty and epsilon"

    def cells(self, scale: str) -> list[Cell]:
        """One per order and draw, and one for what they are compared with."""
        draws = self._cells(scale, [MAPPED[self.problem]])
        return [c | {"method": name} for c in draws for name in (*ORDERS, BASELINES)]

    def run(self, cell: Cell) -> list[Row]:
        """Losses of forests at every pair, one program for all; or of the empirical risk."""
        drawn, name, seed = self._draw(cell), cell["method"], cell["seed"]
        if name == BASELINES:
            return self._judged(cell, drawn, (), "forest")
        steps = TUNED[self.problem][name].steps
        every = {"tiny": 4, "quick": 2, "full": 1}[cell["scale"]]
        oracle = drawn.oracle()
        rows = []
        for penalty in PENALTIES[::every]:
            for epsilon in EPSILONS[::every]:
                ambiguity = model(name, penalty, epsilon)
                solver = training.stopped_after(steps, ambiguity)
                rule = rule_of(self.problem, "forest")
                policy = RobustPolicy(
                    drawn.loss, ambiguity, rule, EmpiricalNominal(), solver, random_state=seed
                )
                try:
                    policy.fit(drawn.train.data, drawn.train.target)
                    loss = drawn.mean_loss(policy.predict)
                except InadmissiblePenaltyError:
                    loss = float("nan")
                row = {"penalty": penalty, "epsilon": epsilon, "loss": loss, "oracle": oracle}
                rows.append(row)
        return rows


class Fitted(Synthetic):
    """Decisions of fitted rules along the index that demand depends on."""

    what: ClassVar[str] = "Fitted rules against the truth"

    def cells(self, scale: str) -> list[Cell]:
        """Two sizes of history, one draw."""
        rows = (400, 1000) if scale != "tiny" else (200,)
        return [
            {"rows": n, "features": 10, "seed": 0, "scale": scale, "rule": rule}
            for n in rows
            for rule in RULES
        ]

    def run(self, cell: Cell) -> list[Row]:
        """Decisions of 300 test contexts beside their index, the mean demand and the oracle's."""
        drawn = self._draw(cell)
        policy = training.hedged(drawn, "2-Causal-SDRO", cell["rule"], cell["seed"])
        contexts, signal = drawn.test.data[:SHOWN], drawn.test.signal[:SHOWN]
        columns = {
            "index": contexts @ drawn.train.beta,
            "decision": policy.predict(contexts),
            "signal": signal,
            "oracle": oracle_newsvendor_decision(signal, HOLDING, STOCKOUT),
        }
        rows = zip(*(map(float, values) for values in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in sorted(rows)]
