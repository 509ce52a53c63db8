"""Rules in words: if–then text that a person can follow, and how faithful it is.

Two ways to it. **Hardened**: one tree of the forest with its gates made crisp (τ → 0); a gate
w·x + b > 0 becomes "temperature + 0.4·wind ≥ 17", small terms left at their means. **Distilled**: a
small tree with one feature per question, fitted to the policy's own decisions (scikit-learn), which
also serves forests of many trees, networks and affine rules.

Fidelity is that of the text as printed, numbers rounded and terms left out: the share of rows on
which it decides as the policy does, within a tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from hedgerow import _checks
from hedgerow.describe.names import checked_names
from hedgerow.describe.names import decision_names as names_of_decisions
from hedgerow.describe.numbers import number, percent
from hedgerow.describe.parts import offered
from hedgerow.describe.text import shown
from hedgerow.explain.lens import Lens, lens_of
from hedgerow.rules.forest_arrays import ForestArrays
from hedgerow.rules.hardening import difference

MOST_SHOWN = 4
"""Decisions that a leaf spells out."""


@dataclass(frozen=True)
class Leaf:
    """What is decided, and for which share of the rows."""

    decision: np.ndarray
    share: float = 0.0


@dataclass(frozen=True)
class Split:
    """A question: whether coefficients·x[columns] ≥ threshold."""

    columns: np.ndarray
    coefficients: np.ndarray
    threshold: float
    yes: Node
    no: Node

    def answers(self, X: np.ndarray) -> np.ndarray:
        """Whether each row says yes."""
        return X[:, self.columns] @ self.coefficients >= self.threshold


Node = Split | Leaf


@dataclass(frozen=True)
class RuleWords:
    """A policy in words.

    Attributes
    ----------
    text : str
        If–then lines, indented by four spaces a level.
    fidelity : float
        Share of the rows on which the text decides as the policy does, within the tolerance.
    tolerance : float
        Σ_k |text's − policy's| as a share of Σ_k |policy's|.
    mean_difference : float
        Mean over rows of that share.
    kind : {"hardened", "distilled"}
    tree : int or None
        Which tree was hardened, from 0 on (the text counts from 1), of how many (``trees``).
    trees, rows : int
    root : Split or Leaf
        The same rule as an object: ``decide(root, X)``.
    """

    text: str
    fidelity: float
    tolerance: float
    mean_difference: float
    kind: str
    tree: int | None
    trees: int | None
    rows: int
    root: Node

    def __str__(self) -> str:
        """The text with its fidelity below."""
        source = "A small tree fitted to the policy's decisions"
        if self.kind == "hardened":
            source = f"Tree {(self.tree or 0) + 1} of {self.trees}"
            source = f"{'The tree' if self.trees == 1 else source} with crisp gates"
        return (
            f"{self.text}\n\n{source}; it decides as the policy does, within "
            f"{percent(self.tolerance)}, on {percent(self.fidelity)} of {self.rows:,} rows; on "
            f"average it is {percent(self.mean_difference)} off."
        )


def words(
    policy: Any,
    X: Any,
    kind: str | None = None,
    *,
    tree: int | None = None,
    terms: int = 3,
    leaves: int = 8,
    tolerance: float = 0.1,
    units: Mapping[str, str] | None = None,
    phrases: Mapping[str, str] | None = None,
    decision_unit: str = "",
    decision_names: Sequence[str] | None = None,
) -> RuleWords:
    """Return a policy as if–then text, with the share of decisions that the text reproduces.

    Parameters
    ----------
    policy : RobustPolicy
        Any fitted policy; only rules with trees can be hardened.
    X : (rows, features)
        Contexts to measure fidelity on; branches that none of them reaches are left out.
    kind : {"hardened", "distilled"} or None
        See the module; None: hardened for a single tree, else distilled.
    tree : int or None
        Which tree to harden; None: the one that is most faithful.
    terms : int
        Features in one question of a hardened tree; the rest stay at their training means.
    leaves : int
        Decisions that a distilled tree may hold.
    tolerance : float
        What counts as the same decision, as a share of it.
    units : dict of feature → unit, optional
        Written behind the features' names.
    phrases : dict of feature → phrase, optional
        How to ask whether a feature of zeros and ones is one, such as "sky is sun" for sky_sun
        (``TableEncoder.phrases``).
    decision_unit : str
        Written behind decisions, such as "portions".
    decision_names : list of str, optional
        What several decisions are called; outcomes' names if the policy knows them.
    """
    lens = lens_of(policy)
    rows = lens.contexts(X)
    allowed = _checks.positive("tolerance", tolerance)
    trees = None if lens.trees is None else len(lens.trees.leaves)
    kind = kind or ("hardened" if trees == 1 else "distilled")
    _checks.one_of("kind", kind, ("hardened", "distilled"))
    units, phrases = units or {}, phrases or {}
    unknown = [name for name in units if name not in lens.names]
    if unknown:
        raise ValueError(f"There is no feature {unknown[0]!r} to give a unit to.")
    decisions = lens.decide(rows)
    if kind == "distilled":
        tree, root = None, _distilled(rows, decisions, _checks.count("leaves", leaves, least=2))
    else:
        tree, root = _hardened(lens, rows, decisions, tree, _checks.count("terms", terms), allowed)
    root = _settled(root, rows, len(rows))
    names = [f"{name} [{units[name]}]" if name in units else name for name in lens.names]
    binary = np.all((rows == 0) | (rows == 1), axis=0)
    asked = [
        phrases.get(name, f"{title} is 1") if flag else ""
        for name, title, flag in zip(lens.names, names, binary, strict=True)
    ]
    called = checked_names(
        decision_names or names_of_decisions(policy), decisions.shape[1], "decision"
    )
    unit = f" {decision_unit}" if decision_unit else ""
    # a line break of a name must not become one of the text
    names, asked, called = ([shown(text) for text in texts] for texts in (names, asked, called))
    lines = _lines(root, names, asked, lambda z: _decision_words(z, called) + unit)
    apart = difference(decide(root, rows), decisions)
    return RuleWords(
        text="\n".join(lines),
        fidelity=float(np.mean(apart <= allowed)),
        tolerance=allowed,
        mean_difference=float(np.mean(apart)),
        kind=kind,
        tree=tree,
        trees=trees,
        rows=len(rows),
        root=root,
    )


def decide(root: Node, X: np.ndarray) -> np.ndarray:
    """Decisions (rows, k) of a rule in words."""
    if isinstance(root, Leaf):
        return np.broadcast_to(root.decision, (len(X), len(root.decision)))
    yes = root.answers(X)[:, None]
    return np.where(yes, decide(root.yes, X), decide(root.no, X))


def _distilled(rows: np.ndarray, decisions: np.ndarray, leaves: int) -> Node:
    """A small tree of single-feature questions, closest to the decisions in the mean square."""
    spread = decisions.std(axis=0)
    scaled = decisions / np.where(spread > 0, spread, 1.0)
    fewest = max(1, len(rows) // 100)
    found = DecisionTreeRegressor(max_leaf_nodes=leaves, min_samples_leaf=fewest, random_state=0)
    grown = found.fit(rows, scaled).tree_
    reached = found.apply(rows)

    def node(i: int, inside: np.ndarray) -> Node:
        if grown.children_left[i] < 0:
            return Leaf(decisions[reached == i].mean(axis=0))
        column = int(grown.feature[i])
        values = rows[inside, column]
        low = values[values <= grown.threshold[i]].max()
        high = values[values > grown.threshold[i]].min()
        above = inside & (rows[:, column] > grown.threshold[i])
        return Split(
            np.array([column]),
            np.ones(1),
            _round_between(low, high),
            node(grown.children_right[i], above),
            node(grown.children_left[i], inside & ~above),
        )

    return node(0, np.ones(len(rows), bool))


def _hardened(
    lens: Lens,
    rows: np.ndarray,
    decisions: np.ndarray,
    tree: int | None,
    terms: int,
    tolerance: float,
) -> tuple[int, Node]:
    """One tree with crisp gates; the most faithful one unless it was named."""
    needed, instead = "Only rules with trees can be hardened", ", or ask for kind='distilled'"
    forest = offered(lens.trees, lens.policy.rule_, "trees", needed, instead)
    trees = range(len(forest.leaves))
    if tree is not None:
        trees = [_checks.position("tree", tree, len(trees))]
    crisp = {t: _crisp(lens, forest, t, terms) for t in trees}
    apart = {t: difference(decide(root, rows), decisions) for t, root in crisp.items()}
    best = max(trees, key=lambda t: (np.mean(apart[t] <= tolerance), -apart[t].mean()))
    return best, crisp[best]


def _crisp(lens: Lens, forest: ForestArrays, tree: int, terms: int) -> Node:
    """A tree's gates as questions about few features, in the features' units."""
    units = lens.units
    spread = units.x_spread

    def node(level: int, gate: int) -> Node:
        if level == forest.depth:
            return Leaf(forest.leaves[tree, gate])
        index = 2**level - 1 + gate
        left, right = node(level + 1, gate), node(level + 1, gate + 2**level)
        w = np.where(lens.factor > 0, forest.weights[tree, index], 0.0)
        columns = np.argsort(-np.abs(w), kind="stable")[:terms]
        columns = columns[np.abs(w[columns]) > 1e-3 * np.abs(w).max()]
        bias = forest.biases[tree, index]
        if len(columns) == 0:
            return left if bias > 0 else right
        slopes = w[columns] * lens.factor[columns]
        lead = slopes[0]
        coefficients = np.array([_significant(value, 2) for value in slopes / lead])
        threshold = coefficients @ units.x_centre[columns] - bias / lead
        scale = math.sqrt(np.sum((coefficients * spread[columns]) ** 2))
        yes, no = (left, right) if lead > 0 else (right, left)
        return Split(columns, coefficients, _to_resolution(threshold, 0.02 * scale), yes, no)

    return node(0, 0)


def _settled(node: Node, rows: np.ndarray, total: int) -> Node:
    """Leave out branches that no row reaches, and note how many reach each leaf."""
    if isinstance(node, Leaf):
        return Leaf(node.decision, len(rows) / total)
    yes = node.answers(rows)
    if yes.all() or not yes.any():
        return _settled(node.yes if yes.all() else node.no, rows, total)
    ends = _settled(node.yes, rows[yes], total), _settled(node.no, rows[~yes], total)
    return replace(node, yes=ends[0], no=ends[1])


def _lines(node: Node, names: list[str], asked: list[str], say: Any) -> list[str]:
    if isinstance(node, Leaf):
        return [f"decide {say(node.decision)}  ({percent(node.share)} of rows)"]
    question = _question(node, names, asked)
    yes, no = (_lines(end, names, asked, say) for end in (node.yes, node.no))
    indented = [[f"    {line}" for line in lines] for lines in (yes, no)]
    return [f"if {question}:", *indented[0], "otherwise:", *indented[1]]


def _question(node: Split, names: list[str], asked: list[str]) -> str:
    first = node.columns[0]
    if len(node.columns) == 1 and asked[first] and 0 < node.threshold <= 1:
        return asked[first]
    text = names[first]
    for column, value in zip(node.columns[1:], node.coefficients[1:], strict=True):
        size = "" if abs(value) == 1 else f"{number(abs(value))}·"
        text += f" {'−' if value < 0 else '+'} {size}{names[column]}"
    return f"{text} ≥ {number(node.threshold, 10)}"


def _decision_words(z: np.ndarray, names: list[str]) -> str:
    if len(z) == 1:
        return number(z[0])
    order = np.argsort(-np.abs(z), kind="stable")
    shown = [f"{names[k]} {number(float(z[k]), 3)}" for k in order[:MOST_SHOWN]]
    rest = len(z) - len(shown)
    return ", ".join(shown) + (f" and {rest} smaller" if rest else "")


def _significant(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _to_resolution(value: float, finest: float) -> float:
    """Round to the power of ten just below ``finest``."""
    return round(value, -math.floor(math.log10(finest)))


def _round_between(low: float, high: float) -> float:
    """The shortest number in (low, high], so that "≥" tells the two apart."""
    for digits in range(1, 17):
        rounded = _significant((low + high) / 2, digits)
        if low < rounded <= high:
            return rounded
    return float(high)
