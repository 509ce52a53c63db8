"""Promises: ranks against brute force, coverage, refusals, radii that are found."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hedgerow as hr
from hedgerow.certify import conformal
from tests.problems import QUICK, SMALL, history

PARTS = {"rule": SMALL, "nominal": hr.EmpiricalNominal(), "solver": QUICK, "random_state": 0}


@pytest.fixture(scope="module")
def policy():
    return hr.RobustPolicy(hr.Newsvendor(1, 3), hr.KL(1.0), **PARTS).fit(*history(80, 2))


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("blocks", [4, 9, 19, 20, 57])
def test_rank_is_the_least_with_the_level_under_any_order(blocks, level):
    """The next of B + 1 exchangeable blocks has each rank with probability 1/(B + 1)."""
    place = conformal.rank(blocks, level)
    assert place / (blocks + 1) >= level - 1e-9
    assert place == 1 or (place - 1) / (blocks + 1) < level - 1e-9
    assert (place <= blocks) == (blocks >= conformal.needed(level))


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_rank_with_confidence_is_a_tolerance_limit(level):
    """The k-th of B uniforms is beyond the level with the confidence: a Beta(k, B − k + 1)."""
    blocks = conformal.needed(level, 0.9) + 20
    place = conformal.rank(blocks, level, 0.9)
    uniforms = np.sort(np.random.default_rng(0).random((20000, blocks)), axis=1)[:, place - 1]
    assert np.mean(uniforms >= level) >= 0.9 - 0.01  # of 20,000 draws: se 0.002
    assert binom.cdf(place - 2, blocks, level) < 0.9
    assert conformal.rank(conformal.needed(level, 0.9) - 1, level, 0.9) == conformal.needed(
        level, 0.9
    )


def test_promises_are_kept_by_exchangeable_blocks():
    """Heavy tails, few blocks: the exact level, not less."""
    rng = np.random.default_rng(0)
    drawn = rng.pareto(1.5, size=(20000, 20))
    place = conformal.rank(19, 0.9)
    kept = np.mean(drawn[:, -1] <= np.sort(drawn[:, :-1], axis=1)[:, place - 1])
    assert kept == pytest.approx(0.9, abs=0.008)  # se 0.002


def test_bootstrap_and_concentration_on_normal_rows():
    """Against the prediction interval of normal means; the inequality is wider."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=2000)
    exact = rows.mean() + 1.2816 * np.sqrt(1 / 2000 + 1 / 25)
    assert conformal.bootstrap(rows, 0.9, 25, 0) == pytest.approx(exact, abs=0.03)  # 4,000 draws
    assert conformal.concentration(rows, 0.9, 25) > exact


def test_the_promise_is_an_order_statistic_and_its_radius_covers_it(policy):
    X, y = history(200, 2, seed=5)
    found = hr.calibrate(policy, X, y, level=0.9, horizon=10)
    blocks = policy.losses(X, y).reshape(20, 10).mean(axis=1)
    assert found.promise == pytest.approx(np.sort(blocks)[18])
    value = hr.robust_value(policy, *history(80, 2), ambiguity=found.model)
    assert value.value == pytest.approx(found.promise, rel=1e-6)
    assert (found.blocks, found.needed, found.horizon) == (20, 9, 10)
    assert found.promise_at(0.8) == pytest.approx(np.sort(blocks)[16])
    assert found.promise_at(0.99) == np.inf
    assert "exchangeable" in found.assumption
    assert "exact" in found.guarantee
    table = found.to_frame()
    assert table["kept"].sum() == 19
    assert "90 %" in repr(found).replace("\u00a0", " ")


def test_labels_are_blocks_and_incomplete_rows_are_left_out(policy):
    X, y = history(103, 2, seed=5)
    months = np.repeat(["may", "june", "july", "august"], [30, 20, 30, 23])
    found = hr.calibrate(policy, X, y, level=0.8, blocks=months)
    assert list(found.to_frame()["block"]) == ["may", "june", "july", "august"]
    assert list(found.sizes) == [30, 20, 30, 23]
    assert hr.calibrate(policy, X, y, level=0.8, horizon=10).blocks == 10


def test_a_level_that_the_data_cannot_support_is_refused(policy):
    X, y = history(50, 2, seed=5)
    with pytest.raises(ValueError, match=r"needs 19 held-out blocks of 10 rows, but there are 5"):
        hr.calibrate(policy, X, y, level=0.95, horizon=10)
    with pytest.raises(ValueError, match="less than 1"):
        hr.calibrate(policy, X, y, level=1.0)


