"""Cross-validation: the grid trains what single fits train, judges by what is held out, chooses."""

import copy
import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, TimeSeriesSplit

import hedgerow as hr
from hedgerow.rules import Constant
from hedgerow.search.folds import FamilyRun
from tests.problems import AUTO, history

LOSS = hr.Newsvendor(0.6, 1.0)
SMALL = hr.SoftForest(trees=2, depth=2)
SHORT = hr.SCSC(steps=250, batch=16, nodes=1)


def search(**settings):
    given = {"penalties": (3.0, 30.0), "epsilons": (0.1, 0.3), "rules": [SMALL], "solver": SHORT}
    return hr.RobustPolicyCV(LOSS, **({"random_state": 0, "cv": 3} | given | settings))


@pytest.fixture(scope="module")
def found():
    X, y = history(90)
    return search().fit(X, y), X, y


def test_losses_are_those_of_single_fits(found):
    """Folds and models trained together end where each ends alone."""
    cv, X, y = found
    table = cv.cv_results_
    seed = cv.best_estimator_.random_state
    for penalty, epsilon, steps in ((3.0, 0.3, 250), (30.0, 0.1, 100)):
        row = table[
            (table.penalty == penalty) & (table.epsilon == epsilon) & (table.steps == steps)
        ].iloc[0]
        for k, (train, test) in enumerate(KFold(3).split(X)):
            alone = hr.RobustPolicy(
                LOSS,
                hr.CausalSinkhorn(penalty, epsilon, **AUTO),
                SMALL,
                solver=clone(SHORT).set_params(stop_after=steps),
                random_state=seed,
            ).fit(X[train], y[train])
            # float32 sums in another order, over some hundred steps of Adam
            assert row[f"fold_{k}"] == pytest.approx(-alone.score(X[test], y[test]), rel=2e-3)


def test_the_least_mean_loss_is_chosen(found):
    cv = found[0]
    table = cv.cv_results_
    assert len(table) == 2 * 2 * 5
    folds = table[[f"fold_{k}" for k in range(3)]].to_numpy()
    np.testing.assert_allclose(table.mean_loss, folds.mean(axis=1))
    np.testing.assert_allclose(table.standard_error, folds.std(axis=1, ddof=1) / math.sqrt(3))
    first = table.iloc[0]
    assert first.mean_loss == table.mean_loss.min() == -cv.best_score_
    for name in ("penalty", "epsilon", "steps"):
        assert cv.best_params_[name] == first[name]


def test_what_was_chosen_is_trained_on_everything(found):
    cv, X, y = found
    policy = cv.best_estimator_
    assert len(policy.history_) == cv.best_params_["steps"]
    assert policy.ambiguity.penalty == cv.best_params_["penalty"]
    np.testing.assert_array_equal(cv.predict(X), policy.predict(X))
    assert cv.score(X, y) == policy.score(X, y)
    assert cv.robust_value_.value == policy.robust_value_.value
    assert cv.n_features_in_ == 3


def test_one_standard_error_prefers_to_hedge(found):
    _, X, y = found
    cautious = search(selection="one-standard-error").fit(X, y)
    table = cautious.cv_results_
    best = table.iloc[0]
    np.testing.assert_allclose(table.excess, table.mean_loss - best.mean_loss)
    near = table[table.excess <= table.excess_error]
    assert len(near) < len(table)
    assert cautious.best_params_["penalty"] == near.penalty.min()
    hedged = near[near.penalty == near.penalty.min()]
    assert cautious.best_params_["epsilon"] == hedged.epsilon.max()


def test_other_choices_can_be_asked_for(found):
    cv, X, y = found
    cautious = search(selection="one-standard-error", refit=False).fit(X, y)
    same, other = cv.policy("one-standard-error"), cautious.policy()
    assert repr(same) == repr(other)
    heavy = cv.policy(penalties=30.0)
    assert heavy.ambiguity.penalty == 30.0
    table = cv.cv_results_
    best = table[table.penalty == 30.0].iloc[0]
    assert heavy.ambiguity.epsilon == best.epsilon
    stop = heavy.solver.stop_after or heavy.solver.steps
    assert stop == best.steps
    with pytest.raises(ValueError, match="None of the penalties"):
        cv.policy(penalties=[7.0])
    with pytest.raises(ValueError, match="selection must be one of"):
        cv.policy("luck")


