"""What is wrong with a policy file, in one sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


class PolicyFileError(ValueError):
    """A policy file that cannot be read, with the reason in one sentence.

    Examples
    --------
    >>> import pathlib
    >>> import hedgerow as hr
    >>> _ = pathlib.Path("broken.hedgerow").write_bytes(b"half a file")
    >>> try:
    ...     hr.load("broken.hedgerow")
    ... except hr.PolicyFileError:
    ...     print("refused, and nothing of it was run")
    refused, and nothing of it was run
    """


class Wrong(ValueError):
    """What is not as declared, in the words of a clause: what it must be, and what it is."""


@contextmanager
def told_of(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what goes wrong into one sentence about the file."""
    try:
        with np.errstate(all="ignore"):  # what overflows is refused
            yield
    except PolicyFileError:
        raise
    except Wrong as wrong:
        raise PolicyFileError(f"{path} is damaged: {wrong}.") from None
    except Exception as error:  # parts are made here, anybody's, and may raise what they like
        reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
        raise PolicyFileError(
            f"{path} describes something that cannot be made ({reason})."
        ) from error
