"""The backtest: no look-ahead, resumable, and its plain rows checked against plain programs."""

import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from studies.tests.portfolio.markets import market, tables

from hedgerow import RobustPolicy, metrics
from hedgerow_studies import running
from hedgerow_studies.portfolio import (
    Backtest,
    Horizon,
    Parameters,
    diverged,
    latest_months,
    make_market,
    monthly,
    read_market,
    tracks,
    weights,
)
from hedgerow_studies.portfolio import table as summary_table
from hedgerow_studies.portfolio.backtest import Choices

HORIZON = Horizon("2020-04", "2020-06", window=60, holding=10, pool=4, seed=1)
QUICK = {name: Parameters(steps=20) for name in ("2-Causal-SDRO", "SDRO", "1-Causal-SDRO")}
PLAIN = ("PT", "EW", "MV")
DATA = Path(__file__).parents[4] / "shared" / "data"


def study(methods=PLAIN, **changes):
    settings = {"return_weights": (2.0,), "parameters": QUICK} | changes
    return Backtest(HORIZON, methods=methods, **settings)


# --------------------------------------------------------------------------- windows


def test_windows_begin_on_the_first_trading_day_of_each_month():
    windows = HORIZON.windows(market())
    assert [str(w.date) for w in windows] == ["2020-04-01", "2020-05-01", "2020-06-01"]
    for window in windows:
        assert window.outcomes.shape == (60, 4)
        assert window.held.shape == (10, 4)
    assert len({tuple(w.assets) for w in windows}) > 1


def test_a_months_pool_does_not_depend_on_other_months():
    later = Horizon("2020-05", "2020-05", window=60, holding=10, pool=4, seed=1)
    (alone,) = later.windows(market())
    np.testing.assert_array_equal(alone.assets, HORIZON.windows(market())[1].assets)


@pytest.mark.slow
@pytest.mark.parametrize(
    "methods",
    [
        ("EW", "MV", "2-Causal-SDRO"),
        pytest.param(("CMV-early", "1-Causal-SDRO"), marks=pytest.mark.slow),
    ],
    ids=lambda methods: methods[-1],
)
def test_the_future_cannot_be_seen(tmp_path, methods):
    """Change every return from the day of the decision on, and every close from that day on."""
    returns, levels = tables()
    first = Horizon("2020-05", "2020-05", window=60, holding=10, pool=4, seed=1)
    settings = {"methods": methods, "return_weights": (2.0,), "parameters": QUICK}
    before = Backtest(first, **settings).run(make_market(returns, levels), tmp_path / "a")
    day = str(before[0].task.window.date)
    rng = np.random.default_rng(0)
    returns.loc[day:] = rng.normal(0, 0.1, returns.loc[day:].shape)
    levels.loc[day:] = rng.normal(0, 9, levels.loc[day:].shape)
    after = Backtest(first, **settings).run(make_market(returns, levels), tmp_path / "b")
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old.weights, new.weights, err_msg=old.task.method)
        assert not np.array_equal(old.returns, new.returns)
    # the same change a day earlier is seen, so the comparison can fail
    levels.iloc[levels.index.get_loc(day) - 1] += 5.0
    seen = Backtest(first, **settings).run(make_market(returns, levels), tmp_path / "c")
    assert not np.array_equal(seen[-1].weights, before[-1].weights)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"start": "2020-13"}, "not a month"),
        ({"end": "2020"}, "'2020' is not a month"),
        ({"start": 202004}, "202004 is not a month"),
        ({"start": "2020-07", "end": "2020-06"}, "lies after end"),
        ({"start": "2020-01"}, "needs an earlier start of the data"),
        ({"end": "2021-06"}, "The market runs from"),
        ({"end": "2020-08", "holding": 60}, "needs later data"),
        ({"pool": 9}, "pool=9 assets were asked for, but the market has 5"),
    ],
)
def test_impossible_horizons_are_refused(changes, sentence):
    settings = {"start": "2020-04", "end": "2020-06", "window": 60, "holding": 10, "pool": 4}
    with pytest.raises(ValueError, match=sentence):
        Horizon(**(settings | changes)).windows(market())


