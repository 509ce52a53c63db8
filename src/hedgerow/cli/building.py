"""Parts from tables of settings, and back (``cli.settings`` says where tables come from).

A table names a class by ``part`` and its parameters by their names. Which classes there are, which
parameters they declare and of which type, is read off the classes: those that hedgerow exports and
that installed packages offer (entry points of the group ``hedgerow.parts``). So a part is reachable
here as soon as it exists. Lists become tuples; "none" stands for None, which TOML has not.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

import hedgerow
from hedgerow._components import Component
from hedgerow.ambiguity import Ambiguity
from hedgerow.cli.loading import installed_parts
from hedgerow.data import Nominal
from hedgerow.decisions import DecisionSet
from hedgerow.losses import Column, Loss
from hedgerow.policy_file.parts import OWN
from hedgerow.rules import Rule
from hedgerow.solvers import Solver

BASES: dict[str, type] = {
    "loss": Loss,
    "ambiguity": Ambiguity,
    "rule": Rule,
    "nominal": Nominal,
    "solver": Solver,
}
NOT_PARTS = {"PanelPolicy", "RobustPolicy", "RobustPolicyCV", "TableEncoder", "TimeFeatures"}
NONE = "none"
WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    tuple: "a list",
    NoneType: '"none"',
}


@cache
def known_parts() -> dict[str, type]:
    """Classes that a table may name."""
    public = (getattr(hedgerow, name) for name in hedgerow.__all__)
    made = [kind for kind in public if isinstance(kind, type) and hasattr(kind, "get_params")]
    classes = [*OWN.values(), *made, *installed_parts(), Column]
    return {
        kind.__name__: kind
        for kind in classes
        if not inspect.isabstract(kind) and kind.__name__ not in NOT_PARTS
    }


def names_of(base: type) -> list[str]:
    """What parts of a kind are called."""
    public = set(hedgerow.__all__) | {kind.__name__ for kind in installed_parts()}
    return sorted(n for n, kind in known_parts().items() if issubclass(kind, base) and n in public)


def kind_of(where: str, name: Any, base: type) -> type:
    """The class of a name, which must be of this kind."""
    kind = known_parts().get(name) if isinstance(name, str) else None
    if kind is None or not issubclass(kind, base):
        raise ValueError(
            f"{where}.part is {name!r}, which is none; it may be {', '.join(names_of(base))}."
        )
    return kind


def parameters_of(kind: type) -> dict[str, Any]:
    """Parameters that a class declares, with their types (Any where none is told)."""
    try:
        hints = get_type_hints(kind)
    except Exception:  # annotations of somebody else's class may not be at hand
        hints = {}
    hints |= {name: hint for name, hint in _hints_of(kind.__init__).items() if name not in hints}
    given = inspect.signature(kind).parameters.values()
    return {
        each.name: Any if each.kind == each.VAR_POSITIONAL else hints.get(each.name, Any)
        for each in given
        if each.kind != each.VAR_KEYWORD
    }


def built(where: str, table: Mapping[str, Any], base: type, default: type | None = None) -> Any:
    """Return the part that a table tells of; ``default`` where it does not name a class."""
    if not isinstance(table, Mapping):
        raise ValueError(f"{where} must be a table with a part, got {table!r}.")
    settings = dict(table)
    name = settings.pop("part", None)
    if name is None and default is None:
        raise ValueError(f"{where} lacks a part; it may be {', '.join(names_of(base))}.")
    kind: Any = default if name is None else kind_of(where, name, base)
    declared = parameters_of(kind)
    for key in settings:
        if key not in declared:
            raise ValueError(
                f"{where} has an entry {key!r}; a {kind.__name__} may have "
                f"{', '.join(declared) or 'none'}."
            )
    made = {key: _read(f"{where}.{key}", value, declared[key]) for key, value in settings.items()}
    signature = inspect.signature(kind)
    several: list[Any] = []  # of a constructor such as Product(*sets)
    for each in signature.parameters.values():
        if each.kind == each.VAR_POSITIONAL and each.name in made:
            found = made.pop(each.name)
            several += found if isinstance(found, tuple) else [found]
    try:
        signature.bind(*several, **made)
    except TypeError as error:
        raise ValueError(f"{where}: {kind.__name__} has a {error}.") from None
    try:
        return kind(*several, **made)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {error}") from None


def _read(where: str, value: Any, hint: Any) -> Any:
    """A value of TOML as a parameter of this type, or one sentence."""
    if isinstance(value, Mapping):
        return built(where, value, object)
    if isinstance(value, list):
        value = tuple(_read(where, item, Any) for item in value)
    allowed = _allowed(hint)
    if value == NONE and (allowed is None or NoneType in allowed):
        return None
    fits = allowed is None or type(value) in allowed
    if allowed is not None and not fits and not (type(value) is int and float in allowed):
        words = [WORDS[kind] for kind in WORDS if kind in allowed]
        raise ValueError(
            f"{where} must be {' or '.join(words) or 'a table with a part'}, got {value!r}."
        )
    return value


def _allowed(hint: Any) -> set[Any] | None:
    """Plain types that a parameter may have; None: any."""
    if get_origin(hint) in (Union, UnionType):
        parts = [_allowed(part) for part in get_args(hint)]
        return None if None in parts else set().union(*(part or set() for part in parts))
    kind = get_origin(hint) or hint
    if kind in WORDS:
        return {kind}
    if isinstance(kind, type) and issubclass(kind, Component | DecisionSet):
        return set()
    return None


def _hints_of(function: Any) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except Exception:
        return {}


def told(value: Any) -> Any:
    """Return a part as a table, or a plain value as TOML has it; the inverse of ``built``."""
    if isinstance(value, Column):
        if len(value.terms) == 1 and value.factors[0] == 1 and value.constant == 0:
            return {"part": "Column", "columns": list(value.terms[0])}
        raise ValueError(f"{value!r} cannot be written as a setting.")
    if isinstance(value, DecisionSet):
        names, given = list(parameters_of(type(value))), list(value.arguments)
        if any(
            p.kind == p.VAR_POSITIONAL for p in inspect.signature(type(value)).parameters.values()
        ):
            given = [given]
        own = {name: told(each) for name, each in zip(names, given, strict=False)}
        return {"part": type(value).__name__} | own
    if hasattr(value, "get_params"):
        given = value.get_params(deep=False).items()
        return {"part": type(value).__name__} | {name: told(each) for name, each in given}
    if value is None:
        return NONE
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array__"):
        return np.asarray(value).tolist()
    if isinstance(value, tuple | list):
        return [told(item) for item in value]
    if isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"{value!r} cannot be written as a setting.")
