"""What a policy file holds: every entry and every array, with its type, size and range.

Sizes: features d, outcomes y and decisions k, which the units' arrays say, and the description must
say likewise. So nothing is made as large as a number in a file tells; it is as large as an array
that is there. Parts are described by one of seven forms (``FORMS``); whether their parameters make
sense is for the parts to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, NamedTuple

import numpy as np

from hedgerow.policy_file.errors import Wrong

PARTS = ("loss", "ambiguity", "rule", "nominal", "solver")
RULE = "rule."
Check = Callable[[str, Any], None]
"""Of an entry, with where it stands; raises ``Wrong``."""
MOST = 2**63
"""Whole numbers are smaller."""
DEEPEST = 30
"""Parts within parts."""
LARGEST = 1e12
"""Of a rule's numbers: it is made in working units, where everything is of order one."""


class Numbers(NamedTuple):
    """An array of units: its shape in the sizes d, y and k, and between what its entries lie."""

    shape: tuple[str, ...]
    low: float = -1e150
    high: float = 1e150
    or_zero: bool = False


UNITS: dict[str, Numbers] = {
    "x_centre": Numbers(("d",)),
    "x_factor": Numbers(("d",), 1e-150, 1e30, or_zero=True),
    "y_unit": Numbers(("y",), 1e-150),
    "y_spread": Numbers(("y",), 0.0),
    "z_unit": Numbers(("k",), 1e-150),
    "loss_unit": Numbers((), 1e-300, 1e300),
    "constant": Numbers(("k",)),
    "constant_loss": Numbers((), -1e300, 1e300),
}
"""Bounds are far beyond any data, and keep what is computed with them finite."""


# --------------------------------------------------------------------------- entries


def a(kind: type, words: str) -> Check:
    """An entry of exactly this type."""

    def check(where: str, value: Any) -> None:
        if type(value) is not kind:
            raise Wrong(f"{where} must be {words}")

    return check


text, flag, mapping = a(str, "a text"), a(bool, "true or false"), a(dict, "an object")


def whole(least: int) -> Check:
    """A whole number from ``least`` on."""

    def check(where: str, value: Any) -> None:
        if type(value) is not int or not least <= value < MOST:
            raise Wrong(f"{where} must be a whole number from {least} on")

    return check


def number(where: str, value: Any) -> None:
    """A number, or one that JSON does not have."""
    if value not in ({"float": "inf"}, {"float": "-inf"}, {"float": "nan"}):
        plain = type(value) is float and math.isfinite(value)
        if not plain and not (type(value) is int and abs(value) < MOST):
            raise Wrong(f"{where} must be a number")


def optional(check: Check) -> Check:
    """None, or an entry of this kind."""
    return lambda where, value: None if value is None else check(where, value)


def each(check: Check) -> Check:
    """A list of such entries."""

    def check_all(where: str, value: Any) -> None:
        a(list, "a list")(where, value)
        for item in value:
            check(f"each of {where}", item)

    return check_all


def record(known: Mapping[str, Check], required: set[str] | None = None) -> Check:
    """An object with these entries and no others; all of them, if not told which."""
    needed = set(known) if required is None else required

    def check(where: str, value: Any) -> None:
        mapping(where, value)
        missing, unknown = sorted(needed - set(value)), sorted(set(value) - set(known))
        if missing:
            raise Wrong(f"{where} lacks {missing[0]!r}")
        if unknown:
            raise Wrong(f"{where} has an entry {unknown[0]!r} that is not known")
        for name, item in value.items():
            known[name](f"{where}.{name}", item)

    return check


# --------------------------------------------------------------------------- parts


def described(where: str, value: Any, depth: int = 0) -> None:
    """A part or a plain value, as ``parts.describe`` writes it."""
    if value is None or type(value) in (bool, str):
        return
    if type(value) is not dict or "float" in value:
        number(where, value)
        return
    if depth > DEEPEST:
        raise Wrong(f"{where} holds parts within parts, more than {DEEPEST} deep")
    form = FORMS.get(frozenset(value))
    if form is None:
        raise Wrong(f"{where} is neither a part nor a value")
    form(where, value, depth + 1)


def _component(where: str, value: dict, depth: int) -> None:
    text(f"{where}.component", value["component"])
    mapping(f"{where}.parameters", value["parameters"])
    for name, item in value["parameters"].items():
        described(f"{where}.{name}", item, depth)


