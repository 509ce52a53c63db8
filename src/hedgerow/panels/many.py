"""Rules of all series of a panel: in batches, in processes or on a cluster, and safe to interrupt.

    series → batches of one size → is its file there? → train → write it at once → the next

A batch's file is named by a digest of all that its rules depend on: the rows, the parts, the seed
and the version of the numerics. So a run that was killed goes on where it was, results are the same
bit for bit however the work was done, and changed data never find an old rule.

Batches go through joblib: processes of this machine, or within
``joblib.parallel_config(backend="dask")`` the workers of a cluster.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from joblib import Parallel, delayed
from safetensors import SafetensorError
from safetensors.numpy import load_file, save
from sklearn.base import clone
from sklearn.utils import check_random_state

from hedgerow import fitting
from hedgerow._files import whole_file
from hedgerow._progress import stages
from hedgerow._version import NUMERICS
from hedgerow.data import EmpiricalNominal, TableEncoder, Units
from hedgerow.estimator import RobustPolicy
from hedgerow.fitting import Parts
from hedgerow.panels.separate import (
    OneSeries,
    SeparateRules,
    batches_of,
    learn_together,
    size_of,
)
from hedgerow.policy_file.parts import describe
from hedgerow.rules import ConstantRule, Start

RULE, UNITS = "rule.", "units."


def learn_many(
    policy: RobustPolicy,
    several: Sequence[OneSeries],
    n_jobs: int | None = None,
    store: str | os.PathLike[str] | None = None,
) -> SeparateRules:
    """Train a rule for each series, and return them in the order of the series."""
    seed = int(check_random_state(policy.random_state).randint(np.iinfo(np.int32).max))
    if isinstance(policy.random_state, int | np.integer):  # each series as on its own
        seed = int(policy.random_state)
    batches = batches_of(np.array([len(one.outcomes) for one in several]))
    if store is not None:
        Path(store).mkdir(parents=True, exist_ok=True)
    work = (
        delayed(learn_batch)(_parts(policy, together), together, seed, store)
        for together in ([several[place] for place in batch] for batch in batches)
    )
    done: list[SeparateRules] = []
    running: Any = Parallel(n_jobs=n_jobs or 1, return_as="generator")(work)
    with stages(keep=False) as stage, stage("series") as report:
        for batch, learned in zip(batches, running, strict=True):
            done.append(learned)
            trained = sum(len(each) for each in done)
            if policy.verbose:
                report(trained, len(several), f"{size_of(len(several[batch[0]].outcomes))} rows")
    return SeparateRules.joined(done).taken(np.argsort(np.concatenate(batches)))


def learn_batch(
    parts: Parts, several: Sequence[OneSeries], seed: int, store: str | os.PathLike[str] | None
) -> SeparateRules:
    """Train one batch, or read what was learned before."""
    path = None if store is None else Path(store) / f"{_digest(parts, several, seed)}.series"
    if path is not None and path.exists():
        try:
            return unpacked(load_file(path), parts)
        except (SafetensorError, ValueError, KeyError):
            pass  # damaged, by whatever: it is learned again
    learned = learn_together(parts, several, fitting.keys_of(seed))
    if path is not None:
        with whole_file(path) as temporary:
            temporary.write_bytes(save(packed(learned)))
    return learned


def packed(learned: SeparateRules) -> dict[str, np.ndarray]:
    """Return rules as named arrays."""
    leaves = jax.tree_util.tree_leaves(learned.rule)
    arrays = {f"{RULE}{i}": np.ascontiguousarray(leaf) for i, leaf in enumerate(leaves)}
    arrays |= {f"{UNITS}{name}": values for name, values in learned.units.items()}
    return arrays | {"constant": learned.constant, "loss": learned.loss}


def unpacked(arrays: dict[str, np.ndarray], parts: Parts) -> SeparateRules:
    """Return the rules that arrays hold."""
    units = {
        name.removeprefix(UNITS): values
        for name, values in arrays.items()
        if name.startswith(UNITS)
    }
    template = _template(parts, SeparateRules.units_at(units, 0))
    shapes, structure = jax.tree_util.tree_flatten(template)
    leaves = [arrays[f"{RULE}{i}"] for i in range(len(shapes))]
    series = len(arrays["constant"])
    for leaf, shape in zip(leaves, shapes, strict=True):
        if leaf.shape != (series, *shape.shape) or leaf.dtype != shape.dtype:
            there, told = (leaf.dtype, leaf.shape), (shape.dtype, shape.shape)
            raise ValueError(f"Rules of series have an array {there}, but their rule has {told}.")
    rule = jax.tree_util.tree_unflatten(structure, leaves)
    return SeparateRules(rule, units, arrays["constant"], arrays["loss"])


def policy_of(
    learned: SeparateRules, place: int, template: RobustPolicy, encoder: TableEncoder
) -> RobustPolicy:
    """Return one series' rule as a policy of its own."""
    policy: Any = clone(template)
    names = encoder.get_feature_names_out()
    policy.units_ = SeparateRules.units_at(learned.units, place)
    outcomes = len(policy.units_.y_unit)
    decision_set = policy.loss.decisions_for(outcomes)
    policy.rule_ = learned.rule_of(place)
    policy.status_ = "step limit"
    if learned.constant[place]:
        policy.rule_ = ConstantRule.at(Start.of(policy.units_, decision_set))
        policy.status_ = "constant"
    policy.n_features_in_, policy.feature_names_in_ = len(names), names
    policy.n_outcomes_, policy.n_decisions_ = outcomes, decision_set.dimension
    policy.ambiguity_ = policy.given_
    policy.history_, policy.recourse_ = np.empty(0), None
    policy._single_outcome, policy._robust_value = True, None
    policy.columns_, policy._errors = None, None
    return policy


def _template(parts: Parts, units: Units) -> Any:
    """Shapes and types of one rule."""
    start = Start.of(units, parts.loss.decisions_for(len(units.y_unit)))
    key = jax.random.key(0, impl="rbg")
    return jax.eval_shape(parts.rule.build, key, replace(start, varying=()))


def _parts(policy: RobustPolicy, several: Sequence[OneSeries]) -> Parts:
    """The parts for series of one size; rows as they are, unless another nominal was asked for."""
    rows = size_of(max(len(one.outcomes) for one in several))
    nominal = EmpiricalNominal() if policy.nominal is None else policy.nominal
    given = policy.loss, policy.ambiguity, policy.rule, nominal, policy.solver
    return Parts.of(*given, rows, several[0].outcomes.shape[1])


def _digest(parts: Parts, several: Sequence[OneSeries], seed: int) -> str:
    """A name for all that a batch's rules depend on."""
    told = {"numerics": NUMERICS, "seed": seed, "parts": [describe(part) for part in parts]}
    made = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    for one in several:
        for array in one:
            made.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    return made.hexdigest()[:32]
