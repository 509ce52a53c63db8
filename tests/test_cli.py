import os
import subprocess
import sys
from contextlib import contextmanager
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import TimeSeriesSplit
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow import cli
from hedgerow.cli import composing, deciding, work
from hedgerow.cli.commands import app
from hedgerow.cli.options import NominalKind
from hedgerow.data.table_files import read_table
from hedgerow.data.table_writing import write_table
from hedgerow.describe.numbers import number
from hedgerow.fitting import Parts

RUNNER = CliRunner(env={"COLUMNS": "80", "TERM": "dumb"})
COSTS = ["--holding", "1", "--stockout", "3"]
QUICK = ["--rule", "affine", "--steps", "100", "--model", "erm"]


def call(*arguments):
    return RUNNER.invoke(app, [str(argument) for argument in arguments])


def flat(text):
    return " ".join(text.split())


def history(rows=80, seed=0):
    rng = np.random.default_rng(seed)
    days = pd.date_range("2020-01-01", periods=rows)
    sky = rng.choice(["rain", "sun"], rows)
    demand = 20 + 10 * (sky == "sun") + 5 * (days.day_of_week == 5) + rng.uniform(0, 5, rows)
    return pd.DataFrame(
        {
            "day": days.strftime("%Y-%m-%d"),
            "sky": sky,
            "wind": rng.uniform(0, 9, rows).round(2),
            "demand": demand.round(2),
            "other": (100 - demand).round(2),
        }
    )


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.csv"
    write_table(history(), path)
    return path


@pytest.fixture
def fitted(train, tmp_path):
    path = tmp_path / "policy.hedgerow"
    features = ["--features", "day,sky", "--features", "wind"]
    result = call("fit", train, "--outcome", "demand", *features, *COSTS, *QUICK, "-o", path)
    assert result.exit_code == 0, result.output
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_fit_decide_evaluate(tmp_path, suffix):
    train, new, out = (tmp_path / f"{name}.{suffix}" for name in ("train", "new", "out"))
    policy_path = tmp_path / "policy.hedgerow"
    test = history(30, seed=1)
    write_table(history(), train)
    write_table(test[["wind", "sky", "day", "demand"]].assign(note="kept"), new)

    result = call(
        *("fit", train, "--outcome", "demand", "--features", "day,sky,wind"),
        *(*COSTS, *QUICK, "-o", policy_path),
    )
    assert result.exit_code == 0, result.output
    said = flat(result.stdout)
    assert "80 rows" in said
    assert "6 from 3 columns" in said
    assert "day weekday, month and day of the year" in said
    assert "sky one 0/1 feature for each of 2 values" in said
    assert "erm" in said
    assert "100 steps" in said
    policy = hr.load(policy_path)
    names = ["day_weekday", "day_month", "day_day_of_year", "sky_rain", "sky_sun", "wind"]
    assert list(policy.feature_names_in_) == names
    assert f"robust value {policy.robust_value_.value:.4g}" in said

    result = call("decide", policy_path, new, "-o", out)
    assert result.exit_code == 0, result.output
    decided = read_table(out)
    assert list(decided.columns) == ["wind", "sky", "day", "demand", "note", "decision", "outside"]
    days = pd.to_datetime(test.day)
    by_hand = pd.DataFrame(
        {
            "day_weekday": days.dt.day_of_week,
            "day_month": days.dt.month,
            "day_day_of_year": days.dt.day_of_year,
            "sky_rain": test.sky == "rain",
            "sky_sun": test.sky == "sun",
            "wind": test.wind,
        }
    ).astype(float)
    np.testing.assert_allclose(decided.decision, policy.predict(by_hand), rtol=1e-12)

    result = call("evaluate", policy_path, new)
    assert result.exit_code == 0, result.output
    said = flat(result.stdout)
    losses = policy.losses(by_hand, test.demand)
    error = losses.std(ddof=1) / np.sqrt(30)
    assert f"mean loss {losses.mean():.4g} ± {error:.2g} (standard error)" in said
    assert f"median {np.median(losses):.4g}" in said
    assert f"worst {losses.max():.4g}" in said
    constant = policy.units_.constant
    assert (
        f"best constant {policy.loss(constant, test.demand.to_numpy()[:, None]).mean():.4g}" in said
    )


def sold_out(tmp_path, column):
    """History of sales that stock cut off, with a column that says so."""
    table = history().rename(columns={"demand": "sold"}).drop(columns="other")
    stock = np.random.default_rng(0).uniform(20, 45, len(table)).round(2)
    cut = table.sold > stock
    table["sold"] = np.minimum(table.sold, stock)
    path = tmp_path / "sales.csv"
    write_table(table.assign(full=column(cut)), path)
    return path, cut


