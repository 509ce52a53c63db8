"""The training loop: compilation, status, progress, step sizes."""

import jax
import numpy as np
import optax
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import hedgerow as hr
from hedgerow import programs
from tests.problems import AUTO, QUICK, SMALL, history

LOSS = hr.Newsvendor(0.6, 1.0)


def test_second_fit_and_changed_numbers_do_not_recompile(monkeypatch):
    X, y = history(rows=77)
    programs.release()  # those of other tests, which tables of as many rows share
    traced = []

    step = hr.SCSC.step

    def noted(*parts):
        traced.append("a step")
        return step(*parts)

    monkeypatch.setattr(hr.SCSC, "step", noted)
    model = hr.Sinkhorn(5.0, 0.1, **AUTO)
    policy = hr.RobustPolicy(LOSS, model, SMALL, solver=QUICK, random_state=0)
    policy = clone(policy).fit(X, y)  # a clone, because set_params reaches into shared parts
    compiled = len(traced)
    assert compiled > 0
    policy.fit(X + 1, y * 2)
    policy.set_params(
        ambiguity__penalty=7.0,
        ambiguity__epsilon=0.2,
        ambiguity__x_scale=0.5,
        solver__learning_rate=0.01,
        solver__steps=130,
        solver__tracking=0.5,
        loss__holding=0.2,
        random_state=3,
    ).fit(X, y)
    assert len(traced) == compiled


def test_reports_progress_in_the_loss_units():
    X, y = history()
    seen = []
    solver = hr.NestedSGD(steps=250)
    policy = hr.RobustPolicy(LOSS, hr.ERM(), SMALL, solver=solver, random_state=0)
    policy.set_params(verbose=lambda *report: seen.append(report)).fit(X, y)
    assert [step for step, _, _ in seen] == [100, 200, 250]
    assert {total for _, total, _ in seen} == {250}
    assert seen[-1][2] == pytest.approx(policy.history_[200:].mean())


def test_an_interrupt_goes_on_and_what_was_learned_is_kept():
    X, y = history()

    def stop(done, total, objective):
        if done >= 200:
            raise KeyboardInterrupt

    policy = hr.RobustPolicy(
        LOSS, hr.ERM(), SMALL, solver=hr.NestedSGD(steps=1000), random_state=0, verbose=stop
    )
    with pytest.raises(KeyboardInterrupt):
        policy.fit(X, y)
    assert policy.status_ == "interrupted"
    assert len(policy.history_) == 200
    assert np.all(np.isfinite(policy.predict(X)))
    shorter = hr.RobustPolicy(
        LOSS, hr.ERM(), SMALL, solver=hr.NestedSGD(steps=1000, tolerance=1.0), random_state=0
    ).fit(X, y)
    assert shorter.status_ == "stopped early"
    assert len(shorter.history_) < 1000


def test_divergence_is_a_status_and_a_warning_never_nan():
    X, y = history()
    loss = hr.CustomLoss(lambda z, y: ((z - y) ** 2).sum(), hr.Free(1))
    policy = hr.RobustPolicy(
        loss,
        hr.ERM(),
        hr.Affine(),
        solver=hr.SCSC.as_published(steps=500, learning_rate=1e4),
        random_state=0,
    )
    with pytest.warns(ConvergenceWarning, match="diverged"):
        policy.fit(X, y)
    assert policy.status_ == "diverged"
    assert np.all(np.isfinite(policy.predict(X)))


def test_convergence_is_recognised():
    X, y = history(rows=81)
    policy = hr.RobustPolicy(
        LOSS, hr.ERM(), hr.Constant(), solver=hr.NestedSGD(steps=1000, batch=81), random_state=0
    ).fit(X, y)
    assert policy.status_ == "converged"
    quantile = np.quantile(y, 1 / 1.6, method="inverted_cdf")
    # Adam's last steps around a kink leave about 1 % of the outcomes' spread
    assert policy.predict(X)[0] == pytest.approx(quantile, abs=0.02)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps must be at least 1"),
        ({"batch": 1.5}, "batch must be a whole number"),
        ({"nodes": 0}, "nodes must be at least 1"),
        ({"learning_rate": -1.0}, "learning_rate must be greater than 0"),
        ({"tracking": 1.5}, "tracking must be at most 1"),
        ({"decay": "linear"}, "decay must be one of"),
        ({"outcome_nodes": "many"}, "outcome_nodes must be a whole number"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        hr.NestedSGD(**settings)


def test_kind_of_trackers_is_checked():
    with pytest.raises(ValueError, match="trackers must be one of"):
        hr.SCSC("global")


def test_fields_of_a_rule_move_at_their_own_pace_unless_an_optimizer_is_given():
    """Adam's first step has the size of the learning rate, whatever the gradient."""
    X, y = history()
    policy = hr.RobustPolicy(LOSS, hr.ERM(), SMALL, solver=hr.NestedSGD(steps=30), random_state=0)
    problem, rule = policy.fit(X, y).problem(X, y), policy.rule_

    def moved(solver):
        found = solver.run(solver.training(problem, rule), jax.random.key(0, impl="rbg")).rule
        return {
            name: float(np.max(np.abs(getattr(found, name) - getattr(rule, name))))
            for name in rule.trainable
        }

    paced = moved(hr.NestedSGD(steps=1, learning_rate=1e-3))
    even = moved(hr.NestedSGD(steps=1, learning_rate=1e-3, optimizer=optax.scale_by_adam()))
    for name, pace in rule.paces().items():
        # Adam divides by its gradient plus 1e-8, and parameters are float32
        assert even[name] == pytest.approx(1e-3, rel=1e-2)
        assert paced[name] == pytest.approx(pace * 1e-3, rel=1e-2)


def test_averaging_keeps_the_mean_of_the_last_steps():
    X, y = history()
    policy = hr.RobustPolicy(LOSS, hr.ERM(), hr.Constant(), solver=hr.NestedSGD(steps=1))
    problem = policy.fit(X, y).problem(X, y)

    def last(steps, **settings):
        solver = hr.NestedSGD(steps=steps, decay="constant", learning_rate=0.05, **settings)
        training = solver.training(problem, policy.rule_)
        return float(solver.run(training, jax.random.key(0, impl="rbg")).rule.offset[0])

    seen = [last(steps) for steps in range(5, 9)]  # the same draws, so the same way
    assert last(8, averaging=0.5) == pytest.approx(np.mean(seen), rel=1e-5)
    assert last(8, averaging=0.0) == pytest.approx(seen[-1], rel=1e-6)


def test_what_is_remembered_falls_with_the_step_size():
    solver = hr.SCSC(steps=100, tracking=0.4)
    assert float(solver.tracking_at(0)) == pytest.approx(0.4)
    assert float(solver.tracking_at(50)) == pytest.approx(0.2)
    assert float(solver.tracking_at(100)) == pytest.approx(0.04)
    assert float(hr.SCSC.as_published(100).tracking_at(99)) == pytest.approx(0.1)
