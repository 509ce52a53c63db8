"""Rules with a map at their end: f(u) = map(raw(u)).

Affine     raw = A u + c
Constant   raw = c
Network    raw_k = (1/m) Σ_i a_ik · max(0, w_ik·u + b_ik) + c_k
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hedgerow.plain.forms import PythonCode, literal, table
from hedgerow.plain.maps import PlainMap

if TYPE_CHECKING:
    from hedgerow.plain.onnx_graph import Graph


class RawNumbers(Protocol):
    """Numbers to be mapped."""

    def numbers(self, u: np.ndarray) -> np.ndarray:
        """Numbers (k, rows) for contexts (features, rows)."""
        ...

    def onnx(self, graph: Graph, u: str) -> str:
        """The same from a tensor (rows, features) to (rows, k)."""
        ...

    def python(self) -> tuple[str, str]:
        """Constants, and the expression of a list of numbers."""
        ...


@dataclass(frozen=True)
class Affine:
    """A u + c; arrays (k, features) and (k,)."""

    matrix: np.ndarray
    offset: np.ndarray

    def numbers(self, u: np.ndarray) -> np.ndarray:
        """One matrix product."""
        return self.matrix @ u + self.offset[:, None]

    def onnx(self, graph: Graph, u: str) -> str:
        """One matrix product."""
        return graph.affine(u, self.matrix, self.offset)

    def python(self) -> tuple[str, str]:
        """A sum for each number."""
        constants = table("MATRIX", self.matrix) + f"OFFSET = {literal(self.offset)}\n"
        return constants, (
            "[sum(a * v for a, v in zip(row, u)) + c for row, c in zip(MATRIX, OFFSET)]"
        )


@dataclass(frozen=True)
class Constant:
    """c, whatever the context; an array (k,)."""

    offset: np.ndarray

    def numbers(self, u: np.ndarray) -> np.ndarray:
        """C for every row."""
        return np.tile(self.offset[:, None], (1, u.shape[1]))

    def onnx(self, graph: Graph, u: str) -> str:
        """0·u + c, so that there are as many rows as contexts."""
        nothing = graph.affine(u, np.zeros((len(self.offset), graph.features)), None)
        return graph.sum(nothing, graph.number(self.offset))

    def python(self) -> tuple[str, str]:
        """C."""
        return f"OFFSET = {literal(self.offset)}\n", "list(OFFSET)"


@dataclass(frozen=True)
class Network:
    """Two layers; arrays (k, m, features), (k, m), (k, m) and (k,)."""

    hidden: np.ndarray
    bias: np.ndarray
    output: np.ndarray
    offset: np.ndarray

    def numbers(self, u: np.ndarray) -> np.ndarray:
        """Both layers."""
        decisions, width, features = self.hidden.shape
        units = self.hidden.reshape(-1, features) @ u + self.bias.reshape(-1, 1)
        np.maximum(units, 0.0, out=units)
        units *= self.output.reshape(-1, 1)
        return units.reshape(decisions, width, -1).sum(axis=1) / width + self.offset[:, None]

    def onnx(self, graph: Graph, u: str) -> str:
        """Both layers."""
        decisions, width, features = self.hidden.shape
        units = graph.affine(u, self.hidden.reshape(-1, features), self.bias.ravel())
        weighed = graph.add("Mul", graph.add("Relu", units), graph.number(self.output.ravel()))
        apart = graph.add("Reshape", weighed, graph.constant(np.array([-1, decisions, width])))
        found = graph.add("ReduceSum", apart, graph.constant(np.array([2])), keepdims=0)
        mean = graph.add("Div", found, graph.number(np.array(float(width))))
        return graph.sum(mean, graph.number(self.offset))

    def python(self) -> tuple[str, str]:
        """A sum over hidden units for each number."""
        units = [
            "".join(
                f"        ({literal(w)}, {literal(b)}, {literal(a)}),\n"
                for w, b, a in zip(*of_one, strict=True)
            )
            for of_one in zip(
                self.hidden.tolist(), self.bias.tolist(), self.output.tolist(), strict=True
            )
        ]
        constants = "UNITS = (\n" + "".join(f"    (\n{lines}    ),\n" for lines in units) + ")\n"
        constants += f"OFFSET = {literal(self.offset)}\n"
        lines = (
            "[",
            "        sum(",
            "            a * max(0.0, sum(w * v for w, v in zip(weights, u)) + bias)",
            "            for weights, bias, a in units",
            "        ) / len(units) + c",
            "        for units, c in zip(UNITS, OFFSET)",
            "    ]",
        )
        return constants, "\n".join(lines)


@dataclass(frozen=True)
class Mapped:
    """Numbers, and the map onto the decision set."""

    raw: RawNumbers
    onto: PlainMap

    def decide(self, u: np.ndarray) -> np.ndarray:
        """Map the numbers."""
        return self.onto.image(self.raw.numbers(u))

    def onnx(self, graph: Graph, u: str) -> str:
        """Map the numbers."""
        return self.onto.onnx(graph, self.raw.onnx(graph, u))

    def python(self) -> PythonCode:
        """Map the numbers."""
        constants, numbers = self.raw.python()
        return PythonCode(constants, f"    raw = {numbers}\n    return {self.onto.python('raw')}\n")