@pytest.mark.parametrize("kind", [int, bool])
def test_sales_of_days_that_sold_out(tmp_path, kind):
    sales, cut = sold_out(tmp_path, lambda cut: cut.astype(kind))
    told, naive = tmp_path / "told.hedgerow", tmp_path / "naive.hedgerow"
    form = ("--outcome", "sold", *COSTS, *QUICK)
    result = call("fit", sales, *form, "--censored", "full", "-o", told)
    assert result.exit_code == 0, result.output
    assert f"censored {cut.sum()} rows" in flat(result.stdout)
    names = "day,sky,wind"
    assert call("fit", sales, *form, "--features", names, "-o", naive).exit_code == 0
    table = read_table(sales).drop(columns=["full", "sold"])
    orders = [
        policy.predict(policy.encoder_.transform(table)) for policy in map(hr.load, (told, naive))
    ]
    assert orders[0].mean() > orders[1].mean()


@pytest.mark.parametrize(
    ("more", "column", "words"),
    [
        ((), lambda cut: cut + 0.5, "must hold 0 and 1, or true and false"),
        ((), lambda cut: cut.map({True: "yes", False: "no"}), "full"),
        ((), lambda cut: True, "Every row is censored"),
        (("--features", "sky,full"), lambda cut: cut, "cannot be a feature as well"),
        (("--outcome", "wind"), lambda cut: cut, "is understood for one --outcome"),
    ],
)
def test_columns_that_do_not_say_which_rows_are_censored(tmp_path, more, column, words):
    sales, _ = sold_out(tmp_path, column)
    result = call("fit", sales, "--outcome", "sold", "--censored", "full", *more, *COSTS, *QUICK)
    assert result.exit_code != 0
    assert words in flat(result.output.replace("│", ""))


def test_a_censored_column_that_is_not_there(tmp_path):
    sales, _ = sold_out(tmp_path, lambda cut: cut)
    for name, words in (("empty", "no column 'empty'"), ("sold", "the outcome itself")):
        result = call("fit", sales, "--outcome", "sold", "--censored", name, *COSTS, *QUICK)
        assert result.exit_code != 0
        assert words in flat(result.output.replace("│", ""))


def test_several_outcomes(train, tmp_path):
    path = tmp_path / "two.hedgerow"
    outcomes = ["--outcome", "demand", "--outcome", "other"]
    costs = ["--holding", "1", "--holding", "2", "--stockout", "3"]
    result = call("fit", train, *outcomes, *costs, *QUICK, "-o", path)
    assert result.exit_code == 0, result.output
    policy = hr.load(path)
    np.testing.assert_array_equal(policy.loss.holding, [1, 2])
    result = call("decide", path, train)
    table = pd.read_csv(pd.io.common.StringIO(result.stdout))
    assert list(table.columns[-3:]) == ["decision_demand", "decision_other", "outside"]
    said = flat(call("evaluate", path, train).stdout)
    parts = [
        hr.Newsvendor(h, 3)(z[:, None], y[:, None]).mean()
        for h, z, y in (
            (1, table.decision_demand.to_numpy(), table.demand.to_numpy()),
            (2, table.decision_other.to_numpy(), table.other.to_numpy()),
        )
    ]
    assert f"demand {parts[0]:.4g} other {parts[1]:.4g}" in said
    assert f"mean loss {sum(parts):.4g}" in said


def test_decide_prints_csv_and_nothing_else(fitted, train):
    result = call("decide", fitted, train)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "day,sky,wind,demand,other,decision,outside"
    assert len(lines) == 81
    assert call("decide", fitted, train, "-o", "-").stdout == result.stdout


@pytest.mark.slow
def test_the_same_seed_gives_the_same_file(train, tmp_path):
    paths = [tmp_path / f"{name}.hedgerow" for name in "abc"]
    for path, seed in zip(paths, (3, 3, 4), strict=True):
        options = ["--rule", "forest", "--trees", "3", "--depth", "1", "--steps", "100"]
        result = call(
            *("fit", train, "--outcome", "demand", "--features", "sky,wind", *COSTS, *options),
            *("--seed", seed, "-o", path),
        )
        assert result.exit_code == 0, result.output
    first, second, third = (path.read_bytes() for path in paths)
    assert first == second != third


