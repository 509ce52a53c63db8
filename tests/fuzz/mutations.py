"""Ways to spoil a policy file: its bytes, its description, its arrays.

Bytes are spoilt as damage does, so that the digest tells. Descriptions and arrays are spoilt as
somebody would who knows the format: the digest is made anew, or left out with the format before it,
so that what is declared is all that stands between the file and a policy.
"""

import copy
import json

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save

from hedgerow.policy_file import digest

NEST = 0
for _ in range(60):
    NEST = {"tuple": [NEST]}
JUNK = [
    None, True, False, 0, -1, 2, 7, 10**9, 10**30, -(10**400), 0.5, -1.5, 1e308, 1e-320, 1e30, -0.0,
    "", "x", "auto", "inf", "\x1b[2J", "\ud800", [], [1], {}, {"a": 1}, NEST,
    {"float": "nan"}, {"float": "inf"}, {"float": "-inf"}, {"float": "1"}, {"float": 1},
    {"tuple": []}, {"tuple": [1.0, 2.0]}, {"tuple": 3}, {"not stored": "f"}, {"not stored": 1},
    {"array": [], "shape": [0, 10**9]}, {"array": [1.0], "shape": [1]}, {"array": 5, "shape": [5]},
    {"array": [1.0, 2.0], "shape": [-2, -1]}, {"array": [{"float": "nan"}], "shape": []},
    {"array": ["a", 1, None], "shape": [3]}, {"array": [1e308] * 3, "shape": [3]},
    {"component": "hedgerow.Affine", "parameters": {}},
    {"component": "hedgerow.ERM", "parameters": {}},
    {"component": "hedgerow.Loss", "parameters": {}},
    {"component": "hedgerow.Newsvendor", "parameters": {"holding": 1.0, "stockout": 2.0}},
    {"component": "hedgerow.TwoLayer", "parameters": {"width": 10**9}},
    {"component": "hedgerow.SoftForest", "parameters": {"trees": 10**9}},
    {"component": "hedgerow.SoftForest", "parameters": {"depth": -3}},
    {"component": "hedgerow.KL", "parameters": {"penalty": 3.0}},
    {"component": "os.system", "parameters": {"command": "false"}},
    {"component": "hedgerow.Free", "parameters": {}}, {"component": 3, "parameters": []},
    {"set": "hedgerow.Free", "arguments": [1]}, {"set": "hedgerow.Free", "arguments": [10**9]},
    {"set": "hedgerow.Simplex", "arguments": [3]}, {"set": "hedgerow.Box", "arguments": [0.0, 9.0]},
    {"set": "hedgerow.Product", "arguments": []}, {"set": "hedgerow.Affine", "arguments": []},
]  # fmt: skip
DTYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")
NUMBERS = (0.0, -1.0, 1e-320, 1e-30, 1e30, 3e38, 1e308, np.nan, np.inf, -np.inf)


def opened(path):
    """Arrays and description of a file, without the digest."""
    with safe_open(path, framework="np") as file:
        about = json.loads(file.metadata()["hedgerow"])
    about.pop("sha256", None)
    return load_file(path), about


def sealed(arrays, about):
    """The file's bytes, with the digest that belongs to it."""
    if isinstance(about, dict) and about.get("format") == 3:
        about = about | {"sha256": digest(arrays, about)}
    return save({name: np.array(a) for name, a in arrays.items()}, {"hedgerow": json.dumps(about)})


