"""Two-stage losses: exact in NumPy, a maximum of affine functions in JAX, good components."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.base import clone

from hedgerow import Box, CustomLoss, Free, Newsvendor, Nonnegative, Simplex
from hedgerow.kernels.kernel import Kernel
from hedgerow.losses.max_affine import MaxAffine
from hedgerow.losses.two_stage import TwoStageLP

HOLDING, STOCKOUT = np.array([1.0, 0.5]), np.array([3.0, 2.0])
EXACT = Newsvendor(HOLDING, STOCKOUT)


def newsvendor(**changes):
    """u − v = z − y per product, with holding·u + stockout·v."""
    parameters = {
        "recourse_cost": np.concatenate([HOLDING, STOCKOUT]),
        "recourse_matrix": np.hstack([np.eye(2), -np.eye(2)]),
        "technology": -np.eye(2),
        "outcome_matrix": -np.eye(2),
        "decision_set": Nonnegative(2),
    }
    return TwoStageLP(**{**parameters, **changes})


def random_pieces(seed, pieces=6, outcomes=2, decisions=3):
    rng = np.random.default_rng(seed)
    return MaxAffine(
        rng.normal(size=pieces),
        rng.normal(size=(pieces, outcomes)),
        rng.normal(size=(pieces, decisions)),
    )


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0, size=(count, 2)), rng.gamma(2.0, size=(count, 2))


# --------------------------------------------------------------------------- values


def test_the_newsvendor_is_a_special_case():
    loss = newsvendor()
    z, y = rows(50)
    np.testing.assert_allclose(loss(z, y), EXACT(z, y), rtol=1e-12)
    np.testing.assert_allclose(loss(z[:, None], y), EXACT(z[:, None], y), rtol=1e-12)
    assert len(loss.recourse.vertices) == 4
    unit = np.array([2.0, 5.0])
    working = loss.in_units(unit, unit, 3.0)
    assert isinstance(working, MaxAffine)
    exact = EXACT.in_units(unit, unit, 3.0)
    np.testing.assert_allclose(working(z, y), exact(z, y), rtol=1e-12)


def test_jax_and_numpy_agree_and_gradients_are_subgradients():
    loss = newsvendor(first_stage_cost=[0.2, 0.4])
    z, y = rows(40)
    with jax.enable_x64(True):
        compiled = jax.jit(loss.__call__)(jnp.asarray(z), jnp.asarray(y))
        gradient = jax.vmap(jax.grad(loss.__call__))(jnp.asarray(z), jnp.asarray(y))
    np.testing.assert_allclose(compiled, loss(z, y), rtol=1e-12)
    np.testing.assert_allclose(gradient, loss.recourse.values_and_gradients(z, y)[1], rtol=1e-12)


@given(st.integers(0, 10_000))
def test_max_affine_is_convex(seed):
    rng = np.random.default_rng(seed)
    loss = random_pieces(seed)
    (z, z2), (y, y2) = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 5, 2))
    share = rng.random()
    middle = loss(share * z + (1 - share) * z2, share * y + (1 - share) * y2)
    assert np.all(middle <= share * loss(z, y) + (1 - share) * loss(z2, y2) + 1e-12)


def test_max_affine_at_a_tie_has_a_subgradient():
    loss = MaxAffine([0.0, 0.0], [[0.0], [0.0]], [[-1.0], [3.0]])
    gradient = jax.grad(lambda z: loss(z, jnp.zeros(1)))(jnp.zeros(1))
    assert -1.0 <= float(gradient[0]) <= 3.0


@given(st.integers(0, 1000))
def test_in_units_is_the_same_loss(seed):
    rng = np.random.default_rng(seed)
    loss = random_pieces(seed)
    z, y = rng.normal(size=(5, 1, 3)), rng.normal(size=(4, 2))
    z_unit, y_unit = rng.uniform(0.1, 9.0, 3), rng.uniform(0.1, 9.0, 2)
    working = loss.in_units(y_unit, z_unit, 7.0)
    np.testing.assert_allclose(working(z / z_unit, y / y_unit), loss(z, y) / 7.0, rtol=1e-11)


# --------------------------------------------------------------------------- the adversary


@settings(max_examples=12)
@given(st.integers(0, 1000), st.sampled_from([1, 2]), st.booleans())
def test_worst_outcome_beats_a_grid(seed, order, bounded):
    rng = np.random.default_rng(seed)
    loss, penalty = random_pieces(seed), rng.uniform(0.3, 2.0)
    scale = rng.uniform(0.5, 1.5, 2)
    low, high = -np.ones(2), np.array([1.0, 2.0])
    if not bounded:  # order 1 needs a penalty that outweighs every slope
        penalty = penalty + 2 * np.abs(loss.outcome_slope).max()
        low, high = np.full(2, -np.inf), np.full(2, np.inf)
    z, y = rng.normal(size=3), rng.uniform(-1, 1, 2)
    with jax.enable_x64(True):
        cost = Kernel(order, jnp.array(0.1), jnp.asarray(scale), jnp.array(low), jnp.array(high))
        worst = loss.best_response(cost)(jnp.asarray(z), jnp.asarray(y), jnp.array(penalty))

    def height(u):
        return loss(z, u) - penalty * np.sum(np.abs((u - y) / scale) ** order, axis=-1)

    worst = np.asarray(worst)
    assert np.all((worst >= low - 1e-12) & (worst <= high + 1e-12))
    ends = zip(np.maximum(low, -6), np.minimum(high, 6), strict=True)
    axes = [np.append(np.linspace(a, b, 201), y_j) for (a, b), y_j in zip(ends, y, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1)
    highest = np.max(height(grid))
    assert height(worst) >= highest - 1e-12
    # 0.03: a step of the grid along slopes of about one
    assert height(worst) <= highest + (0.03 if order == 2 or bounded else 1e-9)


def test_worst_outcome_is_the_newsvendors_and_broadcasts():
    z, y = rows(30)
    loss, one = newsvendor(outcome_support=(0.0, np.inf)), np.ones(2)
    with jax.enable_x64(True):
        cost = Kernel(2, jnp.array(0.1), jnp.asarray(one), jnp.zeros(2), jnp.full(2, jnp.inf))
        stocks, demand = jnp.asarray(z)[:, None], jnp.asarray(y)
        found = np.asarray(loss.best_response(cost)(stocks, demand, jnp.array(1.5)))
        pairs = jnp.broadcast_arrays(stocks, demand)
        exact = np.asarray(EXACT.best_response(cost)(*pairs, jnp.array(1.5)))

    def height(u):
        return EXACT(z[:, None], u) - 1.5 * np.sum((u - y) ** 2, axis=-1)

    assert found.shape == (30, 30, 2)
    np.testing.assert_allclose(height(found), height(exact), rtol=1e-12, atol=1e-12)


def test_a_pinned_coordinate_does_not_move():
    loss = random_pieces(0)
    for order in (1, 2):
        cost = Kernel(order, jnp.array(0.1), jnp.array([0.0, 1.0]), -jnp.ones(2), jnp.ones(2))
        worst = loss.best_response(cost)(jnp.zeros(3), jnp.array([0.3, 0.1]), jnp.array(0.01))
        assert float(worst[0]) == pytest.approx(0.3)
        assert np.all(np.isfinite(worst))


@pytest.mark.parametrize("support", [None, (0.0, np.inf), (-np.inf, 9.0), (0.0, 9.0)])
@pytest.mark.parametrize("kind", ["two-stage", "pieces"])
def test_smallest_penalty_is_the_newsvendors(support, kind):
    loss = newsvendor(outcome_support=support)
    loss = loss.pieces() if kind == "pieces" else loss
    exact = EXACT.replace(outcome_support=support)
    y = rows(20)[1]
    for order in (1, 2):
        arguments = loss.outcome_cost(order, np.array([0.5, 2.0])), np.ones(2), y
        assert loss.smallest_penalty(*arguments) == pytest.approx(
            exact.smallest_penalty(*arguments)
        )


# --------------------------------------------------------------------------- the best constant


@pytest.mark.parametrize("size", [1.0, 5000.0])
def test_best_constant_is_as_good_as_the_quantile(size):
    rng = np.random.default_rng(1)
    y, weights = size * rng.gamma(2.0, size=(400, 2)), rng.random(400)
    least = np.average(EXACT(EXACT.best_constant(y, weights), y), weights=weights)
    for loss in (newsvendor(), newsvendor().pieces()):
        found = loss.best_constant(y, weights)
        assert np.average(EXACT(found, y), weights=weights) == pytest.approx(least, rel=1e-7)


@pytest.mark.parametrize("decision_set", [Simplex(2), Box([0.0, 0.5], [0.4, 0.9]), Free(2)])
def test_best_constant_lies_in_the_set_and_solves_the_program(decision_set):
    y = rows(60, seed=3)[1]
    loss = newsvendor(decision_set=decision_set)
    found = loss.best_constant(y, np.ones(60))
    assert decision_set.contains(found, 1e-9)
    # the whole sample-average program at once: columns z, u_1, v_1, u_2, v_2, …
    equal = np.hstack([np.tile(-np.eye(2), (60, 1)), np.kron(np.eye(60), loss.recourse_matrix)])
    right = -y.ravel()
    bounds = [(None, None)] * 2
    if isinstance(decision_set, Simplex):
        equal = np.vstack([equal, np.r_[1.0, 1.0, np.zeros(240)]])
        right, bounds = np.append(right, 1.0), [(0, None)] * 2
    elif isinstance(decision_set, Box):
        bounds = [(0.0, 0.4), (0.5, 0.9)]
    cost = np.concatenate([np.zeros(2), np.tile(loss.recourse_cost, 60) / 60])
    least = linprog(cost, A_eq=equal, b_eq=right, bounds=[*bounds, *[(0, None)] * 240]).fun
    assert np.mean(loss(found, y)) == pytest.approx(least, rel=1e-7)


def test_a_loss_without_a_best_constant_says_so():
    loss = newsvendor(first_stage_cost=[-5.0, 0.0])
    with pytest.raises(ValueError, match="no finite best constant decision"):
        loss.best_constant(rows(10)[1], np.ones(10))


# --------------------------------------------------------------------------- as a component


def test_clone_parameters_copies_and_pickles():
    loss = newsvendor()
    assert loss.recourse is loss.recourse
    other = clone(loss).set_params(recourse_cost=np.array([2.0, 1.0, 6.0, 4.0]))
    z, y = rows(5)
    np.testing.assert_allclose(other(z, y), 2 * loss(z, y), rtol=1e-12)
    for twin in (pickle.loads(pickle.dumps(loss)), copy.deepcopy(loss), loss.replace()):
        np.testing.assert_array_equal(twin(z, y), loss(z, y))
    assert loss.get_params(deep=False)["technology"] is loss.technology


def test_it_is_an_argument_of_compiled_programs():
    z, y = rows(5)
    for loss in (newsvendor(), random_pieces(0, decisions=2)):
        value = jax.jit(lambda part, z, y: part(z, y))(loss, jnp.asarray(z), jnp.asarray(y))
        np.testing.assert_allclose(value, loss(z, y), rtol=1e-5)


def test_sparse_matrices_are_welcome():
    z, y = rows(5)
    loss = newsvendor(recourse_matrix=sp.coo_array(newsvendor().recourse_matrix))
    np.testing.assert_array_equal(clone(loss)(z, y), newsvendor()(z, y))


def test_a_pool_is_prepared_on_given_rows(monkeypatch):
    monkeypatch.setattr("hedgerow.losses.recourse.values.ENUMERATION_LIMIT", 1)
    loss = newsvendor()
    assert not loss.recourse.enumerated
    z, y = rows(30)
    pool = loss.pool()
    report = pool.grow(z, y)
    assert report.rows == 30
    assert report.gap > 0
    np.testing.assert_allclose(pool.loss()(z, y), EXACT(z, y), rtol=1e-12)
    np.testing.assert_allclose(loss.pieces(z, y)(z, y), EXACT(z, y), rtol=1e-12)
    assert pool.grow(z, y).solves == 0
    assert loss.pool().grow(z, y) == report  # nothing stays with the loss
    with pytest.raises(ValueError, match=r"too many dual vertices to list.*pieces\(decisions"):
        loss.pieces()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"decision_set": Nonnegative(3)}, ValueError, "decision_set has dimension 3, but"),
        ({"decision_set": "all"}, TypeError, "decision_set must be a decision set"),
        ({"outcome_support": (0.0, -1.0)}, ValueError, "outcome_support needs low < high"),
        ({"recourse_cost": -HOLDING.repeat(2)}, ValueError, "recourse cost is unbounded below"),
        ({"recourse_cost": [1.0]}, ValueError, "recourse_cost must have one entry per column"),
    ],
)
def test_wrong_input_is_named(changes, error, message):
    with pytest.raises(error, match=message):
        newsvendor(**changes)


def test_wrong_pieces_and_wrong_outcomes_are_named():
    with pytest.raises(ValueError, match=r"outcome_slope must have one row per piece \(2\)"):
        MaxAffine([0.0, 1.0], [[1.0]], [[1.0], [2.0]])
    with pytest.raises(ValueError, match="constant must hold one number per piece"):
        MaxAffine(1.0, [[1.0]], [[1.0]])
    with pytest.raises(ValueError, match="decision_set has dimension 2"):
        MaxAffine([0.0], [[1.0]], [[1.0]], decision_set=Free(2))
    with pytest.raises(ValueError, match=r"outcome_slope has 2 column\(s\), but Y has 3"):
        random_pieces(0).decisions_for(3)
    with pytest.raises(ValueError, match=r"has 2 outcome\(s\), but Y has 3"):
        newsvendor().decisions_for(3)


def test_probing_agrees_with_exact_slopes():
    loss = random_pieces(2, decisions=2)
    custom = CustomLoss(loss.__call__, Free(2))
    y = rows(20)[1]
    arguments = loss.outcome_cost(1, np.ones(2)), np.zeros(2), y
    assert custom.smallest_penalty(*arguments) == pytest.approx(
        loss.smallest_penalty(*arguments), rel=1e-4
    )
