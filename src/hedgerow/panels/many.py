"""Rules of all series of a panel: in batches, in processes or on a cluster, and safe to interrupt.

    series → batches of one size → is its file there? → train → write it at once → the next

A batch's file is named by a digest of all that its rules depend on: the rows, the parts, the seed
and the version of the numerics. So a run that was killed goes on where it was, results are the same
bit for bit however the work was done (``engine``), and changed data never find an old rule. Files
are read and written by the process that asks: workers of a cluster need not see the folder.

Where the template leaves it open, nothing is hedged: on one rule per series the default hedge costs
1.5 to 10 % (docs/scale.md) and takes six times as long.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save
from sklearn.base import clone
from sklearn.utils import check_random_state

from hedgerow import fitting
from hedgerow._files import whole_file
from hedgerow._progress import stages
from hedgerow._version import NUMERICS
from hedgerow.ambiguity import ERM, Ambiguity
from hedgerow.data import EmpiricalNominal, TableEncoder, Units
from hedgerow.estimator import RobustPolicy
from hedgerow.fitting import Parts
from hedgerow.panels.engine import Engine
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


def _refuse_radius(policy: RobustPolicy) -> None:
    """Rules of single series are trained in one program, at a penalty."""
    model = policy.ambiguity
    if model is not None and model.radius is not None:
        raise ValueError(
            f"strategy='separate' hedges every series at a penalty, and {type(model).__name__} has "
            f"radius={model.radius!r}: give it a penalty, or take strategy='pooled'."
        )


def learn_many(
    policy: RobustPolicy,
    several: Sequence[OneSeries],
    engine: Engine | None = None,
    store: str | os.PathLike[str] | None = None,
) -> SeparateRules:
    """Train a rule for each series, and return them in the order of the series."""
    _refuse_radius(policy)
    seed = int(check_random_state(policy.random_state).randint(np.iinfo(np.int32).max))
    if isinstance(policy.random_state, int | np.integer):  # each series as on its own
        seed = int(policy.random_state)
    batches = batches_of(np.array([len(one.outcomes) for one in several]))
    files = Store(store)
    found: dict[int, SeparateRules] = {}
    asked: list[tuple[int, Path | None]] = []

    def missing() -> Iterator[tuple]:
        """Batches that no file holds; asked at the last moment, when another run may have been."""
        for place, batch in enumerate(batches):
            together = [several[each] for each in batch]
            parts = _parts(policy, together)
            path = files.path(parts, together, seed)
            kept = files.read(path, parts)
            if kept is None:
                asked.append((place, path))
                yield parts, together, seed
            else:
                found[place] = kept

    with stages(keep=False) as stage, stage("series") as report:
        for nth, learned in (engine or Engine()).each(learn_batch, missing()):
            place, path = asked[nth]
            files.write(path, learned)
            found[place] = learned
            if policy.verbose:
                trained = sum(len(batches[each]) for each in found)
                size = size_of(len(several[batches[place][0]].outcomes))
                report(trained, len(several), f"{size} rows")
    joined = SeparateRules.joined([found[place] for place in range(len(batches))])
    return joined.taken(np.argsort(np.concatenate(batches)))


def learn_batch(parts: Parts, several: Sequence[OneSeries], seed: int) -> SeparateRules:
    """Train one batch, wherever this is called."""
    learned = learn_together(parts, several, fitting.keys_of(seed))
    return replace(learned, rule=jax.tree_util.tree_map(np.asarray, learned.rule))


class Store:
    """A folder with the rules of batches, one file each; None: nothing is kept."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, parts: Parts, several: Sequence[OneSeries], seed: int) -> Path | None:
        """Where a batch's rules are, or will be."""
        return self.folder and self.folder / f"{_digest(parts, several, seed)}.series"

    def read(self, path: Path | None, parts: Parts) -> SeparateRules | None:
        """Return what was learned before; None: nothing, or nothing that can be read."""
        if path is None or not path.exists():
            return None
        try:
            return unpacked(load_file(path), parts)
        except (SafetensorError, ValueError, KeyError):
            return None  # damaged, by whatever: it is learned again

    def write(self, path: Path | None, learned: SeparateRules) -> None:
        """Keep what was learned."""
        if path is not None:
            with whole_file(path) as temporary:
                temporary.write_bytes(save(packed(learned)))


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
    policy.ambiguity = _hedge(template)
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
    given = policy.loss, _hedge(policy), policy.rule, nominal, policy.solver
    return Parts.of(*given, rows, several[0].outcomes.shape[1])


def _hedge(policy: RobustPolicy) -> Ambiguity:
    """What single series are hedged against: what was asked for, or nothing."""
    return ERM() if policy.ambiguity is None else policy.ambiguity


def _digest(parts: Parts, several: Sequence[OneSeries], seed: int) -> str:
    """A name for all that a batch's rules depend on."""
    told = {"numerics": NUMERICS, "seed": seed, "parts": [describe(part) for part in parts]}
    made = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    for one in several:
        for array in one:
            made.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    return made.hexdigest()[:32]
