"""What a file says of deciding, read with NumPy alone: no part is made, nothing is compiled.

Decisions depend on the units, the rule's arrays and the loss's decision set. For rules and losses
of this package (``RULES``, ``SETS``) these are read here, with the same checks as in ``policies``,
whose words are not repeated: whatever is not as it should be, or not known here, makes the answer
None, and then ``policies`` reads the file and says what is wrong with it. The other parts of the
policy are made, and their parameters checked, when they are asked for (``hedgerow.stored``).

A part that is given more parameters, or a rule that is given more arrays, is not known here any
longer, until it is told to this file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow import _checks
from hedgerow.data.columns import check_features, from_json
from hedgerow.plain import (
    Affine,
    Constant,
    Intervals,
    Joined,
    LinearTrees,
    Mapped,
    Network,
    PlainMap,
    PlainPolicy,
    PlainRule,
    Shares,
    Trees,
)
from hedgerow.policy_file import schema
from hedgerow.policy_file.errors import Wrong
from hedgerow.policy_file.schema import RULE

CLOSE = 1e-5
"""Relative difference that rounding to float32 explains."""
Described = Mapping[str, Any]


class _Unknown(Exception):
    """Something that is not read here."""


UNREADABLE = (_Unknown, Wrong, ValueError, TypeError, KeyError, AttributeError, IndexError)
"""What whatever is not as it should be ends in."""


@dataclass(frozen=True)
class _Set:
    """A decision set: its map in the user's units, and how many numbers the rule's arrays keep."""

    onto: PlainMap
    leaves: tuple[np.ndarray, ...] = ()

    def parts(self) -> tuple[PlainMap, ...]:
        """Blocks of coordinates."""
        return self.onto.parts if isinstance(self.onto, Joined) else (self.onto,)


def plain_policy(arrays: Mapping[str, np.ndarray], about: dict[str, Any]) -> PlainPolicy | None:
    """Return the policy that a file holds, in plain form; None if it is not known, or not right."""
    try:
        with np.errstate(all="ignore"):
            schema.check(arrays, about, schema.FOR_DECIDING)
            _check_names(about["policy"], about["ambiguity"])
            _check_columns(about)
            return _policy(arrays, about)
    except UNREADABLE:
        return None


def plain_of_series(
    arrays: Mapping[str, np.ndarray], about: Described, place: int
) -> PlainPolicy | None:
    """Return the policy of one series, likewise, from arrays of all (units and rules).

    ``about`` is the description that all have in common, which has been seen to be right.
    """
    own = {name: values[place] for name, values in arrays.items()}
    try:
        with np.errstate(all="ignore"):
            return _policy(own, {**about, "status": "step limit"})
    except UNREADABLE:
        return None


def _policy(arrays: Mapping[str, np.ndarray], about: Described) -> PlainPolicy:
    """Units and rule."""
    units = {name: arrays[f"units.{name}"] for name in schema.UNITS}
    unit = units["z_unit"]
    loss = about["policy"]["loss"]
    if set(loss) != {"component", "parameters"} or loss["component"] not in SETS:
        raise _Unknown
    found = SETS[loss["component"]](loss["parameters"], about["outcomes"])
    onto = _in_units(found, units["constant"], unit)
    return PlainPolicy(units["x_centre"], units["x_factor"], unit, _rule(arrays, about, onto))


def _check_names(*described: Any) -> None:
    """Parts of other packages have to be handed over: that is for ``policies`` to say."""
    waiting = list(described)
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            for key in ("component", "set"):
                if not one.get(key, "hedgerow.").startswith("hedgerow."):
                    raise _Unknown
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _check_columns(about: Described) -> None:
    """A table becomes the features that the policy was trained with."""
    if about["columns"] is not None:
        _, columns = from_json(about["columns"]["encoder"])
        check_features(columns)
        made = [name for column in columns for name in column.features]
        names = about["feature_names"]
        if len(made) != about["features"] or (names is not None and made != names):
            raise _Unknown


# --------------------------------------------------------------------------- decision sets


def array_of(value: Any) -> np.ndarray:
    """An array or a number, as ``parts.describe`` writes it."""
    if isinstance(value, dict) and "array" in value:
        return np.array([_number(item) for item in value["array"]]).reshape(value["shape"])
    return np.array(_number(value))


def _number(value: Any) -> float:
    return float(value["float"] if isinstance(value, dict) else value)


def _set(described: Any) -> _Set:
    """A decision set of this package."""
    kind, arguments = described["set"], described["arguments"]
    if kind == "hedgerow.Product" and arguments:
        parts = [_set(part) for part in arguments]
        maps = tuple(part for one in parts for part in one.parts())
        return _Set(Joined(maps), tuple(leaf for one in parts for leaf in one.leaves))
    if kind == "hedgerow.Box" and len(arguments) == 2:
        given = (np.atleast_1d(array_of(end)) for end in arguments)
        low, high = (np.array(end) for end in _checks.bounds("Box", *given))
        if low.ndim != 1:
            raise _Unknown
        return _Set(Intervals(low, high), (low, high))
    if len(arguments) != 1 or kind not in SIZED or type(arguments[0]) is not int:
        raise _Unknown
    return _Set(_sized(kind, arguments[0]))


SIZED = {"hedgerow.Free": 1, "hedgerow.Nonnegative": 1, "hedgerow.Simplex": 2}
"""Sets that their dimension says everything of, and the least that it may be."""


def _sized(kind: str, size: int) -> PlainMap:
    if not SIZED[kind] <= size < 1_000_000:  # before anything is made so large
        raise _Unknown
    if kind == "hedgerow.Simplex":
        return Shares(size)
    low = -np.inf if kind == "hedgerow.Free" else 0.0
    return Intervals(np.full(size, low), np.full(size, np.inf))


def _declared(parameters: Described, outcomes: int) -> _Set:
    """The set that the loss was given."""
    return _set(parameters["decision_set"])


def _declared_or(kind: str) -> Callable[[Described, int], _Set]:
    """The set that the loss was given, or else one of as many numbers as there are outcomes."""

    def found(parameters: Described, outcomes: int) -> _Set:
        if parameters["decision_set"] is None:
            return _Set(_sized(kind, outcomes))
        given = _set(parameters["decision_set"])
        if given.onto.size != outcomes:
            raise _Unknown
        return given

    return found


def _portfolio(parameters: Described, outcomes: int) -> _Set:
    """A free level, and shares of assets."""
    return _Set(Joined((_sized("hedgerow.Free", 1), _sized("hedgerow.Simplex", outcomes))))


def _max_affine(parameters: Described, outcomes: int) -> _Set:
    """The set that the loss was given, or else all numbers, as many as its slopes say."""
    if parameters["decision_set"] is None:
        return _Set(_sized("hedgerow.Free", array_of(parameters["decision_slope"]).shape[1]))
    return _declared(parameters, outcomes)


SETS: dict[str, Callable[[Described, int], _Set]] = {
    "hedgerow.Newsvendor": _declared_or("hedgerow.Nonnegative"),
    "hedgerow.InventorySubstitution": _declared_or("hedgerow.Nonnegative"),
    "hedgerow.MeanVariance": _portfolio,
    "hedgerow.MeanCVaR": _portfolio,
    "hedgerow.TwoStageLP": _declared,
    "hedgerow.CustomLoss": _declared,
    "hedgerow.MaxAffine": _max_affine,
}
"""``Loss.decisions_for`` of this package's losses, from their parameters; a test compares them."""


