"""Policies for places without hedgerow: an ONNX model, or a Python module that needs nothing.

    policy.onnx   contexts (rows, features) → decisions (rows, decisions), for any ONNX runtime
    policy.py     decide(row), with the standard library only

Both decide by the rule's plain form (``hedgerow.plain``), in the user's units.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hedgerow._files import check_target, whole_file
from hedgerow._version import __version__
from hedgerow.data.columns import from_json
from hedgerow.describe.names import decision_names, feature_names, training_words
from hedgerow.describe.parts import Missing
from hedgerow.plain import PlainPolicy
from hedgerow.plain.onnx_graph import write_onnx
from hedgerow.plain.python_module import About, python_source

SUFFIXES = (".onnx", ".py")


def plain_form(policy: Any) -> PlainPolicy | None:
    """The policy with NumPy alone, if its rule offers that."""
    rule, units = policy.rule_.plain(), policy.units_
    if rule is None:
        return None
    return PlainPolicy(units.x_centre, units.x_factor, units.z_unit, rule)


def check_export(path: str | os.PathLike[str], *, overwrite: bool = True) -> Path:
    """Return the path if a policy can be exported there."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path} must end in .onnx or .py, so that its format is known.")
    return check_target(path, overwrite=overwrite)


def export(policy: Any, path: str | os.PathLike[str], precision: str = "float64") -> None:
    """Write a fitted policy as an ONNX model or a Python module, by the suffix."""
    path = check_export(path)
    if path.suffix.lower() == ".onnx":
        told = {"made by": f"hedgerow {__version__}"}
        told |= {
            "features": "\n".join(map(repr, feature_names(policy))),
            "decisions": "\n".join(map(repr, decision_names(policy))),
            "learned": "\n".join(_told(policy)),
        }
        write_onnx(path, _needed(policy), told, precision)
        return
    source = to_python(policy)
    with whole_file(path) as temporary:
        temporary.write_text(source, encoding="utf-8")


def to_python(policy: Any) -> str:
    """The text of a module that decides as a fitted policy does."""
    columns = None
    if policy.columns_ is not None:
        _, known = from_json(policy.columns_["encoder"])
        columns = [(column.name, column.kind, column.values) for column in known]
    plain = _needed(policy)
    about = About(
        features=feature_names(policy),
        decisions=decision_names(policy),
        columns=columns,
        told=_told(policy),
        single=policy._single_outcome and policy.n_decisions_ == 1,
    )
    return python_source(plain, about)


def _needed(policy: Any) -> PlainPolicy:
    found = plain_form(policy)
    if found is None:
        onto = policy.rule_.decision_set
        owner = onto if onto.plain() is None else policy.rule_
        raise Missing(owner, "plain", "Exports need the arithmetic of decisions")
    return found


def _told(policy: Any) -> list[str]:
    """Where the policy comes from."""
    loss = getattr(policy.loss, "description", None)
    outcomes = policy.outcome_names_
    return [
        f"hedgerow {__version__}",
        f"loss: {loss().short if loss else type(policy.loss).__name__}",
        *([f"outcomes: {', '.join(map(repr, outcomes))}"] if outcomes else []),
        f"rule: {policy.rule_.words()}",
        f"training: {training_words(policy)}",
    ]
