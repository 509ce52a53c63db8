"""Arrays are padded so that data of any length share programs; nothing else may come of it."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import ladder, programs
from hedgerow.forecasts import ForestRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
Y = 20 + 5 * X[:, 0] + RNG.normal(size=300)
TIED = np.round(X, 0)  # several outcomes per context, and contexts of unequal mass
LOSS = hr.Newsvendor(1, 3)
CAUSAL = hr.CausalSinkhorn(penalty=30.0, epsilon=0.1, order=2)
SOLVERS = {
    "scsc": hr.SCSC(steps=60, batch=32),
    "scgd": hr.SCGD(steps=60, batch=32),
    "shared": hr.SCSC(steps=60, batch=32, trackers="shared"),
    "nested": hr.NestedSGD(steps=60, batch=32),
    "mlmc": hr.MLMC(steps=20, batch=32),
    "whole": hr.SCSC(steps=60, batch=512),
    "saa": hr.SAA(steps=10),
}


@pytest.fixture
def more_room(monkeypatch):
    """Let tables have room for more than they ever need here."""

    def give():
        monkeypatch.setattr(ladder, "LEAST", 4096)

    return give


def fitted(x, y, solver=SOLVERS["scsc"], ambiguity=CAUSAL, nominal=None, rule=None):
    rule = hr.SoftForest(trees=3, depth=2) if rule is None else rule
    nominal = hr.EmpiricalNominal() if nominal is None else nominal
    return hr.RobustPolicy(LOSS, ambiguity, rule, nominal, solver, random_state=0).fit(x, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("x", [X, TIED], ids=["single", "tied"])
@pytest.mark.parametrize(
    "solver",
    [pytest.param(name, marks=[pytest.mark.slow] * (name != "scsc")) for name in SOLVERS],
)
def test_training_does_not_depend_on_it(solver, x, more_room):
    few = fitted(x, Y, SOLVERS[solver])
    more_room()
    many = fitted(x, Y, SOLVERS[solver])
    close = {"rtol": 1e-6} if solver != "whole" else {"rtol": 2e-5}  # sums of other lengths
    np.testing.assert_allclose(many.history_, few.history_, **close)
    np.testing.assert_allclose(many.predict(X), few.predict(X), **close)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ambiguity", [hr.Sinkhorn(30.0, 0.1, 2), hr.KL(20.0), hr.ERM()])
def test_training_of_other_models_does_not_depend_on_it(ambiguity, more_room):
    """Trackers of single outcomes, of everything together, and none."""
    few = fitted(TIED, Y, ambiguity=ambiguity)
    more_room()
    np.testing.assert_allclose(
        fitted(TIED, Y, ambiguity=ambiguity).predict(X), few.predict(X), rtol=1e-6
    )


@pytest.mark.filterwarnings("ignore")
def test_a_batch_of_all_contexts_trains_as_one_without_padding():
    """Sixty-four contexts fill a batch; of sixty, four places are padding without mass."""
    for count in (64, 60):
        contexts = np.linspace(-2, 2, count)[:, None]
        y = 10 + contexts[:, 0]
        policy = fitted(contexts, y, hr.SCSC(steps=300, batch=64), rule=hr.Affine())
        assert policy.score(contexts, y) > -1.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("x", [X, TIED], ids=["single", "tied"])
def test_values_and_worst_cases_do_not_depend_on_it(x, more_room):
    policy = fitted(x, Y)
    few, worst = policy.robust_value_, hr.worst_case(policy, x, Y)
    density, draws = worst.density(X[:5], Y[:5]), worst.sample(50, seed=1)
    more_room()
    many, worst = hr.robust_value(policy, x, Y), hr.worst_case(policy, x, Y)
    policy._robust_value = None
    assert policy.robust_value_.value == pytest.approx(few.value, rel=1e-9)
    assert many.value == pytest.approx(few.value, rel=1e-3)
    np.testing.assert_allclose(worst.density(X[:5], Y[:5]), density, rtol=1e-9)
    np.testing.assert_allclose(worst.sample(50, seed=1).x, draws.x, rtol=1e-9)


@pytest.mark.parametrize("count", [300, 333])
def test_values_are_those_of_all_contexts_and_no_others(count):
    """The nominal loss is a plain mean, whatever fills the last piece up."""
    x = RNG.normal(size=(count, 2))
    y = 20 + 5 * x[:, 0] + RNG.normal(size=count)
    policy = fitted(x, y, ambiguity=hr.ERM(), solver=SOLVERS["nested"])
    assert policy.robust_value_.value == pytest.approx(-policy.score(x, y), rel=1e-5)


@pytest.mark.slow
def test_residual_nominals_do_not_depend_on_it(more_room):
    weights = np.ones(300)
    few = hr.ResidualNominal().build(X, Y[:, None], weights)
    forest = ForestRegressor().fit(X, Y)
    more_room()
    many = hr.ResidualNominal().build(X, Y[:, None], weights)
    np.testing.assert_allclose(many.outcomes, few.outcomes, rtol=1e-5)
    np.testing.assert_allclose(ForestRegressor().fit(X, Y).predict(X), forest.predict(X), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_searches_do_not_depend_on_it(more_room):
    def found():
        return hr.RobustPolicyCV(
            LOSS,
            penalties=[10.0, 100.0],
            epsilons=[0.1],
            rules=[hr.SoftForest(trees=3, depth=2)],
            nominals=[hr.EmpiricalNominal()],
            solver=hr.SCSC(steps=100, batch=32),
            cv=3,
            random_state=0,
        ).fit(X[:200], Y[:200])

    few = found()
    more_room()
    many = found()
    np.testing.assert_allclose(
        many.cv_results_["mean_loss"], few.cv_results_["mean_loss"], rtol=1e-5
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ten_numbers_of_rows_share_their_programs():
    """Training, values and decisions: compiled for the first of them, and once more beyond 256."""

    def compiled(rows):
        before = programs.compilations()
        policy = fitted(X[:rows], Y[:rows], hr.SCSC(steps=3, batch=16))
        policy.robust_value_  # noqa: B018
        policy.predict(X[:rows])
        return programs.compilations() - before

    programs.release()
    assert compiled(100)["hedgerow.solvers.loop.stretch"] == 1
    assert sum((compiled(rows) for rows in range(101, 251, 15)), start=compiled(99)).total() == 0
    more = compiled(257) + compiled(300) + compiled(280)
    assert more["hedgerow.solvers.loop.stretch"] == 1
    assert max(more.values()) <= 3  # a value and its lower bound have nodes of their own


def test_deciding_compiles_nothing():
    policy = fitted(X, Y, hr.SCSC(steps=3, batch=16))
    programs.release()
    before = programs.compilations()
    for rows in (1, 7, 100, 1024, 1025, 5_000, 20_000):
        policy.predict(np.resize(X, (rows, 2)))
    assert (programs.compilations() - before).total() == 0