def _set(where: str, value: dict, depth: int) -> None:
    text(f"{where}.set", value["set"])
    _items(f"{where}.arguments", value["arguments"], depth)


def _tuple(where: str, value: dict, depth: int) -> None:
    _items(where, value["tuple"], depth)


def _column(where: str, value: dict, depth: int) -> None:
    for term in _list(where, value["columns"]):
        for item in _list(where, term):
            if type(item) is not str:
                whole(0)(f"each of {where}", item)
    _items(where, value["numbers"], depth)


def _array(where: str, value: dict, depth: int) -> None:
    items, shape = value["array"], value["shape"]
    for item in _list(where, items):
        if type(item) not in (bool, str):
            number(f"each of {where}", item)
    for size in _list(f"{where}.shape", shape):
        whole(0)(f"each of {where}.shape", size)
    if math.prod(shape) != len(items) or max(shape, default=0) > max(len(items), 1):
        raise Wrong(f"{where} has {len(items)} entries, which do not fill its shape")


def _absent(where: str, value: dict, depth: int) -> None:
    text(where, value["not stored"])


def _list(where: str, value: Any) -> list:
    a(list, "a list")(where, value)
    return value


def _items(where: str, value: Any, depth: int) -> None:
    for item in _list(where, value):
        described(f"each of {where}", item, depth)


FORMS: dict[frozenset[str], Callable[[str, dict, int], None]] = {
    frozenset(("component", "parameters")): _component,
    frozenset(("set", "arguments")): _set,
    frozenset(("tuple",)): _tuple,
    frozenset(("columns", "numbers")): _column,
    frozenset(("array", "shape")): _array,
    frozenset(("not stored",)): _absent,
}


def _of_dataclass(kind: type, without: str = "") -> Check:
    """The fields of a dataclass, by their annotations; those with a default may be missing."""
    plain = {"float": number, "int": whole(0), "str": text, "bool": flag}
    known, required = {}, set()
    for field in (field for field in fields(kind) if field.name != without):
        name, _, absent = str(field.type).partition(" | ")
        check = plain.get(name, described) if absent in ("", "None") else described
        known[field.name] = optional(check) if absent else check
        if field.default is MISSING and field.default_factory is MISSING:
            required.add(field.name)
    return record(known, required)


def _robust_value(where: str, value: Any) -> None:
    """A robust value's fields, but the ray; to know them, what computes it is imported."""
    from hedgerow.certify.value import RobustValue

    _of_dataclass(RobustValue, without="ray")(where, value)


def _hardening(where: str, value: Any) -> None:
    """What hardening a forest did to its decisions, likewise."""
    from hedgerow.rules import Hardening

    _of_dataclass(Hardening)(where, value)


def component(where: str, value: Any) -> None:
    """A part with parameters."""
    if type(value) is not dict or "component" not in value:
        raise Wrong(f"{where} must be a part")
    described(where, value)


# --------------------------------------------------------------------------- the whole

WATCHED = ("promise", "room")
"""What policies are watched by; entries that files from before have not."""

DESCRIPTION: dict[str, Check] = {
    "format": whole(1),
    "hedgerow": text,
    "policy": record(
        {name: component if name == "loss" else optional(component) for name in PARTS}
    ),
    "ambiguity": component,
    "features": whole(1),
    "feature_names": optional(each(text)),
    "outcomes": whole(1),
    "single_outcome": flag,
    "status": text,
    "robust_value": optional(_robust_value),
    "columns": optional(record({"encoder": mapping, "outcomes": each(text)}, {"encoder"})),
    "table_format": optional(mapping),
    **{name: optional(number) for name in WATCHED},
    "hardening": optional(_hardening),
}
LATER = {"hardening", "table_format", *WATCHED}
"""Entries that files of earlier versions do not have."""


FOR_DECIDING: dict[str, Check] = DESCRIPTION | {"robust_value": optional(mapping)}
"""The same for whoever only decides: the robust value is looked at when it is asked for."""


