"""Soft trees: the mean of leaves by the probabilities of reaching them (``rules.soft_forest``).

    s_i = sigmoid((w_i·u + b_i)/τ),    value_i = right_i + s_i·(left_i − right_i)

from the leaves up for one decision; for several, probabilities flow from the root to the leaves,
and one product over all leaves makes decisions of them. τ = 0: gates are open or closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.plain.forms import PythonCode, literal, sigmoid
from hedgerow.plain.maps import PlainMap

if TYPE_CHECKING:
    from hedgerow.plain.onnx_graph import Graph


@dataclass(frozen=True)
class Trees:
    """The numbers of a forest, in float64.

    Attributes
    ----------
    weights : (trees, gates, features seen)
    biases : (trees, gates)
    leaves : (trees, leaves, decisions): what is decided there, in working units
    temperature : float
    features : (trees, features seen) or None
        Which features each tree sees; None: all.
    scores : (scores, features) or None
        Weighted sums of the features that the trees see in their place.
    """

    weights: np.ndarray
    biases: np.ndarray
    leaves: np.ndarray
    temperature: float
    features: np.ndarray | None = None
    scores: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        weights: np.ndarray,
        biases: np.ndarray,
        raw: np.ndarray,
        temperature: float,
        onto: PlainMap,
        features: np.ndarray | None = None,
        scores: np.ndarray | None = None,
    ) -> Trees:
        """The numbers as a rule or a file has them: leaves raw, to be mapped onto the set."""
        raw = np.asarray(raw, np.float64)
        leaves = onto.image(raw.reshape(-1, raw.shape[2]).T).T.reshape(raw.shape)
        scored = None if scores is None else np.asarray(scores, np.float64)
        gates, shifts = (np.asarray(part, np.float64) for part in (weights, biases))
        return cls(gates, shifts, leaves, temperature, features, scored)

    @property
    def depth(self) -> int:
        """Gates on a route."""
        return self.leaves.shape[1].bit_length() - 1

    @cached_property
    def _alike(self) -> bool:
        """Whether all trees see the same features, such as all but those that never varied."""
        return self.features is not None and bool(np.all(self.features == self.features[0]))

    def decide(self, u: np.ndarray) -> np.ndarray:
        """Decisions (decisions, rows) for contexts (features, rows)."""
        gates = self._gates(u if self.scores is None else self.scores @ u)
        trees, leaves, decisions = self.leaves.shape
        if decisions == 1:
            values = self.leaves
            for level in reversed(range(self.depth)):
                left, right = values[:, : 2**level], values[:, 2**level :]
                mixed = _level(gates, level) * (left - right)
                mixed += right
                values = mixed
            return values.sum(axis=0) / trees
        flat = self.leaves.reshape(trees * leaves, decisions)
        return flat.T @ self._reached(gates) / trees

    def routes(self, u: np.ndarray) -> np.ndarray:
        """Probability of reaching each leaf of each tree (trees · leaves, rows)."""
        return self._reached(self._gates(u if self.scores is None else self.scores @ u))

    def _reached(self, gates: np.ndarray) -> np.ndarray:
        """The same, from the root to the leaves."""
        routes = np.ones_like(gates[:, :1])
        for level in range(self.depth):
            left = routes * _level(gates, level)
            routes = np.concatenate([left, routes - left], axis=1)
        return routes.reshape(-1, gates.shape[2])

    def _gates(self, u: np.ndarray) -> np.ndarray:
        """Probability of turning left (trees, gates, rows)."""
        trees, gates, seen = self.weights.shape
        if self.features is None or self._alike:
            known = u if self.features is None else u[self.features[0]]
            logits = (self.weights.reshape(-1, seen) @ known).reshape(trees, gates, -1)
        else:
            logits = np.matmul(self.weights, u[self.features])
        logits += self.biases[:, :, None]
        if self.temperature == 0:
            return (logits > 0).astype(np.float64)
        logits /= self.temperature
        return sigmoid(logits)

    def onnx(self, graph: Graph, u: str) -> str:
        """From the root to the leaves, all trees at once."""
        trees, leaves, decisions = self.leaves.shape
        means = self.leaves.reshape(trees * leaves, decisions) / trees
        return graph.add("MatMul", self.onnx_routes(graph, u), graph.number(means))

    def onnx_routes(self, graph: Graph, u: str) -> str:
        """``routes`` as a tensor (rows, trees · leaves)."""
        trees, gates, _ = self.weights.shape
        if self.scores is not None:
            u = graph.affine(u, self.scores, None)
        if self.features is None:
            logits = graph.affine(u, self.weights.reshape(trees * gates, -1), self.biases.ravel())
        else:  # (trees, features, rows), so that each tree sees its own
            own = graph.add(
                "Gather", graph.add("Transpose", u, perm=[1, 0]), graph.constant(self.features)
            )
            products = graph.add("MatMul", graph.number(self.weights), own)
            turned = graph.add("Transpose", products, perm=[2, 0, 1])
            flat = graph.add("Reshape", turned, graph.constant(np.array([-1, trees * gates])))
            logits = graph.sum(flat, graph.number(self.biases.ravel()))
        if self.temperature == 0:
            found = graph.as_number(graph.add("Greater", logits, graph.number(np.array(0.0))))
        else:
            scaled = graph.add("Div", logits, graph.number(np.array(self.temperature)))
            found = graph.sigmoid(scaled)
        found = graph.add("Reshape", found, graph.constant(np.array([-1, trees, gates])))
        routes = graph.number(np.ones((1, trees, 1)))
        for level in range(self.depth):
            gate = graph.part(found, 2**level - 1, 2 ** (level + 1) - 1, axis=2)
            left = graph.add("Mul", routes, gate)
            routes = graph.add("Concat", left, graph.sub(routes, left), axis=2)
        shape = graph.constant(np.array([-1, trees * self.leaves.shape[1]]))
        return graph.add("Reshape", routes, shape)

    def python(self) -> PythonCode:
        """Tree by tree, from the leaves up."""
        return self.python_with("tree['leaves']")

    def python_with(self, values: str, slopes: np.ndarray | None = None) -> PythonCode:
        """The same where leaves say what an expression of ``tree`` and ``seen`` does.

        Trees have an entry ``slopes`` besides, where there are any.
        """
        lines = []
        for t in range(len(self.leaves)):
            seen = None if self.features is None else self.features[t]
            lines.append("    {\n")
            if seen is not None:
                lines.append(f"        'sees': {literal(seen)},\n")
            lines.append(f"        'weights': {literal(self.weights[t])},\n")
            lines.append(f"        'biases': {literal(self.biases[t])},\n")
            lines.append(f"        'leaves': {literal(self.leaves[t])},\n")
            if slopes is not None:
                lines.append(f"        'slopes': {literal(slopes[t])},\n")
            lines.append("    },\n")
        constants = "TREES = (\n" + "".join(lines) + ")\n"
        if self.scores is not None:
            constants += f"SCORES = {literal(self.scores)}\n"
        gate = (
            "1.0 if logit > 0 else 0.0"
            if self.temperature == 0
            else (f"sigmoid(logit / {self.temperature!r})")
        )
        scored = (
            ""
            if self.scores is None
            else ("    u = [sum(a * v for a, v in zip(row, u)) for row in SCORES]\n")
        )
        own = "u" if self.features is None else "[u[j] for j in tree['sees']]"
        body = f"""{scored}    total = [0.0] * {self.leaves.shape[2]}
    for tree in TREES:
        seen = {own}
        gates = []
        for weights, bias in zip(tree['weights'], tree['biases']):
            logit = sum(w * v for w, v in zip(weights, seen)) + bias
            gates.append({gate})
        values = {values}
        while len(values) > 1:
            half = len(values) // 2
            values = [
                [r + gates[half - 1 + i] * (l - r) for l, r in zip(values[i], values[half + i])]
                for i in range(half)
            ]
        total = [t + v for t, v in zip(total, values[0])]
    return [t / len(TREES) for t in total]
"""
        return PythonCode(constants, body)


def _level(gates: np.ndarray, level: int) -> np.ndarray:
    """The gates of one level."""
    return gates[:, 2**level - 1 : 2 ** (level + 1) - 1]
