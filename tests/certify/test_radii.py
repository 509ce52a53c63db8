"""Radii in words, against the transport cost itself; the menu; one context's value."""

import warnings

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hedgerow as hr
from hedgerow import fitting
from hedgerow.certify.radii import least_discrepancy, usual_radius
from hedgerow.data.conditional import conditional
from tests.problems import AUTO, QUICK, SMALL, history

LOSS = hr.Newsvendor(1, 3)
PARTS = {"rule": SMALL, "nominal": hr.EmpiricalNominal(), "solver": QUICK, "random_state": 0}


@pytest.mark.parametrize("order", [1, 2])
def test_moves_spend_the_radius_exactly(order):
    X, y = history(60, 2)
    scales = {"x_scale": [2.0, 0.5], "y_scale": 3.0}
    policy = hr.RobustPolicy(LOSS, hr.CausalWasserstein(radius=0.8, order=order, **scales), **PARTS)
    if order == 1:
        policy.set_params(ambiguity=hr.CausalWasserstein(radius=0.8, order=1, y_scale=0.1))
    found = hr.radius_in_words(policy, X, y)
    scale = 3.0 if order == 2 else 0.1
    for share, moves in ((1.0, found.moves_all), (0.1, found.moves_few)):
        spent = share * (moves.outcomes[0] / scale) ** order
        assert spent == pytest.approx(0.8**order)
    if order == 2:
        np.testing.assert_allclose(found.moves_all.contexts, [1.6, 0.4])
    assert "one row in ten" in str(found)


def test_a_shift_within_the_radius_is_no_worse_than_the_value():
    """What the words allow, a cost that is convex in demand pays no more for than the value."""
    X, y = history(60, 1)
    policy = hr.RobustPolicy(
        LOSS, hr.CausalSinkhorn(radius=0.6, epsilon=0.05, **AUTO), **PARTS
    ).fit(X, y)
    found = hr.radius_in_words(policy)
    shifted = policy.losses(X, y + found.moves_all.outcomes[0]).mean()
    few = y.copy()
    few[::10] += found.moves_few.outcomes[0]
    assert found.least > 0
    assert max(shifted, policy.losses(X, few).mean()) <= policy.robust_value_.value


def test_a_divergence_says_how_frequent_a_tenth_may_become():
    X, y = history(60, 1)
    policy = hr.RobustPolicy(LOSS, hr.KL(radius=0.1), **PARTS)
    often = hr.radius_in_words(policy, X, y).moves_all.frequency
    divergence = often * np.log(often / 0.1) + (1 - often) * np.log((1 - often) / 0.9)
    assert divergence == pytest.approx(0.1, rel=1e-4)


def test_auto_radius_scales_with_rows_and_features():
    for rows, features in ((60, 1), (240, 1), (60, 3)):
        X, y = history(rows, features)
        model = hr.CausalWasserstein(radius="auto", **AUTO)
        problem, _, count = hr.RobustPolicy(LOSS, model, **PARTS).posed(X, y)
        expected = np.sqrt(chi2.ppf(0.95, features + 1) / rows)
        assert usual_radius(problem, count) == pytest.approx(expected)
        assert least_discrepancy(problem) == 0


