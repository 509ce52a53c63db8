"""Parts written outside go everywhere: fit, search, value, worst case, files, explain, report."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import hedgerow as hr
from hedgerow.cli import loading
from hedgerow.policy_file import PolicyFileError
from tests.extending.parts import (
    ChiSquare,
    Clipped,
    LinearTree,
    Ordered,
    Pinball,
    Quantile,
    RecentNominal,
)
from tests.problems import AUTO, QUICK, SMALL, history

LOSS = Pinball((0.3, 0.8), Ordered(2))
ALL = [ChiSquare, Clipped, LinearTree, Ordered, Pinball, RecentNominal]
X, Y = history(rows=60)
WEIGHTS = np.random.default_rng(1).uniform(0.2, 3.0, 60)
HEDGED = hr.CausalSinkhorn(5.0, 0.1, **AUTO)


def fitted(**parts):
    settings = {"loss": LOSS, "ambiguity": hr.ERM(), "rule": SMALL, "solver": QUICK} | parts
    return hr.RobustPolicy(**settings, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def policy():
    """Every part from outside at once."""
    return fitted(
        ambiguity=ChiSquare(2.0, loss_scale="auto"),
        rule=LinearTree(1),
        nominal=RecentNominal(30.0),
        solver=Clipped(steps=150, batch=32),
    )


def test_decisions_are_in_the_set_and_rise_with_the_level(policy):
    decisions = policy.predict(X)
    assert decisions.shape == (60, 2)
    assert np.all(np.diff(decisions, axis=1) >= 0)
    assert policy.history_[-20:].mean() < 0.95 * policy.history_[:20].mean()


def test_every_part_is_searched_over():
    search = hr.RobustPolicyCV(
        LOSS,
        ChiSquare(1.0, loss_scale="auto"),
        penalties=[1.0, 10.0, np.inf],
        rules=[LinearTree(1)],
        nominals=[RecentNominal(30.0)],
        solver=Clipped(steps=30, batch=16),
        cv=2,
        random_state=0,
    ).fit(X, Y)
    assert set(search.cv_results_["penalty"]) == {1.0, 10.0, np.inf}
    assert np.all(np.isfinite(search.cv_results_["mean_loss"]))


def test_the_default_solver_suits_a_model_without_logarithms(policy):
    assert type(hr.solvers.default_solver(ChiSquare(1.0))) is hr.SCSC  # it remembers losses
    with pytest.raises(TypeError, match=r"MLMC removes .* objective of ChiSquare"):
        fitted(ambiguity=ChiSquare(2.0), solver=hr.MLMC(steps=5))


@pytest.mark.parametrize("form", [{"penalty": 1.5}, {"radius": 0.3}], ids=["penalty", "radius"])
def test_the_chi_square_value_is_that_of_an_independent_dual(form):
    """With unequal weights: min over η (and λ) of the dual, by scipy, in float64."""
    policy = hr.RobustPolicy(
        LOSS, ChiSquare(**form), SMALL, solver=hr.NestedSGD(steps=40, batch=16), random_state=0
    ).fit(X, Y, WEIGHTS)
    losses, mass = policy.losses(X, Y), WEIGHTS / WEIGHTS.sum()

    def dual(level, penalty):
        s = (losses - level) / penalty
        return level + penalty * mass @ np.where(s > -2, s + s**2 / 4, -1.0)

    def value(penalty):
        ends = losses.min() - 10, losses.max() + 10
        return minimize_scalar(dual, bounds=ends, args=(penalty,), options={"xatol": 1e-12}).fun

    if "penalty" in form:
        expected = value(1.5)
    else:
        expected = minimize_scalar(
            lambda t: 0.3 * np.exp(t) + value(np.exp(t)), bounds=(-5, 5), options={"xatol": 1e-10}
        ).fun
    worst = hr.worst_case(policy, X, Y, sample_weight=WEIGHTS)
    assert worst.robust.value == pytest.approx(expected, rel=1e-6)
    # the worst case attains it
    points = np.asarray(LOSS(policy.predict(worst.x), worst.y))
    assert worst.weights.sum() == pytest.approx(1, abs=1e-12)
    assert worst.expected_loss() == pytest.approx(worst.weights @ points, rel=1e-6)
    order = np.lexsort((worst.y[:, 0], worst.x[:, 0]))
    nominal = mass[np.lexsort((Y, X[:, 0]))]
    divergence = np.sum(nominal * (worst.weights[order] / nominal - 1) ** 2)
    assert worst.discrepancy == pytest.approx(divergence, rel=1e-5)
    if "radius" in form:
        assert divergence == pytest.approx(0.3, rel=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        HEDGED,
        pytest.param(hr.Sinkhorn(5.0, 0.1, **AUTO), marks=pytest.mark.slow),
        pytest.param(hr.CausalWasserstein(5.0, **AUTO), marks=pytest.mark.slow),
        hr.KL(2.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_loss_set_and_rule_are_valued_under_every_model(policy, model):
    worst = hr.worst_case(policy, X[:, :], Y, ambiguity=model, tolerance=0.05)
    assert worst.robust.value > worst.robust.nominal
    draws = worst.sample(200)
    assert np.all(np.isfinite(draws.y))


def test_files_name_parts_and_import_nothing(policy, tmp_path):
    path = tmp_path / "policy.hedgerow"
    assert policy.robust_value_.value > 0
    policy.save(path)
    again = hr.load(path, parts=ALL)
    np.testing.assert_array_equal(again.predict(X), policy.predict(X))
    assert again.robust_value_ == policy.robust_value_
    assert repr(again.rule) == repr(policy.rule)
    assert again.ambiguity_.penalty == policy.ambiguity_.penalty
    for missing in ALL:
        rest = [kind for kind in ALL if kind is not missing]
        path_of = rf"names a part tests\.extending\.parts\.\w+\.{missing.__name__}"
        with pytest.raises(PolicyFileError, match=path_of):
            hr.load(path, parts=rest)
    with pytest.raises(TypeError, match="parts must be classes"):
        hr.load(path, parts=[LOSS])
    assert hr.load(path, loss=LOSS, parts=[k for k in ALL if k is not Pinball]).loss is LOSS


def test_commands_know_the_parts_of_installed_packages(policy, tmp_path, monkeypatch):
    path = tmp_path / "p.hedgerow"
    policy.save(path)
    with pytest.raises(PolicyFileError):
        loading.load_policy(path)
    offered = [EntryPoint(kind.__name__, f"{kind.__module__}:{kind.__name__}", "") for kind in ALL]
    monkeypatch.setattr(loading, "entry_points", lambda group: offered)
    np.testing.assert_array_equal(loading.load_policy(path).predict(X), policy.predict(X))
    offered.append(EntryPoint("broken", "no_such_package:Part", ""))
    with pytest.raises(ImportError, match="The part broken of no_such_package cannot be loaded"):
        loading.load_policy(path)


def test_a_policy_saved_unvalued_says_so(tmp_path):
    policy = fitted()
    policy.save(tmp_path / "policy.hedgerow")
    assert not policy.has_robust_value_
    again = hr.load(tmp_path / "policy.hedgerow", parts=ALL)
    with pytest.raises(AttributeError, match=r"hedgerow\.robust_value\(policy, X, Y\)"):
        _ = again.robust_value_


def test_decisions_are_explained(policy):
    found = hr.explain.attribute(policy, X[0], X)
    assert found.completeness_error < 1e-5
    assert hr.explain.importance(policy, X).ranked()[0] == 0
    assert "decide" in str(hr.explain.words(policy, X))
    with pytest.raises(TypeError, match=r"FittedLinearTree\.trees"):
        hr.explain.routes(policy, X)
    with pytest.raises(TypeError, match=r"FittedLinearTree\.bounds"):
        hr.explain.certificate(policy, X[0], 0.1)


def test_the_report_shows_what_it_can_and_says_what_it_cannot(policy, tmp_path):
    page = hr.report.write_report(policy, X, Y, tmp_path / "page.html").read_text()
    assert "FittedLinearTree" in page
    assert "page_form" in page
    assert "Pinball" in page
    assert "ChiSquare" in page


def test_a_missing_method_is_named():
    class Unfinished(hr.losses.Loss):
        def __call__(self, z, y):
            return 0.0

    with pytest.raises(TypeError, match="decisions_for"):
        Unfinished()

    class Silent(hr.ambiguity.Ambiguity):
        def reduction(self):
            return hr.ambiguity.Mean()

        tilt = hr.ERM.tilt

    with pytest.raises(NotImplementedError, match=r"write Silent\.worst_case"):
        hr.worst_case(fitted(), X, Y, ambiguity=Silent())


@pytest.mark.filterwarnings("ignore::hedgerow.VacuousCausalityWarning")
def test_a_loss_that_knows_nothing_of_rows_reads_a_column(tmp_path):
    """Its level is a number when it is asked, and each row's own."""
    level = np.random.default_rng(2).choice([0.1, 0.9], 60)
    contexts = np.column_stack([X, level])
    policy = hr.RobustPolicy(
        Quantile(hr.Column(X.shape[1])), HEDGED, SMALL, solver=QUICK, random_state=0
    ).fit(contexts, Y)
    gap = Y - policy.predict(contexts)
    expected = np.where(gap > 0, level * gap, (level - 1) * gap)
    np.testing.assert_allclose(policy.losses(contexts, Y), expected, rtol=1e-12)
    nominal = hr.robust_value(policy, contexts, Y, ambiguity=hr.ERM()).value
    assert nominal == pytest.approx(expected.mean(), rel=1e-6)
    assert hr.robust_value(policy, contexts, Y, tolerance=0.05).value > nominal
    policy.save(tmp_path / "p.hedgerow")
    again = hr.load(tmp_path / "p.hedgerow", parts=[Quantile])
    np.testing.assert_array_equal(again.losses(contexts, Y), policy.losses(contexts, Y))
    contexts[5, -1] = 1.5
    with pytest.raises(ValueError, match=r"Row 5: level must lie between 0 and 1, got 1\.5"):
        again.losses(contexts, Y)
