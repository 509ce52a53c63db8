"""Algorithm 1 to the letter, and what it converges to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

import hedgerow as hr
from hedgerow.kernels import NEVER
from hedgerow.solvers.printed import PrintedMemory, _corrected, printed_remarks, printed_step
from hedgerow.solvers.training import At
from tests.problems import AffineNewsvendor

KEY = jax.random.key(3)
PRINTED = hr.SCSC("printed", steps=2000, batch=32, nodes=4)


@pytest.mark.slow
def test_one_step_is_the_printed_one():
    """All of (theta-, y1- and y2-update) in plain numbers, for two draws of two outcomes each."""
    problem = AffineNewsvendor(rows=6, repeats=2)
    policy, _ = problem.fit(hr.CausalSinkhorn, hr.NestedSGD(steps=1))
    posed = policy.problem(problem.x[:, None], problem.y)
    solver = hr.SCSC("printed", batch=2, nodes=1, outcome_nodes=1)
    training = solver.training(posed, policy.rule_)
    objective, start = training.objective, training.start
    before = jax.tree.map(lambda leaf: leaf + 0.05, start)
    batch, key = solver.draw(objective, KEY)
    y1, y2, beta = 3.0, np.array([2.0, 4.0]), 0.3
    memory = PrintedMemory(
        jnp.log(y1), jnp.asarray(np.log(y2), jnp.float32), before, jnp.zeros((), jnp.int32)
    )
    at = At(start, memory, jnp.zeros((), jnp.int32), KEY)
    found = jax.jit(printed_step)(objective, at, (batch, key), beta)

    model = objective.model
    temperature = float(model.temperature)

    def exponents(parameters):
        perturbed = model.perturb(objective.rule(parameters), objective.setting, batch, key)
        return model.inner(perturbed, objective.setting, batch).log_moments[:, :, 0]

    now, last = (np.exp(np.float64(exponents(p))).mean(axis=0) for p in (start, before))
    shares = np.float64(batch.outcome_mass)
    new2 = (1 - beta) * (y2 + now - last) + beta * now
    t2 = {name: np.exp(shares @ np.log(y)).mean() for name, y in (("new", new2), ("old", y2))}
    new1 = (1 - beta) * (y1 + t2["new"] - t2["old"]) + beta * t2["new"]
    # to what float32 tells
    np.testing.assert_allclose(np.exp(found.memory.inner), new2, rtol=1e-5)
    np.testing.assert_allclose(np.exp(found.memory.outer), new1, rtol=1e-5)
    each = np.exp(shares @ np.log(y2))[:, None] * shares / y2 / y1 / 2  # ∇t1·∇t2, batch of two
    weights = jnp.asarray(each * np.exp(np.float64(exponents(start))))
    expected = jax.grad(lambda p: temperature * jnp.sum(weights * exponents(p)))(start)
    for ours, theirs in zip(
        jax.tree.leaves(found.gradient), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5)  # float32
    assert list(printed_remarks(found.memory, 1)) == []

    far = jax.tree.map(lambda leaf: leaf + 8.0, start)  # where losses were much larger
    memory = memory._replace(inner=jnp.zeros(2), previous=far)
    lost = jax.jit(printed_step)(objective, at._replace(memory=memory), (batch, key), beta)
    np.testing.assert_allclose(np.exp(lost.memory.inner), 1 - beta + beta * now, rtol=1e-5)
    (remark,) = printed_remarks(lost.memory, 1)
    assert "In 1 of 1 steps the printed correction took a tracker to 0" in str(remark)


def test_corrections_never_overflow_and_leave_out_what_has_no_logarithm():
    correct = jax.jit(_corrected)
    found, wrong = correct(200.0, 201.0, 199.0, 0.1)  # e^200 is beyond float32
    exact = 0.9 * (1 + np.e - np.exp(-1)) + 0.1 * np.e
    assert float(found) == pytest.approx(200 + np.log(exact), rel=1e-6)
    assert not wrong
    found, wrong = correct(0.0, 0.0, 5.0, 0.1)
    assert wrong
    assert float(found) == pytest.approx(0.0, abs=1e-6)
    assert np.isfinite(correct(NEVER, NEVER, 3.0, 0.5)[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solver", "close"),
    [
        (PRINTED, 1e-3),
        # one draw of each kind a step, as printed: noisier
        (
            hr.SCSC(
                "printed",
                steps=6000,
                batch=1,
                nodes=1,
                outcome_nodes=1,
                learning_rate=0.003,
                tracking=0.02,
            ),
            1e-2,
        ),
    ],
    ids=["batches", "single draws"],
)
def test_with_one_outcome_per_context_it_minimises_the_global_tilt(solver, close):
    """DESIGN, finding 1: another problem than min F."""
    problem = AffineNewsvendor()
    optimum, tilt = problem.minimise(problem.sinkhorn), problem.minimise(problem.global_tilt)
    _, theta = problem.fit(hr.CausalSinkhorn, solver)
    assert problem.global_tilt(theta) <= tilt.fun * (1 + close)
    assert problem.sinkhorn(theta) > optimum.fun * 1.02
    assert problem.sinkhorn(tilt.x) > optimum.fun * 1.02


@pytest.mark.slow
def test_with_several_it_minimises_a_tilt_for_every_place_in_the_list():
    problem = AffineNewsvendor(rows=20, repeats=2)

    def places(theta):
        exponents = problem.exponents(theta).reshape(20, 2, -1)
        each = [logsumexp(problem.log_weights + exponents[:, i], b=1 / 20) for i in (0, 1)]
        return problem.temperature * np.mean(each)

    truth, optimum = problem.minimise(places), problem.minimise(problem.causal)
    _, theta = problem.fit(hr.CausalSinkhorn, hr.SCSC("printed", steps=2000, batch=20, nodes=4))
    assert places(theta) <= truth.fun * 1.002  # what a stochastic run of this length reaches
    assert problem.causal(theta) > optimum.fun * 1.005


@pytest.mark.slow
def test_a_radius_is_learned_along():
    problem = AffineNewsvendor(rows=20, repeats=2)
    loss = hr.Newsvendor(0.6, 1.0, decision_set=hr.Free(1))
    model = hr.CausalSinkhorn(radius=1.2, epsilon=0.3)
    policy = hr.RobustPolicy(
        loss, model, hr.Affine(), solver=hr.SCSC("printed", steps=300), random_state=0
    ).fit(problem.x[:, None], problem.y)
    assert np.isfinite(policy.robust_value_.value)


def test_models_without_averages_inside_one_another_are_refused():
    problem = AffineNewsvendor(rows=6)
    with pytest.raises(TypeError, match=r"a KL offers none \(write KL.inner\)"):
        hr.RobustPolicy(hr.Newsvendor(1, 1), hr.KL(1.0), hr.Affine(), solver=PRINTED).fit(
            problem.x[:, None], problem.y
        )
