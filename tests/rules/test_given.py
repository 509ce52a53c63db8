"""A rule given as a function: decisions in the data's units, and nothing to train or save."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from tests.problems import history

LOSS = hr.Newsvendor(0.6, 1.0)


def orders(x):
    return jnp.maximum(4 + 2 * x[0] - x[1], 0.0)


def test_decisions_are_those_of_the_function():
    X, y = history()
    policy = hr.RobustPolicy.from_function(orders, LOSS, 100 * X, 7 * y)
    expected = np.maximum(4 + 200 * X[:, 0] - 100 * X[:, 1], 0)
    assert policy.predict(100 * X) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert policy.status_ == "given"
    losses = LOSS(policy.predict(100 * X), 7 * y)
    assert policy.score(100 * X, 7 * y) == pytest.approx(-losses.mean())


def test_several_decisions_and_named_features():
    X, y = history()
    table = pd.DataFrame(X, columns=["sun", "rain", "wind"])
    both = np.stack([y, 2 * y], axis=1)
    policy = hr.RobustPolicy.from_function(
        lambda x: jnp.stack([orders(x), 10.0]), LOSS, table, both, ambiguity=hr.KL(5.0)
    )
    assert policy.predict(table).shape == (len(X), 2)
    assert np.allclose(policy.predict(table)[:, 1], 10.0)
    assert list(policy.feature_names_in_) == ["sun", "rain", "wind"]
    assert policy.robust_value_.value > policy.robust_value_.nominal


def test_it_cannot_be_saved(tmp_path):
    X, y = history()
    policy = hr.RobustPolicy.from_function(orders, LOSS, X, y)
    with pytest.raises(ValueError, match="files hold no functions"):
        policy.save(tmp_path / "policy.hedgerow")


def test_large_offsets_lose_nothing():
    X, y = history(features=1)
    policy = hr.RobustPolicy.from_function(lambda x: 15 + (x[0] - 1e8), LOSS, 1e8 + X, y)
    assert policy.predict(1e8 + X) == pytest.approx(15 + X[:, 0], abs=1e-6)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: jnp.stack([x[0], x[1]]), r"must return 1 decision\(s\), but returned 2"),
        (lambda x: jnp.log(x[0] * 0 - 1), "must return finite decisions"),
        (lambda x: float(x[0]), "be written with jax.numpy"),
    ],
)
def test_other_functions_are_refused(function, message):
    X, y = history()
    with pytest.raises((ValueError, TypeError), match=message):
        hr.RobustPolicy.from_function(function, LOSS, X, y)
