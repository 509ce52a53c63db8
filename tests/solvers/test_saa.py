"""Sample average approximation: the sampled objective, and its minimiser."""

import jax
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.certify.value import certify
from hedgerow.solvers import sample_average
from hedgerow.solvers.sample_average import SampleAverage
from tests.oracles import gradient_by_differences
from tests.problems import AUTO, SMALL, AffineNewsvendor, history

KEY = jax.random.key(0, impl="rbg")
DENSE = hr.SAA(nodes=hr.GaussQuadrature(80), tolerance=1e-14)


def average_of(policy, X, y, solver):
    return SampleAverage(solver.training(policy.problem(X, y), policy.rule_), KEY)


@pytest.mark.parametrize(
    "model", [pytest.param(hr.Sinkhorn, marks=pytest.mark.slow), hr.CausalSinkhorn]
)
@pytest.mark.slow
def test_dense_nodes_give_the_objective_written_from_its_formula(model):
    problem = AffineNewsvendor(rows=20, repeats=3)
    policy, theta = problem.fit(model, hr.NestedSGD(steps=5))
    average = average_of(policy, problem.x[:, None], problem.y, DENSE)
    formula = problem.sinkhorn if model is hr.Sinkhorn else problem.causal
    value = average(average.point(policy.rule_))[0] * policy.units_.loss_unit
    assert value == pytest.approx(formula(theta), rel=1e-6)  # the rule and the data are float32


@pytest.mark.parametrize(
    ("model", "nominal"),
    [
        (hr.CausalSinkhorn(5.0, 0.2, **AUTO), hr.NeighbourNominal(3)),
        pytest.param(
            hr.CausalSinkhorn(radius=2.0, epsilon=0.2, **AUTO), None, marks=pytest.mark.slow
        ),
        (hr.KL(0.5), None),
    ],
    ids=["penalty", "radius", "kl"],
)
def test_gradient_equals_finite_differences(model, nominal):
    """All parameters of a forest and, under a radius, the penalty."""
    X, y = history(rows=20)
    policy = hr.RobustPolicy(
        hr.Newsvendor(0.6, 1.0), model, SMALL, nominal, hr.NestedSGD(steps=5), random_state=0
    ).fit(X, y)
    problem, solver = policy.problem(X, y), hr.SAA(nodes=4)
    training = solver.training(problem, policy.rule_)
    if model.get_params().get("radius"):
        found = certify(problem, policy.rule_, KEY, tolerance=0.1)
        training = solver.training(problem, policy.rule_, found.penalty, found.budget)
    average = SampleAverage(training, KEY)
    _, gradient = average(average.start)
    by_differences = gradient_by_differences(lambda point: average(point)[0], average.start)
    np.testing.assert_allclose(gradient, by_differences, rtol=1e-5, atol=1e-7)


def test_contexts_may_be_taken_in_pieces_and_count_by_their_weight(monkeypatch):
    X, y = history(rows=23)
    weights = np.random.default_rng(1).uniform(0.1, 3, 23)
    fit = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), hr.Affine(), random_state=0).fit
    policy = fit(X, y, weights)
    problem = policy.problem(X, y, sample_weight=weights)
    values = []
    for at_once in (2**18, 5):
        monkeypatch.setattr(sample_average, "NUMBERS_AT_ONCE", at_once)
        average = SampleAverage(hr.SAA().training(problem, policy.rule_), KEY)
        values.append(average(average.start)[0] * policy.units_.loss_unit)
    weighted = -policy.score(X, y, weights)
    np.testing.assert_allclose(values, weighted, rtol=1e-6)  # masses are 32-bit, the rule float32


