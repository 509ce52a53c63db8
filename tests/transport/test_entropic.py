"""Entropic plans: feasible, optimal by independent solvers, and right in their limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from hedgerow.transport import DiscreteMeasure, causal_sinkhorn, fixed_point, sinkhorn, sweep_forms
from tests.transport.measures import (
    causality_error,
    check_feasible,
    cloud,
    cost,
    definition,
    same_context,
)

SOLVERS = (causal_sinkhorn, sinkhorn)


def pair(seed, **options):
    rng = np.random.default_rng(seed)
    return cloud(rng, **options), cloud(rng, **options)


def gaussian_grids(n):
    """A concentrated source with two outcomes, and a correlated target, on [-3, 3]²."""
    t = np.linspace(-3, 3, n)
    x, y = np.meshgrid(t, t, indexing="ij")
    p = np.exp(-(x**2) / 0.2) * (np.exp(-((y - 1.5) ** 2) / 0.6) + np.exp(-((y + 1.5) ** 2) / 0.6))
    q = np.exp(-(x**2 + y**2 - 1.4 * x * y) / 1.5)
    return DiscreteMeasure.grid(t, t, p / p.sum()), DiscreteMeasure.grid(t, t, q / q.sum())


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("epsilon", [5.0, 0.3, 0.02])
def test_plans_are_what_they_say(solver, order, grid, epsilon):
    """Marginals, causality and value, checked on the whole plan in two dimensions each."""
    source, target = pair(0, contexts=4, points=9, d_x=2, d_y=2, grid=grid)
    options = {"order": order, "x_scale": 0.7, "y_scale": np.array([1.0, 2.0])}
    result = solver(source, target, epsilon, **options)
    assert result.converged
    assert result.status == "converged"
    check_feasible(result.plan, source, target, 1e-8)
    apart = causality_error(result.plan, source, target)
    np.testing.assert_allclose(result.causality_error, apart, atol=1e-12)
    assert solver is sinkhorn or apart <= 1e-9
    expected = definition(result.plan, source, target, epsilon, **options)
    np.testing.assert_allclose(result.value, expected, rtol=1e-10)
    moved = np.sum(result.plan * cost(source, target, **options))
    np.testing.assert_allclose(result.transport_cost, moved, rtol=1e-10)
    written = np.abs(result.plan.sum(1) - source.weights).sum()
    written += np.abs(result.plan.sum(0) - target.weights).sum()
    np.testing.assert_allclose(result.marginal_error, written, atol=1e-14)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("order", [1, 2])
def test_a_conic_solver_finds_the_same_plan(solver, order):
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    source, target = pair(1, contexts=2, points=5)
    epsilon, c = 0.4, cost(source, target, order)
    plan = cp.Variable(c.shape, nonneg=True)
    constraints = [
        cp.sum(plan, axis=1) == source.weights,
        cp.sum(plan, axis=0) == target.weights,
    ]
    if solver is causal_sinkhorn:
        to_context = np.unique(same_context(target), axis=0).T.astype(float)
        shares = cp.multiply(plan @ to_context, (1 / source.weights)[:, None] * np.ones((1, 2)))
        first = same_context(source).argmax(axis=1)
        constraints += [shares[i] == shares[k] for i, k in enumerate(first) if i != k]
        assert len(constraints) > 4  # contexts repeat, so causality restricts
    p = np.broadcast_to(source.weights[:, None], c.shape)
    objective = cp.sum(cp.multiply(c, plan)) + epsilon * cp.sum(cp.rel_entr(plan, p))
    expected = cp.Problem(cp.Minimize(objective), constraints).solve(solver="CLARABEL")
    result = solver(source, target, epsilon, order)
    np.testing.assert_allclose(result.value, expected, atol=1e-6)
    # Interior points stop at a relative gap of 1e-8, and plans go with its square root.
    np.testing.assert_allclose(result.plan, plan.value, atol=3e-4)


@pytest.mark.parametrize("epsilon", [1.0, 0.05])
@pytest.mark.parametrize("grid", [False, True])
def test_pot_finds_the_same_plan(epsilon, grid):
    ot = pytest.importorskip("ot")
    source, target = pair(2, contexts=4, points=8, grid=grid)
    c = cost(source, target)
    expected = ot.sinkhorn(
        source.weights, target.weights, c, epsilon, method="sinkhorn_log", stopThr=1e-12,
        numItermax=100_000,
    )  # fmt: skip
    result = sinkhorn(source, target, epsilon, tolerance=1e-11)
    np.testing.assert_allclose(result.plan, expected, atol=1e-9)
    # POT's entropy is Σ γ·(log γ − 1), ours is relative to the source: they differ by constants.
    p = source.weights
    pots = np.sum(c * expected) + epsilon * np.sum(expected * (np.log(expected) - 1))
    np.testing.assert_allclose(result.value, pots + epsilon - epsilon * (p @ np.log(p)), rtol=1e-8)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    contexts=st.integers(1, 4),
    points=st.integers(1, 6),
    epsilon=st.sampled_from([0.0, 0.05, 0.5, 10.0]),
    order=st.sampled_from([1, 2]),
    grid=st.booleans(),
)
def test_causality_costs(seed, contexts, points, epsilon, order, grid):
    source, target = pair(seed, contexts=contexts, points=points, grid=grid)
    causal = causal_sinkhorn(source, target, epsilon, order, tolerance=1e-10)
    free = sinkhorn(source, target, epsilon, order, tolerance=1e-10)
    assert causal.value >= free.value - 1e-7
    assert causal.causality_error <= 1e-9
    assert causal.marginal_error <= 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_causality_is_vacuous_when_each_context_is_seen_once(seed):
    rng = np.random.default_rng(seed)
    source = DiscreteMeasure(rng.normal(size=6), rng.normal(size=6))
    target = cloud(rng, contexts=2, points=8)
    causal, free = (f(source, target, 0.2, tolerance=1e-11) for f in SOLVERS)
    np.testing.assert_allclose(causal.plan, free.plan, atol=1e-10)
    repeated = causal_sinkhorn(target, source, 0.2).value - sinkhorn(target, source, 0.2).value
    assert repeated > 1e-3  # the other way round, contexts repeat


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("grid", [False, True])
def test_small_epsilon_tends_to_the_linear_programme(solver, grid):
    source, target = pair(3, contexts=3, points=5, grid=grid)
    exact = solver(source, target, 0).value
    entropic = [solver(source, target, epsilon) for epsilon in (0.1, 0.01, 0.001)]
    apart = [abs(result.value - exact) for result in entropic]
    assert apart[0] > apart[1] > apart[2]
    # 0 >= Σ γ·log(γ/p) >= −log(points) bounds what entropy can be worth.
    assert apart[2] <= 0.001 * np.log(len(target))
    assert exact - 1e-7 <= entropic[2].transport_cost <= exact + 0.001 * np.log(len(target))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("grid", [False, True])
def test_large_epsilon_tends_to_the_product_of_marginals(solver, grid):
    source, target = pair(4, contexts=3, points=6, grid=grid)
    apart = []
    for epsilon in (1e2, 1e4, 1e8):
        result = solver(source, target, epsilon, tolerance=1e-12)
        product = np.outer(source.weights, target.weights)
        apart.append(np.abs(result.plan - product).sum())
        in_context = result.context_plan.sum(1)[:, None] * result.context_plan.sum(0)
        assert np.abs(result.context_plan - in_context).sum() <= apart[-1] + 1e-15
    np.testing.assert_allclose(apart[1] / apart[0], 1e-2, rtol=0.1)  # to first order in 1/epsilon
    assert apart[2] <= 1e-7


FORMS = {
    causal_sinkhorn: (sweep_forms.CausalGrid, sweep_forms.CausalCloud),
    sinkhorn: (sweep_forms.PlainGrid, sweep_forms.PlainCloud),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("epsilon", [1.0, 0.003])
def test_grid_and_cloud_forms_agree(solver, whole, epsilon):
    """On a whole grid and on one with holes, far from the optimum, where exponentials underflow."""
    rng = np.random.default_rng(5)
    t = np.linspace(-2, 2, 7)
    weights = [w * ((w > 0.3) | whole) for w in rng.uniform(0, 1, (2, 7, 7))]
    measures = [DiscreteMeasure.grid(t, t + i, w / w.sum()) for i, w in enumerate(weights)]
    problem = solver(*measures, 1.0)._problem
    sweeps = [kind(problem, epsilon).sweep for kind in FORMS[solver]]
    for size in (0.0, 1.0, 500.0):
        log_scaling = size * rng.normal(size=problem.target.cells)
        (grid, grid_normaliser), (scattered, cloud_normaliser) = (s(log_scaling) for s in sweeps)
        np.testing.assert_allclose(grid, scattered, rtol=1e-11, atol=1e-9)
        np.testing.assert_allclose(grid_normaliser, cloud_normaliser, rtol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_each_form_is_chosen_where_it_belongs(solver):
    rng = np.random.default_rng(6)
    grids = (cloud(rng, 20, 20, grid=True), cloud(rng, 20, 20, grid=True))
    assert type(sweep_forms.form(solver(*grids, 1.0)._problem, 1.0)) is FORMS[solver][0]
    clouds = (cloud(rng, 60, 150), cloud(rng, 60, 150))
    assert type(sweep_forms.form(solver(*clouds, 1.0)._problem, 1.0)) is FORMS[solver][1]
    # One outcome per target context: causal plans are plain ones of contexts.
    singles = DiscreteMeasure(rng.normal(size=200), rng.normal(size=200))
    result = causal_sinkhorn(clouds[0], singles, 0.5)
    assert type(sweep_forms.form(result._problem, 0.5)) is sweep_forms.PlainCloud
    check_feasible(result.plan, clouds[0], singles, 1e-8)
    assert causality_error(result.plan, clouds[0], singles) <= 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("grid", [False, True])
def test_where_and_in_which_units_does_not_matter(solver, grid):
    source, target = pair(7, contexts=4, points=8, grid=grid)
    plain = solver(source, target, 0.2)

    def moved(measure, factor):
        return DiscreteMeasure(factor * (measure.x + 3), factor * (measure.y - 5), measure.weights)

    shifted = solver(moved(source, 1), moved(target, 1), 0.2)
    np.testing.assert_allclose(shifted.plan, plain.plan, atol=1e-9)
    scaled = solver(moved(source, 4), moved(target, 4), 0.2, x_scale=4, y_scale=4)
    np.testing.assert_allclose(scaled.value, plain.value, rtol=1e-7)
    larger = solver(moved(source, 4), moved(target, 4), 0.2 * 16)
    np.testing.assert_allclose(larger.value, 16 * plain.value, rtol=1e-7)
    order = np.random.default_rng(0).permutation(len(target))
    shuffled = DiscreteMeasure(target.x[order], target.y[order], target.weights[order])
    np.testing.assert_allclose(solver(source, shuffled, 0.2).plan, plain.plan[:, order], atol=1e-9)


def test_without_causality_the_way_back_is_the_same():
    source, target = pair(8, contexts=4, points=9)
    there, back = sinkhorn(source, target, 0.1), sinkhorn(target, source, 0.1)
    np.testing.assert_allclose(there.plan, back.plan.T, atol=1e-8)
    causal_there, causal_back = (
        causal_sinkhorn(source, target, 0),
        causal_sinkhorn(target, source, 0),
    )
    assert abs(causal_there.value - causal_back.value) > 1e-3  # causality has a direction


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_tiny_epsilon_converges_on_a_grid(solver):
    """exp(−36/0.005) is far below the smallest double."""
    source, target = gaussian_grids(40)
    result = solver(source, target, 0.005)
    assert result.converged
    assert result.marginal_error <= 1.1e-8
    assert np.isfinite(result.value)
    assert solver is sinkhorn or result.causality_error <= 1e-9
    coarse = solver(source, target, 0.05)
    assert result.transport_cost < coarse.transport_cost


def test_acceleration_saves_sweeps_and_keeps_the_answer():
    source, target = gaussian_grids(40)
    result = causal_sinkhorn(source, target, 0.1)
    sweep = sweep_forms.CausalGrid(result._problem, 0.1).sweep
    log_mass = np.log(result._problem.target.mass)
    log_scaling, error, sweeps = log_mass, 1.0, 0
    while error > 1e-8:
        log_second, normalisers = sweep(log_scaling)
        error = np.abs(np.exp(log_second - log_mass) - 1) @ np.exp(log_mass)
        dual = 0.1 * (np.exp(log_mass) @ log_scaling - normalisers)
        log_scaling = log_scaling + log_mass - log_second
        sweeps += 1
    np.testing.assert_allclose(result.value, dual, rtol=1e-7)
    assert result.iterations < sweeps / 3


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_degenerate_measures(solver, epsilon):
    """Weightless points, a single point, duplicates and a measure against itself."""
    one = DiscreteMeasure([1.0], [2.0])
    several = DiscreteMeasure([0, 0, 1, 1, 1], [0, 1, 0, 2, 2], [0.2, 0.3, 0, 0.1, 0.4])
    np.testing.assert_allclose(solver(one, several, epsilon).plan, several.weights[None], atol=1e-9)
    np.testing.assert_allclose(solver(several, one, epsilon).plan, several.weights[:, None])
    result = solver(several, several, epsilon)
    check_feasible(result.plan, several, several, 1e-8)
    np.testing.assert_array_equal(result.plan[2], 0)
    np.testing.assert_array_equal(result.plan[:, 2], 0)
    np.testing.assert_allclose(result.plan[:, 4], 4 * result.plan[:, 3], atol=1e-12)
    expected = definition(result.plan, several, several, epsilon)
    np.testing.assert_allclose(result.value, expected, atol=1e-12)
    if epsilon == 0:
        assert abs(result.value) <= 1e-9


def test_masses_of_any_size_are_carried():
    """Tails of 1e-200 neither vanish from the scalings nor disturb the rest."""
    rng = np.random.default_rng(9)
    weights = np.exp(-np.linspace(0, 460, 30))
    source, target = (
        DiscreteMeasure(rng.integers(3, size=30), rng.normal(size=30), weights / weights.sum())
        for _ in range(2)
    )
    for solver in SOLVERS:
        result = solver(source, target, 0.1)
        check_feasible(result.plan, source, target, 1e-8)
        assert np.all(result.plan[0] > 0)


def test_too_few_sweeps_are_reported():
    source, target = gaussian_grids(20)
    with pytest.warns(ConvergenceWarning, match=r"off by .* after 3 sweeps \(sweep limit\)"):
        result = causal_sinkhorn(source, target, 0.1, max_sweeps=3)
    assert not result.converged
    assert result.status == "sweep limit"
    assert result.iterations == 3
    assert 1e-8 < result.marginal_error < 2
    assert result.causality_error <= 1e-9  # holds whatever the scalings are


def test_an_epsilon_beyond_double_precision_is_refused():
    source, target = pair(10)
    with pytest.raises(ValueError, match=r"epsilon=1e-16 is too small .* epsilon=0 for the exact"):
        causal_sinkhorn(source, target, 1e-16)


def test_numbers_that_are_none_end_the_iteration(monkeypatch):
    class Broken:
        def sweep(self, log_scaling):
            return log_scaling * np.nan, np.nan

    problem = sinkhorn(*pair(3), 1.0)._problem
    monkeypatch.setattr(fixed_point, "form", lambda problem, epsilon: Broken())
    found = fixed_point.solve(problem, 0.1, 1e-8, 50)
    assert found.status == "not finite"
    assert found.sweeps < 5
    assert np.isfinite(found.log_scaling).all()
