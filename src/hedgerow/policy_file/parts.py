"""Parts as plain JSON and back: {"component": path, "parameters": …}, {"set": path, …}, values."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from hedgerow import (
    ambiguity,
    contexts,
    decisions,
    forecasts,
    kernels,
    losses,
    lots,
    rules,
    solvers,
)
from hedgerow._components import Component
from hedgerow.data import nominal
from hedgerow.decisions import DecisionSet
from hedgerow.losses import Column
from hedgerow.policy_file.errors import PolicyFileError

OWN: dict[str, type] = {
    f"hedgerow.{kind.__name__}": kind
    for module in (
        *(ambiguity, contexts, decisions, forecasts, losses, lots, kernels, nominal, rules),
        solvers,
    )
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Component | DecisionSet)
}
"""Parts of this package, by the name that files know them by."""


class NotStored:
    """Stands where a file could not hold a function, regressor or splitter; says so when asked."""

    def __init__(self, description: str) -> None:
        self.description = description

    def __call__(self, *_: Any) -> Any:
        """Refuse."""
        raise PolicyFileError(
            f"This policy's loss is a Python function ({self.description}) that is not stored in "
            "policy files; pass it again with hedgerow.load(path, loss=...)."
        )

    def fit(self, *_: Any, **__: Any) -> Any:
        """Refuse."""
        raise PolicyFileError(
            f"This policy's nominal uses a {self.description}, which policy files do not hold; "
            "set it again with policy.set_params(nominal=...)."
        )

    predict = split = fit

    def __sklearn_clone__(self) -> NotStored:
        return self


def path_of(kind: type) -> str:
    """Return the name that a file knows a part by: its import path, or hedgerow's own name."""
    own = f"hedgerow.{kind.__name__}"
    return own if OWN.get(own) is kind else f"{kind.__module__}.{kind.__qualname__}"


def describe(value: Any) -> Any:
    """Turn a part or a plain value into JSON."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Component):
        given = value.get_params(deep=False).items()
        parameters = {name: describe(v) for name, v in given if name not in value.unstored}
        return {"component": path_of(type(value)), "parameters": parameters}
    if isinstance(value, DecisionSet):
        arguments = [describe(argument) for argument in value.arguments]
        return {"set": path_of(type(value)), "arguments": arguments}
    if isinstance(value, Column):
        numbers = (*value.factors, value.constant)
        return {"columns": list(map(list, value.terms)), "numbers": list(map(describe, numbers))}
    if isinstance(value, tuple | list):
        return {"tuple": [describe(item) for item in value]}
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if hasattr(value, "toarray"):
        value = value.toarray()
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        array = np.asarray(value)
        items = [describe(item) for item in array.ravel().tolist()]
        return {"array": items, "shape": list(array.shape)}
    return {"not stored": getattr(value, "__qualname__", type(value).__name__)}


class Known:
    """The parts that a file may name: this package's, and those handed over."""

    def __init__(self, parts: Iterable[type] = ()) -> None:
        self._given: dict[str, type] = {}
        for kind in parts:
            if not (isinstance(kind, type) and issubclass(kind, Component | DecisionSet)):
                raise TypeError(
                    f"parts must be classes of losses, rules, models, nominals, solvers or "
                    f"decision sets, such as parts=[MyLoss]; got {kind!r}."
                )
            self._given[path_of(kind)] = kind

    def revive(self, description: Any) -> Any:
        """Turn JSON from ``describe`` back into objects."""
        if not isinstance(description, dict):
            return description
        if "component" in description:
            kind: Any = self.kind(description["component"], Component)
            return kind.restored(
                **{name: self.revive(value) for name, value in description["parameters"].items()}
            )
        if "set" in description:
            kind = self.kind(description["set"], DecisionSet)
            return kind(*(self.revive(item) for item in description["arguments"]))
        if "columns" in description:
            *factors, constant = (self.revive(number) for number in description["numbers"])
            return Column.combined(description["columns"], factors, constant)
        if "tuple" in description:
            return tuple(self.revive(item) for item in description["tuple"])
        if "float" in description:
            return float(description["float"])
        if "array" in description:
            array = np.array([self.revive(item) for item in description["array"]])
            return array.reshape(description["shape"])
        return NotStored(str(description.get("not stored")))

    def kind(self, path: str, base: type) -> type:
        """The class of a path, of this base; a part handed over is known by its name alone, too."""
        if "." not in path:  # format 1
            path = f"hedgerow.{path}"
        name = path.rpartition(".")[2]
        alike = [kind for kind in self._given.values() if kind.__name__ == name]
        found = self._given.get(path) or OWN.get(path) or (alike[0] if len(alike) == 1 else None)
        if found is not None and issubclass(found, base):
            return found
        raise PolicyFileError(
            f"The policy file names a part {path}, which is not one of hedgerow's; files import "
            f"nothing, so hand the class over: hedgerow.load(path, parts=[{name}])."
        )
