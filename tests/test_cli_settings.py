"""hedgerow fit --config and --set: every part by its parameters; a mistake costs a sentence."""

import re
import tomllib
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli import building, composing, settings
from hedgerow.cli.cost_options import ContextsAre, Norm
from hedgerow.cli.options import FitRequest
from hedgerow.data.table_writing import write_table
from tests.test_cli import call, flat, history

COSTS = ["--holding", "1", "--stockout", "3"]
FILE = """
outcome = "demand"
features = ["wind", "sky"]
seed = 3
holding = 1
stockout = 3
[ambiguity]
part = "KL"
penalty = 5.0
[rule]
part = "SoftForest"
trees = 3
depth = [1, 2]
temperature = 0.5
[nominal]
part = "NeighbourNominal"
k = 3
[solver]
part = "NestedSGD"
steps = 20
nodes = { part = "Sobol", n = 4 }
"""


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.csv"
    write_table(history(), path)
    return path


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(FILE)
    return path


def fit(train, tmp_path, *options):
    out = tmp_path / "policy.hedgerow"
    result = call("fit", train, *options, "-o", out, "--force")
    assert result.exit_code == 0, result.output
    return hr.load(out), result


@pytest.mark.slow
def test_a_file_tells_all_and_options_win(train, tmp_path, config):
    """Options over the file, --set over both; what was used can be written and read again."""
    more = ["--trees", "4", "--epsilon", "0.2", "--model", "sinkhorn", "--set", "rule.depth=1"]
    used = tmp_path / "used.toml"
    policy, result = fit(train, tmp_path, "--config", config, *more, "--write-config", used)
    assert isinstance(policy.ambiguity, hr.Sinkhorn)
    assert policy.ambiguity.penalty == 5.0  # of the file's other model, which has one, too
    assert policy.ambiguity.epsilon == 0.2
    assert policy.ambiguity.x_scale == "auto"
    assert (policy.rule.trees, policy.rule.depth, policy.rule.temperature) == (4, 1, 0.5)
    assert (policy.nominal.k, policy.solver.steps, policy.solver.nodes.n) == (3, 20, 4)
    assert isinstance(policy.solver, hr.NestedSGD)
    assert policy.n_features_in_ == 3
    assert "sinkhorn, penalty 5, epsilon 0.2" in flat(result.stdout)
    again, _ = fit(train, tmp_path, "--config", used)
    X = policy.encoder_.transform(history())
    np.testing.assert_array_equal(again.predict(X), policy.predict(X))


@pytest.mark.slow
def test_search_tables_are_tried(train, tmp_path, config):
    config.write_text(
        FILE.replace('part = "KL"\npenalty = 5.0', 'part = "KL"')
        + '[search]\nby = "time"\ncv = 2\npenalties = [2, 7]\n'
        + 'rules = [{ part = "Affine" }, { part = "SoftForest", depth = [1, 2] }]\n'
    )
    policy, result = fit(train, tmp_path, "--config", config)
    assert policy.ambiguity.penalty in (2, 7)
    assert "by 2 folds in order of time" in flat(result.stdout)
    assert type(policy.rule) in (hr.Affine, hr.SoftForest)


