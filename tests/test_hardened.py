"""policy.hardened(): the same rule with questions answered by yes or no."""

import numpy as np
import pytest
from scipy.special import logsumexp

import hedgerow as hr
from hedgerow import explain
from hedgerow.rules.forest_arrays import ForestArrays
from tests.problems import history

X, Y = history(rows=120)


@pytest.fixture(scope="module")
def soft():
    return hr.RobustPolicy(
        hr.Newsvendor(1, 3),
        hr.CausalSinkhorn(20.0, 0.1, x_scale="auto", y_scale="auto", loss_scale="auto"),
        hr.SoftForest(4, (1, 2), temperature=0.3),
        hr.EmpiricalNominal(),
        hr.NestedSGD(steps=60, batch=16, nodes=2),
        random_state=0,
    ).fit(X, Y)


@pytest.fixture(scope="module")
def hard(soft):
    return soft.hardened()


def test_it_is_the_limit_of_falling_temperatures(soft, hard):
    arrays = soft.rule_.trees(3)
    x = soft.units_.contexts(X, np.float64).T
    cold = ForestArrays(arrays.weights * 1e8, arrays.biases * 1e8, arrays.leaves)
    limit = cold.decide(cold.logits(x))[0] * soft.units_.z_unit
    np.testing.assert_allclose(hard.predict(X), limit, rtol=1e-5)  # decided in float32
    assert len(np.unique(hard.predict(X))) <= 2 * 4 * 2 * 4
    assert soft.hardening_ is None
    assert float(soft.rule_.temperature) == pytest.approx(0.3)


def test_its_fidelity_is_what_comparing_decisions_says(soft, hard):
    apart = np.abs(hard.predict(X) - soft.predict(X)) / np.abs(soft.predict(X))
    assert hard.hardening_.fidelity == pytest.approx(np.mean(apart <= 0.1))
    assert hard.hardening_.mean_difference == pytest.approx(apart.mean(), rel=1e-6)
    assert hard.hardening_.rows == 120
    own = soft.hardened(X[:10], tolerance=0.02).hardening_
    assert own.rows == 10
    assert own.fidelity == pytest.approx(np.mean(apart[:10] <= 0.02))
    assert "on average it is" in str(own)


def test_files_keep_it(soft, hard, tmp_path):
    hard.save(tmp_path / "hard.hedgerow")
    again = hr.load(tmp_path / "hard.hedgerow")
    np.testing.assert_array_equal(again.predict(X), hard.predict(X))
    assert again.hardening_ == hard.hardening_
    soft.save(tmp_path / "soft.hedgerow")
    read = hr.load(tmp_path / "soft.hedgerow")
    with pytest.raises(ValueError, match=r"give contexts, policy.hardened\(X\)"):
        read.hardened()
    np.testing.assert_array_equal(read.hardened(X).predict(X), hard.predict(X))


def test_attributions_are_the_limit_of_those_of_soft_forests(soft, hard):
    """Jumps are shared as integrals are at ever lower temperatures, and add up exactly."""
    found = explain.attribute(hard, X[0], X[:15])
    assert found.completeness_error < 1e-12
    arrays = soft.rule_.trees(3).in_units(soft.units_.z_unit)
    x = soft.units_.contexts(X, np.float64)
    alphas = (np.arange(40_000) + 0.5) / 40_000
    total = np.zeros(3)
    cold = ForestArrays(arrays.weights * 300, arrays.biases * 300, arrays.leaves)
    for start in x[1:15]:
        points = start + alphas[:, None] * (x[0] - start)
        slopes = cold.slopes(cold.logits(points.T))[:, :, 0].mean(axis=2)
        total += (x[0] - start) * np.einsum("tg,tgd->d", slopes, cold.weights) / 15
    # gates 300 times as crisp, and sums over midpoints, leave this much
    np.testing.assert_allclose(found.values[0], total, atol=5e-3 * np.abs(total).max())


def test_what_needs_derivatives_says_that_there_are_none(hard):
    for ask in (explain.gradients, explain.interactions, explain.route_gradients):
        with pytest.raises(ValueError, match="jumps at its splits"):
            ask(hard, X)
    with pytest.raises(ValueError, match="nor a Lipschitz constant"):
        explain.lipschitz(hard)


def test_what_does_not_need_them_answers(soft, hard):
    chances = explain.routes(hard, X).probabilities
    assert set(np.unique(chances)) == {0.0, 1.0}
    importance = explain.importance(hard, X)
    assert importance.ranked()[0] == explain.importance(soft, X).ranked()[0]
    step = soft.units_.x_spread[0] / 2
    sides = [hard.predict(X + sign * step * np.eye(3)[0]) for sign in (1, -1)]
    assert importance.scores[0] == pytest.approx(np.abs(sides[0] - sides[1]).mean(), rel=1e-5)
    bounds = explain.certificate(hard, X[0], 0.5)
    near = X[0] + 0.5 * soft.units_.x_spread * np.random.default_rng(0).uniform(-1, 1, (500, 3))
    found = hard.predict(near)
    assert bounds.low[0] - 1e-5 <= found.min() <= found.max() <= bounds.high[0] + 1e-5
    assert "answered by yes or no" in hard.rule_.words()


@pytest.mark.slow
def test_its_robust_value_is_that_of_its_steps():
    """One feature: a step function, whose expectations are those of a fine grid."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    y = 5 + np.where(x > 0, 3.0, 0.0) + 0.3 * rng.normal(size=30)
    penalty, epsilon = 4.0, 0.2
    policy = hr.RobustPolicy(
        hr.Newsvendor(1, 2, decision_set=hr.Free(1)),
        hr.CausalSinkhorn(penalty, epsilon),
        hr.SoftForest(3, (1, 2)),
        hr.EmpiricalNominal(),
        hr.NestedSGD(steps=200),
        random_state=0,
    ).fit(x[:, None], y)
    hard = policy.hardened()
    temperature, width = penalty * epsilon, np.sqrt(epsilon / 2)
    grid = np.linspace(-8, 8, 40_001)
    log_weights = -((grid / width) ** 2) / 2
    log_weights -= logsumexp(log_weights)
    shifts = np.linspace(-8, 8, 2001) * width
    outcome = -((shifts / width) ** 2) / 2
    outcome -= logsumexp(outcome)
    total = 0.0
    for centre, demand in zip(x, y, strict=True):
        z = hard.predict((centre + grid * 1.0)[:, None])
        levels, place = np.unique(z, return_inverse=True)
        gap = levels[:, None] - (demand + shifts)
        loss = np.maximum(gap, -2 * gap) / temperature
        inner = logsumexp(loss + outcome, axis=1)
        total += temperature * logsumexp(inner[place] + log_weights) / len(x)
    value = hard.robust_value_
    # known to three standard errors, and the grid to the width of its cells
    assert value.value == pytest.approx(total, abs=3 * value.stderr + value.bias + 2e-4 * total)


def test_rules_without_gates_are_refused():
    policy = hr.RobustPolicy(
        hr.Newsvendor(1, 3), hr.ERM(), hr.Affine(), solver=hr.NestedSGD(steps=5), random_state=0
    ).fit(X, Y)
    with pytest.raises(TypeError, match="Only rules with gates can be hardened"):
        policy.hardened()