def test_the_latest_months_are_those_the_data_allow():
    """Of 160 days to 11 August, 60 are past on 25 March; July is the last month with 10 left."""
    assert latest_months(market(), 60, 10) == ("2020-04", "2020-07")
    assert latest_months(market(), 60, 10, count=2) == ("2020-06", "2020-07")
    assert latest_months(market(), 60, 10, until="2020-05") == ("2020-04", "2020-05")


def test_missing_returns_matter_only_where_they_are_used():
    returns, levels = tables()
    returns.loc["2020-08":, "A3"] = np.nan
    HORIZON.windows(make_market(returns, levels))
    returns.loc["2020-05-04", "A3"] = np.nan
    with pytest.raises(ValueError, match="A3 has 1, the first on 2020-05-04"):
        HORIZON.windows(make_market(returns, levels))


# --------------------------------------------------------------------------- plain rows


def hindsight(held, return_weight):
    """Least variance less ω times the mean over a holding period, by a conic solver."""
    w = cp.Variable(held.shape[1])
    spread = cp.sum_squares((held - held.mean(axis=0)) @ w) / len(held)
    problem = cp.Problem(
        cp.Minimize(spread - return_weight * held.mean(axis=0) @ w), [w >= 0, cp.sum(w) == 1]
    )
    problem.solve(solver="CLARABEL")
    return problem.value


def test_plain_rows_are_those_of_independent_programs(tmp_path):
    found = market()
    outcomes = study().run(found, tmp_path)
    for outcome in outcomes:
        held, method = outcome.task.window.held, outcome.task.method
        loss = outcome.task.loss.realised(outcome.returns)
        if method == "PT":
            assert loss == pytest.approx(hindsight(held, 2.0), abs=1e-7)
        elif method == "EW":
            r = held.mean(axis=1)
            assert loss == pytest.approx(r.var() - 2 * r.mean(), rel=1e-12)
        else:
            past = outcome.task.window.outcomes
            chosen = past @ outcome.weights
            best = hindsight(past, 2.0)
            assert chosen.var() - 2 * chosen.mean() == pytest.approx(best, abs=1e-7)


@pytest.mark.skipif(not (DATA / "returns.csv.gz").exists(), reason="market files are not here")
def test_plain_rows_on_the_real_market(tmp_path):
    found = read_market(DATA / "returns.csv.gz", DATA / "covariates.csv.gz")
    real = Backtest(Horizon("2021-01", "2021-02"), methods=("PT", "EW"), return_weights=(5.0,))
    for outcome in real.run(found, tmp_path):
        first = int(np.searchsorted(found.dates, np.datetime64(outcome.task.date)))
        names = np.array(found.assets)[outcome.task.window.assets]
        columns = [found.assets.index(name) for name in names]
        held = found.returns[first : first + 60][:, columns]
        assert len(set(names)) == 50
        r = held @ outcome.weights
        expected = r.var() - 5 * r.mean()
        if outcome.task.method == "PT":
            expected = hindsight(held, 5.0)
        assert outcome.task.loss.realised(outcome.returns) == pytest.approx(expected, abs=1e-6)


def test_cvar_can_be_weighed_instead_of_variance(tmp_path):
    outcomes = study(risk="cvar").run(market(), tmp_path)
    losses = monthly(outcomes).groupby("method")["loss"].mean()
    assert losses["PT"] < min(losses["EW"], losses["MV"])
    first = next(o for o in outcomes if o.task.method == "EW")
    expected = metrics.cvar(first.returns, 0.05) - 2 * first.returns.mean()
    assert first.task.loss.realised(first.returns) == pytest.approx(expected)


# --------------------------------------------------------------------------- going on