@pytest.mark.parametrize(
    ("options", "kind", "parameters"),
    [
        ([], "CausalSinkhorn", {"penalty": 10, "epsilon": 0.01, "order": 2}),
        pytest.param(
            ["--model", "sinkhorn", "--penalty", "7"],
            "Sinkhorn",
            {"penalty": 7},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["--model", "causal-sinkhorn", "--penalty", "50", "--epsilon", "0.3", "--order", "1"],
            "CausalSinkhorn",
            {"penalty": 50, "epsilon": 0.3, "order": 1},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["--model", "sinkhorn", "--radius", "0.9"],
            "Sinkhorn",
            {"penalty": None, "radius": 0.9},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["--model", "causal-wasserstein", "--order", "2"],
            "CausalWasserstein",
            {"penalty": 10},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["--model", "wasserstein", "--radius", "0.1", "--order", "1"],
            "Wasserstein",
            {"penalty": None, "radius": 0.1, "order": 1},
            marks=pytest.mark.slow,
        ),
        (["--model", "chi-square", "--penalty", "4"], "ChiSquare", {"penalty": 4}),
        pytest.param(
            ["--model", "total-variation", "--radius", "0.1"],
            "TotalVariation",
            {"penalty": None, "radius": 0.1},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["--model", "likelihood-ratio", "--radius", "4"],
            "LikelihoodRatio",
            {"penalty": None, "radius": 4.0},
            marks=pytest.mark.slow,
        ),
        (["--model", "kl", "--penalty", "4"], "KL", {"penalty": 4}),
        (["--model", "kl", "--radius", "0.1"], "KL", {"penalty": None, "radius": 0.1}),
        (["--model", "erm"], "ERM", {}),
    ],
)
def test_every_model_can_be_asked_for(train, tmp_path, options, kind, parameters):
    path = tmp_path / "policy.hedgerow"
    quick = ["--rule", "constant", "--steps", "100"]
    chosen = ["--outcome", "demand", "--features", "wind"]
    result = call("fit", train, *chosen, *COSTS, *quick, *options, "-o", path)
    assert result.exit_code == 0, result.output
    model = hr.load(path).ambiguity
    assert type(model).__name__ == kind
    assert {name: getattr(model, name) for name in parameters} == parameters
    scales = [v for name, v in model.get_params().items() if name.endswith("_scale")]
    assert all(scale == "auto" for scale in scales)
    assert f"{options[1] if options else 'causal-sinkhorn'}" in result.stdout
    assert ("that goes with the radius" in result.stdout) == ("--radius" in options)


@pytest.mark.parametrize(
    ("rule", "kind"),
    [("forest", "SoftForest"), ("two-layer", "TwoLayer"), ("affine", "Affine")],
)
def test_every_rule_can_be_asked_for(train, tmp_path, rule, kind):
    path = tmp_path / "policy.hedgerow"
    chosen = ["--outcome", "demand", "--features", "wind", "--model", "erm", "--steps", "100"]
    assert call("fit", train, *chosen, *COSTS, "--rule", rule, "-o", path).exit_code == 0
    assert type(hr.load(path).rule).__name__ == kind


SEARCHED = ["--outcome", "demand", "--features", "wind,sky", *COSTS, "--steps", "50"]


@pytest.mark.parametrize(
    ("options", "model", "nominals", "folds"),
    [
        pytest.param(
            ["--search", "time", "--order", "1"],
            hr.CausalSinkhorn(1, 1, order=1, **composing.AUTO),
            [hr.NeighbourNominal(), hr.EmpiricalNominal()],
            (TimeSeriesSplit(5), "5 folds in order of time"),
            marks=pytest.mark.slow,
        ),
        (
            ["--search", "folds", "--model", "kl"],
            hr.KL(1, loss_scale="auto"),
            [hr.EmpiricalNominal()],
            (5, "5 folds"),
        ),
    ],
)
def test_search_chooses_as_the_library_does(train, tmp_path, options, model, nominals, folds):
    path = tmp_path / "policy.hedgerow"
    result = call("fit", train, *SEARCHED, "--trees", 2, "--depth", 1, *options, "-o", path)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    policy, table = hr.load(path), read_table(train)
    X = work.features_of(policy, table)
    search = hr.RobustPolicyCV(
        hr.Newsvendor(1, 3),
        model,
        nominals=nominals,
        rules=[hr.SoftForest(trees=2, depth=1)],
        solver=hr.SCSC(nodes=1, steps=50),
        cv=folds[0],
        random_state=0,
    ).fit(X, table.demand)
    best, said = search.best_params_, flat(result.stdout)
    words = "empirical risk"
    if np.isfinite(best["penalty"]):
        words = f"penalty {best['penalty']:g}"
        words += f", epsilon {best['epsilon']:g}" if "epsilon" in best else ""
    error = search.cv_results_.standard_error[0]
    assert (
        f"chosen {words}, {best['steps']} of 50 steps, by {folds[1]}: "
        f"held-out loss {-search.best_score_:.4g} ± {error:.2g} nominal" in said
    )
    assert f"{best['steps']} steps in-sample" in said
    assert repr(policy.nominal) == repr(best["nominal"])
    assert f"nominal {type(policy.nominal).__name__.removesuffix('Nominal').lower()}:" in said
    assert "occurs once" not in result.output
    np.testing.assert_array_equal(policy.predict(X), search.predict(X))
    assert call("decide", path, train).exit_code == 0


