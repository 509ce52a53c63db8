"""Policy files: one safetensors file with arrays and a JSON description; nothing is unpickled.

The header's metadata has one key, ``hedgerow``, holding JSON: the format's version and a
description built from plain values and parts, each named by its import path. Reading imports
nothing: a part is looked up among those of this package and those handed over
(``load(path, parts=[...])``). A function (``CustomLoss``) or an optimiser is never stored, only
noted.

Arrays: the rule's leaves, the units and the history. Description: the parts the policy was composed
of, the resolved model, names, status and the robust value, if it is known. The nominal distribution
stays behind.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from hedgerow import ambiguity, decisions, kernels, losses, rules, solvers
from hedgerow._components import Component
from hedgerow._files import whole_file
from hedgerow._version import __version__
from hedgerow.certify.value import RobustValue
from hedgerow.data import nominal
from hedgerow.data.units import Units
from hedgerow.decisions import DecisionSet
from hedgerow.rules.base import build_rule

FORMAT = 2
"""1: parts named by class alone, a robust value always there. Still read."""
KEY = "hedgerow"
PARTS = ("loss", "ambiguity", "rule", "nominal", "solver")
OWN: dict[str, type] = {
    f"hedgerow.{kind.__name__}": kind
    for module in (ambiguity, decisions, losses, kernels, nominal, rules, solvers)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Component | DecisionSet)
}
"""Parts of this package, by the name that files know them by."""


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


def write_policy(path: str | os.PathLike[str], policy: Any) -> None:
    """Write a fitted policy."""
    policy.rule_.check_storable()
    leaves = jax.tree_util.tree_leaves(policy.rule_)
    arrays = {f"rule.{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    units = asdict(policy.units_)
    arrays |= {f"units.{name}": np.asarray(value) for name, value in units.items()}
    arrays["history"] = policy.history_
    names = getattr(policy, "feature_names_in_", None)
    value = policy.robust_value_ if policy.has_robust_value_ else None
    about = {
        "hedgerow": __version__,
        "policy": {name: describe(getattr(policy, name)) for name in PARTS},
        "ambiguity": describe(policy.ambiguity_),
        "features": policy.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
        "outcomes": policy.n_outcomes_,
        "single_outcome": policy._single_outcome,
        "status": policy.status_,
        "robust_value": value and {name: describe(part) for name, part in asdict(value).items()},
        "columns": policy.columns_,
    }
    write(path, arrays, about)


def read_policy(
    create: Callable[..., Any],
    path: str | os.PathLike[str],
    parts: Iterable[type] = (),
    loss: Any = None,
) -> Any:
    """Read a policy file into a policy made by ``create``; ``loss`` replaces the one described."""
    arrays, about = read(path)
    known = Known(parts)
    try:
        composed = {
            name: loss if name == "loss" and loss is not None else known.revive(value)
            for name, value in about["policy"].items()
        }
        policy = create(**composed)
        units: dict[str, Any] = {
            name.removeprefix("units."): float(array) if array.ndim == 0 else array
            for name, array in arrays.items()
            if name.startswith("units.")
        }
        policy.units_ = Units(**units)
        policy.n_features_in_ = int(about["features"])
        policy.n_outcomes_ = int(about["outcomes"])
        decision_set = policy.loss.decisions_for(policy.n_outcomes_)
        policy.n_decisions_ = decision_set.dimension
        if about["feature_names"] is not None:
            policy.feature_names_in_ = np.array(about["feature_names"], dtype=object)
        skeleton = build_rule(
            policy.rule or rules.SoftForest(),
            jax.random.key(0, impl="rbg"),
            rules.Start.of(policy.units_, decision_set),
        )
        leaves, structure = jax.tree_util.tree_flatten(skeleton)
        stored = [jnp.asarray(arrays[f"rule.{i}"]) for i in range(len(leaves))]
        if [leaf.shape for leaf in leaves] != [leaf.shape for leaf in stored]:
            raise PolicyFileError(f"{path} holds arrays that do not fit its rule.")
        policy.rule_ = jax.tree_util.tree_unflatten(structure, stored)
        # numbers of a resolved model are not for users to give: a constant feature's scale is 0
        resolved = about["ambiguity"]["parameters"]
        policy.ambiguity_ = policy.given_.replace(
            **{name: known.revive(value) for name, value in resolved.items()}
        )
        policy.history_ = arrays["history"]
        policy.status_ = about["status"]
        policy.columns_ = about["columns"]
        policy.recourse_ = None
        policy._single_outcome = bool(about["single_outcome"])
        value = about["robust_value"]
        policy._robust_value = value and RobustValue(
            **{name: known.revive(part) for name, part in value.items()}
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise PolicyFileError(f"{path} is missing part of its description ({error}).") from None
    return policy


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


def path_of(kind: type) -> str:
    """Return the name that a file knows a part by: its import path, or hedgerow's own name."""
    own = f"hedgerow.{kind.__name__}"
    return own if OWN.get(own) is kind else f"{kind.__module__}.{kind.__qualname__}"


def describe(value: Any) -> Any:
    """Turn a part or a plain value into JSON."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Component):
        parameters = {name: describe(v) for name, v in value.get_params(deep=False).items()}
        return {"component": path_of(type(value)), "parameters": parameters}
    if isinstance(value, DecisionSet):
        arguments = [describe(argument) for argument in value.arguments]
        return {"set": path_of(type(value)), "arguments": arguments}
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
            return self._kind(description["component"])(
                **{name: self.revive(value) for name, value in description["parameters"].items()}
            )
        if "set" in description:
            kind = self._kind(description["set"])
            return kind(*(self.revive(item) for item in description["arguments"]))
        if "tuple" in description:
            return tuple(self.revive(item) for item in description["tuple"])
        if "float" in description:
            return float(description["float"])
        if "array" in description:
            array = np.array([self.revive(item) for item in description["array"]])
            return array.reshape(description["shape"])
        return MissingFunction(str(description.get("not stored")))

    def _kind(self, path: str) -> type:
        """The class of a path; a part handed over is also known by its name alone."""
        if "." not in path:  # format 1
            path = f"hedgerow.{path}"
        found = self._given.get(path) or OWN.get(path)
        if found is not None:
            return found
        name = path.rpartition(".")[2]
        alike = [kind for kind in self._given.values() if kind.__name__ == name]
        if len(alike) == 1:
            return alike[0]
        raise PolicyFileError(
            f"The policy file names a part {path}, which is not one of hedgerow's; files import "
            f"nothing, so hand the class over: hedgerow.load(path, parts=[{name}])."
        )
