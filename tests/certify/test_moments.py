"""The dual of a fixed rule: its slope, weights, replicates, pieces and masses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

import hedgerow as hr
from hedgerow.certify import moments
from hedgerow.certify.moments import Moments
from tests.extending.parts import ChiSquare

RNG = np.random.default_rng(0)
X = np.repeat(RNG.normal(size=(7, 1)), [1, 2, 3, 1, 2, 1, 2], axis=0)
Y = 4 + X[:, 0] + RNG.normal(size=12)
TIMES = np.array([1, 2, 1, 3, 1, 1, 2, 1, 1, 4, 1, 1])
LOSS = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1))
GAUSS = hr.GaussQuadrature(12)
MODELS = [
    hr.CausalSinkhorn(0.8, 0.3),
    hr.Sinkhorn(0.8, 0.3),
    hr.CausalWasserstein(0.8),
    hr.KL(0.8),
    ChiSquare(0.8),
]
EVERY = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@pytest.fixture(autouse=True)
def in_double_precision():
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def policy():
    return hr.RobustPolicy.from_function(lambda x: 4 + jnp.sin(2 * x[0]), LOSS, X, Y)


def laid_out(policy, model, nodes=GAUSS, replicates=1, X=X, Y=Y, weights=None, rows=None):
    problem = policy.problem(X, Y, ambiguity=model, sample_weight=weights)
    mass = problem.nominal.context_mass
    contexts = np.arange(len(mass)) if rows is None else rows
    setting = problem.setting(nodes, None)
    key = jax.random.key(0)
    return Moments(problem, policy.rule_, contexts, mass[contexts], setting, replicates, key)


def losses(policy, nominal):
    """Losses of all entries where they are, in working units."""
    decisions = policy.predict(nominal.contexts)[nominal.entry_context, None]
    return LOSS(decisions, nominal.outcomes[nominal.entry_outcome]) / policy.units_.loss_unit


@EVERY
def test_the_slope_is_the_derivative_in_the_penalty(policy, model):
    found = laid_out(policy, model)
    penalty, step = 0.9, 1e-4
    above, below = found.at(penalty + step).value, found.at(penalty - step).value
    # O(step²) for smooth models, and ascents stop within 1e-6 of their summits
    assert found.at(penalty).slope == pytest.approx((above - below) / (2 * step), rel=1e-5)
    assert found.at(penalty).slope < 0
    assert found.at(penalty + step).slope > found.at(penalty - step).slope  # convex


@EVERY
def test_weights_are_the_derivatives_in_the_log_moments(policy, model):
    """By differences of the reduction itself; together they are what a shift of all brings."""
    found = laid_out(policy, model)
    point = found.at(0.9)
    reduction = found.model.at_penalty(0.9).reduction()
    mass = np.zeros_like(point.weights)
    nominal = policy.problem(X, Y).nominal
    groups = point.weights.shape[1]
    if groups == 1:
        mass[:, 0] = nominal.context_mass
    else:
        mass[nominal.entry_context, nominal.entry_place] = nominal.joint_mass()
    value = jax.jit(lambda log_moments, mass: reduction.value(log_moments, mass))
    assert float(value(point.log_moments, mass)) == pytest.approx(point.value, rel=1e-12)
    for k, g in ((0, 0), (2, groups - 1)):
        step = np.zeros_like(point.log_moments)
        step[k, g] = 1e-5
        rise = value(point.log_moments + step, mass) - value(point.log_moments - step, mass)
        assert point.weights[k, g] == pytest.approx(float(rise) / 2e-5, rel=1e-6, abs=1e-10)
    shifted = float(value(point.log_moments + 1.0, mass)) - point.value
    assert point.weights.sum() == pytest.approx(shifted, rel=1e-10)
    np.testing.assert_array_equal(point.weights[mass == 0], 0.0)


def test_without_ambiguity_the_dual_is_the_mean_loss(policy):
    found = laid_out(policy, hr.ERM())
    nominal = policy.problem(X, Y).nominal
    point = found.at(None)
    assert point.value == pytest.approx(nominal.joint_mass() @ losses(policy, nominal), rel=1e-6)
    assert point.slope == 0
    assert point.weights.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(point.by_context @ nominal.context_mass, point.value, rtol=1e-12)


def test_kl_is_its_formula(policy):
    nominal = policy.problem(X, Y).nominal
    values = losses(policy, nominal)
    point = laid_out(policy, hr.KL(0.8)).at(0.7)
    formula = 0.7 * logsumexp(values / 0.7, b=nominal.joint_mass())
    assert point.value == pytest.approx(formula, rel=1e-10)
    worst = nominal.joint_mass() * np.exp(values / 0.7)
    worst /= worst.sum()
    divergence = worst @ np.log(worst / nominal.joint_mass())
    assert -point.slope == pytest.approx(divergence, rel=1e-9)


def test_replicates_are_pooled_before_the_logarithm(policy):
    """Single replicates are low by Jensen, and with exact nodes they are all the same."""
    model, nodes = hr.Sinkhorn(0.8, 0.3), hr.MonteCarlo(4)
    point = laid_out(policy, model, nodes, replicates=6).at(0.8)
    assert point.replicates.shape == (6,)
    assert np.ptp(point.replicates) > 1e-3
    assert point.replicates.mean() < point.value
    exact = laid_out(policy, model).at(0.8).value
    many = laid_out(policy, model, nodes, replicates=200).at(0.8)
    low = exact - many.replicates.mean()  # the bias of four nodes, 200 times as large as of 800
    assert low > 0.01
    assert abs(exact - many.value) < low / 3  # 800 draws around each point leave their noise
    same = laid_out(policy, model, replicates=3).at(0.8)
    np.testing.assert_allclose(same.replicates, exact, rtol=1e-12)


@EVERY
def test_pieces_are_the_whole(policy, model, monkeypatch):
    """Two contexts at a time, the last piece padded: the same dual."""
    whole = laid_out(policy, model)
    width = 12 * 3 if model.get_params().get("epsilon") else 3
    monkeypatch.setattr(moments, "EXPONENTS_AT_ONCE", 2 * width + 1)
    pieces = laid_out(policy, model)
    assert len(list(pieces.pieces(0.8))) > len(list(whole.pieces(0.8))) == 1
    for one, other in zip(whole.at(0.8), pieces.at(0.8), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)


@EVERY
def test_a_weight_counts_as_so_many_rows(policy, model):
    repeated = laid_out(policy, model, X=np.repeat(X, TIMES, axis=0), Y=np.repeat(Y, TIMES))
    weighted = laid_out(policy, model, weights=TIMES).at(0.8)
    assert weighted.value == pytest.approx(repeated.at(0.8).value, rel=1e-10)
    assert weighted.slope == pytest.approx(repeated.at(0.8).slope, rel=1e-8)


def test_contexts_may_be_looked_at_in_part(policy):
    """Each brings the same as among all, and the parts add up."""
    whole = laid_out(policy, hr.CausalSinkhorn(0.8, 0.3)).at(0.8)
    few = laid_out(policy, hr.CausalSinkhorn(0.8, 0.3), rows=np.array([1, 4])).at(0.8)
    np.testing.assert_allclose(few.by_context, whole.by_context[[1, 4]], rtol=1e-12)
    share = policy.problem(X, Y).nominal.context_mass
    assert whole.by_context @ share == pytest.approx(whole.value, rel=1e-12)


def test_shapes_are_worked_out_once_for_data_of_one_kind(policy, monkeypatch):
    """Values in between trace nothing, so a second one of its kind need not wait."""
    real, traced = moments._around_one, []

    def counted(*arguments):
        traced.append(1)
        return real(*arguments)

    monkeypatch.setattr(moments, "_around_one", counted)
    values = [
        hr.robust_value(policy, X, times * Y, ambiguity=hr.KL(0.8)).value
        for times in (1.0, 1.1, 1.2)
    ]
    assert len(set(values)) == 3
    assert len(traced) <= 2  # of the nominal, and of the model