@pytest.mark.parametrize(("asked", "temperatures"), [([], [1, 4]), (["--depth", 1], [1])])
def test_a_search_tries_softer_gates_unless_a_rule_was_asked_for(
    train, tmp_path, monkeypatch, asked, temperatures
):
    tried = []

    def last_of(loss, *, rules, **settings):
        tried.extend(rule.temperature for rule in rules)
        return hr.RobustPolicyCV(loss, rules=rules[-1:], **settings)

    monkeypatch.setattr("hedgerow.cli.choosing.RobustPolicyCV", last_of)
    path = tmp_path / "policy.hedgerow"
    options = ["--model", "erm", "--search", "folds", *asked]
    result = call("fit", train, *SEARCHED, *options, "-o", path)
    assert result.exit_code == 0, result.output
    assert tried == temperatures
    assert hr.load(path).rule.temperature == temperatures[-1]
    assert ("temperature 4, " in flat(result.stdout)) == (temperatures[-1] == 4)


@pytest.mark.parametrize("penalty", [pytest.param(5.0, marks=pytest.mark.slow), np.inf])
def test_the_model_named_is_the_model_chosen(train, tmp_path, monkeypatch, penalty):
    only = partial(hr.RobustPolicyCV, penalties=[penalty])
    monkeypatch.setattr("hedgerow.cli.choosing.RobustPolicyCV", only)
    path = tmp_path / "policy.hedgerow"
    asked = ["--model", "sinkhorn", "--search", "folds", "--rule", "constant"]
    result = call("fit", train, *SEARCHED, *asked, "-o", path)
    assert result.exit_code == 0, result.output
    said, model = flat(result.stdout), hr.load(path).ambiguity
    if np.isfinite(penalty):
        assert (model.penalty, model.order) == (5, 2)
        assert f"model sinkhorn, penalty 5, epsilon {model.epsilon:g}, order 2 chosen" in said
        assert f"chosen penalty 5, epsilon {model.epsilon:g}, " in said
    else:
        assert isinstance(model, hr.ERM)
        assert "model erm chosen empirical risk, " in said


def test_search_of_the_empirical_risk_chooses_steps_alone(train, tmp_path):
    path = tmp_path / "policy.hedgerow"
    asked = ["--model", "erm", "--search", "folds", "--rule", "affine", "-o", path]
    result = call("fit", train, *SEARCHED, *asked)
    assert result.exit_code == 0, result.output
    policy = hr.load(path)
    steps = policy.solver.stop_after or policy.solver.steps
    assert f"model erm chosen {steps} of 50 steps, by 5 folds: held-out" in flat(result.stdout)
    assert isinstance(policy.ambiguity, hr.ERM)


def test_inventory_with_costs_from_a_file(tmp_path):
    drawn = hr.datasets.make_inventory(60, 2, random_state=0)
    table = pd.DataFrame(
        np.hstack([drawn.data, drawn.target]), columns=["sun", "rain", "good", "fair", "plain"]
    )
    data, costs, path = (tmp_path / name for name in ("demand.csv", "costs.toml", "p.hedgerow"))
    table.to_csv(data, index=False)
    costs.write_text(
        "holding = [1, 0.7, 0.6]\nshortage = [1.8, 1.6, 1.2]\n"
        "substitution = [[0, 1.7, 2], [inf, 0, 1.5], [inf, inf, 0]]\n"
    )
    outcomes = ["--outcome", "good", "--outcome", "fair", "--outcome", "plain"]
    options = ["--problem", "inventory", "--costs", costs, "--model", "erm", "--rule", "constant"]
    result = call("fit", data, *outcomes, *options, "--steps", "100", "-o", path)
    assert result.exit_code == 0, result.output
    assert "inventory with substitution" in result.stdout
    policy = hr.load(path)
    expected = hr.InventorySubstitution(*hr.datasets.paper_inventory_costs())
    z, y = np.ones((4, 3)), np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(policy.loss(z, y), expected(z, y))
    for text, message in (
        ("holding = [1", "not valid TOML"),
        ("holding = 1", "has no entry 'shortage'"),
        ("colour = 1", "has an entry 'colour'"),
        ("holding=1\nshortage=1\nsubstitution=[[0, 1], [1, 0]]", "costs of 2 product(s)"),
    ):
        costs.write_text(text)
        result = call("fit", data, *outcomes, *options, "-o", path, "--force")
        assert result.exit_code == 1
        assert message in result.stderr


