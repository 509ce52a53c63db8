"""One soft tree: what its gates weigh, what its leaves decide, which routes inputs take.

    up with probability s_i = S((w_i·x + b_i)/τ),    weights as shares  w_ij / Σ_m |w_im|

(paper: Figure 10). The root is on the left and leaves are on the right, where there is room for
words. Weights act on standardised features, so their shares can be compared within a gate. A line
is as wide as the probability of coming along it: grey over all rows of X, coloured for chosen ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hedgerow import _checks
from hedgerow.describe import names as naming
from hedgerow.describe.numbers import number, percent
from hedgerow.estimator import RobustPolicy
from hedgerow.explain.lens import TreeLens, trees_of
from hedgerow.plots.sheet import Line, Sheet
from hedgerow.plots.style import COLOURS, GREY, style
from hedgerow.rules.forest_arrays import ForestArrays

MOST_DEPTH, MOST_ROWS = 4, 3


def tree(
    policy: RobustPolicy,
    X: Any = None,
    tree: int = 0,
    rows: Sequence[int] | None = None,
    *,
    decisions: Sequence[int] | None = None,
    decision_names: Sequence[str] | None = None,
    row_labels: Sequence[str] | None = None,
    top: int = 3,
    title: str | None = None,
) -> Figure:
    """Draw one tree of a forest, and how chosen inputs run through it.

    A gate lists its largest weights as shares of all its weights. It sends an input up the more,
    the larger its features with + and the smaller those with − are. A leaf lists what it decides.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy whose trees have a depth of at most 4. Deeper ones are refused, since their
        leaves do not fit on a page; ``explain.routes(policy, X).dominant(row, tree)`` lists routes
        of any depth.
    X : (rows, features), optional
        Contexts. With them grey lines are as wide as the share of all rows that takes them.
    tree : int
        Which tree.
    rows : sequence of int, optional
        Up to three rows of X whose routes are drawn in colour, with the probability of each leaf
        that they reach, from 0.1 % on.
    decisions : sequence of int, optional
        Which decisions leaves may list; None: all.
    decision_names, row_labels : sequence of str, optional
        What the decisions and the chosen rows are called.
    top : int
        Most weights that a gate lists, and most decisions that a leaf does, the largest first.
    title : str, optional

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> figure = hr.plots.tree(policy, data.data)
    """
    lens = trees_of(policy, "Only rules with trees can be drawn as one")
    trees = len(lens.trees.leaves)
    drawn = lens.trees.one(_checks.position("tree", tree, trees))
    depth = drawn.depth
    if depth > MOST_DEPTH:
        raise ValueError(
            f"A tree of depth {depth} has {2**depth} leaves, too many for a page; trees up to "
            f"depth {MOST_DEPTH} are drawn, and hedgerow.explain.routes lists routes of any depth."
        )
    _checks.count("top", top)
    names = naming.checked_names(
        decision_names or naming.decision_names(policy), policy.n_decisions_, "decision"
    )
    listed = _listed(decisions, len(names))
    gates = _gates(lens, drawn, top)
    leaves = _leaves(drawn.leaves[0], names, listed, top)
    everyone, chosen = _flows(lens, X, drawn, rows)
    called = _called(rows, row_labels)

    with style():
        columns = len(chosen) + (everyone is not None)
        sheet = Sheet(gates, leaves, columns, titled=bool(title or called))
        sheet.draw_branches(everyone)
        for rank, flow in enumerate(chosen):
            sheet.draw_route(flow, rank, len(chosen))
        sheet.draw_boxes()
        if everyone is not None:
            sheet.write_shares(everyone, 0, GREY, bold=False)
        for rank, flow in enumerate(chosen):
            sheet.write_shares(flow, rank + 1, COLOURS[rank], bold=True)
        head = "" if len(listed) > 1 else names[listed[0]]
        sheet.write_around(title, called, head, everyone is not None, trees)
    return sheet.figure


# --------------------------------------------------------------------------- what is said


def _listed(decisions: Sequence[int] | None, count: int) -> list[int]:
    listed = range(count) if decisions is None else decisions
    if not len(listed):
        raise ValueError(f"decisions must lie between 0 and {count - 1}; got none.")
    return [_checks.position("decisions", k, count) for k in listed]


def _gates(lens: TreeLens, tree: ForestArrays, top: int) -> list[list[Line]]:
    """For every gate its largest weights, the others' share, and where the mean input goes."""
    boxes = []
    for weights, bias in zip(tree.weights[0], tree.biases[0], strict=True):
        shares = weights / (np.abs(weights).sum() or 1.0)
        order = np.argsort(-np.abs(shares), kind="stable")
        order = order[shares[order] != 0]
        # one feature more takes no more room than to say that there is one more
        shown = order[: top if len(order) > top + 1 else top + 1]
        lines = [
            Line(f"{'+' if shares[j] > 0 else '−'} {percent(abs(shares[j]))}", lens.names[j],
                 abs(shares[j])) for j in shown
        ]  # fmt: skip
        rest = order[len(shown) :]
        if len(rest):
            share = float(np.abs(shares[rest]).sum())
            lines.append(Line(f"± {percent(share)}", f"{len(rest)} others", share))
        lines.append(Line("", f"mean input: {percent(float(tree.gates(bias)))} up"))
        boxes.append(lines)
    return boxes


def _leaves(
    values: np.ndarray, names: Sequence[str], listed: list[int], top: int
) -> list[list[Line]]:
    """For every leaf its decision, or the largest of many."""
    order = np.broadcast_to(listed, (len(values), len(listed)))
    sizes = np.abs(values).max(axis=0)
    if len(listed) > top:
        largest = np.argsort(-np.abs(values[:, listed]), axis=1, kind="stable")[:, :top]
        order = np.take_along_axis(order, largest, axis=1)
        sizes = np.full_like(sizes, sizes[listed].max())
    digits = 4 if len(listed) == 1 else 3
    called = [""] * len(names) if len(listed) == 1 else list(names)
    return [
        [Line(number(leaf[k], digits, like=sizes[k]), called[k]) for k in own]
        for leaf, own in zip(values, order, strict=True)
    ]


def _flows(
    lens: TreeLens, X: Any, tree: ForestArrays, rows: Sequence[int] | None
) -> tuple[np.ndarray | None, list[np.ndarray]]:
    """Probability of coming to every gate and leaf: the mean over X, and for each chosen row."""
    if X is None:
        if rows is not None:
            raise ValueError("rows are rows of X: give X as well.")
        return None, []
    x = lens.standard(lens.contexts(X))
    rows = [_checks.position("rows", row, len(x)) for row in ([] if rows is None else rows)]
    if len(rows) > MOST_ROWS:
        raise ValueError(f"Up to {MOST_ROWS} rows can be told apart in colour; got {len(rows)}.")
    reached = tree.reach(tree.gates(tree.logits(x.T)))
    found = np.concatenate([level[0] for level in reached])
    return found.mean(axis=1), [found[:, row] for row in rows]


def _called(rows: Sequence[int] | None, given: Sequence[str] | None) -> list[str]:
    called = [f"row {row}" for row in rows or ()]
    if given is None:
        return called
    if len(given) != len(called):
        raise ValueError(f"There are {len(called)} rows, but {len(given)} labels for them.")
    return [str(label) for label in given]
