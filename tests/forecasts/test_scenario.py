"""Scenario nominals: every row its own scenarios, whatever is asked; quantiles, paths, frames."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import TimeSeriesSplit, cross_val_score

import hedgerow as hr
from hedgerow.policy_file import describe
from tests.data.nominals import as_table, check_shape, entries, joint
from tests.problems import AUTO, history

CONTEXTS = np.array([[2.0, 1.0], [1.0, 5.0], [1.0, 4.0]])
SCENARIOS = np.array([[7.0, 3.0], [10.0, 20.0], [30.0, 40.0]])
STEPS = hr.NestedSGD(steps=30)


def ones(n):
    return np.ones(n)


def built(nominal, X, y=None, weights=None):
    """With outcomes of one column that nobody looks at."""
    X = np.asarray(X, float)
    y = np.zeros((len(X), 1)) if y is None else y
    return nominal.build(X, y, ones(len(X)) if weights is None else np.asarray(weights))


def affine(nominal, model=None):
    return hr.RobustPolicy(
        hr.Newsvendor(1, 3), model or hr.ERM(), hr.Affine(), nominal, STEPS, random_state=0
    )


# --------------------------------------------------------------------------- looking rows up


def test_rows_have_their_scenarios_in_any_order_and_number():
    nominal = hr.ScenarioNominal(CONTEXTS, SCENARIOS)
    asked = CONTEXTS[[1, 0, 1]]  # one of them twice, one not at all
    found = built(nominal, asked, weights=[1.0, 2.0, 3.0])
    check_shape(found)
    np.testing.assert_array_equal(found.contexts, CONTEXTS[[1, 0]])  # in lexicographic order
    assert as_table(found) == {
        (1.0, 5.0): (pytest.approx(4 / 6), [(10.0, 0.5), (20.0, 0.5)]),
        (2.0, 1.0): (pytest.approx(2 / 6), [(3.0, 0.5), (7.0, 0.5)]),
    }
    assert found.outcomes.shape == (4, 1)


def test_scenarios_that_look_like_typos_are_named():
    rng = np.random.default_rng(0)
    contexts, scenarios = rng.normal(size=(30, 2)), 40 + rng.normal(size=(30, 8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        built(hr.ScenarioNominal(contexts, scenarios), contexts)
    scenarios[[4, 9], 3] *= 1000
    with pytest.warns(hr.OutlierWarning, match=r"2 contexts look like typos: row 4 .* has 4\d,"):
        built(hr.ScenarioNominal(contexts, scenarios), contexts)


def test_weights_are_those_of_scenarios_and_none_is_left_out():
    nominal = hr.ScenarioNominal(CONTEXTS, SCENARIOS, [[1.0, 3.0], [0.0, 2.0], [1.0, 1.0]])
    found = built(nominal, CONTEXTS)
    check_shape(found)
    assert [pairs for _, pairs in as_table(found).values()] == [
        [(30.0, 0.5), (40.0, 0.5)],
        [(20.0, 1.0)],
        [(3.0, 0.75), (7.0, 0.25)],
    ]
    assert len(found.outcomes) == 5
    common = built(hr.ScenarioNominal(CONTEXTS, SCENARIOS, [1.0, 3.0]), CONTEXTS)
    assert as_table(common)[(1.0, 4.0)][1] == [(30.0, 0.25), (40.0, 0.75)]


def test_a_context_that_occurs_again_has_all_its_scenarios():
    nominal = hr.ScenarioNominal([[0.0], [1.0], [-0.0]], SCENARIOS, [[1, 1], [1, 1], [2, 4]])
    found = built(nominal, [[0.0], [0.0]])
    check_shape(found)
    assert as_table(found) == {
        (0.0,): (1.0, [(3.0, 1 / 8), (7.0, 1 / 8), (30.0, 2 / 8), (40.0, 4 / 8)])
    }


def test_vectors_stay_whole():
    scenarios = np.random.default_rng(0).normal(size=(3, 5, 2))
    scenarios[..., 1] = 10 - scenarios[..., 0]
    found = built(hr.ScenarioNominal(CONTEXTS, scenarios), CONTEXTS, np.zeros((3, 2)))
    np.testing.assert_allclose(found.outcomes.sum(1), 10, rtol=1e-12)
    rows, _ = entries(found, 2)
    np.testing.assert_array_equal(
        found.outcomes[rows], scenarios[0][np.argsort(scenarios[0, :, 0])]
    )


def test_one_scenario_per_row_is_the_empirical_distribution():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 2)), 3, axis=0)
    Y, weights = rng.integers(1, 6, (60, 2)).astype(float), rng.integers(0, 3, 60).astype(float)
    weights[::3] += 1  # every context counts
    kept = weights > 0
    nominal = hr.ScenarioNominal(X[kept], Y[kept][:, None], weights[kept][:, None])
    expected = hr.EmpiricalNominal().build(X, Y, weights)
    np.testing.assert_allclose(joint(nominal.build(X, Y, weights)), joint(expected), rtol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        hr.ERM(),
        pytest.param(hr.CausalSinkhorn(10.0, 0.1, **AUTO), marks=pytest.mark.slow),
    ],
    ids=["unhedged", "hedged"],
)
def test_outcomes_of_another_nominal_handed_over_decide_as_it_does(model):
    X, y = history(60)
    X, y = np.concatenate([X, X[:10]]), np.concatenate([y, y[:10] + 1])  # some contexts twice
    residual = hr.ResidualNominal(LinearRegression(), "constant", 8)
    first = affine(residual, model).fit(X, y)
    made = first.nominal_
    scenarios = made.outcomes[made.entry_outcome, 0].reshape(len(made.contexts), -1)
    order = np.random.default_rng(1).permutation(len(scenarios))
    nominal = hr.ScenarioNominal(made.contexts[order], scenarios[order])
    second = affine(nominal, model).fit(X, y)
    np.testing.assert_array_equal(second.predict(X), first.predict(X))


# --------------------------------------------------------------------------- in use


def noisy(rows=120, seed=0):
    """History with its true scenarios, and others that are far too high."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (rows, 1))
    mean = 20 + 3 * X
    y = mean[:, 0] + rng.normal(size=rows)
    true = mean + norm.ppf((np.arange(16) + 0.5) / 16)
    return X, y, hr.ScenarioNominal(X, true), hr.ScenarioNominal(X, true + 30)


