"""Maps of decision sets: from any numbers onto the set (``hedgerow.decisions``), rows last.

Intervals   low + (high − low)·sigmoid(raw);  softplus from a single end;  raw where there is none
Shares      softmax(raw)
Joined      blocks of coordinates, each through a map of its own
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hedgerow.plain.forms import literal, sigmoid, softplus

if TYPE_CHECKING:
    from hedgerow.plain.onnx_graph import Graph


class PlainMap(Protocol):
    """The map of a decision set."""

    @property
    def size(self) -> int:
        """Coordinates."""
        ...

    def image(self, raw: np.ndarray) -> np.ndarray:
        """Map numbers (coordinates, rows) onto the set."""
        ...

    def onnx(self, graph: Graph, raw: str) -> str:
        """The same for a tensor (rows, coordinates)."""
        ...

    def python(self, raw: str) -> str:
        """The same as an expression, given that of a list of numbers."""
        ...


@dataclass(frozen=True)
class Intervals:
    """Each coordinate between ends of its own, which may be infinite; arrays (coordinates,)."""

    low: np.ndarray
    high: np.ndarray

    @property
    def size(self) -> int:
        """Coordinates."""
        return len(self.low)

    def _kinds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which coordinates have two ends, a low one only, a high one only."""
        below, above = np.isfinite(self.low), np.isfinite(self.high)
        return below & above, below & ~above, above & ~below

    def image(self, raw: np.ndarray) -> np.ndarray:
        """Coordinate by coordinate."""
        found = np.array(raw, np.float64)
        both, below, above = self._kinds()
        low, high = self.low[:, None], self.high[:, None]
        found[both] = low[both] + (high - low)[both] * sigmoid(found[both])
        found[below] = low[below] + softplus(found[below])
        found[above] = high[above] - softplus(-found[above])
        return found

    def onnx(self, graph: Graph, raw: str) -> str:
        """Every kind of coordinate, chosen among by what is constant."""
        both, below, above = self._kinds()
        low = np.where(both | below, self.low, 0.0)
        high = np.where(both | above, self.high, 1.0)
        found = raw
        if above.any():
            falling = graph.sub(graph.number(high), graph.softplus(graph.add("Neg", raw)))
            found = graph.add("Where", graph.constant(above), falling, found)
        if below.any():
            rising = graph.sum(graph.number(low), graph.softplus(raw))
            found = graph.add("Where", graph.constant(below), rising, found)
        if both.any():
            share = graph.add("Mul", graph.number(high - low), graph.sigmoid(raw))
            inside = graph.sum(graph.number(low), share)
            found = graph.add("Where", graph.constant(both), inside, found)
        return found

    def python(self, raw: str) -> str:
        """``between`` for each coordinate."""
        if not (np.isfinite(self.low).any() or np.isfinite(self.high).any()):
            return raw
        ends = [
            tuple(float(end) if np.isfinite(end) else None for end in pair)
            for pair in zip(self.low, self.high, strict=True)
        ]
        return f"[between(r, *ends) for r, ends in zip({raw}, {literal(ends)})]"


@dataclass(frozen=True)
class Shares:
    """Shares of a whole."""

    size: int

    def image(self, raw: np.ndarray) -> np.ndarray:
        """Softmax."""
        grown = np.exp(raw - raw.max(axis=0))
        return grown / grown.sum(axis=0)

    def onnx(self, graph: Graph, raw: str) -> str:
        """Softmax over coordinates."""
        return graph.add("Softmax", raw, axis=1)

    def python(self, raw: str) -> str:
        """``shares`` of them."""
        return f"shares({raw})"


@dataclass(frozen=True)
class Joined:
    """Maps of blocks of coordinates, one after the other."""

    parts: tuple[PlainMap, ...]

    @property
    def size(self) -> int:
        """Sum of the parts' coordinates."""
        return sum(part.size for part in self.parts)

    def _places(self) -> list[tuple[PlainMap, int, int]]:
        ends = np.cumsum([part.size for part in self.parts]).tolist()
        return [(part, end - part.size, end) for part, end in zip(self.parts, ends, strict=True)]

    def image(self, raw: np.ndarray) -> np.ndarray:
        """Block by block."""
        return np.concatenate([part.image(raw[a:b]) for part, a, b in self._places()])

    def onnx(self, graph: Graph, raw: str) -> str:
        """Block by block."""
        found = [part.onnx(graph, graph.part(raw, a, b, axis=1)) for part, a, b in self._places()]
        return graph.add("Concat", *found, axis=1)

    def python(self, raw: str) -> str:
        """Block by block."""
        return " + ".join(part.python(f"{raw}[{a}:{b}]") for part, a, b in self._places())
