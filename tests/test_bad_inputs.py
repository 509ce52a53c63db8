"""Ninety bad inputs that people have tried: one helpful sentence each, or the right result.

A sentence says what was got, and what to do or what was expected; there is no traceback, nothing is
written, and nothing passes in silence. Each case is a line below, so that another one is, too.
"""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.cli.commands import app

RUNNER = CliRunner(env={"COLUMNS": "400", "TERM": "dumb"})
COSTS = ("--holding", "1", "--stockout", "3")
QUICK = ("--rule", "constant", "--model", "erm", "--steps", "2")
ROWS = 24


def call(*arguments):
    return RUNNER.invoke(app, [str(argument) for argument in arguments])


def good(rows=ROWS):
    rng = np.random.default_rng(0)
    days = pd.date_range("2026-01-01", periods=rows).strftime("%Y-%m-%d")
    sky = np.resize(["sun", "rain"], rows)
    wind = rng.uniform(0, 9, rows).round(1) + 0.05
    return pd.DataFrame({"day": days, "sky": sky, "wind": wind, "sold": np.arange(rows) % 7 + 3.0})


def changed(column, value, row=4):
    """The good table as CSV, with another value in row ``row`` (from 1)."""
    table = good().astype(object)
    table.loc[row - 1, column] = value
    return table.to_csv(index=False)


def every(column, *values):
    return (
        good()
        .assign(**{column: np.resize(np.array(values, dtype=object), ROWS)})
        .to_csv(index=False)
    )