@pytest.mark.slow
def test_reaches_the_true_minimum():
    problem = AffineNewsvendor()
    optimum = problem.minimise(problem.sinkhorn)
    policy, theta = problem.fit(hr.Sinkhorn, hr.SAA(nodes=64))
    assert policy.status_ == "converged"
    assert problem.sinkhorn(theta) <= optimum.fun * 1.0001
    assert np.all(np.diff(policy.history_) <= 0)
    _, exactly = problem.fit(hr.Sinkhorn, DENSE)
    np.testing.assert_allclose(exactly, optimum.x, rtol=1e-4)  # BFGS by finite differences


@pytest.mark.slow
def test_few_nodes_flatter_a_flexible_rule():
    """Nodes that stay can be fitted: the sampled minimum lies below, the true value above."""
    problem = AffineNewsvendor()
    loss = hr.Newsvendor(problem.holding, problem.stockout, decision_set=hr.Free(1))
    values = {}
    for nodes in (4, 64):
        policy = hr.RobustPolicy(
            loss, hr.Sinkhorn(2.0, 0.3), SMALL, solver=hr.SAA(nodes=nodes), random_state=0
        ).fit(problem.x[:, None], problem.y)
        values[nodes] = policy.robust_value_.value, policy.history_[-1]
    assert values[4][0] > 1.02 * values[64][0]
    assert values[4][1] < values[4][0]


def test_progress_interruption_and_limits():
    X, y = history()
    seen = []

    def stop(done, total, objective):
        seen.append((done, total, objective))
        if done == 3:
            raise KeyboardInterrupt

    policy = hr.RobustPolicy(
        hr.Newsvendor(0.6, 1.0), hr.KL(5.0), hr.Affine(), solver=hr.SAA(steps=50)
    )
    with pytest.raises(KeyboardInterrupt):
        policy.set_params(verbose=stop).fit(X, y)
    assert policy.status_ == "interrupted"
    assert [done for done, _, _ in seen] == [1, 2, 3]
    assert seen[-1][2] == pytest.approx(policy.history_[-1])
    policy.set_params(verbose=False, solver=hr.SAA(steps=2)).fit(X, y)
    assert policy.status_ == "step limit"
    with pytest.raises(ValueError, match="tolerance must not be negative"):
        hr.SAA(tolerance=-1.0)
    with pytest.raises(ValueError, match="steps must be at least 1"):
        hr.SAA(steps=0)


@pytest.mark.slow
def test_drawn_contexts_are_drawn_by_their_masses():
    """N1 draws: the mean of F̂ over them, by hand; many of them, all of F."""
    X, y = np.arange(4.0)[:, None], np.array([1.0, 5.0, 2.0, 8.0])
    weights = np.array([1.0, 5.0, 1.0, 3.0])
    policy = hr.RobustPolicy(
        hr.Newsvendor(1, 1, decision_set=hr.Free(1)),
        hr.ERM(),
        hr.Affine(),
        hr.EmpiricalNominal(),
        hr.NestedSGD(steps=5),
        random_state=0,
    ).fit(X, y, sample_weight=weights)
    training = hr.SAA().training(policy.problem(X, y, sample_weight=weights), policy.rule_)
    whole = SampleAverage(training, KEY)
    many = SampleAverage(training, KEY, contexts=40_000)
    few = SampleAverage(training, KEY, contexts=3)
    at = whole.point(policy.rule_)
    unit = policy.units_.loss_unit
    losses = policy.losses(X, y)
    assert whole(at)[0] * unit == pytest.approx(losses @ weights / 10, rel=1e-6)
    assert many(at)[0] == pytest.approx(whole(at)[0], rel=0.02)  # 40,000 draws
    sums = [(losses[[i, j, k]]).mean() for i in range(4) for j in range(4) for k in range(4)]
    assert np.min(np.abs(few(at)[0] * unit - np.array(sums))) < 1e-5 * max(sums)  # float32 data
    again = SampleAverage(training, KEY, contexts=3)
    assert again(at)[0] == few(at)[0]


def test_contexts_are_counted():
    with pytest.raises(ValueError, match="contexts must be at least 1"):
        hr.SAA(contexts=0)