def _in_units(found: _Set, constant: np.ndarray, unit: np.ndarray) -> _Set:
    """The set of z / unit, in float32 as rules are; the best constant decision lies in it."""
    if found.onto.size != len(unit):
        raise _Unknown
    tolerance = 1e-3 * float(1 + np.abs(constant).max())
    maps: list[PlainMap] = []
    leaves: list[np.ndarray] = []
    first = 0
    for part in found.parts():
        own = slice(first, first + part.size)
        point, scale = constant[own], unit[own]
        first += part.size
        if isinstance(part, Shares):
            inside = np.all(point >= -tolerance) and abs(point.sum() - 1) <= tolerance * part.size
            if not inside or np.any(scale != 1):
                raise _Unknown
            maps.append(part)
            continue
        assert isinstance(part, Intervals)
        if not np.all((point >= part.low - tolerance) & (point <= part.high + tolerance)):
            raise _Unknown
        ends = [(end / scale).astype(np.float32) for end in (part.low, part.high)]
        for end, before in zip(ends, (part.low, part.high), strict=True):
            if np.any(np.isfinite(before) & ~np.isfinite(end)):
                raise _Unknown
        maps.append(Intervals(*(end.astype(np.float64) for end in ends)))
        if any(part.low is leaf for leaf in found.leaves):
            leaves += ends
    return _Set(maps[0] if len(maps) == 1 else Joined(tuple(maps)), tuple(leaves))


# --------------------------------------------------------------------------- rules