@pytest.mark.parametrize("nominal", NominalKind)
def test_nominals_are_named_and_auto_is_the_library_s_own(tmp_path, train, nominal):
    path = tmp_path / "policy.hedgerow"
    options = ["--outcome", "demand", *COSTS, *QUICK, "--nominal", nominal]
    assert call("fit", train, *options, "-o", path).exit_code == 0
    found = hr.load(path).nominal
    assert found is None if nominal == "auto" else nominal in type(found).__name__.lower()


def test_help_states_the_defaults_that_the_library_has():
    said = flat(call("fit", "--help").stdout.replace("│", " "))
    _, ambiguity, rule, _, solver = Parts.of(hr.Newsvendor(1, 1))
    assert f"Price of moving data; default: √rows, from {ambiguity.penalty:g}." in said
    assert f"Spread of the worst case; default: {ambiguity.epsilon:g}." in said
    moved = "Power of the distance moved, any number from 1 on"
    assert f"{moved}; default: {ambiguity.order}." in said
    assert f"Trees of the forest; default: {rule.trees}." in said
    assert f"Questions per tree; default: {rule.depth}." in said
    assert f"Training steps; default: {solver.steps} up to 1,000 rows." in said


@pytest.mark.parametrize("command", [[], ["fit"], ["decide"], ["evaluate"], ["demo"]])
def test_help_fits_eighty_columns(command):
    result = call(*command, "--help")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_version():
    result = call("--version")
    assert (result.exit_code, result.stdout) == (0, f"hedgerow {hr.__version__}\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--outcome", "sales"], "There is no column 'sales'; the table has day, sky"),
        (["--outcome", "sky"], "Column 'sky' must hold numbers"),
        (["--features", "fog"], "There is no column 'fog' to use as a feature"),
        (["--features", "demand,sky"], "Column 'demand' is an outcome, so it cannot be a feature"),
        (["--holding", "-1"], "holding must not be negative"),
        (["--penalty", "-1"], "penalty must be greater than 0"),
        (["--penalty", "0.01", "--order", "1"], "the penalty must be greater than"),
        (["--epsilon", "0"], "epsilon must be greater than 0"),
        (["--order", "0"], "order must be at least 1"),
        (["--trees", "0"], "trees must be at least 1"),
        (["--depth", "99"], "depth must be at most 12"),
        (["--steps", "0"], "steps must be at least 1"),
        (["--steps", "0", "--search", "folds"], "steps must be at least 1"),
        (["-o", "nowhere/policy.hedgerow"], "There is no folder nowhere to write policy.hedgerow"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_1(train, options, message):
    given = {"--outcome": "demand", "--holding": "1", "--stockout": "3"}
    given |= dict(zip(options[::2], options[1::2], strict=True))
    result = call("fit", train, *(part for pair in given.items() for part in pair))
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stockout", "3"], "--holding"),
        ([*COSTS, "--holding", "2"], "give one number, or one per outcome (1); got 2"),
        ([*COSTS, "--model", "erm", "--penalty", "1"], "does not apply to --model erm"),
        ([*COSTS, "--model", "kl", "--epsilon", "1"], "does not apply to --model kl"),
        ([*COSTS, "--model", "erm", "--radius", "1"], "does not apply to --model erm"),
        ([*COSTS, "--penalty", "1", "--radius", "1"], "a penalty or a radius, not both"),
        ([*COSTS, "--search", "folds", "--penalty", "1"], "--penalty: is chosen by --search"),
        ([*COSTS, "--search", "time", "--radius", "1"], "--radius: is chosen by --search"),
        ([*COSTS, "--search", "time", "--epsilon", "1"], "--epsilon: is chosen by --search"),
        ([*COSTS, "--search", "luck"], "luck"),
        ([*COSTS, "--rule", "affine", "--trees", "3"], "does not apply to --rule affine"),
        ([*COSTS, "--costs", "c.toml"], "does not apply to --problem newsvendor"),
        (["--problem", "inventory"], "is needed for --problem inventory"),
        (["--problem", "inventory", *COSTS], "goes into the file of --costs"),
        ([*COSTS, "--model", "magic"], "magic"),
        ([*COSTS, "--problem", "knapsack"], "knapsack"),
        ([*COSTS, "--outcome", "demand"], "names the column 'demand' more than once"),
    ],
)
def test_wrong_usage_has_exit_code_2(train, options, message):
    result = call("fit", train, "--outcome", "demand", *options)
    assert result.exit_code == 2
    assert message in flat(result.stderr.replace("│", " "))


