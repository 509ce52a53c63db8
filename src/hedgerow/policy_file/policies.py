"""From a policy to what a file holds of it, and back.

A rule's arrays are compared with a template of the rule that its description tells of, which has
shapes and no numbers (``jax.eval_shape``): what a file claims costs nothing until it is seen to be
true. The decision set is made anew from the loss and the units.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from hedgerow._version import __version__
from hedgerow.ambiguity import Ambiguity
from hedgerow.certify.value import RobustValue
from hedgerow.data import Nominal, TableEncoder
from hedgerow.data.table_format import TableFormat
from hedgerow.data.units import Units
from hedgerow.decisions import DecisionSet
from hedgerow.losses import Loss
from hedgerow.policy_file import schema, storage
from hedgerow.policy_file.errors import PolicyFileError, Wrong
from hedgerow.policy_file.parts import Known, describe
from hedgerow.policy_file.schema import PARTS, RULE
from hedgerow.rules import Constant, FittedRule, Hardening, Rule, SoftForest, Start
from hedgerow.solvers import Solver

KINDS = {
    "loss": Loss,
    "ambiguity": Ambiguity,
    "rule": Rule,
    "nominal": Nominal,
    "solver": Solver,
}
CLOSE = 1e-5
"""Relative difference that rounding to float32 explains."""


def write_policy(path: str | os.PathLike[str], policy: Any) -> None:
    """Write a fitted policy, if it is one that can be read again."""
    storage.write(path, *packed(policy))


def packed(policy: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return what a file holds of a policy: arrays and a description."""
    policy.rule_.check_storable()
    leaves = jax.tree_util.tree_leaves(policy.rule_)
    arrays = {f"{RULE}{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    units = asdict(policy.units_)
    arrays |= {f"units.{name}": np.asarray(value, np.float64) for name, value in units.items()}
    arrays["history"] = np.asarray(policy.history_, np.float64)
    if policy.thresholds_ is not None:
        arrays["thresholds"] = policy.thresholds_
    if policy.ranges_ is not None:
        arrays["ranges"] = policy.ranges_
    if policy.errors_ is not None:
        arrays["errors"] = policy.errors_
    if getattr(policy, "reference_", None) is not None:
        arrays["reference"] = policy.reference_
    names = getattr(policy, "feature_names_in_", None)
    value = asdict(policy.robust_value_) if policy.has_robust_value_ else {}
    about = {
        "hedgerow": __version__,
        "policy": {name: describe(getattr(policy, name)) for name in PARTS},
        "ambiguity": describe(policy.ambiguity_),
        "features": policy.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
        "outcomes": policy.n_outcomes_,
        "single_outcome": policy._single_outcome,
        "status": policy.status_,
        "robust_value": {n: describe(part) for n, part in value.items() if n != "ray"} or None,
        "columns": policy.columns_,
        "table_format": policy.table_format_,
        **{name: describe(getattr(policy, f"{name}_", None)) for name in schema.WATCHED},
    }
    if policy.hardening_ is not None:
        about["hardening"] = {n: describe(part) for n, part in asdict(policy.hardening_).items()}
    try:
        schema.check(arrays, {"format": storage.FORMAT, **about})
        _decision_set(policy)
        _check_numbers(policy.rule_)
    except Wrong as wrong:
        raise PolicyFileError(f"This policy cannot be saved: {wrong}.") from None
    return arrays, about


def unpacked(
    create: Callable[..., Any],
    arrays: dict[str, np.ndarray],
    about: dict[str, Any],
    parts: Iterable[type] = (),
    loss: Any = None,
) -> Any:
    """Return the policy that arrays and description tell of, or raise ``Wrong``."""
    known = Known(parts)
    if about["format"] < 3 and "units.y_unit" in arrays:
        arrays.setdefault("units.y_spread", arrays["units.y_unit"])
    schema.check(arrays, about)
    composed = {
        name: loss if name == "loss" and loss is not None else known.revive(told)
        for name, told in about["policy"].items()
    }
    for name, part in composed.items():
        if part is not None and not isinstance(part, KINDS[name]):
            raise Wrong(f"its {name} is a {type(part).__name__}, which is none")
    policy = create(**composed)
    policy.units_ = _units(arrays)
    policy.n_features_in_ = about["features"]
    policy.n_outcomes_ = about["outcomes"]
    if about["feature_names"] is not None:
        policy.feature_names_in_ = np.array(about["feature_names"], dtype=object)
    decision_set = _decision_set(policy)
    policy.n_decisions_ = decision_set.dimension
    kind = Constant() if about["status"] == "constant" else policy.rule or SoftForest()
    start = Start.of(policy.units_, decision_set)
    policy.rule_ = _rule(kind, start, decision_set, arrays)
    policy.ambiguity_ = _resolved(policy, known, about["ambiguity"])
    policy.history_ = arrays["history"]
    policy.status_ = about["status"]
    policy.columns_ = _columns(about["columns"], about["features"], about["feature_names"])
    policy.table_format_ = _table_format(about.get("table_format"))
    policy.recourse_ = None
    told = about.get("hardening")
    if told:
        policy.hardening_ = Hardening(**{n: known.revive(part) for n, part in told.items()})
    policy.thresholds_ = arrays.get("thresholds")
    if (policy.thresholds_ is None) != (policy.loss.with_thresholds() is None):
        raise Wrong("its loss and its arrays do not have the same thresholds")
    policy._errors, policy.ranges_ = arrays.get("errors"), arrays.get("ranges")
    policy.calibration_, policy.reference_ = None, arrays.get("reference")
    for name in schema.WATCHED:
        setattr(policy, f"{name}_", known.revive(about.get(name)))
    policy._single_outcome = about["single_outcome"]
    value = about["robust_value"]
    policy._robust_value = value and RobustValue(
        **{name: known.revive(part) for name, part in value.items()}
    )
    return policy


def _units(arrays: dict[str, np.ndarray]) -> Units:
    units: dict[str, Any] = {name: arrays[f"units.{name}"] for name in schema.UNITS}
    for name in ("loss_unit", "constant_loss"):
        units[name] = float(units[name])
    return Units(**units)


def _decision_set(policy: Any) -> DecisionSet:
    """Where decisions lie; of as many numbers as the units are, and in their sense."""
    units, outcomes = policy.units_, policy.n_outcomes_
    _ = policy.loss_  # whose columns are among the features
    decision_set = policy.loss.decisions_for(outcomes)
    policy.loss.support_for(outcomes)
    if decision_set.dimension != len(units.z_unit):
        raise Wrong(
            f"its loss asks for {decision_set.dimension} decisions, but its arrays are those of "
            f"{len(units.z_unit)}"
        )
    if np.any(units.z_unit[~decision_set.scalable] != 1):
        raise Wrong("units.z_unit must be 1 where decisions have no unit")
    with jax.enable_x64(True):
        tolerance = 1e-3 * float(1 + np.abs(units.constant).max())
        if not bool(decision_set.contains(units.constant, tolerance)):
            raise Wrong("units.constant does not lie in the decision set")
    return decision_set


def _rule(
    kind: Rule, start: Start, decision_set: DecisionSet, arrays: dict[str, np.ndarray]
) -> FittedRule:
    """The rule that the description tells of, with the arrays in the places of its leaves."""
    own = start.decision_set
    if any(np.any(np.isfinite(end) & ~np.isfinite(w)) for end, w in _pairs(decision_set, own)):
        raise Wrong("its units make the decision set's ends too large")
    key = jax.random.key(0, impl="rbg")
    stored = sum(name.startswith(RULE) for name in arrays)
    # rules of 0.1, and of series of a panel, look at features that never vary, too
    for seen in (start, replace(start, varying=())):
        shapes, structure = jax.tree_util.tree_flatten(_template.eval_shape(kind, key, seen))
        if len(shapes) == stored:
            break
    else:
        raise Wrong(f"it has {stored} arrays of a rule, but its rule has {len(shapes)}")
    stored = [arrays[f"{RULE}{i}"] for i in range(len(shapes))]
    for i, (leaf, shape) in enumerate(zip(stored, shapes, strict=True)):
        schema.check_leaf(f"{RULE}{i}", leaf, shape)
    rule = jax.tree_util.tree_unflatten(structure, [jnp.asarray(leaf) for leaf in stored])
    _check_numbers(rule)
    rule.check_restored(start.n_features)
    if not all(np.allclose(*ends, rtol=CLOSE, atol=0) for ends in _pairs(_set_of(rule), own)):
        raise Wrong("its rule has another decision set than its loss")
    return eqx.tree_at(_set_of, rule, own)


def _check_numbers(rule: FittedRule) -> None:
    """A rule's own numbers, its decision set's left out, are such that decisions are finite."""
    for leaf in jax.tree_util.tree_leaves(eqx.tree_at(_set_of, rule, None)):
        if not np.all(np.abs(np.asarray(leaf)) <= schema.LARGEST):
            raise Wrong(f"its rule's numbers must be finite and at most {schema.LARGEST:g}")


def _set_of(rule: Any) -> Any:
    return rule.decision_set


def _pairs(one: DecisionSet, other: DecisionSet) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The numbers of two decision sets of one kind, side by side."""
    leaves = (map(np.asarray, jax.tree_util.tree_leaves(each)) for each in (one, other))
    return zip(*leaves, strict=True)


_template: Any = jax.jit(lambda rule, key, start: rule.build(key, start))


def _resolved(policy: Any, known: Known, described: dict[str, Any]) -> Ambiguity:
    """The model as given, with the numbers that it was resolved to.

    They are not for users to give: a constant feature's scale is 0.
    """
    given = policy.given_
    if known.kind(described["component"], Ambiguity) is not type(given):
        raise Wrong("its resolved model is of another kind than the one given")
    names = set(given.get_params(deep=False))
    resolved = {name: known.revive(value) for name, value in described["parameters"].items()}
    if set(resolved) != names:
        raise Wrong("its resolved model has other parameters than the one given")
    sizes = (1, policy.n_features_in_, policy.n_outcomes_)
    for name, value in resolved.items():
        array = np.asarray(value)
        if array.dtype.kind in "iuf" and not (np.all(np.isfinite(array)) and array.size in sizes):
            raise Wrong(f"its resolved {name} must be finite, one number or one per column")
    return given.replace(**resolved)


def _table_format(told: dict | None) -> dict | None:
    """How the training table was written, seen to be a format."""
    return None if told is None else TableFormat.from_json(told).to_json()


def _columns(columns: dict | None, features: int, names: list[str] | None) -> dict | None:
    """How a table becomes X, seen to make the features that the policy was trained with."""
    if columns is not None:
        made = list(TableEncoder.from_json(columns["encoder"]).get_feature_names_out())
        if len(made) != features or (names is not None and made != names):
            raise Wrong("its columns make other features than those it was trained with")
    return columns