def test_a_radius_beyond_the_spread_is_told_in_words():
    X, y = history(60, 3)
    model = hr.CausalSinkhorn(radius=2.5, epsilon=0.01, **AUTO)
    problem = hr.RobustPolicy(LOSS, model, **PARTS).posed(X, y)[0]
    with pytest.warns(hr.WideRadiusWarning, match="rain misread by"):
        fitting.remark(problem, ["rain", "heat", "week"], model=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", hr.WideRadiusWarning)
        narrow = problem.against(model.within(0.9))
        with pytest.warns(hr.VacuousCausalityWarning):
            fitting.remark(narrow, None, model=True)


def test_the_menu_lists_price_and_protection():
    X, y = history(60, 1)
    policy = hr.RobustPolicy(LOSS, hr.KL(radius=0.1), **PARTS).fit(X, y)
    menu = hr.radius_menu(policy, radii=[0.1, 0.01, 1.0], retrain=False)
    assert list(menu.radii) == [0.01, 0.1, 1.0]
    assert np.all(np.diff(menu.value) > 0)
    assert np.ptp(menu.price) == 0
    assert menu.value[1] == pytest.approx(policy.robust_value_.value, rel=1e-6)
    assert len(menu.to_frame()) == 3
    assert hr.plots.radius_frontier(menu).axes


def test_a_context_s_outcomes_are_what_the_nominal_holds_possible():
    X, y = history(80, 2)
    context, weights = np.array([0.1, -0.2]), np.ones(80)
    near = conditional(hr.NeighbourNominal(10), X, y[:, None], weights, context)
    spread = X.std(axis=0)
    nearest = np.argsort((((X - context) / spread) ** 2).sum(axis=1))[:9]
    # the context itself takes one of ten places; spreads are resistant, so orders differ a little
    assert len(set(np.round(near.outcomes[:, 0], 12)) & set(np.round(y[nearest], 12))) >= 7
    assert near.entry_mass.sum() == pytest.approx(1)
    tied = conditional(
        hr.EmpiricalNominal(),
        np.repeat(X, 2, axis=0),
        np.arange(160.0)[:, None],
        np.ones(160),
        X[3],
    )
    np.testing.assert_array_equal(np.sort(tied.outcomes[:, 0]), [6.0, 7.0])
    with pytest.raises(ValueError, match="ResidualNominal"):
        conditional(hr.EmpiricalNominal(), X, y[:, None], weights, context)


def test_residual_nominal_at_a_row_of_history_is_that_row_s():
    X, y = history(80, 2)
    nominal = hr.ResidualNominal(regressor=_Linear(), scale="constant", outcomes=8)
    found = conditional(nominal, X, y[:, None], np.ones(80), X[7] + 1e-9)
    slope = _Linear().fit(X, y, np.ones(80)).predict(X[7][None])[0]
    assert found.outcomes.mean() == pytest.approx(slope, abs=0.5)  # eight residuals' mean
    assert len(found.outcomes) == 8


def test_values_and_worst_cases_of_one_context():
    X, y = history(80, 1)
    parts = PARTS | {"nominal": hr.NeighbourNominal(10)}
    policy = hr.RobustPolicy(LOSS, hr.KL(radius=0.2), **parts).fit(X, y)
    at = np.array([0.3])
    value = hr.robust_value(policy, X, y, at=at)
    known = conditional(hr.NeighbourNominal(10), X, y[:, None], np.ones(80), at)
    z = policy.predict(at[None])[0]
    losses = LOSS(np.full((len(known.outcomes), 1), z), known.outcomes)
    assert value.nominal == pytest.approx(known.entry_mass @ losses, rel=1e-6)
    assert value.nominal < value.value <= losses.max()
    draws = hr.worst_case(policy, X, y, at=at).sample(50)
    assert np.all(draws.x == pytest.approx(0.3))
    with pytest.raises(ValueError, match="one context"):
        hr.robust_value(policy, X, y, at=X[:2])


class _Linear:
    """Least squares, written here; scikit-learn's way of cloning."""

    def get_params(self, deep=False):
        return {}

    def fit(self, X, y, sample_weight=None):
        weights = np.ones(len(X)) if sample_weight is None else np.sqrt(sample_weight)
        A = np.column_stack([np.ones(len(X)), X])
        self.slope = np.linalg.lstsq(A * weights[:, None], y * weights, rcond=None)[0]
        return self

    def predict(self, X):
        return np.column_stack([np.ones(len(X)), X]) @ self.slope


def test_radii_of_a_pipeline_are_those_of_what_its_steps_make():
    X, y = history(60, 2)
    policy = hr.RobustPolicy(LOSS, hr.KL(1.0), **PARTS)
    scaler = StandardScaler()
    for pipe in (make_pipeline(scaler, policy), make_pipeline(scaler, policy).fit(X, y)):
        menu = hr.radius_menu(pipe, X, y, radii=[0.1])
        alone = hr.radius_menu(policy, StandardScaler().fit_transform(X), y, radii=[0.1])
        assert menu.value == pytest.approx(alone.value)
        said = hr.radius_in_words(pipe, X, y, 0.1).text
        assert said == f"Within a radius of 0.1: {alone.allows[0]}"


@pytest.mark.parametrize("asked", [hr.radius_menu, hr.radius_in_words, hr.remember])
def test_what_is_no_policy_is_said(asked):
    with pytest.raises(TypeError, match=r"must be a fitted hedgerow\.RobustPolicy"):
        asked(3, *history(20, 2))


def test_one_radius_is_a_menu_and_none_is_refused():
    X, y = history(60, 2)
    policy = hr.RobustPolicy(LOSS, hr.KL(1.0), **PARTS).fit(X, y)
    one, several = (hr.radius_menu(policy, X, y, given, retrain=False) for given in (0.1, [0.1]))
    assert one.value == pytest.approx(several.value)
    with pytest.raises(ValueError, match="holds no radius"):
        hr.radius_menu(policy, X, y, [], retrain=False)
    with pytest.raises(TypeError, match="radius must be a number"):
        hr.radius_menu(policy, X, y, ["wide"], retrain=False)