@pytest.mark.slow
def test_portfolios(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(0.1, 1, (60, 3)), columns=["ret_a", "ret_b", "ret_c"])
    table["vix"] = rng.normal(20, 2, 60)
    path = tmp_path / "returns.csv"
    table.to_csv(path, index=False)
    quick = ["--steps", "20", "--problem", "portfolio", "--outcome", "ret_*"]
    policy, result = fit(path, tmp_path, *quick, "--return-weight", "2")
    assert isinstance(policy.loss, hr.MeanVariance)
    assert policy.loss.return_weight == 2
    assert policy.outcome_names_ == ["ret_a", "ret_b", "ret_c"]
    assert list(policy.feature_names_in_) == ["vix"]
    assert "outcomes ret_a, ret_b, ret_c" in flat(result.stdout)
    policy, _ = fit(path, tmp_path, *quick, "--tail", "0.1", "--rule", "constant")
    assert isinstance(policy.loss, hr.MeanCVaR)
    assert policy.loss.tail == 0.1


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("rule.foo=1", "rule has an entry 'foo'; a SoftForest may have trees, depth, temperature"),
        ("rule.part=Tree", "rule.part is 'Tree', which is none; it may be Affine, Constant"),
        ("rule.trees=many", "rule.trees must be a whole number, got 'many'."),
        ("rule.temperature=true", "rule.temperature must be a number, got True."),
        ("rule.depth=[1,13]", "rule: depth must be at most 12"),
        ("rule.depth=1.5", 'rule.depth must be a whole number or a list or "none", got 1.5.'),
        ("nominal.k=3", "nominal lacks a part; it may be AdaptedNominal, EmpiricalNominal"),
        ("solver.nodes.part=Foo", "solver.nodes.part is 'Foo', which is none"),
        ("solver.nodes.n=2", "solver.nodes lacks a part"),
        ("search.penalties=3", "search.penalties must be a list of numbers, got 3."),
        ("search.folds=3", "search has an entry 'folds'; it may have by, penalties"),
        ("ambiguity.part=Newsvendor", "ambiguity.part is 'Newsvendor', which is none"),
    ],
)
def test_wrong_settings_cost_a_sentence(train, said, message):
    costs = ["--outcome", "demand", "--holding", "1", "--stockout", "3"]
    result = call("fit", train, *costs, "--set", said)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour = 3", "has an entry 'colour'; it may have tables loss, ambiguity"),
        ("config = 'x'", "has an entry 'config'"),
        ("seed = 'x'", "Invalid value for '--seed'"),
        ("seed = true", "seed must be a value, not true or false"),
        ("rule = 3", "rule must be a table, [rule], got 3"),
        ("outcome = [[1]]", "must be a plain value or a list of them"),
        ("outcome = ", "is not valid TOML"),
        (
            "holding = 1\nstockout = 1\n[search]\nby = 'luck'",
            "search.by must be none, folds, time; got 'luck'",
        ),
        ("[loss]\npart = 'Newsvendor'", "loss: Newsvendor has a missing a required argument"),
    ],
)
def test_wrong_files_cost_a_sentence(train, config, text, message):
    config.write_text(text)
    result = call("fit", train, "--outcome", "demand", "--config", config)
    assert result.exit_code in (1, 2)
    said = flat(re.sub("[│╭╮╰╯─]", " ", result.stderr))
    assert message in said.replace("' ", "'") or message in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "rule"], "must be PART.NAME=VALUE"),
        (["--set", "policy.x=1"], "must be PART.NAME=VALUE"),
        (["--problem", "portfolio", "--holding", "1"], "does not apply to --problem portfolio"),
        (["--return-weight", "2", "--holding", "1", "--stockout", "3"], "goes with --problem"),
        (["--tail", "1.5", "--holding", "1", "--stockout", "3"], "must lie between 0 and 1"),
        (["--contexts", "auto", *COSTS, "--model", "kl"], "does not apply to --model kl"),
        (["--norm", "inf", *COSTS, "--model", "chi-square"], "does not apply to --model"),
        (["--norm", "3", *COSTS], "'3' is not one of '1', '2', 'inf'"),
        (["--contexts", "auto", *COSTS, "--by", "sky"], "auto is not offered with --by"),
        (["--set", "loss.part=MeanCVaR", "--costs", "c.toml"], "does not go with a table"),
    ],
)
def test_options_that_do_not_go_together(train, options, message):
    result = call("fit", train, "--outcome", "demand", *options)
    assert result.exit_code == 2
    assert message in flat(result.stderr.replace("│", " "))


def model_of(tmp_path, *settings, **options):
    """What the command hedges against, with the columns of the history known."""
    table = history().drop(columns=["demand", "other"])
    encoder = hr.TableEncoder().fit(table)
    known = composing.contexts_in(encoder, encoder.transform(table))
    request = FitRequest(data=tmp_path, outcomes=["demand"], set_=list(settings), **options)
    return composing.model_of(request, 80, known)