@pytest.mark.slow
def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    methods = (*PLAIN, "2-Causal-SDRO")
    whole = study(methods).run(market(), tmp_path / "whole")
    calls = []

    def stop(done, total, note):
        calls.append(done)
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study(methods).run(market(), tmp_path / "parts", progress=stop)
    assert len(list((tmp_path / "parts").glob("*.json"))) == 5
    calls.clear()
    parts = study(methods).run(
        market(), tmp_path / "parts", progress=lambda done, total, note: calls.append((done, total))
    )
    assert calls[0] == (5, 12)
    assert len(calls) == 8
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)


def test_work_that_was_sent_to_another_process_is_the_same():
    work = Choices(market(), HORIZON)
    sent = pickle.loads(pickle.dumps(work))
    assert sent.depends() == work.depends()
    cell = {"method": "MV", "rule": "", "date": "2020-05-01", "risk": "cvar", "tail": 0.1,
            "return_weight": 2.0, "parameters": {}, "seed": 0}  # fmt: skip
    assert sent.run(cell) == work.run(cell)
    assert work.label(cell) == "MV 2020-05-01"


@pytest.mark.slow
def test_several_processes_choose_the_same(tmp_path):
    alone = study().run(market(), tmp_path / "one")
    spread = study().run(market(), tmp_path / "two", jobs=2)
    for a, b in zip(alone, spread, strict=True):
        assert a.task == b.task
        np.testing.assert_array_equal(a.weights, b.weights)


@pytest.mark.slow
def test_other_parameters_are_computed_afresh(tmp_path):
    method = ("SDRO",)
    study(method).run(market(), tmp_path)
    changed = {"SDRO": Parameters(penalty=9.0, steps=20)}
    done = []
    study(method, parameters=changed).run(
        market(), tmp_path, progress=lambda *told: done.append(told[0])
    )
    assert done[0] == 0


def test_more_months_keep_the_choices_that_are_there(tmp_path):
    study().run(market(), tmp_path)
    told = []
    longer = replace(HORIZON, end="2020-07")
    Backtest(longer, methods=PLAIN, return_weights=(2.0,)).run(
        market(), tmp_path, progress=lambda *what: told.append(what[:2])
    )
    assert told == [(9, 12), (10, 12), (11, 12), (12, 12)]


# --------------------------------------------------------------------------- what came of it


def test_the_table_averages_months_and_measures_against_baselines(tmp_path):
    outcomes = study((*PLAIN, "CMV-early", "SDRO")).run(market(), tmp_path)
    found = summary_table(outcomes, market()).set_index("method")
    assert list(found.index) == [*PLAIN, "CMV-early", "SDRO"]
    assert found.at["PT", "P against MV"] == 1
    assert found.at["MV", "P against MV"] == 0
    gap = found.at["CMV-early", "loss"] - found.at["PT", "loss"]
    closed = 1 - (found.at["SDRO", "loss"] - found.at["PT", "loss"]) / gap
    assert found.at["SDRO", "P against CMV-early"] == pytest.approx(closed)
    assert np.isnan(found.at["SDRO", "P against CMV"])
    by_month = monthly(outcomes)
    mean = by_month[by_month.method == "EW"]["sharpe"].mean()
    assert found.at["EW", "sharpe"] == pytest.approx(mean)


def test_tracks_chain_each_portfolio_to_the_next(tmp_path):
    found = market()
    outcomes = study(("EW",)).run(found, tmp_path)
    track = tracks(outcomes, found)[2.0, "EW", ""]
    assert track.index[0] == np.datetime64("2020-04-01")
    may = outcomes[1]
    np.testing.assert_allclose(track["2020-05"].iloc[:10], may.returns)
    assert len(track) == np.searchsorted(found.dates, np.datetime64("2020-06-01")) - (
        np.searchsorted(found.dates, np.datetime64("2020-04-01"))
    ) + 10  # fmt: skip
    listed = weights(outcomes, found)
    assert listed.groupby("date")["weight"].sum().to_numpy() == pytest.approx(np.ones(3))


