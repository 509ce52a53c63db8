"""What every plain form offers, and arithmetic that they share.

sigmoid(v) = 1/(1 + exp(−v)),    softplus(v) = log(1 + exp(v))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from hedgerow.plain.onnx_graph import Graph


class PythonCode(NamedTuple):
    """Lines of a Python module.

    Attributes
    ----------
    constants : str
        Assignments before the function.
    body : str
        Indented lines of a function of ``u``, a list of standardised numbers; the last one returns
        a list of decisions. They may call ``sigmoid``, ``between`` and ``shares``.
    """

    constants: str
    body: str


class PlainRule(Protocol):
    """A rule: from standardised contexts, rows last, to decisions in working units, rows last."""

    def decide(self, u: np.ndarray) -> np.ndarray:
        """Decisions (decisions, rows) for contexts (features, rows), both float64."""
        ...

    def onnx(self, graph: Graph, u: str) -> str:
        """Add the rule's nodes to a graph: from a tensor (rows, features) to (rows, decisions)."""
        ...

    def python(self) -> PythonCode:
        """The rule as lines of Python that need the standard library only."""
        ...


def sigmoid(values: np.ndarray) -> np.ndarray:
    """1/(1 + exp(−v)), in place; what overflows is 0, as it should be."""
    np.negative(values, out=values)
    with np.errstate(over="ignore"):
        np.exp(values, out=values)
    values += 1
    return np.reciprocal(values, out=values)


def softplus(values: np.ndarray) -> np.ndarray:
    """log(1 + exp(v))."""
    return np.logaddexp(values, 0.0)


def literal(values: Any) -> str:
    """Numbers as Python writes them, exactly; nested lists become nested tuples."""
    values = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(values, list | tuple):
        inner = ", ".join(literal(value) for value in values)
        return f"({inner},)" if len(values) == 1 else f"({inner})"
    if isinstance(values, float) and not np.isfinite(values):
        return f'float("{values}")'
    return repr(values)


def table(name: str, rows: Any) -> str:
    """Assign a tuple to a name, one item a line."""
    lines = "".join(f"    {literal(row)},\n" for row in rows)
    return f"{name} = (\n{lines})\n"
