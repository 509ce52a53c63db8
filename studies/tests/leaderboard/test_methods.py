"""Methods keep to one interface: grids, folds, reasons, decisions where they may lie."""

import math

import numpy as np
import pytest

import hedgerow as hr
from hedgerow_studies.leaderboard.bikes_course import capacity
from hedgerow_studies.leaderboard.contest import courses
from hedgerow_studies.rivals import Method, Problem, catalogue, from_file
from hedgerow_studies.rivals.method import FOLDS, MOST_SETTINGS, on_simplex

METHODS = catalogue()
SLOW = (
    "hedgerow search",
    "hedgerow defaults",
    "hedgerow unhedged",
    "network",
    "residual DRO (hedgerow's mean)",
)
PROBLEMS = {
    "newsvendor": Problem(hr.Newsvendor(0.6, 1.0)),
    "two-stage": Problem(capacity()),
    "portfolio": Problem(hr.MeanVariance(2.0)),
}


def history(kind):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(60, 3))
    outcomes = {"newsvendor": 1, "two-stage": 2, "portfolio": 3}[kind]
    Y = 6 + X @ draw.normal(size=(3, outcomes)) + draw.normal(size=(60, outcomes))
    return X, np.maximum(Y, 0.1) if kind != "portfolio" else Y - 6


@pytest.mark.parametrize("name", METHODS)
def test_grids_are_of_one_size_class_and_reasons_are_words(name):
    method = METHODS[name]
    able = 0
    for problem in PROBLEMS.values():
        why = method.cannot(problem, 100)
        able += not why
        if why:
            assert why == why.strip()
            assert not why.endswith(".")
        else:
            assert 1 <= len(method.grid(problem)) <= MOST_SETTINGS
    assert able


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("name", [name for name in METHODS if name not in SLOW])
def test_every_method_learns_with_one_setting_and_decides(name, kind):
    method, problem = METHODS[name], PROBLEMS[kind]
    if method.cannot(problem, 60):
        pytest.skip("cannot do it")
    X, Y = history(kind)
    setting = method.grid(problem)[0]
    decided = problem.feasible(method.learn(problem, X, Y, setting, 0)(X[:4]), Y.shape[1])
    size = problem.loss.decisions_for(Y.shape[1]).dimension
    assert decided.shape == (4, size)
    assert np.all(np.isfinite(decided))
    # somewhere near what ignoring the context costs, or below
    constant = problem.mean_cost(np.tile(problem.loss.best_constant(Y, np.ones(60)), (60, 1)), Y)
    everywhere = method.learn(problem, X, Y, setting, 0)(X)
    assert problem.mean_cost(everywhere, Y) < constant + 0.5 * abs(constant)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_chooses_and_does_not_lose_to_a_constant_by_much(name, kind):
    method, problem = METHODS[name], PROBLEMS[kind]
    if method.cannot(problem, 60):
        pytest.skip("cannot do it")
    X, Y = history(kind)
    fitted = method.fit(problem, X, Y, 0)
    constant = problem.mean_cost(np.tile(problem.loss.best_constant(Y, np.ones(60)), (60, 1)), Y)
    assert problem.mean_cost(fitted.decide(X), Y) < constant + 0.1 * abs(constant)


@pytest.mark.parametrize("in_time", [False, True])
def test_folds_are_everybodys_and_keep_time(in_time):
    problem = Problem(hr.Newsvendor(1, 3), in_time=in_time)
    folds = problem.folds(50, 3)
    assert len(folds) == FOLDS
    for (kept, held), (again, _) in zip(folds, problem.folds(50, 3), strict=True):
        assert np.array_equal(kept, again)
        assert not set(kept) & set(held)
        assert not in_time or kept.max() < held.min()


def test_the_setting_of_least_held_out_cost_is_chosen():
    class Fixed(Method):
        name, what = "fixed", "an order"

        def grid(self, problem):
            return [{"order": order} for order in (0.0, 5.0, 9.0)]

        def learn(self, problem, X, Y, setting, seed):
            return lambda contexts: np.full((len(contexts), 1), setting["order"])

    Y = np.full((40, 1), 6.0)
    fitted = Fixed().fit(PROBLEMS["newsvendor"], np.zeros((40, 1)), Y, 0)
    assert fitted.chosen == "order 5.0"


def test_decisions_are_moved_to_where_they_may_lie():
    draw = np.random.default_rng(0)
    weights = on_simplex(draw.normal(size=(20, 4)))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    assert weights.min() >= 0
    inside = draw.dirichlet(np.ones(4), size=5)
    np.testing.assert_allclose(on_simplex(inside), inside, atol=1e-12)
    moved = PROBLEMS["portfolio"].feasible(np.array([[-3.0, 2.0, 0.0, 0.0]]), 3)
    np.testing.assert_allclose(moved, [[-3.0, 1.0, 0.0, 0.0]])
    assert PROBLEMS["two-stage"].feasible(np.array([[-1.0, 2.0]]), 2).tolist() == [[0.0, 2.0]]


def test_a_file_brings_its_methods_and_mistakes_are_sentences(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        from_file(str(tmp_path / "none.py"))
    empty = tmp_path / "empty.py"
    empty.write_text("x = 1\n")
    with pytest.raises(ValueError, match="must have a tuple METHODS"):
        from_file(str(empty))


def test_every_course_says_what_it_is_and_where_data_are_missing(tmp_path):
    for course in courses(str(tmp_path)).values():
        assert course.what
        if course.missing():
            assert course.missing().startswith("needs ")
            continue
        for scale in ("tiny", "quick", "full"):
            assert course.rounds(scale)
        few, all_ = course.rounds("quick"), course.rounds("full")
        assert all(cell in all_ for cell in few)


@pytest.mark.parametrize("name", ["newsvendor", "inventory"])
def test_a_drawn_round_judges_the_oracle_at_its_floor(name):
    course = courses("")[name]
    made = course.round(course.rounds("tiny")[0])
    cost = made.judge(
        lambda X: np.tile(
            made.problem.loss.best_constant(made.Y, np.ones(len(made.Y))), (len(X), 1)
        )
    )
    assert cost.shape == (1,)
    assert math.isfinite(made.floor)
    assert cost[0] > made.floor
