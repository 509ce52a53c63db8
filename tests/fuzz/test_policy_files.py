"""Spoilt policy files: a policy that decides as it may or one sentence, soon, in little memory."""

import resource
import time
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.solvers import Solution
from tests.fuzz import FACTOR, mutations

PER_KIND = 84 * FACTOR
"""Spoilt files for each of nine policies and three ways: 2,268 in all."""
SECONDS = 10.0
"""Most that one file may take, on a machine with other things to do; usual are milliseconds."""
MEGABYTES = 400
"""That all of them together may add to the memory of the process, programs included."""

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
Y = 20 + 3 * X.to_numpy() + rng.uniform(0, 5, (40, 3))
TABLE = pd.DataFrame({"sky": ["sun", "rain"] * 20, "wind": X["a"], "demand": Y[:, 0]})
NEVER = np.inf
NEWSVENDOR = hr.Newsvendor(1.0, 3.0)


class Untrained(hr.SCSC):
    """Keeps the rule that training begins with: what was learned does not matter here."""

    def run(self, training, key, progress=None):
        return Solution(training.rule(training.start), np.linspace(3, 1, 5), "step limit")


def fitted(loss, rule, outcomes=1, model=None, X=X):
    policy = hr.RobustPolicy(loss, model or hr.ERM(), rule, solver=Untrained(), random_state=0)
    policy.fit(X, Y[:, 0] if outcomes == 1 else Y[:, :outcomes])
    return policy.set_params(solver=hr.SCSC(steps=3))


def forest():
    return fitted(NEWSVENDOR, hr.SoftForest(trees=3, depth=2, features_per_tree=2))


def affine():
    box = hr.Newsvendor(1.0, 3.0, decision_set=hr.Box(5, 30), outcome_support=(0, NEVER))
    return fitted(box, hr.Affine(), model=hr.CausalSinkhorn(5.0, 0.1, x_scale="auto"))


def two_layer():
    return fitted(hr.Newsvendor([1.0, 2.0], 3.0), hr.TwoLayer(4), 2)


def inventory():
    substitution = [[0.0, 1.7, 2.0], [NEVER, 0.0, 1.5], [NEVER, NEVER, 0.0]]
    loss = hr.InventorySubstitution([1.0, 0.7, 0.6], [1.8, 1.6, 1.2], substitution)
    return fitted(loss, hr.Affine(), 3)


def portfolio():
    return fitted(hr.MeanVariance(2.0), hr.SoftForest(trees=2, depth=1), 3)


def constant():
    return fitted(NEWSVENDOR, hr.Constant())


def valued():
    policy = fitted(NEWSVENDOR, hr.Affine(), model=hr.KL(2.0, loss_scale="auto"))
    assert policy.robust_value_.value > 0
    return policy


def two_stage():
    loss = hr.TwoStageLP(
        [1.0, 3.0], [[1.0, 0.0], [0.0, 1.0]], [[1.0], [-1.0]], [[1.0], [-1.0]],
        decision_set=hr.Product(hr.Nonnegative(1)), senses=[">=", ">="],
    )  # fmt: skip
    return fitted(loss, hr.Affine())


def with_columns():
    encoder = hr.TableEncoder().fit(TABLE[["sky", "wind"]])
    policy = fitted(NEWSVENDOR, hr.Affine(), X=encoder.transform(TABLE))
    return policy.remember_columns(encoder, ["demand"])


POLICIES = {
    make.__name__: make
    for make in (
        forest, affine, two_layer, inventory, portfolio, constant, valued, two_stage, with_columns
    )
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A whole file of each policy, by name."""
    folder, made = tmp_path_factory.mktemp("policies"), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hr.HedgerowWarning)
        for name, make in POLICIES.items():
            make().save(folder / name)
            made[name] = folder / name
    return made


def decides_as_it_may(policy):
    """Decide near what the policy says it was trained on: finite, and in the loss's own set."""
    units = policy.units_
    steps = np.array([0.0, 1.0, -1.0, 3.0, -3.0, 100.0])[:, None] * np.ones(policy.n_features_in_)
    contexts = units.x_centre + steps * np.where(units.x_factor > 0, units.x_spread, 1.0)
    contexts = np.clip(contexts, -1e38, 1e38)  # what is beyond float32 is refused
    decisions = policy.predict(contexts).reshape(len(contexts), -1)
    assert decisions.shape[1] == policy.n_decisions_
    assert np.all(np.isfinite(decisions))
    allowed = policy.loss.decisions_for(policy.n_outcomes_).in_units(units.z_unit)
    working = decisions / units.z_unit
    # float32: 1e-5 of the largest number that is added up
    size = max([1.0, *(np.abs(end[np.isfinite(end)]).max(initial=0) for end in ends(allowed))])
    assert np.all(np.asarray(allowed.contains(working, 1e-5 * size)))
    if policy.columns_ is not None:
        assert policy.encoder_ is not None
        names = policy.outcome_names_  # None where a table was given in Python
        assert names is None or len(names) == policy.n_outcomes_
    return decisions


def ends(decision_set):
    from jax.tree_util import tree_leaves

    return [np.asarray(leaf) for leaf in tree_leaves(decision_set)]


def attempt(path, data):
    """Load spoilt bytes; return the decisions, or None if they were refused in one sentence."""
    path.write_bytes(data)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return decides_as_it_may(hr.load(path))
    except hr.PolicyFileError as error:
        sentence = str(error)
    finally:
        assert time.perf_counter() - start < SECONDS
    assert "\n" not in sentence
    assert len(sentence) < 1000
    return None


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("way", ["bytes", "description", "arrays"])
def test_spoilt_files_are_policies_or_one_sentence(files, tmp_path, name, way, record_property):
    data = files[name].read_bytes()
    whole = attempt(tmp_path / "p", data)
    assert whole is not None
    arrays, about = mutations.opened(files[name])
    assert attempt(tmp_path / "p", mutations.sealed(arrays, about)) is not None
    seed = [list(POLICIES).index(name), len(way)]
    before, counts = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, Counter()
    for i in range(PER_KIND):
        rng = np.random.default_rng([*seed, i])
        if way == "bytes":
            spoilt = mutations.spoil_bytes(rng, data)
        elif way == "description":
            spoilt = mutations.spoil_description(rng, arrays, about)
        else:
            spoilt = mutations.spoil_arrays(rng, arrays, about)
        found = attempt(tmp_path / "p", spoilt)
        counts["refused" if found is None else "loaded"] += 1
        if way == "bytes" and found is not None:  # damage is seen, or does no harm
            np.testing.assert_array_equal(found, whole)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < MEGABYTES
    for outcome, count in counts.items():
        record_property(outcome, count)
    assert counts["refused"] > PER_KIND / 3