def test_costs_and_contexts_are_reachable(tmp_path):
    model = model_of(tmp_path, contexts=ContextsAre.auto, norm=Norm.inf, order=1.5)
    assert (model.order, model.norm) == (1.5, np.inf)
    assert [(type(kind).__name__, kind.columns) for kind in model.contexts] == [
        ("Fixed", ("day_weekday", "day_month", "day_day_of_year")),
        ("Categorical", ("sky_rain", "sky_sun")),
        ("Bounded", ("wind",)),
    ]
    again = tomllib.loads(settings.as_toml({}, {"ambiguity": building.told(model)}))
    again = building.built("ambiguity", again["ambiguity"], object)
    assert [repr(kind) for kind in again.contexts] == [repr(kind) for kind in model.contexts]
    said = ('ambiguity.contexts=[{part="Fixed",columns="wind"}]', 'ambiguity.norm=[2,"none"]')
    model = model_of(tmp_path, *said, 'ambiguity.outcomes="integers"')
    assert repr(model.contexts) == repr((hr.contexts.Fixed("wind"),))
    assert (model.norm, model.outcomes) == ((2, None), "integers")
    assert len(model_of(tmp_path, "ambiguity.contexts=auto").contexts) == 3
    assert model_of(tmp_path, *said, contexts=ContextsAre.continuous).contexts is None
    assert model_of(tmp_path).contexts is None
    with pytest.raises(ValueError, match="ambiguity has an entry 'contexts'; a KL may have pen"):
        model_of(tmp_path, "ambiguity.part=KL", contexts=ContextsAre.auto)


@pytest.mark.slow
def test_a_table_says_what_its_columns_are(train, tmp_path):
    used, costs = tmp_path / "used.toml", ["--outcome", "demand", *COSTS]
    quick = ["--steps", "20", "--rule", "affine", "--nominal", "empirical", "--epsilon", "0.1"]
    asked = ["--features", "day,sky,wind", "--contexts", "auto", "--write-config", used]
    policy, result = fit(train, tmp_path, *costs, *quick, *asked)
    assert "sky_rain, sky_sun are changed from one value to another" in flat(result.stdout)
    assert "wind is moved, but never below 0" in flat(result.stdout)
    again, _ = fit(train, tmp_path, "--config", used)
    X = policy.encoder_.transform(history())
    np.testing.assert_array_equal(again.predict(X), policy.predict(X))


def test_every_public_part_can_be_asked_for():
    """Whoever adds a part need not add a line here; abstract ones and policies are none."""
    known = building.known_parts()
    for name in ("CausalSinkhorn", "MeanCVaR", "SoftForest", "ResidualNominal", "SAA", "Simplex"):
        assert known[name] is getattr(hr, name)
    assert "RobustPolicy" not in known
    assert "Loss" not in known
    for base in building.BASES.values():
        assert building.names_of(base)
        for name in building.names_of(base):
            assert issubclass(known[name], base)


@pytest.mark.parametrize(
    "part",
    [
        hr.Newsvendor(holding=[1.0, 2.0], stockout=hr.Column("price")),
        hr.Newsvendor(1, 2, decision_set=hr.Box([0.0, 1.0], [2.0, np.inf])),
        hr.Newsvendor(1, 2, decision_set=hr.Product(hr.Free(1), hr.Simplex(3))),
        hr.CausalSinkhorn(radius=0.5, epsilon=0.1, order=1, y_scale=[1.0, 2.0]),
        hr.SoftForest(5, (2, 3), leaves="linear", features_per_tree=0.5),
        hr.SoftForest(depth=None),
        hr.SAA(nodes=hr.GaussQuadrature(16), contexts=30),
        hr.ResidualNominal(regressor=hr.ForestRegressor(), outcomes=8),
    ],
    ids=lambda part: type(part).__name__,
)
def test_parts_are_written_and_read_again(part):
    text = settings.as_toml({}, {"part": building.told(part)})
    again = building.built("part", tomllib.loads(text)["part"], object)
    for name, value in part.get_params(deep=False).items():
        made = getattr(again, name)
        assert repr(made) == repr(tuple(value) if isinstance(value, list) else value), name


def test_parts_within_parts_are_made_from_their_fields():
    """As a loss around a loss: nobody here knows that class."""

    @dataclass
    class Around(hr.losses.Loss):
        loss: object = None
        tail: float = 0.1

        def __call__(self, z, y):
            return self.loss(z, y)

        def decisions_for(self, n_outcomes):
            return self.loss.decisions_for(n_outcomes)

    table = {"tail": 0.2, "loss": {"part": "Newsvendor", "holding": 1, "stockout": 2}}
    made = building.built("loss", table, hr.losses.Loss, Around)
    assert made.tail == 0.2
    assert made.loss.stockout == 2
    with pytest.raises(
        ValueError, match=r"loss\.loss has an entry 'x'; a Newsvendor may have hold"
    ):
        building.built("loss", {"loss": table["loss"] | {"x": 1}}, hr.losses.Loss, Around)
