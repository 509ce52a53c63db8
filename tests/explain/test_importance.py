"""Importance: the mean absolute gradient, its upper bound, and what others say."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import explain
from tests.explain.policies import data, decide, derivatives, forest, other


@pytest.mark.parametrize("decisions", [1, 2])
def test_importance_is_the_mean_absolute_gradient(decisions):
    policy, X = forest(decisions=decisions), data()[0]
    slopes = np.abs(derivatives(policy, X)).sum(axis=1)
    per_unit = explain.importance(policy, X, per="unit")
    np.testing.assert_allclose(per_unit.scores, slopes.mean(axis=0), rtol=1e-9)
    found = explain.importance(policy, X)
    np.testing.assert_allclose(found.scores, slopes.mean(axis=0) * X.std(axis=0), rtol=1e-6)
    assert found.values.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.values, found.scores / found.scores.sum())


def test_the_papers_second_form_is_a_bound_and_not_the_same():
    policy, X = forest(decisions=2), data()[0]
    exact, bound = explain.importance(policy, X), explain.route_importance(policy, X)
    assert np.all(bound.scores >= exact.scores)
    assert np.any(bound.scores > 1.2 * exact.scores)
    gradients = explain.route_gradients(policy, X)
    leaves = np.abs(explain.routes(policy, X).decisions).sum(axis=2)
    by_hand = np.einsum("rtlj,tl->j", np.abs(gradients), leaves) / (len(X) * len(leaves))
    np.testing.assert_allclose(bound.scores, by_hand * policy.units_.x_spread, rtol=1e-9)
    with pytest.raises(TypeError, match="Only rules with trees"):
        explain.route_importance(other("affine"), X)


def test_weights_count():
    policy, X = forest(), data()[0]
    weights = np.zeros(len(X))
    weights[:10] = 2.0
    np.testing.assert_allclose(
        explain.importance(policy, X, weights).scores, explain.importance(policy, X[:10]).scores
    )


def test_a_constant_rule_looks_at_nothing():
    found = explain.importance(other("constant"), data()[0])
    assert np.all(found.scores == 0)
    assert np.all(found.values == 0)


@pytest.mark.slow
def test_permutations_agree_on_what_matters():
    """Only the first feature moves demand, and both measures say so."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = 10 + 3 * X[:, 0] + 0.1 * rng.normal(size=400)
    policy = hr.RobustPolicy(
        hr.Newsvendor(1, 2), hr.ERM(), hr.SoftForest(5, 2), random_state=0
    ).fit(X, y)
    ours, permuted = explain.importance(policy, X), explain.permutation_importance(policy, X, y)
    assert ours.ranked()[0] == permuted.ranked()[0] == 0
    assert explain.correlation(ours, permuted) > 0.95
    assert permuted.errors is not None
    assert permuted.errors.shape == (3,)
    lines = str(ours).splitlines()
    assert "feature 0" in lines[0]


def test_correlation():
    assert explain.correlation([1, 2, 3], [2, 4, 6]) == pytest.approx(1)
    assert explain.correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert np.isnan(explain.correlation([1, 1, 1], [1, 2, 3]))
    with pytest.raises(ValueError, match="3 and 2 values"):
        explain.correlation([1, 2, 3], [1, 2])


class TestShap:
    @pytest.fixture(autouse=True)
    def installed(self):
        pytest.importorskip("shap")

    @pytest.mark.slow
    def test_exact_values_are_shapleys(self):
        """Every coalition by hand, four features."""
        from itertools import combinations
        from math import comb

        policy, X = forest(decisions=2), data()[0]
        background, x = X[:12], X[20]

        def worth(known):
            rows = background.copy()
            rows[:, list(known)] = x[list(known)]
            return decide(policy, rows).mean(axis=0)

        expected = np.zeros((2, 4))
        for j in range(4):
            others = [i for i in range(4) if i != j]
            for size in range(4):
                for known in combinations(others, size):
                    gain = worth((*known, j)) - worth(known)
                    expected[:, j] += gain / (4 * comb(3, size))
        found = explain.shap_values(policy, x, background)
        assert found.shape == (1, 2, 4)
        np.testing.assert_allclose(found[0], expected, rtol=1e-6, atol=1e-9)

    @pytest.mark.slow
    def test_they_agree_with_integrated_gradients_on_affine_rules(self):
        X, y = data()
        loss = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1))
        policy = hr.RobustPolicy(loss, hr.ERM(), hr.Affine(), random_state=0).fit(X, y)
        ours = explain.attribute(policy, X[0], X[:30]).values
        np.testing.assert_allclose(
            explain.shap_values(policy, X[:1], X[:30])[0], ours, rtol=1e-6, atol=1e-9
        )

    @pytest.mark.slow
    def test_more_features_than_can_be_enumerated(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 12))
        policy = hr.RobustPolicy(
            hr.Newsvendor(1, 2), hr.ERM(), hr.SoftForest(2, 2), random_state=0
        ).fit(X, 5 + X[:, 0] ** 2)
        found = explain.shap_values(policy, X[:2], X[:20])
        gaps = decide(policy, X[:2]) - decide(policy, X[:20]).mean(axis=0)
        np.testing.assert_allclose(found.sum(axis=2), gaps, rtol=1e-6, atol=1e-9)
        again = explain.shap_values(policy, X[:2], X[:20])
        np.testing.assert_array_equal(found, again)


def test_features_of_one_column_are_added_up():
    policy, X = forest(), data()[0]
    found, why = explain.importance(policy, X), explain.attribute(policy, X[0], X)
    groups = {"both": ["feature 1", "feature 3"]}
    grouped, why_grouped = found.grouped(groups), why.grouped(groups)
    assert grouped.names == why_grouped.names == ("feature 0", "both", "feature 2")
    assert grouped.values[1] == pytest.approx(found.values[1] + found.values[3])
    assert why_grouped.values.sum() == pytest.approx(why.values.sum())
    assert np.isnan(why_grouped.context[1])
    assert why_grouped.context[2] == X[0, 2]
    with pytest.raises(ValueError, match="no feature 'price' to put into a group"):
        found.grouped({"both": ["price"]})
    with pytest.raises(ValueError, match="in one group only"):
        found.grouped({"one": ["feature 1"], "two": ["feature 1"]})