def spoil_bytes(rng, data):
    """Bits flipped, bytes cut off, put in, exchanged or repeated."""
    data = bytearray(data)
    header = 8 + int.from_bytes(data[:8], "little")
    way = rng.integers(8)
    if way < 5:  # the length of the header, the header, the arrays
        first, last = [(0, 8), (8, header), (header, len(data))][min(way, 4) // 2]
        for _ in range(rng.choice([1, 1, 1, 2, 8])):
            data[rng.integers(first, last)] ^= 1 << rng.integers(8)
    elif way == 5:
        del data[rng.integers(len(data)) :]
    elif way == 6:
        at = rng.integers(len(data))
        data[at:at] = rng.bytes(rng.choice([1, 4, 100]))
    else:
        at, to = (rng.integers(header, len(data) - 8) // 8 * 8 for _ in range(2))
        data[at : at + 8], data[to : to + 8] = data[to : to + 8], data[at : at + 8]
    return bytes(data)


def places(value, path=()):
    """Every place in a description."""
    yield path
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, name))


def spoil_description(rng, arrays, about):
    """One entry replaced by junk or by a near miss, removed, renamed, repeated or added."""
    about = copy.deepcopy(about)
    if rng.random() < 0.3:
        about["format"] = int(rng.integers(1, 3))
    for _ in range(rng.choice([1, 1, 1, 2])):
        options = list(places(about))
        path = options[rng.integers(1, len(options))]
        holder = about
        for step in path[:-1]:
            holder = holder[step]
        way, name = rng.integers(10), path[-1]
        if way < 5:
            holder[name] = copy.deepcopy(JUNK[rng.integers(len(JUNK))])
        elif way < 7:
            holder[name] = _near(rng, holder[name])
        elif way == 7:
            del holder[name]
        elif isinstance(holder, list):
            holder.insert(name, copy.deepcopy(holder[name]))
        else:
            holder[f"{name}_"] = holder[name] if way == 8 else holder.pop(name)
    return sealed(arrays, about)


def _near(rng, value):
    """Something of the same type."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return type(value)(value * rng.choice([-1, 0, 2, 1000]) + rng.choice([0, 1]))
    if isinstance(value, str):
        return value[: rng.integers(len(value) + 1)] + rng.choice(["", "x", "."])
    items = list(value.items() if isinstance(value, dict) else value)
    rng.shuffle(items)
    items = items[: rng.integers(len(items) + 1)]
    return dict(items) if isinstance(value, dict) else items


def spoil_arrays(rng, arrays, about):
    """An array of another shape, type or range, with bits flipped, exchanged, missing or added."""
    arrays, about = {name: array.copy() for name, array in arrays.items()}, dict(about)
    if rng.random() < 0.3:
        about["format"] = int(rng.integers(1, 3))
    for _ in range(rng.choice([1, 1, 1, 2])):
        names = list(arrays)
        name, other = (names[rng.integers(len(names))] for _ in range(2))
        array, way = arrays[name], rng.integers(12)
        if way < 4 and array.size:
            spoilt = bytearray(array.tobytes())
            for _ in range(rng.choice([1, 1, 4])):
                spoilt[rng.integers(len(spoilt))] ^= 1 << rng.integers(8)
            arrays[name] = np.frombuffer(bytes(spoilt), array.dtype).reshape(array.shape)
        elif way < 7 and array.size:
            flat = array.astype(np.float64).ravel()
            at = slice(None) if rng.random() < 0.3 else rng.integers(len(flat))
            flat[at] = NUMBERS[rng.integers(len(NUMBERS))] if rng.random() < 0.7 else -flat[at]
            with np.errstate(all="ignore"):
                arrays[name] = flat.reshape(array.shape).astype(array.dtype)
        elif way == 7:
            with np.errstate(all="ignore"):
                arrays[name] = array.astype(DTYPES[rng.integers(len(DTYPES))])
        elif way == 8:
            shapes = [(0,), (), (1, 1), (array.size,), (2, *array.shape), (3,), (array.size, 1)]
            arrays[name] = np.resize(array, shapes[rng.integers(len(shapes))]).astype(array.dtype)
        elif way == 9:
            arrays[name], arrays[other] = arrays[other], array
        elif way == 10:
            del arrays[name]
        else:
            arrays[f"{name}{rng.choice(['', '0', 'x'])}"] = arrays.pop(other)
    return sealed(arrays, about)
