"""What every ambiguity model promises, whoever wrote it: limits, worst cases, traced fields."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone

import hedgerow as hr
from hedgerow.data import TrainingTable
from hedgerow.policy_file import Known, describe
from tests.extending.parts import ChiSquare as OutsideChiSquare

RNG = np.random.default_rng(0)
X = np.repeat(RNG.normal(size=(7, 1)), [1, 2, 3, 1, 2, 1, 2], axis=0)
Y = 4 + X[:, 0] + RNG.normal(size=12)
LOSS = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1))
MODELS = [
    hr.CausalSinkhorn(3.0, 0.1),
    hr.CausalSinkhorn(3.0, 0.1, order=1),
    hr.Sinkhorn(3.0, 0.1),
    hr.CausalWasserstein(3.0),
    hr.Wasserstein(3.0),
    hr.KL(3.0),
    hr.ChiSquare(3.0),
    hr.TotalVariation(0.3),
    hr.LikelihoodRatio(0.1),
    OutsideChiSquare(3.0),
]
EVERY = pytest.mark.parametrize("model", MODELS, ids=repr)


@pytest.fixture(scope="module")
def policy():
    """A rule of one feature, so that values are quadratures."""
    return hr.RobustPolicy.from_function(lambda x: 4 + jnp.sin(2 * x[0]), LOSS, X, Y)


def value(policy, model, **changes):
    changed = clone(model).set_params(**changes)
    return hr.robust_value(policy, X, Y, ambiguity=changed)


@EVERY
def test_the_value_falls_in_the_penalty_and_stays_above_the_nominal_loss(policy, model):
    found = [value(policy, model, penalty=model.penalty * share) for share in (0.54, 1.0, 2.0, 4.0)]
    assert np.all(np.diff([each.value for each in found]) < 0)
    for each in found:
        assert each.expected_loss >= each.value >= each.nominal


@EVERY
def test_a_dear_enough_distribution_is_the_nominal_one(policy, model):
    dear = {"penalty": 1e4} | ({"epsilon": 1e-6} if hasattr(model, "epsilon") else {})
    found = value(policy, model, **dear)
    empirical = -policy.score(X, Y)
    assert found.value == pytest.approx(empirical, rel=1e-3)  # O(1/λ + √ε) away
    assert found.nominal == pytest.approx(empirical, rel=1e-10)


@EVERY
def test_a_larger_radius_leaves_room_for_worse_and_is_used_up(policy, model):
    radii = (0.3, 0.5) if isinstance(model, hr.TotalVariation) else (0.6, 1.0)
    found = [value(policy, model, penalty=None, radius=radius) for radius in radii]
    assert found[0].nominal < found[0].value < found[1].value
    for each in found:
        assert each.expected_loss == pytest.approx(each.value, rel=1e-6)
        used = each.discrepancy ** (1 / getattr(model, "order", 1))
        assert used == pytest.approx(each.radius, rel=1e-6)
    # weak duality: at any penalty, what is left of the radius bounds the value from above
    priced = value(policy, model, penalty=3.0)
    least = priced.discrepancy - (priced.expected_loss - priced.value) / 3.0
    for each in found:
        excess = each.radius ** getattr(model, "order", 1) - least
        assert priced.value + 3.0 * excess >= each.value - 1e-9


@EVERY
def test_its_worst_case_attains_what_the_value_says(policy, model):
    worst = hr.worst_case(policy, X, Y, ambiguity=model)
    draws = worst.sample(4000)
    losses = policy.losses(draws.x, draws.y)
    error = losses.std() / np.sqrt(len(losses))
    assert abs(losses.mean() - worst.expected_loss()) < 5 * error + 1e-9
    assert worst.expected_loss() > worst.robust.nominal


@EVERY
def test_exponents_have_the_shapes_and_masses_they_should(policy, model):
    """Groups share their context's mass, slots are places among all, and nodes weigh 1 in all."""
    problem = policy.problem(X, Y, ambiguity=model)
    nominal = problem.nominal
    with jax.enable_x64(True):
        table = TrainingTable.build(nominal, problem.units, 3, np.float64)
        setting = problem.setting(hr.GaussQuadrature(5), None)
        batch = table.gather(jnp.arange(7), jnp.asarray(nominal.context_mass))

        @jax.jit
        def tilted(batch, key):
            perturbed = problem.working.perturb(policy.rule_, setting, batch, key)
            return problem.working.tilt(perturbed, setting, batch)

        tilt = tilted(batch, jax.random.key(0))
        movers = problem.working.movers(batch, jnp.zeros((7, 2), jnp.int32))
        assert float(jnp.sum(movers.mass)) == pytest.approx(1, rel=1e-6)
        tilt = jax.tree.map(np.asarray, tilt)
    shape = tilt.exponents.shape
    assert shape[0] == 7
    assert tilt.group_mass.shape == shape[:2] == tilt.slots.shape
    np.testing.assert_allclose(np.sum(tilt.group_mass, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(logsumexp(tilt.log_weights, axis=-1), 0, atol=1e-9)
    slots = tilt.slots[tilt.group_mass > 0]
    logs = problem.working.reduction().logs()
    if logs is not None:
        assert slots.max() < problem.working.slots(nominal)
        if not logs.spans_contexts():
            assert len(np.unique(slots)) == problem.working.slots(nominal) == len(slots)


@EVERY
def test_traced_fields_never_recompile(model, monkeypatch):
    """A second fit with other numbers in all of them."""
    traced, tilt = [], type(model).tilt

    def noted(self, *about):
        traced.append(self)
        return tilt(self, *about)

    monkeypatch.setattr(type(model), "tilt", noted)
    solver = hr.NestedSGD(steps=3, batch=4, nodes=2)

    def fit(model):
        """On so many rows as no other test has, whose programs would be found."""
        policy = hr.RobustPolicy(LOSS, model, hr.Constant(), solver=solver, random_state=0)
        policy.fit(X[:11], Y[:11])
        return len(traced)

    first = fit(model)
    assert first > 0
    others = {"penalty": 5.0, "epsilon": 0.2, "x_scale": 2.0, "y_scale": 0.7, "loss_scale": "auto"}
    names = [name for name in model.traced if name in others]
    assert set(model.traced) <= {*others, "radius"}
    assert fit(clone(model).set_params(**{name: others[name] for name in names})) == first


@pytest.mark.parametrize("model", [hr.ERM(), *MODELS], ids=repr)
def test_files_and_clones_are_the_same_model(policy, model):
    again = Known([OutsideChiSquare]).revive(json.loads(json.dumps(describe(model))))
    assert type(again) is type(model)
    assert repr(again) == repr(model) == repr(clone(model))
    structure = jax.tree_util.tree_structure(model)
    assert jax.tree_util.tree_structure(again) == structure
    hash(structure)
    said = model.description()
    assert said.name
    assert said.hedges == (model.penalty is not None)
    resolved = policy.problem(X, Y, ambiguity=model).model
    twice = policy.problem(X, Y, ambiguity=resolved).model
    assert repr(twice) == repr(resolved)


def test_without_ambiguity_nothing_is_priced(policy):
    found = hr.robust_value(policy, X, Y, ambiguity=hr.ERM())
    assert found.value == found.nominal == found.expected_loss
    assert found.penalty is found.radius is found.discrepancy is None
    worst = hr.worst_case(policy, X, Y, ambiguity=hr.ERM())
    assert worst.weights @ policy.losses(worst.x, worst.y) == pytest.approx(found.value, rel=1e-10)
