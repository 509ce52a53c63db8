"""Forests on scores: the same functions as forests, begun and turned along a shared direction."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.rules.base import Start, build_rule
from hedgerow.rules.slopes import Slopes
from tests.oracles import double

exactly = double(lambda rule, x: rule(x))


def started(rule, features=5, slopes=None, varying=(), seed=0):
    start = Start(features, hr.Free(1), jnp.ones(1), slopes, varying)
    return build_rule(rule, jax.random.key(seed), start)


def test_it_is_the_forest_whose_gates_look_along_the_scores():
    rule = started(hr.ScoreForest(2, trees=4, depth=3))
    x = np.random.default_rng(0).normal(size=(5, 50))
    np.testing.assert_allclose(exactly(rule, x), exactly(rule.expanded(), x), rtol=1e-6)
    assert rule.expanded().gate_weights.shape == (4, 7, 5)


def test_only_what_the_scores_say_matters():
    rule = started(hr.ScoreForest(1))
    x = np.random.default_rng(0).normal(size=(5, 1))
    score = np.asarray(rule.scores, float)[0]
    across = np.random.default_rng(1).normal(size=5)
    across -= score * (across @ score) / (score @ score)
    moved = x + across[:, None]
    np.testing.assert_allclose(exactly(rule, moved), exactly(rule, x), rtol=1e-6)
    assert not np.allclose(exactly(rule, x + score[:, None]), exactly(rule, x), rtol=1e-3)


def test_scores_begin_along_what_explains_most():
    directions = np.eye(3, 5, dtype=np.float32)
    slopes = Slopes(directions, np.array([0.1, 0.6, 0.0], np.float32))
    scores = np.asarray(started(hr.ScoreForest(2), slopes=slopes).scores)
    np.testing.assert_array_equal(scores, directions[[1, 0]])
    # a direction that explains nothing is no better than any other
    third = np.asarray(started(hr.ScoreForest(3), slopes=slopes).scores)[2]
    assert np.count_nonzero(third) == 5


def test_features_that_never_vary_are_as_if_they_were_not_there():
    alone = np.asarray(started(hr.ScoreForest(), features=3).scores)
    beside = np.asarray(started(hr.ScoreForest(), features=5, varying=(0, 2, 3)).scores)
    np.testing.assert_array_equal(beside[:, [0, 2, 3]], alone)
    np.testing.assert_array_equal(beside[:, [1, 4]], 0)


def test_a_hidden_score_is_found():
    """Demand depends on one weighted sum of 12 features, in a way that no line can follow."""
    rng = np.random.default_rng(0)
    X, truth = rng.normal(size=(400, 12)), rng.normal(size=12)
    truth /= np.linalg.norm(truth)
    y = 10 + 3 * np.tanh(2 * X @ truth) + 0.3 * rng.normal(size=400)
    policy = hr.RobustPolicy(hr.Newsvendor(1, 1), hr.ERM(), hr.ScoreForest(), random_state=0)
    found = np.asarray(policy.fit(X, y).rule_.scores)[0] / X.std(axis=0)
    assert abs(found @ truth) / np.linalg.norm(found) > 0.98


@pytest.mark.parametrize("settings", [{"scores": 0}, {"trees": 0}, {"temperature": -1.0}])
def test_what_cannot_be_is_refused(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))} must be"):
        hr.ScoreForest(**settings)


def test_explanations_and_files_know_it(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = 5 + X[:, 0] + rng.normal(size=80)
    solver = hr.NestedSGD(steps=40, batch=16)
    policy = hr.RobustPolicy(
        hr.Newsvendor(1, 2), hr.ERM(), hr.ScoreForest(trees=3), solver=solver, random_state=0
    ).fit(X, y)
    policy.save(tmp_path / "policy.hedgerow")
    np.testing.assert_array_equal(
        hr.load(tmp_path / "policy.hedgerow").predict(X), policy.predict(X)
    )
    found = hr.explain.attribute(policy, X[0], X[1:20])
    assert found.completeness_error < 1e-6
    assert len(hr.explain.importance(policy, X).scores) == 3