@pytest.mark.slow
def test_folds_of_different_sizes_are_judged_as_single_fits_are():
    """61 rows on 3 folds: the smaller tables are padded, with contexts that are never drawn."""
    X, y = history(61)
    cv = search(penalties=(5.0,), epsilons=(0.1,), rules=[hr.Affine()]).fit(X, y)
    last = cv.cv_results_.query("steps == 250").iloc[0]
    for k, (train, test) in enumerate(KFold(3).split(X)):
        alone = hr.RobustPolicy(
            LOSS,
            hr.CausalSinkhorn(5.0, 0.1, **AUTO),
            hr.Affine(),
            solver=SHORT,
            random_state=cv.best_estimator_.random_state,
        ).fit(X[train], y[train])
        # draws by mass and draws of equal shares differ in rounding, and so in a few contexts
        assert last[f"fold_{k}"] == pytest.approx(-alone.score(X[test], y[test]), rel=0.02)


def test_an_infinite_penalty_is_the_empirical_risk():
    X, y = history(60)
    few = {"rules": [hr.Affine()], "epsilons": (0.1,)}
    cv = search(penalties=(3.0, math.inf), **few).fit(X, y)
    table = cv.cv_results_
    assert set(table.penalty) == {3.0, math.inf}
    assert np.isnan(table[np.isinf(table.penalty)].epsilon).all()
    only = search(penalties=(math.inf,), **few).fit(X, y)
    assert isinstance(only.best_estimator_.ambiguity, hr.ERM)


@pytest.mark.parametrize("orders", [(2,), pytest.param((1, 2), marks=pytest.mark.slow)])
@pytest.mark.slow
def test_rules_nominals_and_orders_are_tried(orders):
    X, y = history(60)
    cv = search(
        rules=[hr.Constant(), hr.Affine()],
        nominals=[hr.EmpiricalNominal(), hr.NeighbourNominal(5)],
        orders=orders,
        penalties=(5.0,),
        epsilons=(0.1,),
    ).fit(X, y)
    kinds = cv.cv_results_[["rule", "nominal", "order"]].drop_duplicates()
    assert len(kinds) == 4 * len(orders)


def test_inadmissible_penalties_are_left_out():
    """p = 1 is infinite at small penalties; what is left is chosen from."""
    X, y = history(60)
    few = {"orders": (1,), "rules": [hr.Affine()], "epsilons": (0.1,)}
    cv = search(penalties=(1e-3, 5.0), **few).fit(X, y)
    assert set(cv.cv_results_.penalty) == {5.0}
    with pytest.raises(ValueError, match="No penalty is admissible"):
        search(penalties=(1e-3,), **few).fit(X, y)


@pytest.mark.slow
def test_time_comes_in_growing_folds():
    X, y = history(60)
    rules = [hr.Affine()]
    cv = search(cv=TimeSeriesSplit(2), penalties=(5.0,), epsilons=(0.1,), rules=rules).fit(X, y)
    assert {"fold_0", "fold_1"} <= set(cv.cv_results_.columns)
    assert np.isfinite(cv.best_score_)


@pytest.mark.slow
def test_weights_reach_training_and_judgement():
    X, y = history(60)
    y = y.copy()
    y[::2] += 50  # rows that do not count must not show
    weights = np.tile([0.0, 1.0], 30)
    few = {"penalties": (5.0,), "epsilons": (0.1,), "rules": [hr.Affine()], "cv": KFold(3)}
    weighted = search(**few).fit(X, y, sample_weight=weights)
    assert -weighted.best_score_ < 5


def test_processes_find_the_same():
    X, y = history(60)
    settings = {"rules": [hr.Constant(), hr.Affine()], "penalties": (5.0,), "epsilons": (0.1,)}
    alone = search(race=False, **settings).fit(X, y)
    from joblib import parallel_backend

    with parallel_backend("threading"):
        together = search(n_jobs=2, **settings).fit(X, y)
    np.testing.assert_allclose(alone.results_["mean_loss"], together.results_["mean_loss"])


