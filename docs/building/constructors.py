"""Constructors that no file contains: those that parts get from their fields.

A part of a policy declares its parameters as fields (``hedgerow._components``), its bases' fields
first, as a dataclass does. The reference is made without importing anything, so the signature is
put together here from what the source says.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

BASE = "Component"
TAKES = re.compile(r"[Tt]akes\s+the\s+parameters\s+of\s+``(\w+)``")
"""How a docstring refers to another one's parameters, which the reference then shows."""


class Constructors(griffe.Extension):
    """Give every part without an ``__init__`` the parameters that its fields stand for."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Once everything is read, so that bases are known."""
        made = {}
        for found in _classes(pkg):
            lineage = [*reversed(found.mro()), found]
            if all(each.name != BASE for each in lineage):
                continue
            if all("__init__" not in each.members for each in lineage):
                made[found.path] = found, _constructor(found, lineage)
        for found, constructor in made.values():
            found.set_member("__init__", constructor)
        told = {each.name: each for each in _described(pkg) if _parameters(each)}
        for each in _described(pkg):
            for name in TAKES.findall(each.docstring.value) if each.docstring else ():
                if name in told and not _parameters(each):
                    each.docstring.value += "\n\n" + _taken(each, _parameters(told[name]))


def _taken(thing: Any, section: str) -> str:
    """A section of parameters, of which only those are left that ``thing`` takes."""
    heading, rule, rest = section.split("\n", 2)
    own = {parameter.name for parameter in thing.parameters}
    entries = re.split(r"\n(?=\w)", rest)
    kept = [each for each in entries if own & set(re.findall(r"\w+", each.partition(":")[0]))]
    return "\n".join([heading, rule, *kept])


def _described(module: griffe.Module) -> list[Any]:
    """Classes and functions of a package, those of its modules included."""
    own = [each for each in module.members.values() if not each.is_alias]
    parts = [each for each in own if isinstance(each, griffe.Module)]
    found = [each for each in own if isinstance(each, griffe.Class | griffe.Function)]
    return found + [each for part in parts for each in _described(part)]


def _parameters(thing: Any) -> str:
    """The section of a docstring that says what the parameters are; empty if there is none."""
    text = thing.docstring.value if thing.docstring else ""
    section = re.search(r"^Parameters\n-+\n.*?(?=^\w[\w ]*\n---|\Z)", text, re.M | re.DOTALL)
    return section.group().rstrip() if section else ""


def _classes(module: griffe.Module) -> list[griffe.Class]:
    own = [each for each in module.members.values() if not each.is_alias]
    found = [each for each in own if isinstance(each, griffe.Class)]
    parts = (each for each in own if isinstance(each, griffe.Module))
    return found + [each for part in parts for each in _classes(part)]


def _constructor(owner: griffe.Class, lineage: list[griffe.Class]) -> griffe.Function:
    kept: dict[str, griffe.Parameter] = {}
    for each in lineage:
        keyword_only = False
        for name, field in each.attributes.items():
            if field.is_alias or field.annotation is None:
                continue
            keyword_only = keyword_only or str(field.annotation) == "KW_ONLY"
            if name.startswith("_") or "instance-attribute" not in field.labels:
                continue
            kind = griffe.ParameterKind.positional_or_keyword
            kept[name] = griffe.Parameter(
                name,
                annotation=field.annotation,
                kind=griffe.ParameterKind.keyword_only if keyword_only else kind,
                default=_default(field),
            )
    first = [p for p in kept.values() if p.kind is griffe.ParameterKind.positional_or_keyword]
    last = [p for p in kept.values() if p.kind is griffe.ParameterKind.keyword_only]
    self_ = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    return griffe.Function(
        "__init__", parameters=griffe.Parameters(self_, *first, *last), parent=owner
    )


def _default(field: griffe.Attribute) -> Any:
    value = field.value
    if value is None or not str(value).startswith("field("):
        return value
    return next((a.value for a in value.arguments if getattr(a, "name", "") == "default"), None)
