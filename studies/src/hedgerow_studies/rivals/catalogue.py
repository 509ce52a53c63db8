"""All methods there are: those of the files of this folder, and of files that are named.

A file has a tuple ``METHODS``; whatever has none is a helper. Names are unique.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import hedgerow_studies.rivals as here
from hedgerow_studies.rivals.method import Method


@cache
def catalogue(files: tuple[str, ...] = ()) -> dict[str, Method]:
    """Return all methods by name, hedgerow's first, with those of files of one's own."""
    modules = sorted(found.name for found in pkgutil.iter_modules(here.__path__))
    found = [
        method
        for name in modules
        for method in getattr(import_module(f"{here.__name__}.{name}"), "METHODS", ())
    ]
    found += [method for file in files for method in from_file(file)]
    named: dict[str, Method] = {}
    for method in sorted(found, key=lambda method: not method.name.startswith("hedgerow")):
        if method.name in named:
            raise ValueError(f"Two methods are called {method.name!r}; names must be unique.")
        named[method.name] = method
    return named


def from_file(path: str) -> tuple[Method, ...]:
    """Return the methods of a Python file of one's own."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {path}; a method is a Python file.")
    spec = spec_from_file_location(f"hedgerow_method_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file; its name must end in .py.")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    methods = getattr(module, "METHODS", ())
    if not methods or not all(isinstance(method, Method) for method in methods):
        raise ValueError(
            f"{path} must have a tuple METHODS of methods, as docs/leaderboard.md shows."
        )
    return tuple(methods)