@pytest.mark.parametrize(
    ("penalties", "cv"),
    [
        ((np.inf,), 2),
        pytest.param((10, np.inf), TimeSeriesSplit(3), marks=pytest.mark.slow),
    ],
    ids=["folds", "in time"],
)
def test_a_search_judges_scenarios_by_what_happened(penalties, cv):
    X, y, right, wrong = noisy()
    search = hr.RobustPolicyCV(
        hr.Newsvendor(1, 3),
        penalties=penalties,
        epsilons=(0.1,),
        nominals=[wrong, right],
        rules=[hr.Affine()],
        solver=STEPS,
        cv=cv,
        random_state=0,
    ).fit(X, y)
    assert search.best_params_["nominal"] is right
    assert len(search.best_estimator_.nominal_.contexts) == len(X)
    assert set(search.results_["nominal"]) == {"ScenarioNominal(120 contexts, 16 scenarios each)"}


def test_it_is_cloned_split_and_weighted_like_any_nominal():
    X, y, right, wrong = noisy()
    again = clone(right)
    assert again is not right
    np.testing.assert_array_equal(again.scenarios, right.scenarios)
    assert hr.ScenarioNominal(X, right.scenarios).contexts is X
    scores, others = (cross_val_score(affine(nominal), X, y, cv=3) for nominal in (right, wrong))
    assert scores.min() > others.max()
    tilted = affine(right).fit(X, y, sample_weight=(X[:, 0] > 2).astype(float))
    assert len(tilted.nominal_.contexts) == np.sum(X[:, 0] > 2)


def test_causality_is_not_vacuous(recwarn):
    X, y, right, _ = noisy(60)

    def said_with(nominal):
        recwarn.clear()
        model = hr.CausalSinkhorn(10.0, 0.1, **AUTO)
        hr.RobustPolicy.from_function(
            lambda x: 20 + 3 * x, hr.Newsvendor(1, 3), X, y, ambiguity=model, nominal=nominal
        )
        return [w.category for w in recwarn]

    assert hr.VacuousCausalityWarning in said_with(hr.EmpiricalNominal())
    assert said_with(right) == []


def test_scenarios_stay_in_the_losss_support():
    X, y, right, _ = noisy(60)
    loss = hr.Newsvendor(1, 3, outcome_support=(21.0, 31.0))
    policy = affine(right).set_params(loss=loss).fit(X, np.clip(y, 21.0, 31.0))
    assert policy.nominal_.outcomes.min() == 21.0
    assert policy.nominal_.outcomes.max() == 31.0


