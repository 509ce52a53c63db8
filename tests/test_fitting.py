"""From history to a trained rule: parts, keys, problems, first rules, and training on."""

import warnings
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import hedgerow as hr
from hedgerow import fitting
from hedgerow.certify.value import certify
from hedgerow.rules.base import decide_rows
from tests.problems import AUTO, QUICK, SMALL, history

LOSS = hr.Newsvendor(0.6, 1.0)
X, y = history()
Y = y[:, None]
ONES = np.ones(len(X))


def posed(**parts):
    parts = fitting.Parts.of(**({"loss": LOSS, "ambiguity": hr.ERM()} | parts))
    return parts, fitting.pose(parts, X, Y, ONES)


class TestParts:
    def test_defaults_are_filled_in(self):
        parts = fitting.Parts.of(LOSS)
        assert repr(parts.ambiguity) == repr(fitting.DEFAULT_AMBIGUITY)
        assert [type(part) for part in parts[2:]] == [hr.SoftForest, hr.EmpiricalNominal, hr.SCSC]
        assert type(fitting.Parts.of(LOSS, hr.ERM()).solver) is hr.NestedSGD

    @pytest.mark.parametrize(
        ("rows", "penalty", "nominal", "steps", "batch"),
        [
            (99, 10.0, hr.EmpiricalNominal, 500, 64),
            (100, 10.0, hr.ResidualNominal, 500, 64),
            (400, 20.0, hr.ResidualNominal, 500, 64),
            (1000, 31.6, hr.ResidualNominal, 500, 64),
            (2000, 44.7, hr.ResidualNominal, 1000, 64),
            (4000, 63.2, hr.EmpiricalNominal, 2000, 64),
            (24_000, 154.9, hr.EmpiricalNominal, 3000, 256),
            (10**6, 1000.0, hr.EmpiricalNominal, 3333, 384),
        ],
    )
    def test_defaults_grow_with_rows(self, rows, penalty, nominal, steps, batch):
        parts = fitting.Parts.of(LOSS, rows=rows)
        assert parts.ambiguity.penalty == pytest.approx(penalty, rel=0.01)
        assert type(parts.nominal) is nominal
        assert (parts.solver.steps, parts.solver.batch) == (steps, batch)
        assert type(fitting.Parts.of(LOSS, rows=rows, outcomes=9).nominal) is hr.EmpiricalNominal

    @pytest.mark.parametrize("name", ["loss", "ambiguity", "rule", "nominal", "solver"])
    def test_what_is_no_such_part_is_named(self, name):
        with pytest.raises(TypeError, match=rf"{name} must be .*hedgerow\.\w+\(.*got"):
            fitting.Parts.of(**({"loss": LOSS} | {name: hr.ERM if name == "loss" else LOSS.check}))

    def test_parts_are_checked_again(self):
        model = hr.KL(1.0)
        model.penalty = -1.0
        with pytest.raises(ValueError, match="penalty must be greater than 0"):
            fitting.Parts.of(LOSS, model)


class TestKeys:
    @staticmethod
    def bits(keys):
        return [tuple(np.asarray(jax.random.key_data(key)).tolist()) for key in keys]

    def test_the_same_seed_gives_the_same_keys_and_none_twice(self):
        first, again = self.bits(fitting.keys_of(3)), self.bits(fitting.keys_of(3))
        assert first == again
        assert len({*first, *self.bits(fitting.keys_of(4))}) == 6

    def test_a_generator_moves_on(self):
        state = np.random.RandomState(3)
        assert self.bits(fitting.keys_of(state)) == self.bits(fitting.keys_of(3))
        assert self.bits(fitting.keys_of(state)) != self.bits(fitting.keys_of(3))


def test_outcomes_outside_the_support_are_refused():
    loss = hr.Newsvendor(0.6, 1.0, outcome_support=(0.0, 3.0))
    with pytest.raises(ValueError, match="support"):
        posed(loss=loss)


