"""What things are called, whoever knows it."""

from types import SimpleNamespace

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.describe.names import (
    checked_names,
    decision_names,
    feature_names,
    outcome_names,
    training_words,
)


def policy(loss=None, outcomes=1, decisions=1, **known):
    about = {"n_features_in_": 3, "n_outcomes_": outcomes, "n_decisions_": decisions}
    about |= {"outcome_names_": None, "loss": loss or hr.Newsvendor(1, 2)}
    return SimpleNamespace(**about | known)


def test_features_are_named_by_the_data_then_by_the_policy_then_by_their_column():
    table = pd.DataFrame({"a": [1], "b": [2], 3: [4]})
    assert feature_names(policy(feature_names_in_=["x", "y", "z"]), table) == ["a", "b", "3"]
    assert feature_names(policy(feature_names_in_=["x", "y", "z"])) == ["x", "y", "z"]
    assert feature_names(policy()) == ["feature 0", "feature 1", "feature 2"]


def test_outcomes_are_counted_from_one():
    assert outcome_names(policy()) == ["outcome"]
    assert outcome_names(policy(outcomes=2)) == ["outcome 1", "outcome 2"]
    assert outcome_names(policy(outcomes=2, outcome_names_=["beer", "wine"])) == ["beer", "wine"]
    assert outcome_names(policy(outcome_names_=["beer"]), pd.Series([1], name="ale")) == ["ale"]
    assert outcome_names(policy(outcomes=2, outcome_names_=["beer"])) == ["outcome 1", "outcome 2"]


def test_decisions_have_the_names_of_what_they_prepare_for():
    assert decision_names(policy()) == ["decision"]
    assert decision_names(policy(outcomes=2, decisions=2)) == ["decision 1", "decision 2"]
    assert decision_names(policy(decisions=2)) == ["decision 1", "decision 2"]
    named = policy(outcomes=2, decisions=2, outcome_names_=["beer", "wine"])
    assert decision_names(named) == ["beer", "wine"]
    assert decision_names(named, pd.DataFrame({"ale": [1], "port": [1]})) == ["ale", "port"]


@pytest.mark.parametrize(
    ("loss", "level"),
    [(hr.MeanVariance(1.0), "expected return"), (hr.MeanCVaR(1.0, 0.1), "value at risk")],
)
def test_a_portfolios_first_decision_is_named_by_its_loss(loss, level):
    found = policy(loss, outcomes=2, decisions=3)
    assert decision_names(found) == [level, "asset 1", "asset 2"]
    assert decision_names(found, pd.DataFrame({"A": [1], "B": [1]})) == [level, "A", "B"]


def test_names_must_be_as_many_as_there_are_things():
    assert checked_names(["a", 2], 2, "decision") == ["a", "2"]
    with pytest.raises(ValueError, match="Give a name to each of 3 decisions; got 1"):
        checked_names(["a"], 3, "decision")


def test_how_training_ended():
    ended = SimpleNamespace(status_="step limit", history_=[0.0] * 1200)
    assert training_words(ended) == "ran to its step limit, 1,200 steps"