def test_rows_that_belong_to_no_block_are_named(policy):
    X, y = history(50, 2, seed=5)
    for missing in (np.nan, None):
        labels = np.array([*np.repeat([0.0, 1.0, 2.0, 3.0], 12), missing, missing], dtype=object)
        with pytest.raises(ValueError, match="no label for 2 rows, the first of them row 48"):
            hr.calibrate(policy, X, y, level=0.8, blocks=labels)


def test_rows_of_training_are_noticed(policy):
    with pytest.warns(hr.SeenRowsWarning, match="trained on"):
        hr.calibrate(policy, *history(80, 2), level=0.8)


@pytest.mark.parametrize("held_out", ["folds", "rolling"])
def test_folds_and_origins_judge_policies_that_have_not_seen_a_block(policy, held_out):
    X, y = history(80, 2)
    found = hr.calibrate(policy, X, y, level=0.8, held_out=held_out, folds=4)
    assert found.blocks >= found.needed
    assert "approximate" in found.guarantee
    assert found.promise > found.nominal


@pytest.mark.parametrize("held_out", ["given", "folds"])
def test_a_pipeline_is_judged_by_what_it_is_given(held_out):
    """Steps that stretch features are learned again with the policy, and applied once."""
    X, y = history(160, 2, seed=5)
    policy = hr.RobustPolicy(hr.Newsvendor(1, 3), hr.KL(1.0), **PARTS)
    pipe = make_pipeline(StandardScaler(), policy).fit(*history(80, 2))
    asked = {"level": 0.8, "horizon": 10, "held_out": held_out, "folds": 2}
    found = hr.calibrate(pipe, X, y, **asked)
    if held_out == "given":
        costs = pipe[-1].losses(pipe[:-1].transform(X), y)
    else:
        halves = [make_pipeline(StandardScaler(), policy) for _ in range(2)]
        costs = np.concatenate(
            [
                half.fit(X[seen], y[seen])[-1].losses(half[:-1].transform(X[met]), y[met])
                for half, seen, met in zip(
                    halves, (slice(80, 160), slice(80)), (slice(80), slice(80, 160)), strict=True
                )
            ]
        )
    np.testing.assert_allclose(found.costs, costs.reshape(16, 10).mean(axis=1), rtol=1e-5)


def test_a_policy_that_trusts_needs_a_model_with_a_radius():
    policy = hr.RobustPolicy(hr.Newsvendor(1, 3), hr.ERM(), **PARTS).fit(*history(80, 2))
    X, y = history(200, 2, seed=5)
    with pytest.raises(TypeError, match=r"ambiguity=hedgerow\.KL"):
        hr.calibrate(policy, X, y, level=0.8, horizon=10)
    found = hr.calibrate(policy, X, y, level=0.8, horizon=10, ambiguity=hr.KL(1.0))
    blocks = np.sort(policy.losses(X, y).reshape(20, 10).mean(axis=1))
    assert found.promise == pytest.approx(blocks[16])


def test_a_promise_that_no_radius_covers_says_so(policy):
    X, y = history(200, 2, seed=5)
    found = hr.calibrate(policy, X, 5 * y, level=0.8, horizon=10)
    assert found.radius == np.inf
    assert "more than KL reaches within any radius" in str(found)


@pytest.mark.slow
def test_calibrated_radius_is_found_by_fit_and_kept_by_files(tmp_path):
    X, y = history(80, 2)
    model = hr.KL(radius=hr.Calibrated(level=0.8, folds=3))
    policy = hr.RobustPolicy(hr.Newsvendor(1, 3), model, **PARTS).fit(X, y)
    assert policy.robust_value_.value == pytest.approx(policy.calibration_.promise, rel=1e-3)
    policy.save(tmp_path / "p.hedgerow")
    again = hr.load(tmp_path / "p.hedgerow")
    assert again.given_.radius == pytest.approx(policy.calibration_.radius)
    assert again.promise_ == pytest.approx(policy.calibration_.promise)
    assert again.ambiguity.radius.level == 0.8


def test_auto_radius_falls_with_rows():
    radii = {}
    for rows in (50, 200):
        X, y = history(rows, 2)
        policy = hr.RobustPolicy(hr.Newsvendor(1, 3), hr.KL(radius="auto"), **PARTS).fit(X, y)
        radii[rows] = policy.given_.radius
    assert radii[50] == pytest.approx(4 * radii[200])


def test_a_wish_is_refused_where_nothing_is_fitted(policy):
    with pytest.raises(ValueError, match="give a number"):
        hr.robust_value(policy, *history(80, 2), ambiguity=hr.KL(radius="auto"))
