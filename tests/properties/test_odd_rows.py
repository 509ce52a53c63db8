"""Rows that look like typos, handed to what judges a policy: named once, with what they change."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.cli.commands import app
from hedgerow.data.spreads import beside_training
from tests.problems import QUICK, history

ROWS = 120
ODD = 17


@pytest.fixture(scope="module")
def policy():
    X, y = history(ROWS)
    model = hr.KL(penalty=2.0, loss_scale="auto")
    made = hr.RobustPolicy(
        hr.Newsvendor(1, 3), model, hr.Affine(), hr.EmpiricalNominal(), QUICK, random_state=0
    ).fit(X, y)
    return hr.remember(made, X, y, promise=10.0)


def spoilt(what, factor=1000.0, rows=60):
    """Rows that the policy has not seen, one of them with a slipped decimal point."""
    X, y = history(rows, seed=1)
    if what == "Y":
        y[ODD] *= factor
    else:
        X[ODD] = factor * np.sign(X[ODD])
    return X, y


def told(call):
    """What was said of odd rows."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in said if issubclass(one.category, hr.OutlierWarning)]


JUDGES = {
    "robust_value": lambda policy, X, y: hr.robust_value(policy, X, y),
    "worst_case": lambda policy, X, y: hr.worst_case(policy, X, y),
    "calibrate": lambda policy, X, y: hr.calibrate(policy, X, y, 0.8),
    "calibrate in folds": lambda policy, X, y: hr.calibrate(policy, X, y, 0.8, held_out="folds"),
    "watch": lambda policy, X, y: hr.watch(policy, X, y),
    "watch beside history": lambda policy, X, y: hr.watch(policy, *history(), history=(X, y)),
    "radius_menu": lambda policy, X, y: hr.radius_menu(policy, X, y, [0.1, 0.2]),
    "radius_menu kept": lambda policy, X, y: hr.radius_menu(policy, X, y, [0.1], retrain=False),
    "radius_in_words": lambda policy, X, y: hr.radius_in_words(policy, X, y, 0.1),
}


@pytest.mark.parametrize("what", ["X", "Y"])
@pytest.mark.parametrize("judge", JUDGES.values(), ids=JUDGES)
def test_whoever_judges_names_the_row_once(policy, judge, what):
    """557 instead of 9, without a word, is what they gave before."""
    X, y = spoilt(what)
    said = told(lambda: judge(policy, X, y))
    assert len(said) == 1, said
    assert re.search(rf"1 row of {what} looks like a typo \(counted from 0: {ODD}\)", said[0])


@pytest.mark.parametrize("judge", JUDGES.values(), ids=JUDGES)
def test_of_clean_rows_nothing_is_said(policy, judge):
    assert told(lambda: judge(policy, *history(60, seed=1))) == []


def test_what_the_row_changes_is_said_and_true(policy):
    X, y = spoilt("Y")
    [said] = told(lambda: hr.robust_value(policy, X, y))
    every, rest = (
        float(found)
        for found in re.search(r"a row costs ([\d.]+) on average, ([\d.]+) without", said).groups()
    )
    losses = policy.losses(X, y)
    assert every == pytest.approx(losses.mean(), rel=1e-2)  # as many digits as are printed
    assert rest == pytest.approx(np.delete(losses, ODD).mean(), rel=1e-2)
    assert every > 20 * rest


def test_rows_without_weight_are_not_judged(policy):
    X, y = spoilt("Y")
    weights = np.ones(len(y))
    weights[ODD] = 0
    assert told(lambda: hr.robust_value(policy, X, y, sample_weight=weights)) == []


def test_a_policy_that_refuses_typos_refuses_them_here_too():
    X, y = history(ROWS)
    strict = hr.RobustPolicy(
        hr.Newsvendor(1, 3), hr.ERM(), hr.Constant(), hr.EmpiricalNominal(), QUICK, outliers="error"
    ).fit(X, y)
    with pytest.raises(ValueError, match="looks like a typo"):
        hr.robust_value(strict, *spoilt("Y"))


def test_another_unit_in_all_rows_is_named(policy):
    """Grams in place of kilograms: beside one another these rows look alike."""
    X, y = history(60, seed=1)
    [said] = told(lambda: hr.robust_value(policy, X, 1000 * y))
    assert int(re.match(r"(\d+) rows of Y look like typos", said)[1]) > 40
    [said] = told(lambda: hr.robust_value(policy, 1e4 + 0 * X, y))
    assert "60 rows of X look like typos" in said


def test_a_level_that_has_moved_is_no_typo(policy):
    X, y = history(60, seed=1)
    assert told(lambda: hr.robust_value(policy, X, y + 100)) == []
    assert told(lambda: hr.robust_value(policy, X + 10, y)) == []


def test_rare_values_are_no_typos():
    """A holiday among 100 rows, where training had one in 1,000: 31 of its spreads away."""
    values = np.zeros((100, 1))
    values[3] = 1.0
    mass, spread = np.ones(100), np.array([np.sqrt(0.001 * 0.999)])
    assert beside_training("X", values, mass, np.array([0.001]), spread) is None
    values[3] = 1000.0
    assert beside_training("X", values, mass, np.array([0.001]), spread).rows[3]


def test_one_row_alone_is_seen_beside_training(policy):
    odd = policy.units_.x_centre + 5000 * policy.units_.x_spread
    assert told(lambda: policy.tell_typos(odd[None], [5.0]))
    assert not told(lambda: policy.tell_typos(odd[None] * 1e-3, [5.0]))


@pytest.mark.parametrize("name", ["steak", "koefte", "lamb"])
def test_real_rows_that_came_later_are_no_typos(name):
    data = hr.datasets.load_restaurant(name)
    made = hr.RobustPolicy(
        hr.Newsvendor(1, 3), hr.ERM(), hr.Constant(), hr.EmpiricalNominal(), QUICK
    ).fit(data.data[:500], data.target[:500])
    assert told(lambda: made.tell_typos(data.data[500:], data.target[500:])) == []


def test_the_command_and_the_page_say_so(policy, tmp_path):
    X, y = spoilt("Y")
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(demand=y)
    clean, test = tmp_path / "clean.csv", tmp_path / "test.csv"
    table.drop(index=ODD).to_csv(clean, index=False)
    table.to_csv(test, index=False)
    own = hr.RobustPolicy(
        hr.Newsvendor(1, 3), hr.ERM(), hr.Constant(), hr.EmpiricalNominal(), QUICK
    ).fit(table[["a", "b", "c"]].drop(index=ODD), table["demand"].drop(index=ODD))
    own.save(tmp_path / "policy.hedgerow")
    run = CliRunner()
    asked = ["evaluate", str(tmp_path / "policy.hedgerow"), str(test), "--outcome", "demand"]
    found = run.invoke(app, asked)
    assert found.exit_code == 0, found.output
    assert found.output.count("looks like a typo") == 1
    asked[2] = str(clean)
    assert "typo" not in run.invoke(app, asked).output
    page = tmp_path / "page.html"
    said = told(lambda: hr.report.write_report(own, table[["a", "b", "c"]], y, page))
    assert len(said) == 1
