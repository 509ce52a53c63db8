"""What of a policy goes into a file, and how it comes back.

Arrays: the rule's leaves, the units and the history. Description: the parts the policy was composed
of, the resolved model, names, status and the robust value. The nominal distribution stays behind.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hedgerow import policy_file
from hedgerow._components import single
from hedgerow._version import __version__
from hedgerow.ambiguity import Ambiguity
from hedgerow.certify.value import RobustValue
from hedgerow.data.units import Units
from hedgerow.losses import Loss
from hedgerow.rules import SoftForest
from hedgerow.rules.base import build_rule

PARTS = ("loss", "ambiguity", "rule", "nominal", "solver")


def pack(policy: Any) -> tuple[dict[str, np.ndarray], dict]:
    """Return a fitted policy's arrays and description."""
    leaves = jax.tree_util.tree_leaves(policy.rule_)
    arrays = {f"rule.{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    units = asdict(policy.units_)
    arrays |= {f"units.{name}": np.asarray(value) for name, value in units.items()}
    arrays["history"] = policy.history_
    names = getattr(policy, "feature_names_in_", None)
    value = asdict(policy.robust_value_)
    about = {
        "hedgerow": __version__,
        "policy": {name: policy_file.describe(getattr(policy, name)) for name in PARTS},
        "ambiguity": policy_file.describe(policy.ambiguity_),
        "features": policy.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
        "outcomes": policy.n_outcomes_,
        "single_outcome": policy._single_outcome,
        "status": policy.status_,
        "robust_value": {name: policy_file.describe(part) for name, part in value.items()},
        "columns": policy.columns_,
    }
    return arrays, about


def unpack(
    create: Callable[..., Any],
    path: str | os.PathLike[str],
    loss: Loss | None,
    default: Ambiguity,
) -> Any:
    """Read a policy file into a policy made by ``create``; ``loss`` replaces the one described."""
    arrays, about = policy_file.read(path)
    try:
        parts = {name: policy_file.revive(value) for name, value in about["policy"].items()}
        if loss is not None:
            parts["loss"] = loss
        policy = create(**parts)
        units: dict[str, Any] = {
            name.removeprefix("units."): float(array) if array.ndim == 0 else array
            for name, array in arrays.items()
            if name.startswith("units.")
        }
        policy.units_ = Units(**units)
        policy.n_features_in_ = int(about["features"])
        policy.n_outcomes_ = int(about["outcomes"])
        decision_set = policy.loss.decisions_for(policy.n_outcomes_)
        policy.n_decisions_ = decision_set.dimension
        if about["feature_names"] is not None:
            policy.feature_names_in_ = np.array(about["feature_names"], dtype=object)
        skeleton = build_rule(
            policy.rule or SoftForest(),
            jax.random.key(0, impl="rbg"),
            policy.n_features_in_,
            single(decision_set.in_units(policy.units_.z_unit)),
            single(policy.units_.constant / policy.units_.z_unit),
        )
        leaves, structure = jax.tree_util.tree_flatten(skeleton)
        stored = [jnp.asarray(arrays[f"rule.{i}"]) for i in range(len(leaves))]
        if [leaf.shape for leaf in leaves] != [leaf.shape for leaf in stored]:
            raise policy_file.PolicyFileError(f"{path} holds arrays that do not fit its rule.")
        policy.rule_ = jax.tree_util.tree_unflatten(structure, stored)
        policy.ambiguity_ = policy_file.revive(about["ambiguity"])
        policy.history_ = arrays["history"]
        policy.status_ = about["status"]
        policy.columns_ = about["columns"]
        policy.recourse_ = None
        policy._given = policy.ambiguity or default
        policy._single_outcome = bool(about["single_outcome"])
        policy._robust_value = RobustValue(
            **{name: policy_file.revive(part) for name, part in about["robust_value"].items()}
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise policy_file.PolicyFileError(
            f"{path} is missing part of its description ({error})."
        ) from None
    return policy
