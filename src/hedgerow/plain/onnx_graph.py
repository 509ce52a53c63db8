"""A policy as an ONNX model: contexts and decisions in the user's units, as one graph.

Input ``contexts`` (rows, features) and output ``decisions`` (rows, decisions). Contexts are
standardised in float64 whatever the graph computes in, since a year or an identity number less its
mean would lose its digits in float32.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow._files import whole_file
from hedgerow.plain.policy import FARTHEST, PlainPolicy

OPSET, IR = 17, 8
"""Of 2022: what runtimes of the last years read."""
INPUT, OUTPUT = "contexts", "decisions"
PRECISIONS = ("float64", "float32")


class Graph:
    """Nodes and constants that are yet to become a model; numbers are of one precision."""

    def __init__(self, helper: Any, precision: str, features: int) -> None:
        self._helper, self._precision, self.features = helper, precision, features
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of what it computes."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, values: np.ndarray) -> str:
        """Keep an array as it is, and return its name."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(values)
        return name

    def number(self, values: Any) -> str:
        """Keep numbers, in the graph's precision."""
        return self.constant(np.asarray(values, self._precision))

    def as_number(self, name: str) -> str:
        """Cast to the graph's precision."""
        kind = self._helper.np_dtype_to_tensor_dtype(np.dtype(self._precision))
        return self.add("Cast", name, to=kind)

    def sum(self, one: str, other: str) -> str:
        """One + other."""
        return self.add("Add", one, other)

    def sub(self, one: str, other: str) -> str:
        """One − other."""
        return self.add("Sub", one, other)

    def part(self, name: str, start: int, end: int, axis: int) -> str:
        """Cut out what lies between two places of an axis."""
        bounds = (self.constant(np.array([place])) for place in (start, end, axis))
        return self.add("Slice", name, *bounds)

    def affine(self, u: str, matrix: np.ndarray, offset: np.ndarray | None) -> str:
        """U Aᵀ + c."""
        product = self.add("MatMul", u, self.number(np.ascontiguousarray(matrix.T)))
        return product if offset is None else self.sum(product, self.number(offset))

    def sigmoid(self, raw: str) -> str:
        """1/(1 + exp(−v)); what overflows is infinite, and its reciprocal 0."""
        grown = self.add("Exp", self.add("Neg", raw))
        return self.add("Reciprocal", self.sum(self.number(1.0), grown))

    def softplus(self, raw: str) -> str:
        """max(v, 0) + log(1 + exp(−|v|)), which runtimes compute in either precision."""
        small = self.add("Exp", self.add("Neg", self.add("Abs", raw)))
        rest = self.add("Log", self.sum(self.number(1.0), small))
        return self.sum(self.add("Max", raw, self.number(0.0)), rest)


def write_onnx(
    path: str | os.PathLike[str],
    policy: PlainPolicy,
    told: Mapping[str, str],
    precision: str = "float64",
) -> None:
    """Write a policy as an ONNX file, whole or not at all; ``told`` goes into its metadata."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}.")
    try:
        import onnx
    except ImportError:
        raise ImportError(
            "Writing ONNX files needs onnx, which is not installed: pip install 'hedgerow[onnx]'."
        ) from None
    helper = onnx.helper
    graph = Graph(helper, precision, len(policy.centre))
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(precision))
    exact = graph.add("Cast", INPUT, to=onnx.TensorProto.DOUBLE)
    moved = graph.sub(exact, graph.constant(policy.centre))
    scaled = graph.add("Mul", moved, graph.constant(policy.factor))
    ends = (graph.constant(np.array(end)) for end in (-FARTHEST, FARTHEST))
    u = graph.add("Clip", scaled, *ends)
    made = policy.rule.onnx(graph, graph.as_number(u))
    # by a matrix: onnxruntime keeps a number that a matrix product is scaled by in float32
    product = graph.affine(made, np.diag(policy.unit), None)
    graph.nodes.append(helper.make_node("Identity", [product], [OUTPUT]))
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "policy",
            [helper.make_tensor_value_info(INPUT, kind, ["rows", len(policy.centre)])],
            [helper.make_tensor_value_info(OUTPUT, kind, ["rows", len(policy.unit)])],
            [onnx.numpy_helper.from_array(array, name) for name, array in graph.constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR,
        producer_name="hedgerow",
    )
    helper.set_model_props(model, dict(told))
    onnx.checker.check_model(model)
    with whole_file(path) as temporary:
        temporary.write_bytes(model.SerializeToString())