def _rule(arrays: Mapping[str, np.ndarray], about: Described, decisions: _Set) -> PlainRule:
    """The rule that the description tells of, from arrays such as that kind of rule has."""
    described = about["policy"]["rule"]
    kind = "hedgerow.SoftForest" if described is None else described["component"]
    told = {} if described is None else described["parameters"]
    given = SOFT_FOREST if described is None else set(told)
    if about["status"] == "constant":
        kind, given = "hedgerow.Constant", set()
    known, read = RULES[kind]
    if given != known:
        raise _Unknown
    read = LEAVES[told["leaves"]] if "leaves" in given & set(told) else read
    stored = [arrays[f"{RULE}{i}"] for i in range(sum(name.startswith(RULE) for name in arrays))]
    split = len(decisions.leaves)  # a rule's decision set is its first field
    ends, own = stored[:split], stored[split:]
    if len(ends) < split:
        raise _Unknown
    if not all(
        end.dtype == np.float32
        and end.shape == should.shape
        and np.allclose(end, should, rtol=CLOSE, atol=0)
        for end, should in zip(ends, decisions.leaves, strict=True)
    ):
        raise _Unknown
    if not all(np.all(np.abs(array) <= schema.LARGEST) for array in own):
        raise _Unknown
    return read(own, about["features"], decisions.onto)


def _float64(array: np.ndarray, *shape: int) -> np.ndarray:
    """Numbers as rules keep them, of a shape."""
    if array.dtype != np.float32 or array.shape != shape:
        raise _Unknown
    return array.astype(np.float64)


def _forest(own: list[np.ndarray], features: int, onto: PlainMap) -> Trees:
    """``rules.soft_forest.Forest``."""
    weights, biases, leaves, *rest = own
    seen = rest.pop(0) if len(rest) == 2 else None
    (temperature,) = rest
    trees, gates, width = weights.shape
    depth = (gates + 1).bit_length() - 1
    if depth < 1 or 2**depth != gates + 1 or trees < 1:
        raise _Unknown
    if seen is None:
        width = features
    elif (
        seen.dtype != np.int32
        or seen.shape != (trees, width)
        or np.any((seen < 0) | (seen >= features))
    ):
        raise _Unknown
    degree = float(_float64(temperature))
    if degree < 0:
        raise _Unknown
    return Trees.of(
        _float64(weights, trees, gates, width),
        _float64(biases, trees, gates),
        _float64(leaves, trees, gates + 1, onto.size),
        degree,
        onto,
        seen,
    )


def _linear(own: list[np.ndarray], features: int, onto: PlainMap) -> Mapped:
    """``rules.linear_leaves.LinearForest``."""
    slopes = own[3]
    forest = _forest([*own[:3], *own[4:]], features, _sized("hedgerow.Free", onto.size))
    width = forest.weights.shape[2]
    numbers = LinearTrees(forest, _float64(slopes, *forest.leaves.shape, width))
    return Mapped(numbers, onto)


def _scored(own: list[np.ndarray], features: int, onto: PlainMap) -> Trees:
    """``rules.score_forest.ScoredForest``."""
    scores, *rest = own
    if len(rest) != 4 or len(scores) < 1:
        raise _Unknown
    forest = _forest(rest, len(scores), onto)
    numbers = _float64(scores, len(scores), features)
    return Trees(forest.weights, forest.biases, forest.leaves, forest.temperature, None, numbers)


def _affine(own: list[np.ndarray], features: int, onto: PlainMap) -> Mapped:
    """``rules.affine.AffineRule``."""
    matrix, offset = own
    return Mapped(Affine(_float64(matrix, onto.size, features), _float64(offset, onto.size)), onto)


def _constant(own: list[np.ndarray], features: int, onto: PlainMap) -> Mapped:
    """``rules.affine.ConstantRule``."""
    (offset,) = own
    return Mapped(Constant(_float64(offset, onto.size)), onto)


def _network(own: list[np.ndarray], features: int, onto: PlainMap) -> Mapped:
    """``rules.two_layer.TwoLayerNetwork``."""
    hidden, bias, output, offset = own
    width = bias.shape[1]
    if width < 1:
        raise _Unknown
    network = Network(
        _float64(hidden, onto.size, width, features),
        _float64(bias, onto.size, width),
        _float64(output, onto.size, width),
        _float64(offset, onto.size),
    )
    return Mapped(network, onto)


FOREST = {"trees", "depth", "temperature", "gate_scale", "leaf_scale"}
SOFT_FOREST = FOREST | {"features_per_tree", "gates", "leaves"}
Reader = Callable[[list[np.ndarray], int, PlainMap], PlainRule]
LEAVES: dict[str, Reader] = {"constant": _forest, "linear": _linear}
RULES: dict[str, tuple[set[str], Reader]] = {
    "hedgerow.SoftForest": (SOFT_FOREST, _forest),
    "hedgerow.ScoreForest": (FOREST | {"scores"}, _scored),
    "hedgerow.Affine": (set(), _affine),
    "hedgerow.Constant": (set(), _constant),
    "hedgerow.TwoLayer": ({"width"}, _network),
}
"""What rules are described by, and how their arrays are read."""