def check(
    arrays: Mapping[str, np.ndarray],
    about: dict[str, Any],
    entries: Mapping[str, Check] = DESCRIPTION,
) -> None:
    """Raise ``Wrong`` unless arrays and description are as declared, and agree on sizes."""
    record(entries, set(entries) - LATER)("the description", about)
    sizes = _check_arrays(arrays, diverged=about["status"] == "diverged")
    columns = about["columns"]
    told = [
        ("features", about["features"], sizes["d"]),
        ("outcomes", about["outcomes"], sizes["y"]),
    ]
    if about["feature_names"] is not None:
        told.append(("names of features", len(about["feature_names"]), sizes["d"]))
    if columns is not None and "outcomes" in columns:
        told.append(("names of outcomes", len(columns["outcomes"]), sizes["y"]))
    for what, count, there in told:
        if count != there:
            raise Wrong(f"it speaks of {count} {what}, but its arrays are those of {there}")
    if about["single_outcome"] and sizes["y"] != 1:
        raise Wrong(f"it speaks of a single outcome, but its arrays are those of {sizes['y']}")


def _check_arrays(arrays: Mapping[str, np.ndarray], diverged: bool) -> dict[str, int]:
    """Units, history and the rule's leaves, and nothing else; returns the sizes d, y and k."""
    of_rule = sum(name.startswith(RULE) for name in arrays)
    expected = {f"units.{name}" for name in UNITS} | {"history"}
    expected |= {f"{RULE}{i}" for i in range(of_rule)}
    expected |= {"errors", "ranges", "reference", "thresholds"} & set(arrays)
    for name in sorted(expected ^ set(arrays)):
        raise Wrong(
            f"it lacks the array {name!r}"
            if name in expected
            else f"it has an array {name!r} that is not known"
        )
    sizes: dict[str, int] = {}
    for name, kind in UNITS.items():
        array = arrays[f"units.{name}"]
        if array.dtype != np.float64 or array.ndim != len(kind.shape):
            raise Wrong(f"units.{name} must be float64 with {len(kind.shape)} axes")
        for letter, size in zip(kind.shape, array.shape, strict=True):
            if size != sizes.setdefault(letter, size) or size < 1:
                raise Wrong(f"units.{name} does not fit the other units: its shape is {size}")
        within = (array >= kind.low) & (array <= kind.high)
        if not np.all(within | (array == 0) if kind.or_zero else within):
            raise Wrong(f"units.{name} must lie between {kind.low:g} and {kind.high:g}")
    history = arrays["history"]
    if history.dtype != np.float64 or history.ndim != 1:
        raise Wrong("history must be float64 with one axis")
    if not diverged and not np.all(np.isfinite(history)):
        raise Wrong("history must be finite")
    for name in ("errors", "thresholds"):
        several = arrays.get(name, np.zeros(1))
        if several.dtype != np.float64 or several.ndim != 1 or not len(several):
            raise Wrong(f"{name} must be float64 with one axis")
        if not np.all(np.isfinite(several)):
            raise Wrong(f"{name} must be finite")
    reference = arrays.get("reference", np.zeros((1, sizes["d"] + sizes["y"])))
    if reference.dtype != np.float64 or reference.shape[1:] != (sizes["d"] + sizes["y"],):
        raise Wrong("reference must be float64 with a column per feature and outcome")
    if not len(reference) or not np.all(np.isfinite(reference)):
        raise Wrong("reference must have rows, of finite numbers")
    ranges = arrays.get("ranges", np.zeros((2, sizes["d"])))
    if ranges.dtype != np.float64 or ranges.shape != (2, sizes["d"]):
        raise Wrong("ranges must be float64, with two rows and a column per feature")
    if not np.all(np.isfinite(ranges)):
        raise Wrong("ranges must be finite")
    for i in range(of_rule):
        leaf = arrays[f"{RULE}{i}"]
        if leaf.dtype.kind not in "fib":
            raise Wrong(f"{RULE}{i} must hold numbers")
    return sizes


def check_leaf(name: str, leaf: np.ndarray, template: Any) -> None:
    """Raise ``Wrong`` unless an array has the type and shape that a rule has in its place."""
    shape, dtype = tuple(template.shape), np.dtype(template.dtype)
    if leaf.dtype != dtype or leaf.shape != shape:
        raise Wrong(
            f"{name} is {leaf.dtype} of shape {leaf.shape}, but its rule has {dtype} of shape "
            f"{shape} there"
        )