def test_bad_files_get_one_sentence(fitted, train, tmp_path):
    strange = tmp_path / "strange.csv"
    write_table(history().assign(sky="fog"), strange)
    named = tmp_path / "named.csv"
    write_table(history().assign(decision=1), named)
    foreign = tmp_path / "foreign.hedgerow"
    foreign.write_bytes(b"not a policy")
    for arguments, message in (
        (["decide", fitted, tmp_path / "none.csv"], "There is no file"),
        (["decide", tmp_path / "none.hedgerow", train], "There is no policy file"),
        (["decide", foreign, train], "is not a readable policy file"),
        (["decide", fitted, strange], "Column 'sky' holds 'fog', which was not seen in training"),
        (["decide", fitted, named], "already has a column 'decision'"),
        (["decide", fitted, train, "-o", tmp_path / "out.xls"], "save it as .xlsx or .csv"),
        (["evaluate", fitted, train, "--outcome", "sales"], "There is no column 'sales'"),
        (["evaluate", fitted, train, "--outcome", "demand", "--outcome", "other"], "2 column(s)"),
        (["evaluate", fitted, train, *["--outcome", "demand"] * 2], "'demand' more than once"),
        (["demo", "--out", train], "File exists"),
    ):
        result = call(*arguments)
        assert result.exit_code == 1, arguments
        assert message in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1
        assert result.stdout == ""


def test_a_failed_decide_leaves_the_old_file(fitted, train, tmp_path, monkeypatch):
    out = tmp_path / "out.csv"
    out.write_text("old")

    def half(self, target, **_):
        target.write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", half)
    result = call("decide", fitted, train, "-o", out, "--force")
    assert (result.exit_code, result.stderr) == (1, "disk full\n")
    assert out.read_text() == "old"
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_debug_shows_where_and_unexpected_errors_say_so(fitted, train, monkeypatch):
    result = call("--debug", "decide", fitted, "none.csv")
    assert isinstance(result.exception, FileNotFoundError)
    result = RUNNER.invoke(app, ["decide", str(fitted), "none.csv"], env={"HEDGEROW_DEBUG": "1"})
    assert isinstance(result.exception, FileNotFoundError)

    def broken(*_):
        raise KeyError("odd")

    monkeypatch.setattr(deciding, "read_found", broken)
    result = call("decide", fitted, train)
    assert result.exit_code == 1
    assert "failed unexpectedly (KeyError: 'odd'); --debug shows where" in result.stderr


def test_warnings_are_one_line_without_file_names(tmp_path):
    train = tmp_path / "train.csv"
    write_table(history().assign(wind=1.0), train)
    chosen = ["--outcome", "demand", "--features", "wind,sky"]
    out = ["-o", tmp_path / "policy.hedgerow"]
    result = call("fit", train, *chosen, *COSTS, *QUICK, *out)
    assert result.exit_code == 0
    words = "Feature(s) wind never vary in the training data, or hardly, and are ignored."
    expected = f"Warning: {words}\n"
    assert result.stderr == expected
    result = call("fit", train, *chosen, *COSTS, *QUICK, "--search", "folds", *out, "--force")
    assert result.exit_code == 0
    assert result.stderr == expected


def interrupting(after):
    @contextmanager
    def progress(_):
        calls = []

        def report(*arguments):
            calls.append(arguments)
            if len(calls) > after:
                raise KeyboardInterrupt

        yield report

    return progress


def test_ctrl_c_keeps_what_was_learned(train, tmp_path, monkeypatch):
    path = tmp_path / "policy.hedgerow"
    monkeypatch.setattr(work, "progress", interrupting(after=1))
    chosen = ["--outcome", "demand", "--features", "wind,sky", "--model", "erm", "--rule", "affine"]
    result = call("fit", train, *chosen, *COSTS, "--steps", "900", "-o", path)
    assert result.exit_code == 0, result.output
    assert "interrupted, 200 steps" in flat(result.stdout)
    assert "what had been learned by then is what was saved" in flat(result.stdout)
    policy = hr.load(path)
    assert policy.status_ == "interrupted"
    assert len(policy.history_) == 200


