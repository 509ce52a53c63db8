"""The worst case of single decisions is the robust value at their contexts."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.report.subject import Subject
from hedgerow.report.today import MOST_LISTED, today_of
from tests.report.conftest import invented


def test_it_is_the_robust_value_there(hedged, table):
    """At a row of the data the others are its neighbours, and so is itself."""
    subject = Subject.read(hedged, table, table["demand"])
    found = today_of(subject, 7)
    assert found.trouble == ""
    assert 6 in found.rows
    assert len(found.rows) in (MOST_LISTED, MOST_LISTED + 1)
    assert np.all(found.worst >= found.usual - 1e-9)
    place = int(np.flatnonzero(found.rows == 6)[0])
    nominal = subject.problem.nominal
    at = int(np.flatnonzero((nominal.contexts == subject.contexts[6]).all(axis=1))[0])
    entries = nominal.start[at] + np.arange(nominal.count[at])
    outcomes = nominal.outcomes[nominal.entry_outcome[entries]]
    decision = subject.decisions[6]
    by_hand = np.asarray(hedged.loss(np.broadcast_to(decision, outcomes.shape), outcomes))
    usual = by_hand @ nominal.entry_mass[entries]
    assert found.usual[place] == pytest.approx(usual, rel=1e-4)
    # KL: penalty · log E exp(loss/penalty), in the units that the model's penalty is in
    penalty = 10.0 * hedged.units_.loss_unit
    worst = penalty * np.log(nominal.entry_mass[entries] @ np.exp(by_hand / penalty))
    assert found.worst[place] == pytest.approx(worst, rel=1e-2)


def test_who_trusts_or_cannot_tell_says_so():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.uniform(5, 9, 30)
    policy = invented(hr.Newsvendor(1, 3), X, Y, hr.Affine())
    assert "without hedging" in today_of(Subject.read(policy, X, Y), None).trouble
    policy.ambiguity, policy.nominal = hr.KL(2.0), hr.EmpiricalNominal()
    trouble = today_of(Subject.read(policy, X, Y), None).trouble
    assert "EmpiricalNominal says of a context only what happened in it" in trouble
    assert today_of(Subject.read(policy, X, Y), None).packed() == {"trouble": trouble}
