"""Soft trees with affine leaves: numbers that are yet to be mapped (``rules.linear_leaves``).

raw(u) = (1/T) Σ_t Σ_l p_{l,t}(u) · (c_{l,t} + A_{l,t} u)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.plain.trees import Trees

if TYPE_CHECKING:
    from hedgerow.plain.onnx_graph import Graph


@dataclass(frozen=True)
class LinearTrees:
    """The numbers of a forest with linear leaves, in float64.

    Attributes
    ----------
    trees : Trees
        Gates, and c as leaves.
    slopes : (trees, leaves, decisions, features seen)
        A.
    """

    trees: Trees
    slopes: np.ndarray

    def numbers(self, u: np.ndarray) -> np.ndarray:
        """Probabilities from the root to the leaves, then two products over all leaves."""
        trees, leaves, decisions, _ = self.slopes.shape
        routes = self.trees.routes(u)
        level = self.trees.leaves.reshape(trees * leaves, decisions).T @ routes
        mixed = self._all_slopes(len(u)).T @ routes
        return (level + (mixed.reshape(decisions, len(u), -1) * u).sum(axis=1)) / trees

    def onnx(self, graph: Graph, u: str) -> str:
        """The same."""
        trees, leaves, decisions, _ = self.slopes.shape
        routes = self.trees.onnx_routes(graph, u)
        flat = self.trees.leaves.reshape(trees * leaves, decisions) / trees
        level = graph.add("MatMul", routes, graph.number(flat))
        slopes = graph.number(self._all_slopes(graph.features) / trees)
        mixed = graph.add("MatMul", routes, slopes)
        shape = graph.constant(np.array([-1, decisions, graph.features]))
        beside = graph.add("Unsqueeze", u, graph.constant(np.array([1])))
        rising = graph.add("Mul", graph.add("Reshape", mixed, shape), beside)
        added = graph.add("ReduceSum", rising, graph.constant(np.array([2])), keepdims=0)
        return graph.sum(level, added)

    def python(self) -> tuple[str, str]:
        """Tree by tree, in a function of its own."""
        leaf = "c + sum(a * v for a, v in zip(row, seen)) for c, row in zip(leaf, rows)"
        values = f"[[{leaf}] for leaf, rows in zip(tree['leaves'], tree['slopes'])]"
        code = self.trees.python_with(values, self.slopes)
        told = '\n\ndef numbers(u):\n    """Numbers that are yet to be mapped."""\n'
        return f"{code.constants}{told}{code.body}\n", "numbers(u)"

    def _all_slopes(self, features: int) -> np.ndarray:
        """Slopes (trees · leaves, decisions · features), 0 for features that a tree never sees."""
        trees, leaves, decisions, seen = self.slopes.shape
        slopes = self.slopes
        if self.trees.features is not None:
            slopes = np.zeros((trees, leaves, decisions, features))
            columns = self.trees.features[:, None, None, :]
            columns = np.broadcast_to(columns, (trees, leaves, decisions, seen))
            np.put_along_axis(slopes, columns, self.slopes, axis=3)
        return slopes.reshape(trees * leaves, -1)