def test_ctrl_c_before_training_saves_nothing(train, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(work, "read_found", interrupted)
    out = tmp_path / "policy.hedgerow"
    result = call("fit", train, "--outcome", "demand", *COSTS, "-o", out)
    assert (result.exit_code, result.stderr) == (130, "Stopped; nothing was saved.\n")
    assert not out.exists()


def test_ctrl_c_in_a_search_leaves_the_old_file(train, tmp_path, monkeypatch):
    path = tmp_path / "policy.hedgerow"
    path.write_text("old")
    monkeypatch.setattr("hedgerow.cli.choosing.counting", interrupting(after=1))
    asked = ["--model", "erm", "--search", "folds", "--rule", "affine", "-o", path, "--force"]
    result = call("fit", train, *SEARCHED, *asked)
    assert (result.exit_code, result.stderr) == (130, "Stopped; nothing was saved.\n")
    assert (result.stdout, path.read_text()) == ("", "old")


def test_policies_saved_from_python_work_by_their_feature_names(tmp_path):
    table = history()[["wind", "demand"]]
    path, data = tmp_path / "policy.hedgerow", tmp_path / "data.csv"
    write_table(table, data)
    solver = hr.NestedSGD(steps=100)
    policy = hr.RobustPolicy(hr.Newsvendor(1, 3), hr.ERM(), hr.Affine(), solver=solver)
    policy.fit(table[["wind"]], table.demand).save(path)
    assert "decision" in call("decide", path, data).stdout
    assert "name them with --outcome" in call("evaluate", path, data).stderr
    said = call("evaluate", path, data, "--outcome", "demand").stdout
    assert "mean loss" in said
    assert "robust value" not in said  # nobody asked for it before the policy was saved
    policy.fit(table[["wind"]].to_numpy(), table.demand).save(path)
    assert "does not know its columns' names" in call("decide", path, data).stderr


def test_a_missing_extra_is_named(monkeypatch):
    for module in ("app", "learning", "asking", "commands"):
        monkeypatch.delitem(sys.modules, f"hedgerow.cli.{module}")
        monkeypatch.delattr(cli, module)
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit, match=r"needs typer, .*: pip install 'hedgerow\[cli\]'"):
        cli.main()


@pytest.mark.slow
def test_compiled_programs_are_kept_in_the_users_cache(tmp_path):
    script = (
        "import jax; from hedgerow.cli.work import prepare; prepare(); "
        "print(jax.config.jax_compilation_cache_dir)"
    )
    (tmp_path / "file").write_text("")
    for home, expected in (
        (tmp_path, str(tmp_path / "hedgerow" / "programs")),
        (tmp_path / "file", "None"),
    ):
        run = subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"XDG_CACHE_HOME": str(home)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.startswith(expected)


def test_help_does_not_wait_for_jax():
    script = (
        "import sys; from hedgerow.cli.commands import app; "
        "print([name for name in ('jax', 'pandas', 'sklearn') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


class TestExplain:
    def test_one_row(self, fitted, train):
        result = call("explain", fitted, train, "--row", 12)
        assert result.exit_code == 0, result.output
        policy, table = hr.load(fitted), read_table(train)
        X = work.features_of(policy, table)
        found = hr.explain.attribute(policy, X.iloc[11], X)
        text = flat(result.output)
        assert f"decision {found.decision[0]:.4g}" in text
        apart = number(found.decision[0] - found.baseline[0], signed=True)
        assert f"adds up to {apart}" in text
        sky = found.values[0, [j for j, name in enumerate(found.names) if "sky" in name]].sum()
        assert (
            f"sky {table['sky'][11]} {number(sky, 3, signed=True)}" in text
        )  # one line for the one-hot column
        assert "certain between" in text

    def test_the_whole_policy(self, fitted, train, tmp_path):
        figure = tmp_path / "importance.png"
        result = call("explain", fitted, train, "--top", 2, "--figure", figure)
        assert result.exit_code == 0, result.output
        assert "1 others" in flat(result.output)
        assert "decides as the policy does" in flat(result.output)
        assert figure.stat().st_size > 1000

    def test_a_forest_has_routes_and_several_decisions_names(self, train, tmp_path):
        path, figure = tmp_path / "both.hedgerow", tmp_path / "row.png"
        both = ["--outcome", "demand", "--outcome", "other"]
        result = call(
            "fit", train, *both, *COSTS, "--steps", 50, "--model", "erm", "--trees", 2, "-o", path
        )
        assert result.exit_code == 0, result.output
        result = call("explain", path, train, "--row", 1, "--decision", "other", "--figure", figure)
        assert result.exit_code == 0, result.output
        assert "of 4 carry 99 %" in flat(result.output)
        other = hr.load(path).predict(work.features_of(hr.load(path), read_table(train)))[0, 1]
        assert f"other {other:.4g}" in flat(result.output)
        assert figure.exists()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--row", 0], "There is no row 0"),
            (["--row", 81], "has 80 rows, and the first is 1"),
            (["--row", 1, "--decision", "sales"], "There is no decision 'sales'"),
            (["--figure", "why.svg"], "must end in .png or .pdf"),
            (["--decision", "demand"], "goes with --row"),
        ],
    )
    def test_mistakes_get_one_sentence(self, fitted, train, arguments, message):
        result = call("explain", fitted, train, *arguments)
        assert result.exit_code != 0
        assert message in flat(result.output)


