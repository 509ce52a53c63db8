"""Studies of one soft tree: routes (fig10), what it looks at (fig11), why it decides (fig12).

The tree has depth 3, so eight leaves, is hedged by 2-Causal-SDRO at ω = 5 and learned on the first
window of the portfolio studies, as those train their forests. All three studies share the cell that
trains and measures it; its rows carry the policy itself, as text, so that a page can draw it.

    own measure                        compared with
    C̄ = mean |∂f/∂x_j|, as shares      permutation importance, of the loss and of the decision
    EIG (integrated gradients)         SHAP values, in a cell of their own: shap is an extra

(paper: Section 6.3.2). ``benchmarks.interpretation`` measures the same on many trees.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np

from hedgerow import explain
from hedgerow._frames import require_pandas
from hedgerow.ambiguity import Ambiguity
from hedgerow.data.nominal import Nominal
from hedgerow.estimator import RobustPolicy
from hedgerow.explain import Importance
from hedgerow.losses import MeanVariance
from hedgerow.rules import SoftForest
from hedgerow.solvers import Solver
from hedgerow.stored import load
from hedgerow_studies.paper import market_study
from hedgerow_studies.paper.market_study import MarketStudy
from hedgerow_studies.paper.study import Cell, Row
from hedgerow_studies.portfolio import Window
from hedgerow_studies.portfolio.selection import HEDGING, parameters_for

METHOD, OMEGA, DEPTH, MASS = "2-Causal-SDRO", 5.0, 3, 0.99
SHUFFLES = 20
OWN, LOSS, DECISION = "mean absolute derivative", "permutation: loss", "permutation: decision"
EIG, SHAP = "EIG", "SHAP"


class Tree(MarketStudy):
    """Base of studies of one tree (abstract)."""

    family: ClassVar[str | None] = "tree"

    @property
    def source(self) -> str:
        """One tree for all."""
        return "tree"

    def cells(self, scale: str) -> list[Cell]:
        """One, which is quick enough at every scale."""
        return [{"measured": "tree", "month": 0, "seed": 0}]

    def run(self, cell: Cell) -> list[Row]:
        """Train the tree and measure it; or compute its SHAP values."""
        window = market_study.window(self.files, cell["month"])
        market = market_study.market(self.files)
        policy = hedged_tree(window, market.features, cell["seed"])
        decisions = ["level", *(market.assets[i] for i in window.assets)]
        if cell["measured"] == SHAP:
            values = shap_values(policy, window.today[None], window.contexts)[0]
            return _attributed(SHAP, values, decisions, market.features)
        return [
            {"what": "market", "text": market_study.description(self.files)},
            {"what": "date", "text": str(window.date)},
            {"what": "policy", "text": to_text(policy)},
            {"what": "contexts", "text": json.dumps(_days(window).tolist())},
            *_routes(policy, window),
            *_importances(policy, window),
            *_decision(policy, window, decisions),
        ]


class TreeRoutes(Tree):
    """How two inputs run through the tree."""

    what: ClassVar[str] = "A soft tree and the routes of two inputs"


class TreeImportance(Tree):
    """What the tree looks at, over all its decisions."""

    what: ClassVar[str] = "Global importance of a soft tree's features"


class TreeAttribution(Tree):
    """Why one decision comes out as it does."""

    what: ClassVar[str] = "Local attribution of a soft tree's decision"
    needs: ClassVar[str] = "shap"

    def cells(self, scale: str) -> list[Cell]:
        """The tree's, and one for SHAP values."""
        tree = super().cells(scale)
        return [*tree, *(cell | {"measured": SHAP} for cell in tree)]


# --------------------------------------------------------------------------- training and text


def hedged_tree(
    window: Window, names: tuple[str, ...], seed: int = 0, temperature: float = 1.0
) -> RobustPolicy:
    """One soft tree, hedged as the portfolio studies hedge their forests."""
    hedge = HEDGING[METHOD](parameters_for(METHOD), "forest")
    return soft_tree(window, names, hedge.model, hedge.nominal, hedge.solver, seed, temperature)


def soft_tree(
    window: Window,
    names: tuple[str, ...],
    model: Ambiguity,
    nominal: Nominal | None,
    solver: Solver,
    seed: int = 0,
    temperature: float = 1.0,
) -> RobustPolicy:
    """One soft tree, trained on a window of the portfolio studies."""
    rule = SoftForest(trees=1, depth=DEPTH, temperature=temperature, gates="random")
    policy = RobustPolicy(MeanVariance(OMEGA), model, rule, nominal, solver, random_state=seed)
    return policy.fit(_table(window.contexts, names), window.outcomes)


