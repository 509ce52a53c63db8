"""Policy files: one safetensors file with arrays and a JSON description; nothing is unpickled.

The header's metadata has one key, ``hedgerow``, holding JSON: the format's version and a
description built from plain values and named components. Reading revives only components of this
package by name; a function (``CustomLoss``) or an optimiser is never stored, only noted.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from hedgerow import ambiguity, decisions, losses, rules, solvers
from hedgerow._components import Component
from hedgerow._files import whole_file
from hedgerow.data import nominal
from hedgerow.decisions import DecisionSet
from hedgerow.kernels import nodes

FORMAT = 1
KEY = "hedgerow"
_KNOWN: dict[str, type] = {
    kind.__name__: kind
    for module in (ambiguity, decisions, losses, nodes, nominal, rules, solvers)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Component | DecisionSet)
}


class PolicyFileError(ValueError):
    """A policy file that cannot be read, with the reason in one sentence."""


class MissingFunction:
    """Stands where a policy file could not store a function; says so when it is called."""

    def __init__(self, description: str) -> None:
        self.description = description

    def __call__(self, *_: Any) -> Any:
        """Refuse."""
        raise PolicyFileError(
            f"This policy's loss is a Python function ({self.description}) that is not stored in "
            "policy files; pass it again with hedgerow.load(path, loss=...)."
        )


def write(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], about: dict) -> None:
    """Write arrays and description in one step: the old file stays until the new one is whole."""
    header = json.dumps({"format": FORMAT, **about}, allow_nan=False)
    data = save({name: np.asarray(a, order="C") for name, a in arrays.items()}, {KEY: header})
    with whole_file(path) as temporary:
        temporary.write_bytes(data)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict]:
    """Read arrays and description back, or say what is wrong with the file."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no policy file at {path}.")
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise PolicyFileError(
            f"{path} is not a readable policy file (truncated, damaged or another kind): {error}."
        ) from None
    if KEY not in metadata:
        raise PolicyFileError(f"{path} is a safetensors file, but not one written by hedgerow.")
    try:
        about = json.loads(metadata[KEY])
        version = int(about["format"])
    except (ValueError, KeyError, TypeError):
        raise PolicyFileError(f"{path} has a damaged description.") from None
    if version > FORMAT:
        raise PolicyFileError(
            f"{path} has policy format {version}, but this hedgerow reads up to {FORMAT}; it was "
            f"written by hedgerow {about.get('hedgerow', '(unknown)')}: upgrade to read it."
        )
    return arrays, about


def describe(value: Any) -> Any:
    """Turn a component, decision set or plain value into JSON."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Component):
        parameters = {name: describe(v) for name, v in value.get_params(deep=False).items()}
        return {"component": type(value).__name__, "parameters": parameters}
    if isinstance(value, DecisionSet):
        return {"set": type(value).__name__, "arguments": [describe(a) for a in value.arguments]}
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


def revive(description: Any) -> Any:
    """Turn JSON from ``describe`` back into objects of this package."""
    if not isinstance(description, dict):
        return description
    if "component" in description:
        return _known(description["component"])(
            **{name: revive(value) for name, value in description["parameters"].items()}
        )
    if "set" in description:
        return _known(description["set"])(*(revive(item) for item in description["arguments"]))
    if "tuple" in description:
        return tuple(revive(item) for item in description["tuple"])
    if "float" in description:
        return float(description["float"])
    if "array" in description:
        array = np.array([revive(item) for item in description["array"]])
        return array.reshape(description["shape"])
    return MissingFunction(str(description.get("not stored")))


def _known(name: str) -> type:
    if name not in _KNOWN:
        raise PolicyFileError(
            f"The policy file names a component {name!r} that this hedgerow does not have."
        )
    return _KNOWN[name]