class TestCostsInColumns:
    """``--holding NAME`` reads that column of the table, row by row."""

    COLUMNS = ("--holding", "h", "--stockout", "b")

    @pytest.fixture
    def priced(self, tmp_path):
        rng = np.random.default_rng(1)
        table = history().assign(h=rng.uniform(1, 2, 80).round(2), b=rng.uniform(2, 6, 80).round(2))
        write_table(table.drop(columns="other"), tmp_path / "priced.csv")
        return tmp_path / "priced.csv"

    def fit(self, path, *more):
        out = path.parent / "p.hedgerow"
        found = call("fit", path, "--outcome", "demand", *self.COLUMNS, *QUICK, "-o", out, *more)
        return found, out

    def test_fit_decide_evaluate_and_report(self, priced, tmp_path):
        found, out = self.fit(priced)
        assert found.exit_code == 0, found.output
        assert "newsvendor, holding from column h, stockout from column b" in flat(found.output)
        policy, table = hr.load(out), pd.read_csv(priced)
        assert policy.loss.stockout == hr.Column("b")
        decided = tmp_path / "decided.csv"
        assert call("decide", out, priced, "-o", decided).exit_code == 0
        gap = pd.read_csv(decided).decision - table.demand
        mean = (table.h * gap.clip(0) + table.b * (-gap).clip(0)).mean()
        evaluated = call("evaluate", out, priced)
        assert evaluated.exit_code == 0, evaluated.output
        assert f"mean loss {number(mean)}" in flat(evaluated.output)
        page = tmp_path / "r.html"
        assert call("report", out, priced, "-o", page).exit_code == 0
        assert "costs what column h says" in page.read_text()

    def test_costs_are_features_whatever_is_chosen(self, priced):
        found, out = self.fit(priced, "--features", "wind")
        assert found.exit_code == 0, found.output
        assert list(hr.load(out).feature_names_in_) == ["wind", "h", "b"]

    def test_a_number_beside_a_column(self, priced, tmp_path):
        out = tmp_path / "p.hedgerow"
        costs = ["--holding", "1.5", "--stockout", "b"]
        assert call("fit", priced, "--outcome", "demand", *costs, *QUICK, "-o", out).exit_code == 0
        assert hr.load(out).loss.holding == 1.5

    @pytest.mark.parametrize(
        ("costs", "words"),
        [
            (["--holding", "h", "--stockout", "c"], "There is no column 'c'"),
            (["--holding", "h", "--stockout", "sky"], "Column 'sky'"),
            (["--holding", "h", "--stockout", "demand"], "which nobody knows"),
            (["--holding", "h", "--holding", "2", "--stockout", "1"], "numbers or columns"),
        ],
    )
    def test_columns_that_make_no_sense(self, priced, costs, words):
        found = call("fit", priced, "--outcome", "demand", *costs, *QUICK)
        assert found.exit_code != 0
        assert words in flat(found.output)

    @pytest.mark.parametrize("command", ["fit", "evaluate"])
    def test_the_row_of_a_negative_cost_is_named(self, priced, command):
        _, out = self.fit(priced)
        table = pd.read_csv(priced)
        table.loc[11, "b"] = -2.0
        write_table(table, priced)
        found = (
            self.fit(priced, "--force")[0] if command == "fit" else call("evaluate", out, priced)
        )
        assert found.exit_code != 0
        assert "stockout must not be negative, got -2 in row 12 of column b" in flat(found.output)