def test_progress_is_told():
    X, y = history(60)
    seen = []
    few = {"penalties": (5.0,), "epsilons": (0.1,), "rules": [hr.Affine()]}
    search(verbose=lambda *told: seen.append(told), **few).fit(X, y)
    first = seen[0][0]  # once every fold has a loss; folds may overtake each other
    assert first >= 3
    assert [done for done, _, _ in seen] == list(range(first, 16))
    assert {total for _, total, _ in seen} == {15}
    assert np.all(np.isfinite([least for _, _, least in seen]))
    assert np.all(np.diff([least for _, _, least in seen]) <= 0)


@pytest.mark.slow
def test_several_outcomes_and_tables():
    pandas = pytest.importorskip("pandas")
    X, y = history(60)
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    Y = pandas.DataFrame({"one": y, "two": 2 * y})
    cv = search(penalties=(5.0,), epsilons=(0.1,), rules=[hr.Affine()]).fit(table, Y)
    assert cv.predict(table).shape == (60, 2)
    assert list(cv.feature_names_in_) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"selection": "luck"}, "selection must be one of"),
        ({"penalties": ()}, "penalties must hold at least one number"),
        ({"penalties": (-1.0,)}, "penalties must be greater than 0"),
        ({"penalties": (math.nan,)}, "penalties must be finite"),
        ({"epsilons": (math.inf,)}, "epsilons must be finite"),
        ({"penalties": "many"}, "penalties must be a number, got 'many'"),
        ({"rules": hr.Affine()}, "rules must be a list of what to try"),
        ({"nominals": []}, "nominals must be a list of what to try"),
        ({"ambiguity": hr.ERM()}, "a model with a penalty"),
        ({"ambiguity": hr.KL(radius=0.5)}, "ambiguity has a radius"),
        ({"solver": hr.SAA()}, "a stochastic solver"),
    ],
)
def test_mistakes_get_one_sentence(settings, message):
    X, y = history(60)
    with pytest.raises((ValueError, TypeError), match=message):
        search(**settings).fit(X, y)


def test_explanations_want_the_chosen_policy(found):
    cv, X, _ = found
    with pytest.raises(TypeError, match="Give its best_estimator_"):
        hr.explain.importance(cv, X)
    assert hr.explain.importance(cv.best_estimator_, X).values.sum() == pytest.approx(1)


def test_displaying_a_search_computes_no_robust_value(found, monkeypatch):
    search = copy.copy(found[0])
    search.best_estimator_ = copy.copy(search.best_estimator_)
    search.best_estimator_._robust_value = None

    def refuse(*_, **__):
        raise AssertionError("a robust value was computed")

    monkeypatch.setattr("hedgerow.estimator.certify", refuse)
    assert "best_params_" in dir(search)
    assert "robust_value_" not in dir(search)
    assert "RobustPolicyCV" in search._repr_html_()


def test_without_refit_there_is_nothing_to_ask():
    X, y = history(60)
    cv = search(refit=False, penalties=(5.0,), epsilons=(0.1,)).fit(X, y)
    with pytest.raises(AttributeError, match="refit=False"):
        cv.predict(X)


def test_parameters_can_be_read_and_cloned():
    cv = search()
    assert clone(cv).get_params()["cv"] == 3


def test_training_can_stop_before_its_schedule_ends():
    X, y = history(60)
    whole = hr.RobustPolicy(LOSS, rule=SMALL, solver=SHORT, random_state=0).fit(X, y)
    part = hr.RobustPolicy(
        LOSS, rule=SMALL, solver=clone(SHORT).set_params(stop_after=100), random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(part.history_, whole.history_[:100])


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [hr.CausalSinkhorn(1.0, 0.1, **AUTO), hr.KL(1.0, loss_scale="auto")]
)
def test_radii_are_tried_beside_penalties(model):
    """Each candidate is what a single fit with its radius is, and says what penalty it learned."""
    X, y = history(90)
    cv = search(ambiguity=model, penalties=(3.0,), radii=(0.5, 2.0), epsilons=(0.1,)).fit(X, y)
    table = cv.cv_results_
    assert set(table.radius.dropna()) == {0.5, 2.0}
    assert table[table.radius.isna()].penalty.eq(3.0).all()
    last = table[table.steps == 250]
    learned = [last[last.radius == radius].penalty.item() for radius in (0.5, 2.0)]
    assert learned[0] > learned[1] > 0  # the larger the radius, the less it costs
    for radius in (0.5, 2.0):
        row = last[last.radius == radius].iloc[0]
        for k, (train, test) in enumerate(KFold(3).split(X)):
            alone = hr.RobustPolicy(
                LOSS,
                model.replace(penalty=None, radius=radius),
                SMALL,
                solver=SHORT,
                random_state=cv.best_estimator_.random_state,
            ).fit(X[train], y[train])
            assert row[f"fold_{k}"] == pytest.approx(-alone.score(X[test], y[test]), rel=2e-3)
    chosen = cv.policy().ambiguity
    assert (chosen.radius is None) == (cv.best_params_.get("radius") is None)