def test_files_leave_the_arrays_out_and_say_so_when_they_are_needed(tmp_path):
    X, y, right, _ = noisy()
    policy = affine(right).fit(X, y)
    policy.save(tmp_path / "policy.hedgerow")
    again = hr.load(tmp_path / "policy.hedgerow")
    np.testing.assert_array_equal(again.predict(X), policy.predict(X))
    for asked in (again.fit, clone(again).fit, lambda X, y: hr.robust_value(again, X, y)):
        with pytest.raises(ValueError, match="policy files do not hold; set it again with policy"):
            asked(X, y)
    again.save(tmp_path / "second.hedgerow")
    again.set_params(nominal=right).fit(X, y)
    assert repr(hr.load(tmp_path / "second.hedgerow").nominal) == "ScenarioNominal()"


def test_a_million_scenarios_are_neither_stored_nor_printed():
    X = np.arange(1000.0)[:, None]
    nominal = hr.ScenarioNominal(X, np.zeros((1000, 1000)))
    assert len(json.dumps(describe(nominal))) < 200
    policy = hr.RobustPolicy(hr.Newsvendor(1, 3), nominal=nominal)
    for shown in (repr(nominal), repr(policy)):
        assert len(shown) < 2000
    assert len(policy._repr_html_()) < 200_000  # scikit-learn's page with any nominal is 50,000
    assert len(built(nominal, X[:10]).outcomes) == 10_000


# --------------------------------------------------------------------------- quantiles


def test_quantiles_are_read_off_lines_between_levels_and_beyond():
    nominal = hr.ScenarioNominal.from_quantiles([[1.0]], [0.75, 0.25, 0.5], [[16.0, 4.0, 8.0]], 4)
    # at 1/8, 3/8, 5/8, 7/8: slopes of 16 below the median and 32 above it
    np.testing.assert_allclose(nominal.scenarios, [[2.0, 6.0, 12.0, 20.0]], rtol=1e-12)
    at_levels = hr.ScenarioNominal.from_quantiles([[1.0]], [0.25, 0.75], [[4.0, 8.0]], 2)
    np.testing.assert_allclose(at_levels.scenarios, [[4.0, 8.0]], rtol=1e-12)


def test_quantiles_of_a_normal_give_it_back():
    levels = np.array([0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99])
    mean, size = np.array([[10.0], [50.0]]), np.array([[1.0], [8.0]])
    nominal = hr.ScenarioNominal.from_quantiles(
        [[0.0], [1.0]], levels, mean + size * norm.ppf(levels), outcomes=64
    )
    np.testing.assert_allclose(nominal.scenarios.mean(1), mean[:, 0], rtol=1e-9)
    # Chords of a convex tail lie above it (+), and the tail beyond 1/128 is missed (−).
    np.testing.assert_allclose(nominal.scenarios.std(1), size[:, 0], rtol=0.03)
    exact = mean + size * norm.ppf((np.arange(64) + 0.5) / 64)
    # between 0.25 and 0.1 the chord is at most 0.04 standard deviations off
    assert np.max(np.abs(nominal.scenarios - exact) / size) < 0.1


def test_crossing_quantiles_are_sorted_and_said_unless_it_is_rounding():
    crossed = [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]
    with pytest.warns(hr.CrossingQuantilesWarning, match="1 row of 2 .*first is row 1") as said:
        nominal = hr.ScenarioNominal.from_quantiles([[0.0], [1.0]], [0.1, 0.5, 0.9], crossed, 5)
    assert said[0].filename == __file__
    np.testing.assert_array_equal(nominal.scenarios[0], nominal.scenarios[1])


def test_crossing_by_a_rounding_is_not_worth_a_word(recwarn):
    hr.ScenarioNominal.from_quantiles([[0.0]], [0.1, 0.5, 0.9], [[100.0, 100.0 - 1e-5, 101.0]])
    assert not recwarn


# --------------------------------------------------------------------------- paths


