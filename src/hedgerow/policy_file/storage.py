"""Arrays and a description in one safetensors file, with a digest of both.

    digest = SHA-256 of the description, then of name, type, shape and bytes of every array

It stands in the description itself, and is taken of the rest. Files of formats 1 and 2 have none.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from hedgerow._files import check_is_file, whole_file
from hedgerow.policy_file.errors import PolicyFileError

FORMAT = 3
"""1: parts named by class alone, a robust value always there. 2: no digest. Both are still read."""
KEY, DIGEST = "hedgerow", "sha256"
PANEL = "panel"
"""Entry of a description that makes a file a panel's."""
MOST_TEXT = 32_000_000
"""Characters of a description, which takes many times as much memory once it is read."""


def write(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], about: dict) -> None:
    """Write arrays and description in one step: the old file stays until the new one is whole."""
    about = {"format": FORMAT, **about}
    header = json.dumps({**about, DIGEST: digest(arrays, about)}, allow_nan=False)
    data = save({name: np.asarray(a, order="C") for name, a in arrays.items()}, {KEY: header})
    with whole_file(path) as temporary:
        temporary.write_bytes(data)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read arrays and description back as they were written, or say what is wrong with the file."""
    path = check_is_file(path, "policy file")
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError) as error:
        # the last two: types of numbers that NumPy does not have
        reason = str(error).rstrip(".")
        raise PolicyFileError(
            f"{path} is not a readable policy file (truncated, damaged or another kind): {reason}."
        ) from None
    if KEY not in metadata:
        raise PolicyFileError(f"{path} is a safetensors file, but not one written by hedgerow.")
    about = _description(path, metadata[KEY])
    if about["format"] >= 3:
        told = about.pop(DIGEST, None)
        if told != digest(arrays, about):
            raise PolicyFileError(
                f"{path} is not as it was written: its contents do not match its digest. It was "
                "damaged or changed on the way; get a fresh copy or save the policy again."
            )
    return arrays, about


def digest(arrays: Mapping[str, np.ndarray], about: dict) -> str:
    """The digest of arrays and of a description without one, in hexadecimal."""
    made = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        made.update(json.dumps([name, array.dtype.name, array.shape]).encode())
        made.update(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    return made.hexdigest()


def _description(path: Path, text: str) -> dict[str, Any]:
    """The description, of a format that can be read."""
    try:
        if len(text) > MOST_TEXT:
            raise ValueError
        about = json.loads(text, parse_constant=_refuse)
        version = about["format"]
        if type(version) is not int or version < 1:
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise PolicyFileError(f"{path} has a damaged description.") from None
    if version > FORMAT:
        raise PolicyFileError(
            f"{path} has policy format {version}, but this hedgerow reads up to {FORMAT}; it was "
            f"written by hedgerow {about.get('hedgerow', '(unknown)')}: upgrade to read it."
        )
    return about


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