def test_diverged_choices_are_told_of_in_one_sentence(tmp_path, recwarn, monkeypatch):
    """Training that diverges is made up here: only what is said of it matters."""

    def fit(policy, X, Y):
        warnings.warn("Training diverged after 0 of 300 steps.", ConvergenceWarning, stacklevel=1)
        policy.status_ = "diverged" if len(seen) < 2 else "step limit"
        seen.append(policy)
        return policy

    seen = []
    monkeypatch.setattr(running, "_shuffled", list)  # method by method
    monkeypatch.setattr(RobustPolicy, "fit", fit)
    monkeypatch.setattr(RobustPolicy, "predict", lambda policy, x: np.full((1, 5), 0.25))
    outcomes = study(("EW", "CMV", "SDRO")).run(market(), tmp_path)
    sentence = (
        "Training diverged for 2 of 3 choices of CMV (forest); the last finite rule was used."
    )
    assert [str(warning.message) for warning in recwarn] == [sentence]
    assert diverged(outcomes) == sentence
    assert not diverged(outcomes[:3])
    assert list(summary_table(outcomes, market())["diverged"]) == [0, 2, 0]
    assert set(monthly(outcomes)["status"]) == {"solved", "diverged", "step limit"}
    # kept results say it again, without any training
    again = study(("EW", "CMV", "SDRO")).run(market(), tmp_path)
    assert len(seen) == 6
    assert [str(warning.message) for warning in recwarn] == 2 * [sentence]
    both = [*again[:6], *(replace(outcome, status="diverged") for outcome in again[6:])]
    assert "2 of 3 choices of CMV (forest) and 3 of 3 choices of SDRO (forest);" in diverged(both)


@pytest.mark.slow
def test_constant_covariates_are_told_of_once(tmp_path, recwarn):
    returns, levels = tables()
    levels["level 1"] = 7.0
    still = make_market(returns, levels)
    study(("SDRO",), return_weights=(1.0, 5.0)).run(still, tmp_path)
    (warning,) = recwarn
    expected = "Covariate(s) level 1 never vary in 3 of 3 windows and are ignored there."
    assert str(warning.message) == expected


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"methods": ("XY",)}, "method must be one of"),
        ({"methods": "SDRO"}, "methods must be a tuple of one or more, got 'SDRO'"),
        ({"methods": ("EW", "EW")}, "methods lists 'EW' more than once"),
        ({"rules": ("oak",)}, "rule must be one of"),
        ({"rules": ()}, "rules must be a tuple of one or more"),
        ({"risk": "luck"}, "risk must be one of"),
        ({"tail": 0.0}, "tail must be greater than 0"),
        ({"return_weights": (-1.0,)}, "return_weight must not be negative"),
        ({"return_weights": 5.0}, "return_weights must be a tuple of one or more"),
        ({"parameters": {"EW": Parameters()}}, "method must be one of '1-Causal-SDRO'"),
        ({"parameters": {"SDRO": 3.0}}, "parameters of SDRO must be a Parameters"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"horizon": "2021-01"}, "horizon must be a Horizon"),
    ],
)
def test_bad_settings_are_refused(settings, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        Backtest(**({"horizon": HORIZON} | settings))


@pytest.mark.parametrize(
    "changes", [{"penalty": 0.0}, {"epsilon": -1.0}, {"neighbours": 1.5}, {"steps": 0}]
)
def test_bad_parameters_are_refused(changes):
    with pytest.raises((TypeError, ValueError), match=f"{next(iter(changes))} must "):
        Parameters(**changes)


def test_what_is_no_market_is_refused(tmp_path):
    with pytest.raises(TypeError, match="market must be a market such as read_market returns"):
        study().run(tables()[0], tmp_path)
    with pytest.raises(ValueError, match="jobs must be at least 1, got 0"):
        study().run(market(), tmp_path, jobs=0)
    with pytest.raises(ValueError, match="no outcomes to summarise"):
        summary_table([], market())