def test_lead_time_totals():
    paths = np.arange(12.0).reshape(2, 2, 3)  # rows, paths, periods
    contexts = [[0.0], [1.0]]
    whole = hr.ScenarioNominal.from_paths(contexts, paths)
    np.testing.assert_array_equal(whole.scenarios, [[3.0, 12.0], [21.0, 30.0]])
    for lead_time, totals in (
        (2, [[1.0, 7.0], [13.0, 19.0]]),
        (np.int64(1), [[0.0, 3.0], [6.0, 9.0]]),
        ([1, 3], [[0.0, 3.0], [21.0, 30.0]]),
    ):
        nominal = hr.ScenarioNominal.from_paths(contexts, paths, lead_time)
        np.testing.assert_array_equal(nominal.scenarios, totals)
    several = hr.ScenarioNominal.from_paths(contexts, np.stack([paths, 2 * paths], axis=-1), 2)
    np.testing.assert_array_equal(several.scenarios[..., 1], 2 * several.scenarios[..., 0])


# --------------------------------------------------------------------------- frames

IDS = {"unique_id": ["a", "b"], "ds": pd.to_datetime(["2026-01-01", "2026-01-01"])}


@pytest.mark.parametrize(
    ("columns", "levels"),
    [
        (["M", "M-lo-90", "M-lo-50.0", "M-hi-50.0", "M-hi-90"], [0.5, 0.05, 0.25, 0.75, 0.95]),
        (["M", "M-median", "M-lo-80", "M-hi-80"], [None, 0.5, 0.1, 0.9]),
        (["M_ql0.1", "M_ql0.5", "M_ql0.975"], [0.1, 0.5, 0.975]),
        (["my-model-lo-99.5", "my-model-hi-99.5", "other"], [0.0025, 0.9975, None]),
    ],
)
def test_columns_are_told_by_their_names(columns, levels):
    table = {
        name: [norm.ppf(p), 10 + 2 * norm.ppf(p)] if p else [np.nan, np.nan]  # not looked at
        for name, p in zip(columns, levels, strict=True)
    }
    frame = pd.DataFrame(IDS | table)
    contexts = [[0.0], [1.0]]
    nominal = hr.ScenarioNominal.from_frame(contexts, frame, outcomes=10)
    known = [p for p in levels if p]
    expected = [norm.ppf(known), 10 + 2 * norm.ppf(known)]
    by_hand = hr.ScenarioNominal.from_quantiles(contexts, known, expected, 10)
    np.testing.assert_allclose(nominal.scenarios, by_hand.scenarios, rtol=1e-12)


def test_one_of_several_models_is_named():
    both = {"A-lo-90": [1.0, 1.0], "A-hi-90": [2.0, 2.0], "B-lo-90": [5.0, 5], "B-hi-90": [6.0, 6]}
    frame = pd.DataFrame(IDS | both)
    nominal = hr.ScenarioNominal.from_frame([[0.0], [1.0]], frame, "B")
    assert nominal.scenarios.min() > 4
    with pytest.raises(ValueError, match=r"several models \(A, B\); say which, with model='A'"):
        hr.ScenarioNominal.from_frame([[0.0], [1.0]], frame)
    with pytest.raises(ValueError, match="no quantiles of 'C', but of A, B"):
        hr.ScenarioNominal.from_frame([[0.0], [1.0]], frame, "C")