def test_radii_that_hold_nothing_are_left_out():
    X, y = history(90)
    cv = search(penalties=(3.0,), radii=(1e-6, 2.0), epsilons=(0.3,), refit=False).fit(X, y)
    assert set(cv.cv_results_.radius.dropna()) == {2.0}
    with pytest.raises(hr.InfeasibleRadiusError, match="smallest feasible radius"):
        hr.RobustPolicy(LOSS, hr.CausalSinkhorn(radius=1e-6, epsilon=0.3, **AUTO)).fit(X, y)


def test_what_a_fold_holds_out_trains_nothing(monkeypatch):
    """Other outcomes in a fold change no decision there, nor the models that nominals rest on."""
    X, y = history(90)
    train, test = list(KFold(3).split(X))[1]
    changed = y.copy()
    changed[test] = y.max() - y[test]
    decided = {}
    judge = FamilyRun.judge

    def watched(run, place, column, loss, decisions):
        candidate = outcomes is y, repr(run.family), column
        decided[candidate] = decisions * run.folds[place].units.z_unit
        return judge(run, place, column, loss, decisions)

    monkeypatch.setattr(FamilyRun, "judge", watched)
    nominals = [hr.ResidualNominal(), hr.ResidualNominal(LinearRegression()), hr.EmpiricalNominal()]
    for outcomes in (y, changed):
        search(nominals=nominals, penalties=(3.0, math.inf), cv=[(train, test)], refit=False).fit(
            X, outcomes
        )
    before = {tuple(what): found for (first, *what), found in decided.items() if first}
    after = {tuple(what): found for (first, *what), found in decided.items() if not first}
    assert before.keys() == after.keys()
    for what in before:
        np.testing.assert_array_equal(before[what], after[what])


def test_families_that_are_clearly_behind_run_no_further():
    """A rule that cannot tell contexts apart is spared the third fold; the others are not."""
    X, y = history(240)
    y = 5 * X[:, 0] + y / 100
    settings = {
        "nominals": [hr.EmpiricalNominal()],
        "rules": [hr.Affine(), Constant()],
        "penalties": (30.0, math.inf),
        "epsilons": (0.1,),
    }
    raced = search(**settings, refit=False).fit(X, y).cv_results_
    whole = search(**settings, refit=False, race=False).fit(X, y).cv_results_
    behind = raced[raced.mean_loss == math.inf]
    assert set(behind.rule) == {repr(Constant())}
    assert np.all(np.isfinite(whole.mean_loss))
    kept = raced[np.isfinite(raced.mean_loss)]
    both = kept.merge(whole, on=["rule", "penalty", "steps"])
    np.testing.assert_array_equal(both.mean_loss_x, both.mean_loss_y)


def test_choices_among_nominals_can_be_asked_for():
    X, y = history(90)
    several = [hr.EmpiricalNominal(), hr.NeighbourNominal(5)]
    cv = search(nominals=several, penalties=(3.0,), epsilons=(0.1,), refit=False).fit(X, y)
    for nominal in several:
        assert repr(cv.policy(nominals=[nominal]).nominal) == repr(nominal)
    with pytest.raises(ValueError, match=r"None of the nominals NeighbourNominal.*was tried"):
        cv.policy(nominals=[hr.NeighbourNominal(7)])