def to_text(policy: RobustPolicy) -> str:
    """A policy's file as text, base64."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tree.hedgerow"
        policy.save(path)
        return base64.b64encode(path.read_bytes()).decode("ascii")


def from_text(text: str) -> RobustPolicy:
    """The policy whose file was turned into text; nothing is unpickled."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tree.hedgerow"
        path.write_bytes(base64.b64decode(text))
        return cast(RobustPolicy, load(path))


# --------------------------------------------------------------------------- measuring


def decision_change(policy: RobustPolicy, X: Any) -> Importance:
    """Mean ‖f(x) − f(x with the feature shuffled)‖₁: permutation importance without outcomes."""
    draw = np.random.default_rng(0)
    decided, scores = policy.predict(X), []
    for name in X.columns:
        moved = []
        for _ in range(SHUFFLES):
            shuffled = X.assign(**{name: draw.permutation(X[name])})
            moved.append(np.abs(policy.predict(shuffled) - decided).sum(axis=1).mean())
        scores.append(np.mean(moved))
    return Importance(np.array(scores), tuple(X.columns))


def shap_values(policy: RobustPolicy, days: np.ndarray, background: np.ndarray) -> np.ndarray:
    """SHAP values (days, decisions, features) without shap's progress bars."""
    with contextlib.redirect_stderr(io.StringIO()):
        return explain.shap_values(policy, days, background)


def shown_inputs(contexts: np.ndarray) -> dict[str, int]:
    """Rows of the two inputs whose routes are shown: the extremes of the first feature."""
    return {"lowest": int(contexts[:, 0].argmin()), "highest": int(contexts[:, 0].argmax())}


def _routes(policy: RobustPolicy, window: Window) -> list[Row]:
    """Probabilities of the two inputs' leaves, and on which share of days how many are needed."""
    contexts = _days(window)
    found = explain.routes(policy, contexts)
    needed = found.needed(MASS)[:, 0]
    leaves = range(1, 2**DEPTH + 1)
    return [
        *(
            {"what": "route", "label": label, "leaf": leaf, "value": float(chance)}
            for label, row in shown_inputs(contexts).items()
            for leaf, chance in zip(
                leaves, found.probabilities[row, 0][_from_the_top()], strict=True
            )
        ),
        *(
            {"what": "routes needed", "leaf": count, "value": float(np.mean(needed == count))}
            for count in leaves
        ),
    ]


def _from_the_top() -> list[int]:
    """Leaves in the order in which a tree is drawn, those up from the root first.

    They are stored by their last gate first, so this is to read their binary digits backwards.
    """
    return [int(f"{leaf:0{DEPTH}b}"[::-1], 2) for leaf in range(2**DEPTH)]


def _importances(policy: RobustPolicy, window: Window) -> list[Row]:
    """Three measures of importance, feature by feature."""
    X = _table(window.contexts, tuple(policy.feature_names_in_))
    measures = {
        OWN: explain.importance(policy, X),
        LOSS: explain.permutation_importance(policy, X, window.outcomes, n_repeats=SHUFFLES),
        DECISION: decision_change(policy, X),
    }
    return [
        {"what": "importance", "label": label, "feature": name, "value": score, "error": error}
        for label, found in measures.items()
        for name, score, error in zip(
            found.names, found.scores.tolist(), _errors(found), strict=True
        )
    ]


def _errors(found: Importance) -> list[float | None]:
    """Standard deviations over shuffles, where they are known."""
    return [None] * len(found.names) if found.errors is None else found.errors.tolist()


def _decision(policy: RobustPolicy, window: Window, decisions: list[str]) -> list[Row]:
    """The decision on the window's day, the mean one, and what features add to it."""
    found = explain.attribute(policy, window.today, window.contexts)
    parts = {"decision": found.decision, "baseline": found.baseline}
    return [
        {"what": "completeness error", "value": found.completeness_error},
        *(
            {"what": what, "decision": name, "value": float(value)}
            for what, values in parts.items()
            for name, value in zip(decisions, values, strict=True)
        ),
        *_attributed(EIG, found.values, decisions, found.names),
    ]


def _attributed(
    label: str, values: np.ndarray, decisions: list[str], names: tuple[str, ...]
) -> list[Row]:
    return [
        {"what": "attribution", "label": label, "decision": decision, "feature": name, "value": v}
        for decision, row in zip(decisions, values.tolist(), strict=True)
        for name, v in zip(names, row, strict=True)
    ]


def _days(window: Window) -> np.ndarray:
    """The contexts of the window and, last, that of the day of the decision."""
    return np.vstack([window.contexts, window.today])


def _table(contexts: np.ndarray, names: tuple[str, ...]) -> Any:
    return require_pandas().DataFrame(contexts, columns=list(names))