# --------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([1.0, 2.0], SCENARIOS), r"contexts must have the shape \(rows, features\)"),
        ((CONTEXTS, [1.0, 2.0, 3.0]), r"scenarios must have the shape \(rows, scenarios\) or"),
        ((CONTEXTS, np.empty((3, 0))), "scenarios must have the shape"),
        ((CONTEXTS[:2], SCENARIOS), r"2 row\(s\) of contexts and 3 of scenarios"),
        ((np.full((3, 2), np.nan), SCENARIOS), "contexts contains NaN"),
        ((CONTEXTS, np.full((3, 2), np.inf)), "scenarios contains inf"),
        ((CONTEXTS, SCENARIOS, [1.0]), r"weights must have the shape of the scenarios, \(3, 2\)"),
        ((CONTEXTS, SCENARIOS, [1.0, -1.0]), "weights must not be negative, but the least is -1"),
        ((CONTEXTS, SCENARIOS, [1.0, np.nan]), "weights contains NaN"),
        ((CONTEXTS, SCENARIOS, [[1, 1], [0, 0], [1, 1]]), "those of row 1 are all zero"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        hr.ScenarioNominal(*arguments)


@pytest.mark.parametrize("arguments", [(CONTEXTS,), (None, SCENARIOS)])
def test_half_of_the_arrays_is_not_enough(arguments):
    with pytest.raises(TypeError, match="must be numeric, got None"):
        hr.ScenarioNominal(*arguments)


def test_rows_that_nobody_forecast_are_refused():
    nominal = hr.ScenarioNominal(CONTEXTS, SCENARIOS)
    X = np.concatenate([CONTEXTS, CONTEXTS + 1e-12])
    with pytest.raises(ValueError, match=r"3 rows of X are not among .*first is row 3\); give"):
        built(nominal, X)
    with pytest.raises(ValueError, match=r"1 row of X is not among .*first is row 4"):
        built(nominal, X, weights=[1, 1, 1, 0, 1, 0])
    assert len(built(nominal, X, weights=[1, 1, 1, 0, 0, 0]).contexts) == 3
    with pytest.raises(ValueError, match=r"have 2 feature\(s\), but X has 1"):
        built(nominal, X[:, :1])
    with pytest.raises(ValueError, match=r"have 1 outcome\(s\), but Y has 2"):
        built(nominal, CONTEXTS, np.zeros((3, 2)))


def test_clipped_rows_are_refused_with_the_reason():
    X, y, right, _ = noisy()
    far = X.copy()
    far[7] = 1e6
    nominal = hr.ScenarioNominal(far, right.scenarios)
    clipping = affine(nominal).set_params(outliers="clip")
    with (
        pytest.warns(hr.OutlierWarning),
        pytest.raises(ValueError, match=r"row 7.*outliers='clip' moves values"),
    ):
        clipping.fit(far, y)


@pytest.mark.parametrize(
    ("levels", "quantiles", "match"),
    [
        ([0.5], [[1.0]], "levels must be at least two"),
        ([5, 95], [[1.0, 2.0]], r"between 0 and 1 \(0.05 for 5 %\), got 5"),
        ([0.0, 0.5], [[1.0, 2.0]], "between 0 and 1"),
        ([0.5, 0.1, 0.5], [[1.0, 2.0, 3.0]], "levels must differ, but 0.5 is there twice"),
        ([0.1, np.nan], [[1.0, 2.0]], "levels contains NaN"),
        ([0.1, 0.9], [[1.0, 2.0, 3.0]], r"shape \(rows, levels\), with 2 levels, got \(1, 3\)"),
        ([0.1, 0.9], [[[1.0, 2.0]]], "of several outcomes, give scenarios"),
        ([0.1, 0.9], [[1.0, np.nan]], "quantiles contains NaN"),
        ([0.1, 0.9], [[1.0, 2.0], [1.0, 2.0]], r"1 row\(s\) of contexts and 2 of scenarios"),
    ],
)
def test_quantiles_that_are_none_are_refused(levels, quantiles, match):
    with pytest.raises(ValueError, match=match):
        hr.ScenarioNominal.from_quantiles([[0.0]], levels, quantiles)


@pytest.mark.parametrize(
    ("paths", "lead_time", "error", "match"),
    [
        (np.zeros((2, 3)), None, ValueError, r"\(rows, paths, periods\) or"),
        (np.full((1, 2, 3), np.nan), None, ValueError, "paths contains NaN"),
        (np.zeros((1, 2, 3)), 4, ValueError, r"between 1 and the paths' 3 period\(s\), got 4"),
        (np.zeros((1, 2, 3)), 0, ValueError, "got 0"),
        (np.zeros((1, 2, 3)), 1.5, TypeError, "lead_time must be a whole number"),
        (np.zeros((1, 2, 3)), [1, 2], TypeError, r"one for each of the 1 row\(s\)"),
    ],
)
def test_paths_that_are_none_are_refused(paths, lead_time, error, match):
    with pytest.raises(error, match=match):
        hr.ScenarioNominal.from_paths([[0.0]], paths, lead_time)


def test_frames_without_quantiles_are_refused():
    with pytest.raises(ValueError, match=r"no columns of quantiles, .* it has unique_id, ds, y"):
        hr.ScenarioNominal.from_frame([[0.0], [1.0]], pd.DataFrame(IDS | {"y": [1.0, 2.0]}))
    with pytest.raises(TypeError, match="must be a pandas or polars frame, got ndarray"):
        hr.ScenarioNominal.from_frame([[0.0]], np.zeros((1, 2)))
    holes = pd.DataFrame(IDS | {"M-lo-90": [1.0, np.nan], "M-hi-90": [2.0, 3.0]})
    with pytest.raises(ValueError, match="M-lo-90 contains NaN"):
        hr.ScenarioNominal.from_frame([[0.0], [1.0]], holes)
    with pytest.raises(ValueError, match="outcomes must be at least 1"):
        hr.ScenarioNominal.from_frame([[0.0]], holes[:1], outcomes=0)