@pytest.mark.parametrize("rule", [SMALL, hr.Affine(), hr.Constant(), hr.TwoLayer(8)], ids=repr)
def test_training_begins_near_the_best_constant_decision(rule):
    """The b/(b + h) quantile; forests and networks lean a little along the outcome's slopes."""
    parts, problem = posed(rule=rule)
    first = fitting.first_rule(parts, problem, fitting.keys_of(0).rule)
    decisions = decide_rows(first, problem.units.contexts(X)) * problem.units.z_unit
    quantile = np.quantile(y, 1 / 1.6, method="inverted_cdf")
    near = 1e-5 if type(rule) in (hr.Affine, hr.Constant) else 0.5 * y.std()
    assert np.max(np.abs(decisions - quantile)) < near


class TestLearning:
    """Rounds of training, for losses that knew too little of themselves."""

    @staticmethod
    def rounds(gaps):
        """How often is trained if covering the rule reports these gaps, in units of the loss?"""
        trained, reports = [], iter([np.nan, *gaps])  # the first covers the rule to begin with
        problem = SimpleNamespace(
            given=hr.ERM(),
            units=SimpleNamespace(loss_unit=2.0),
            cover=lambda rule, widen=0.0: SimpleNamespace(gap=2.0 * next(reports)),
        )
        solver = SimpleNamespace(
            training=lambda problem, rule, penalty, budget, table: rule,
            run=lambda rule, key, progress: trained.append(rule) or SimpleNamespace(rule=rule + 1),
        )
        _, report = fitting.learn(problem, 0, solver, fitting.keys_of(0), None)
        return trained, report.gap / 2.0

    def test_a_loss_that_was_exact_is_trained_on_once(self):
        assert self.rounds([0.0]) == ([0], 0.0)
        assert self.rounds([1e-8]) == ([0], 1e-8)

    def test_others_go_on_from_the_rule_learned_until_they_are_or_three_times(self):
        assert self.rounds([0.1, 0.0]) == ([0, 1], 0.0)
        assert self.rounds([0.1, 0.01, 0.001]) == ([0, 1, 2], 0.001)

    def test_a_radius_begins_at_the_penalty_that_is_best_for_the_first_rule(self):
        model = hr.KL(radius=0.3)
        parts, problem = posed(ambiguity=model, rule=hr.Affine(), solver=QUICK)
        keys = fitting.keys_of(0)
        rule = fitting.first_rule(parts, problem, keys.rule)
        begun = []

        class Watched(hr.SCSC):
            def run(self, training, key, progress=None):
                begun.append(training)
                return super().run(training, key, progress)

        solver = Watched(steps=40, batch=16, nodes=2)
        solution, report = fitting.learn(problem, rule, solver, keys, None)
        assert report is None
        assert len(solution.history) == 40
        best = certify(problem, rule, keys.value, tolerance=0.1)
        assert begun[0].objective.budget.excess == pytest.approx(0.3)
        log_penalty = np.log(best.penalty - best.budget.floor)
        assert float(begun[0].start.log_penalty) == pytest.approx(log_penalty, rel=1e-6)


class TestRemarks:
    def test_constant_features_are_named_and_ten_are_enough(self):
        table = np.column_stack([X, np.ones((len(X), 12))])
        parts = fitting.Parts.of(LOSS, hr.ERM())
        problem = fitting.pose(parts, table, Y, ONES)
        names = [f"f{i}" for i in range(15)]
        with pytest.warns(hr.HedgerowWarning, match=r"Feature\(s\) f3, f4, .*f12, … never vary"):
            fitting.remark(problem, names, model=True)
        with pytest.warns(hr.HedgerowWarning, match=r"Feature\(s\) 3, 4, "):
            fitting.remark(problem, None, model=True)

    def test_a_model_speaks_only_where_it_was_asked_for(self):
        _, problem = posed(ambiguity=hr.CausalSinkhorn(5.0, 0.1, **AUTO))
        with pytest.warns(hr.HedgerowWarning, match="Every context occurs once"):
            fitting.remark(problem, None, model=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitting.remark(problem, None, model=False)
