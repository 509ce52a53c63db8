"""``censored=`` at the door, and what it is for: known demand, cut off by stock."""

import numpy as np
import pytest
from benchmarks.censoring import excesses, sold

import hedgerow as hr
from hedgerow.search.history import History
from tests.problems import QUICK, SMALL, history

X, DEMAND = history()
Y, CENSORED = sold(DEMAND, 0.4, 0)
LOSS = hr.Newsvendor(1.0, 2.0)


def policy(ambiguity=None, **settings):
    return hr.RobustPolicy(LOSS, ambiguity, rule=SMALL, solver=QUICK, random_state=0, **settings)


@pytest.fixture(scope="module")
def fitted():
    return policy().fit(X, Y, censored=CENSORED)


def test_a_mask_without_a_censored_row_is_none():
    plain, masked = policy().fit(X, Y), policy().fit(X, Y, censored=np.zeros(len(Y), bool))
    assert masked.nominal_.entry_low is None
    np.testing.assert_array_equal(plain.predict(X), masked.predict(X))
    assert plain.robust_value_ == masked.robust_value_


def test_rows_in_another_order_give_the_same_policy(fitted):
    order = np.random.default_rng(0).permutation(len(X))
    again = policy().fit(X[order], Y[order], censored=list(CENSORED[order]))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_files_hold_what_was_learned(fitted, tmp_path):
    value = fitted.robust_value_
    fitted.save(tmp_path / "policy.hedgerow")
    again = hr.load(tmp_path / "policy.hedgerow")
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.robust_value_.value == value.value
    asked = hr.robust_value(again, X, Y, censored=CENSORED)
    np.testing.assert_allclose(asked.value, value.value, rtol=2e-3)  # other random shifts


def test_orders_are_higher_than_if_sales_were_demand(fitted):
    assert fitted.predict(X).mean() > policy().fit(X, Y).predict(X).mean() + 0.2


@pytest.mark.parametrize(
    ("censored", "error", "words"),
    [
        (CENSORED[:-1], ValueError, "one entry per row"),
        (CENSORED.astype(float), TypeError, r"\.astype\(bool\)"),
        (np.flatnonzero(CENSORED), TypeError, "True .* and False only"),
        (np.ones(len(Y), bool), ValueError, "Every row is censored"),
    ],
)
def test_masks_that_are_none_are_refused(censored, error, words):
    for estimator in (policy(), hr.RobustPolicyCV(LOSS)):
        with pytest.raises(error, match=words):
            estimator.fit(X, Y, censored=censored)


def test_several_outcomes_are_refused():
    with pytest.raises(ValueError, match="one outcome, but Y has 2 columns"):
        policy().fit(X, np.column_stack([Y, Y]), censored=CENSORED)


def test_a_nominal_from_elsewhere_is_refused_by_name():
    forecast = hr.ScenarioNominal(X, np.stack([Y, Y + 1], axis=1)[..., None])
    with pytest.raises(NotImplementedError, match=r"ScenarioNominal\.build_censored"):
        policy(nominal=forecast).fit(X, Y, censored=CENSORED)


@pytest.mark.parametrize("seed", [0, 1])
def test_held_out_rows_that_were_seen_stand_for_those_that_were_not(seed):
    """Mean losses of fixed orders, by rows that were seen, against those of all demand."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3000, 1))
    demand = 6 + X[:, 0] + rng.normal(size=3000)
    stock = 6.5 + X[:, 0] + 1.5 * rng.normal(size=3000)  # stock follows what is expected
    sales, censored = np.minimum(demand, stock), demand > stock
    history = History.of(X, sales[:, None], np.ones(3000), censored)
    counted = history.held_out(np.arange(3000))
    for order in (5.0, 7.0):
        truth = LOSS(np.full(3000, order), demand).mean()
        losses = LOSS(np.full(3000, order), sales)
        by_seen = np.average(losses, weights=counted)
        plain = losses[~censored].mean()
        assert abs(by_seen - truth) < 0.4 * max(abs(plain - truth), abs(losses.mean() - truth))


@pytest.mark.slow
def test_a_search_splits_the_mask_with_the_rows():
    half = np.arange(len(Y)) < 40
    search = hr.RobustPolicyCV(
        LOSS,
        penalties=[10.0, np.inf],
        epsilons=[0.1],
        rules=[SMALL],
        solver=QUICK,
        cv=[(np.flatnonzero(half), np.flatnonzero(~half))],
        random_state=0,
    ).fit(X, Y, censored=CENSORED)
    assert search.best_estimator_.nominal_.entry_low is not None
    everything = search.best_estimator_.nominal_.context_mass
    assert len(everything) == len(X)
    chosen = search.policy().fit(X[half], Y[half], censored=CENSORED[half])
    counted = History.of(X, Y[:, None], np.ones(len(Y)), CENSORED).held_out(np.flatnonzero(~half))
    loss = np.average(chosen.losses(X[~half], Y[~half]), weights=counted)
    np.testing.assert_allclose(-search.best_score_, loss, rtol=1e-3)  # float32 decisions


def test_folds_of_censored_rows_alone_are_refused():
    rows = np.argsort(CENSORED, kind="stable")
    search = hr.RobustPolicyCV(LOSS, cv=[(rows[:70], rows[-10:])])
    with pytest.raises(ValueError, match="fold 0 holds out is censored"):
        search.fit(X, Y, censored=CENSORED)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 0.5])
def test_known_demand_that_was_cut_off_is_learned_better(share):
    draws = [excesses(seed, share, hr.EmpiricalNominal(), hr.ERM()) for seed in (3000, 3001)]
    told, ignored, dropped = (
        np.mean([draw[way] for draw in draws]) for way in ("censored=", "ignored", "dropped")
    )
    # demand in full is no bound from below: a rule that is not hedged overfits it, and outcomes
    # that are borrowed from near rows smooth
    assert told < 0.85 * dropped
    assert told < 0.6 * ignored