def without(column):
    return good().drop(columns=column).to_csv(index=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a good table and a policy that was learned from it."""
    folder = tmp_path_factory.mktemp("bad")
    good().to_csv(folder / "good.csv", index=False)
    made = fit(folder, "good.csv")
    assert made.exit_code == 0, made.output
    return folder


def fit(folder, name, *more):
    out = folder / "policy.hedgerow"
    given = () if "--outcome" in more else ("--outcome", "sold")
    costs = () if "--holding" in more else COSTS
    return call("fit", folder / name, *given, *costs, *QUICK, "-o", out, "--force", *more)


def check_sentence(result, *words):
    """One sentence, and no more than a remark on how the file was read before it."""
    assert result.exit_code in (1, 2), result.output
    assert "unexpectedly" not in result.output
    assert "Traceback" not in result.output
    assert result.stdout == ""
    said = re.sub(r"[│╭╮╰╯─]", " ", result.stderr)
    if result.exit_code == 1:
        lines = [line for line in said.splitlines() if not line.startswith("Read ")]
        assert len([line for line in lines if not line.startswith("Warning")]) == 1, said
    said = " ".join(said.split())
    for word in words:
        assert word in said, said


MANY = good(60).assign(sky=[f"word {i}" for i in range(60)])

TABLES = {
    "empty file": ("", "is empty"),
    "only empty lines": ("\n\n\n", "is empty"),
    "only a header": ("day,sold\n", "has column names but no rows"),
    "no header, only numbers twice": ("1,1\n2,2\n", "more than one column called '1'"),
    "one row": (good(1).to_csv(index=False), "minimum of 2 is required"),
    "a name missing": ("day,,sold\n2026-01-01,1,2\n", "no name for column 2"),
    "a name twice": ("a,a,sold\n1,2,3\n", "more than one column called 'a'"),
    "too many fields": ("a,sold\n1,2\n1,2,3,4\n", "line 3"),
    "open quotes": ('a,sold\n"1,2\n', "cannot be read as CSV"),
    "no outcome column": (without("sold"), "no column 'sold'", "day, sky, wind"),
    "nothing to decide by": (good()[["sold"]].to_csv(index=False), "no columns besides"),
    "outcome is text": (
        every("sold", "many", "few"),
        "'sold' must hold numbers",
        "'many', in row 1",
    ),
    "outcome has text once": (changed("sold", "sold out"), "'sold out', in row 4"),
    "outcome missing once": (
        changed("sold", None),
        "'sold' has 1 missing value",
        "fill in or drop",
    ),
    "outcome all missing": (every("sold", None), "'sold' has 24 missing values"),
    "outcome infinite": (changed("sold", "inf"), "'sold' has 1 infinite value", "correct or drop"),
    "outcome a huge integer": (changed("sold", "9" * 400), "'sold' has 1 infinite value"),
    "outcome with a percent sign": (every("sold", "5%", "7 %"), "'5%', in row 1", "plain number"),
    "outcome with a currency": (every("sold", "$5.00", "$7"), "'$5.00', in row 1", "plain number"),
    "outcome with a unit": (every("sold", "5 kg", "7 kg"), "'5 kg', in row 1"),
    "outcome are dates": (every("sold", "2026-01-01"), "'sold' must hold numbers"),
    "a feature missing once": (
        changed("wind", None),
        "'wind' has 1 missing value",
        "nothing is imputed",
    ),
    "a feature all missing": (every("wind", None), "'wind' has 24 missing values"),
    "a feature infinite": (changed("wind", "-inf"), "'wind' has 1 infinite value"),
    "a question mark among numbers": (changed("wind", "?"), "except for 1 row: '?' in row 4"),
    "an error of a spreadsheet": (changed("wind", "#DIV/0!"), "'#DIV/0!' in row 4"),
    "a decimal comma among points": (
        changed("wind", "10,5"),
        "'10,5' in row 4",
        "write all numbers",
    ),
    "thousands among decimals": (changed("wind", "10,000"), "'10,000' in row 4", "a slip?"),
    "percent signs": (every("wind", "5%", "7%"), "looks like numbers", "'5%'", "plain numbers"),
    "currencies": (every("wind", "€ 5", "7 €"), "looks like numbers", "plain numbers"),
    "either thousands or decimals": ("n;sold\n1.250;1\n3.500;2\n", "'1.250' in row 1", "--decimal"),
    "two decimal marks": ("n;sold\n1,5;1\n3;0.5\n", "decimal comma", "with a point"),
    "either day or month": (
        every("day", "01.02.2026", "03.04.2026"),
        "2026-02-01 or 2026-01-02",
        "--dates",
    ),
    "day first and month first": (
        every("day", "13.01.2026", "01.13.2026"),
        "in several orders",
        "row 1",
        "row 2",
    ),
    "two kinds of dates": (changed("day", "04.01.2026"), "writes dates in several ways", "row 4"),
    "no such day": (every("day", "31.02.2026"), "'31.02.2026' in row 1 is no day"),
    "no such ISO day": (changed("day", "2026-02-30"), "'2026-02-30'", "which is none"),
    "no such time": (changed("day", "2026-01-04T25:00"), "'2026-01-04T25:00'"),
    "years of two digits": (every("day", "13.01.26", "14.01.26"), "looks like dates", "2015-11-07"),
    "a word among dates": (changed("day", "soon"), "holds dates, but one value is 'soon'", "row 4"),
    "names without end": (MANY.to_csv(index=False), "60 different values (at most 50"),
    "a text too long for a name": (changed("sky", "x" * 5000), "too long for a category"),
    "a huge column name": ("a,sold," + "b" * 300 + "\n1,2,3\n", "give it a name of at most 200"),
    "two encodings": ("é,sold\n1,2\n".encode() + b"\xe9,3\n", "is not UTF-8 text, and no other"),
    "zero bytes": (b"a,sold\n1,\x002\n", "holds zero bytes", "save it as CSV in UTF-8"),
    "two separators": ("a,b;sold\n1,5;2\n2,5;3\n", "with commas or with semicolons", "--separator"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_to_learn_from(home, kind):
    content, *words = TABLES[kind]
    path = home / "bad.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = (home / "policy.hedgerow").read_bytes()
    check_sentence(fit(home, "bad.csv"), *words)
    assert (home / "policy.hedgerow").read_bytes() == before


FILES = {
    "bad.csv.gz": (b"a,sold\n1,2\n", "cannot be unpacked"),
    "bad.parquet": (b"a,sold\n1,2\n", "cannot be read as Parquet"),
    "bad.xlsx": (b"a,sold\n1,2\n", "it is no .xlsx file"),
    "bad.xls": (b"a,sold\n1,2\n", "save it as .xlsx or .csv"),
    "bad.doc": (b"a,sold\n1,2\n", "must end in .csv, .xlsx or .parquet"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_other_kinds(home, name):
    content, *words = FILES[name]
    (home / name).write_bytes(content)
    check_sentence(fit(home, name), *words)


OPTIONS = {
    "a file that is not there": (["none.csv"], "There is no file"),
    "a folder": (["."], "is a folder, not a table"),
    "an outcome that is not there": (["good.csv", "--outcome", "sales"], "no column 'sales'"),
    "an outcome twice": (["good.csv", "--outcome", "sold", "--outcome", "sold"], "more than once"),
    "a feature that is not there": (["good.csv", "--features", "rain"], "no column 'rain'"),
    "the outcome as a feature": (["good.csv", "--features", "sold"], "is an outcome"),
    "a cost that is no number": (["good.csv", "--holding", "much", *COSTS[2:]], "'much'"),
    "a negative cost": (["good.csv", "--holding", "-1", *COSTS[2:]], "holding", "-1"),
    "an infinite cost": (["good.csv", "--holding", "inf", *COSTS[2:]], "holding contains inf"),
    "a cost that is not a number": (
        ["good.csv", "--holding", "nan", *COSTS[2:]],
        "holding contains NaN",
    ),
    "two costs for one outcome": (
        ["good.csv", "--holding", "1", "--holding", "2", *COSTS[2:]],
        "holding",
    ),
    "an option that is none": (["good.csv", "--storage", "1"], "No such option"),
    "a value that is no number": (["good.csv", "--trees", "many"], "'--trees'"),
    "no trees": (["good.csv", "--rule", "forest", "--trees", "0"], "trees"),
    "a negative penalty": (["good.csv", "--model", "kl", "--penalty", "-1"], "penalty"),
    "a model that is none": (["good.csv", "--model", "magic"], "magic"),
    "a decimal mark that is none": (["good.csv", "--decimal", ";"], "--decimal must be"),
    "an order that the dates deny": (["good.csv", "--dates", "backwards"], "backwards"),
    "a separator that is none": (["good.csv", "--separator", ":"], "--separator must be one of"),
    "an encoding that is none": (["good.csv", "--encoding", "klingon"], "--encoding must be one"),
    "a sheet of a CSV file": (["good.csv", "--sheet", "1"], "has no sheets"),
    "time without series": (["good.csv", "--time", "day"], "goes with --by or --search time"),
    "series that are not there": (["good.csv", "--by", "store"], "no group column 'store'"),
    "several times for a search": (["twodays.csv", "--search", "time"], "say with --time which"),
    "a setting that is none": (["good.csv", "--set", "rule.colour=1"], "colour"),
    "a configuration that is none": (["good.csv", "--config", "good.csv"], "TOML"),
}


@pytest.mark.parametrize("kind", OPTIONS)
def test_options(home, kind, monkeypatch):
    monkeypatch.chdir(home)
    good().assign(other=good()["day"]).to_csv(home / "twodays.csv", index=False)
    (name, *more), *words = OPTIONS[kind]
    check_sentence(fit(home, name, *more), *words)


NEW = {
    "an unseen category": (
        changed("sky", "snow"),
        "'snow', which was not seen in training",
        "rain, sun",
    ),
    "a column missing": (without("wind"), "lacks the column wind", "day, sky, sold"),
    "a missing value": (changed("wind", None), "'wind' has 1 missing value"),
    "text among numbers": (changed("wind", "calm"), "'calm', in row 4"),
    "another order of dates": (every("day", "01.02.2026"), "2026-02-01 or 2026-01-02"),
    "a decision already": (
        good().assign(decision=1).to_csv(index=False),
        "already has a column 'decision'",
    ),
    "outside already": (
        good().assign(outside=1).to_csv(index=False),
        "already has a column 'outside'",
    ),
}


@pytest.mark.parametrize("kind", NEW)
def test_tables_to_decide_on(home, kind):
    content, *words = NEW[kind]
    (home / "new.csv").write_text(content)
    check_sentence(call("decide", home / "policy.hedgerow", home / "new.csv"), *words)


ASKED = {
    "no policy": (["decide", "none.hedgerow", "good.csv"], "none.hedgerow"),
    "a table for a policy": (["decide", "good.csv", "good.csv"], "is not a readable policy file"),
    "an output that is there": (
        ["decide", "policy.hedgerow", "good.csv", "-o", "good.csv"],
        "--force",
    ),
    "a folder that is not there": (
        ["decide", "policy.hedgerow", "good.csv", "-o", "no/a.csv"],
        "no",
    ),
    "a history for single rows": (
        ["decide", "policy.hedgerow", "good.csv", "--history", "good.csv"],
        "understood for panels",
    ),
    "a lot of nothing": (
        ["decide", "policy.hedgerow", "good.csv", "--lot", "0"],
        "--lot must be above 0",
    ),
    "a row that is not there": (
        ["explain", "policy.hedgerow", "good.csv", "--row", "99"],
        "no row 99",
        "24 rows",
    ),
    "an outcome that is not there": (["evaluate", "policy.hedgerow", "nosold.csv"], "'sold'"),
    "a page that is none": (
        ["report", "policy.hedgerow", "good.csv", "-o", "page.doc"],
        "must end in .html",
    ),
}


@pytest.mark.parametrize("kind", ASKED)
def test_commands_that_ask(home, kind, monkeypatch):
    monkeypatch.chdir(home)
    (home / "nosold.csv").write_text(without("sold"))
    arguments, *words = ASKED[kind]
    check_sentence(call(*arguments), *words)


X = np.arange(20.0).reshape(10, 2)
Y = np.arange(10.0)
NEWSVENDOR = hr.Newsvendor(1, 3)


def policy(**settings):
    quick = {"rule": hr.Constant(), "ambiguity": hr.ERM(), "solver": hr.SCSC(steps=2)}
    return hr.RobustPolicy(NEWSVENDOR, random_state=0, **(quick | settings))


def put(array, value):
    array = array.copy()
    array[1] = value
    return array


PYTHON = {
    "X missing": (lambda: policy().fit(None, Y), "X must be numeric, got None"),
    "y missing": (lambda: policy().fit(X, None), "requires y to be passed"),
    "lengths that differ": (lambda: policy().fit(X, Y[:5]), "inconsistent numbers of samples"),
    "X flat": (lambda: policy().fit(Y, Y), "Expected 2D array"),
    "X deep": (lambda: policy().fit(X[None], Y[:1]), "dim 3"),
    "X ragged": (lambda: policy().fit([[1, 2], [3]], [1, 2]), "its rows differ in length"),
    "NaN in X": (lambda: policy().fit(put(X, np.nan), Y), "X contains NaN; remove or fill"),
    "infinity in X": (lambda: policy().fit(put(X, np.inf), Y), "X contains inf; remove or fill"),
    "NaN in y": (lambda: policy().fit(X, put(Y, np.nan)), "Y contains NaN; remove or fill"),
    "text in an array": (lambda: policy().fit(np.full((10, 2), "a"), Y), "it holds text"),
    "text in y": (lambda: policy().fit(X, ["a"] * 10), "Y must be numeric, but it holds text"),
    "complex numbers": (lambda: policy().fit(X + 1j, Y), "Complex data not supported"),
    "dates in an array": (lambda: policy().fit(X.astype("datetime64[D]"), Y), "holds dates"),
    "a number too large": (lambda: policy().fit(put(X, 1e300), Y), "too large for float32"),
    "weights that are negative": (lambda: policy().fit(X, Y, -Y), "must not be negative"),
    "weights of another length": (lambda: policy().fit(X, Y, [1.0]), "one entry per row"),
    "no weight at all": (lambda: policy().fit(X, Y, 0 * Y), "positive sum"),
    "censored by numbers": (lambda: policy().fit(X, Y, censored=Y), "True .* and False only"),
    "all censored": (lambda: policy().fit(X, Y, censored=Y > -1), "Every row is censored"),
    "a loss by its name": (lambda: hr.RobustPolicy("newsvendor").fit(X, Y), "loss must be a loss"),
    "a model by its name": (lambda: policy(ambiguity="kl").fit(X, Y), "ambiguity must be"),
    "a cost that is negative": (lambda: hr.Newsvendor(-1, 3), "must not be negative"),
    "a cost that is infinite": (lambda: hr.Newsvendor(np.inf, 3), "contains inf"),
    "another columns": (lambda: policy(columns="all").fit(X, Y), "columns must be one of"),
    "another outliers": (lambda: policy(outliers="drop").fit(X, Y), "outliers must be one of"),
    "not fitted": (lambda: policy().predict(X), "not fitted yet"),
    "explained before it is fitted": (lambda: hr.explain.importance(policy(), X), "not fitted yet"),
    "explaining no policy": (lambda: hr.explain.importance(NEWSVENDOR, X), "must be a fitted"),
    "a search explained": (lambda: hr.robust_value(X, X, Y), "must be a fitted hedgerow"),
    "a file that is not there": (lambda: hr.load("none.hedgerow"), "none.hedgerow"),
    "a decision set upside down": (lambda: hr.Box(1, 0), "low < high"),
    "a radius below nothing": (lambda: hr.KL(radius=-1.0), "radius"),
    "penalty and radius": (lambda: hr.KL(penalty=1.0, radius=1.0), "penalty"),
    "lots of nothing": (lambda: hr.Lots(0), "size"),
    "an outcome out of bounds": (
        lambda: hr.RobustPolicy(hr.Newsvendor(1, 3, outcome_support=(0, 5))).fit(X, Y),
        "outside the loss's outcome support",
    ),
}


@pytest.mark.parametrize("kind", PYTHON)
def test_arguments(kind):
    wrong, words = PYTHON[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError, OSError, AttributeError), match=words) as caught:
            wrong()
    assert len(str(caught.value)) < 700
    assert type(caught.value).__module__ != "jax.errors"


@pytest.fixture(scope="module")
def fitted():
    return policy().fit(pd.DataFrame(X, columns=["a", "b"]), Y)


ASKED_IN_PYTHON = {
    "too few features": (lambda p: p.predict(X[:, :1]), "expecting 2 features"),
    "a column missing": (lambda p: p.contexts(pd.DataFrame({"a": Y})), "lacks the column"),
    "NaN": (lambda p: p.predict(put(X, np.nan)), "contains NaN"),
    "no rows": (lambda p: p.predict(X[:0]), "0 sample"),
    "outcomes of another width": (lambda p: p.score(X, np.stack([Y, Y], 1)), "Y has 2 column"),
    "outcomes of another length": (lambda p: p.score(X, Y[:3]), "inconsistent numbers"),
    "a row that is several": (lambda p: hr.explain.attribute(p, X, X), "One context is explained"),
    "another format": (lambda p: p.save("none/policy.hedgerow"), "none"),
}


@pytest.mark.parametrize("kind", ASKED_IN_PYTHON)
def test_questions(fitted, kind):
    wrong, words = ASKED_IN_PYTHON[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError, OSError), match=words):
            wrong(fitted)


class TestRightResults:
    """What looks bad and is not: it is read as it was meant, and what is odd is said."""

    def test_a_true_outcome_counts_one(self, home):
        table = good().assign(sold=np.resize([True, False], ROWS))
        table.to_csv(home / "logical.csv", index=False)
        assert fit(home, "logical.csv", "-o", home / "other.hedgerow").exit_code == 0

    def test_a_constant_feature_is_ignored_and_said(self, home):
        good().assign(wind=5).to_csv(home / "constant.csv", index=False)
        result = fit(home, "constant.csv", "-o", home / "other.hedgerow")
        assert result.exit_code == 0
        assert "wind" in result.stderr
        assert "Warning" in result.stderr

    def test_a_typo_is_named(self, home):
        (home / "typo.csv").write_text(changed("sold", 50_000))
        result = fit(home, "typo.csv", "-o", home / "other.hedgerow")
        assert result.exit_code == 0
        assert "looks like a typo" in result.stderr
        assert "5e+04" in result.stderr or "50,000" in result.stderr

    def test_constant_outcomes_are_decided(self):
        decided = policy(rule=hr.Affine()).fit(X, np.full(10, 40.0)).predict(X)
        np.testing.assert_allclose(decided, 40.0, rtol=1e-3)  # trained in float32

    def test_a_sheet_with_trailing_empty_columns_and_bom(self, home):
        text = "\ufeff" + good().to_csv(index=False, sep=";").replace("\n", ";\n")
        (home / "trailing.csv").write_text(text, encoding="utf-8")
        result = fit(home, "trailing.csv", "-o", home / "other.hedgerow")
        assert result.exit_code == 0, result.output
        assert "';' between columns" in result.stderr

    def test_a_negative_demand_is_learned_and_never_decided(self, home):
        (home / "returns.csv").write_text(changed("sold", -5, 2))
        out = home / "returned.hedgerow"
        assert fit(home, "returns.csv", "-o", out).exit_code == 0
        assert np.all(hr.load(out).predict(good()) >= 0)

    def test_dates_that_descend_are_put_in_order_and_nothing_else_is_said(self, home):
        good().iloc[::-1].to_csv(home / "descending.csv", index=False)
        out = home / "other.hedgerow"
        result = fit(home, "descending.csv", "--search", "time", "-o", out)
        assert result.exit_code == 0, result.output
        assert "the latest came first" in result.stderr
        assert "timezone" not in result.stderr

    def test_a_warning_is_said_once(self, home):
        table = good(60).assign(wind=lambda t: np.where(t.index < 2, 1.0, 0.0))
        table.to_csv(home / "rare.csv", index=False)
        out = home / "rare.hedgerow"
        made = fit(home, "rare.csv", "--model", "kl", "--radius", "0.1", "-o", out)
        assert made.exit_code == 0, made.output
        result = call("radii", out, home / "rare.csv")
        assert result.exit_code == 0, result.output
        told = [line for line in result.stderr.splitlines() if line.startswith("Warning")]
        assert len(told) == len(set(told))

    def test_rows_far_outside_are_flagged(self, home):
        new = good(3)
        new.loc[1, "wind"] = 500.0
        new.to_csv(home / "far.csv", index=False)
        out = home / "decided.csv"
        result = call("decide", home / "policy.hedgerow", home / "far.csv", "-o", out, "--force")
        assert result.exit_code == 0, result.output
        assert "1 row of 3 lies far outside" in result.stderr
        assert pd.read_csv(out)["outside"].fillna("").tolist() == ["", "wind", ""]


def test_there_are_ninety():
    cases = (TABLES, FILES, OPTIONS, NEW, ASKED, PYTHON, ASKED_IN_PYTHON)
    assert sum(map(len, cases)) >= 90
