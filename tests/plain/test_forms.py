"""What plain forms are written into decides as they do; that these do is in ``tests/rules``."""

import ast
import datetime

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.plain import Intervals, Joined, PlainPolicy, Shares, Trees
from hedgerow.plain.onnx_graph import write_onnx
from hedgerow.plain.policy import BLOCK, SHARED, by_blocks
from hedgerow.plain.python_module import About, python_source
from hedgerow.rules.base import Start, build_rule
from tests.oracles import double

FEATURES = 3
INF = np.inf
SETS = [
    hr.Nonnegative(1),
    hr.Product(hr.Free(1), hr.Simplex(3), hr.Box([0, -INF, 1], [2, 5, INF])),
]
RULES = [
    hr.SoftForest(3, 2),
    hr.SoftForest(2, 3, features_per_tree=2, temperature=0.5),
    hr.SoftForest(3, 2, leaves="linear"),
    hr.SoftForest(2, (1, 2), features_per_tree=2, leaves="linear", temperature=0.5),
    hr.ScoreForest(2, trees=3),
    hr.Affine(),
    hr.Constant(),
    hr.TwoLayer(8),
]
exactly = double(lambda rule, x: rule(x))


def built(rule, decision_set, seed=0):
    """A fitted rule with random parameters, none of them zero."""
    start = jnp.asarray(decision_set.from_raw(jnp.zeros(decision_set.dimension)), jnp.float32)
    made = build_rule(rule, jax.random.key(seed), Start(FEATURES, decision_set, start))
    rng = np.random.default_rng(seed)
    fields = {
        name: jnp.asarray(rng.normal(size=getattr(made, name).shape), jnp.float32)
        for name in made.trainable
    }
    return type(made)(**(vars(made) | fields))


def policy_of(rule):
    """In units of somebody's, far from those of the rule."""
    units = np.linspace(3.3, 700.0, rule.decision_set.dimension)
    centre, factor = np.array([2020.0, -3.0, 0.5]), np.array([0.5, 2.0, 0.0])
    return PlainPolicy(centre, factor, units, rule.plain())


def contexts(rows=300, seed=1):
    return np.random.default_rng(seed).normal(size=(rows, FEATURES)) * [2, 1, 1] + [2020, -3, 0.5]


def module_of(policy, single=False, columns=None, features=("a", "b", "c")):
    names = [f"z{k}" for k in range(len(policy.unit))]
    source = python_source(policy, About(features, names, columns, ["a test"], single))
    made = {"__builtins__": {**__builtins__, "__import__": only_the_standard_library}}
    exec(compile(source, "policy.py", "exec"), made)
    return made


def only_the_standard_library(name, *given):
    assert name in ("math", "datetime", "time")  # datetime itself asks for the last
    return __import__(name, *given)


@pytest.mark.parametrize("decision_set", SETS, ids=repr)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
class TestEveryRuleOnEverySet:
    def test_onnx_decides_likewise(self, rule, decision_set, tmp_path):
        policy, x = policy_of(built(rule, decision_set)), contexts()
        decisions = policy.decide(x)
        size = np.abs(decisions).max(axis=0)
        for precision, most in (("float64", 1e-12), ("float32", 1e-5)):
            write_onnx(tmp_path / "p.onnx", policy, {"told": "\n"}, precision)
            session = onnxruntime.InferenceSession(tmp_path / "p.onnx")
            (found,) = session.run(None, {"contexts": x.astype(precision)})
            assert (found.dtype, found.shape) == (precision, decisions.shape)
            exact = policy.decide(x.astype(precision).astype(np.float64))
            assert np.all(np.abs(found - exact) <= most * size)
        assert onnx.load(tmp_path / "p.onnx").metadata_props[0].value == "\n"

    def test_python_decides_likewise(self, rule, decision_set):
        policy, x = policy_of(built(rule, decision_set)), contexts(20)
        module = module_of(policy)
        decisions = policy.decide(x)
        found = np.array([module["decide"](row) for row in x.tolist()])
        assert np.all(np.abs(found - decisions) <= 1e-9 * np.abs(decisions).max(axis=0))
        named = dict(zip("abc", x[0].tolist(), strict=True))
        assert module["decide"](named) == module["decide"](x[0].tolist())


@pytest.mark.parametrize("leaves", ["constant", "linear"])
def test_a_hard_forest_decides_likewise(tmp_path, leaves):
    forest = built(hr.SoftForest(3, 2, leaves=leaves), hr.Nonnegative(2)).hardened()
    x = np.random.default_rng(2).normal(size=(300, FEATURES))
    np.testing.assert_allclose(forest.decide(x), exactly(forest, x.T).T, rtol=1e-12)
    policy = policy_of(forest)
    write_onnx(tmp_path / "p.onnx", policy, {})
    session = onnxruntime.InferenceSession(tmp_path / "p.onnx")
    (found,) = session.run(None, {"contexts": contexts()})
    np.testing.assert_allclose(found, policy.decide(contexts()), rtol=1e-12)
    module = module_of(policy)
    found = [module["decide"](row) for row in contexts(20).tolist()]
    np.testing.assert_allclose(found, policy.decide(contexts(20)), rtol=1e-12)


@pytest.fixture(scope="module")
def policy():
    return policy_of(built(hr.SoftForest(4, 3), hr.Nonnegative(2)))


class TestBlocks:
    def test_a_row_is_decided_the_same_in_any_company(self, policy):
        """Bit for bit: alone, at the end of a block, and where threads share the blocks."""
        x = contexts(SHARED * BLOCK + 3)
        together = policy.decide(x)
        for rows in ([0], [5, 6], range(BLOCK - 1, BLOCK + 2), range(len(x) - 4, len(x))):
            np.testing.assert_array_equal(policy.decide(x[list(rows)]), together[list(rows)])

    def test_no_rows_no_decisions(self, policy):
        assert policy.decide(np.empty((0, FEATURES))).shape == (0, 2)

    def test_a_mistake_in_a_thread_is_heard(self):
        def fail(block):
            raise ArithmeticError("no")

        with pytest.raises(ArithmeticError):
            by_blocks(fail, np.zeros((SHARED * BLOCK, 2)), 1)


def test_far_contexts_give_finite_decisions():
    for rule in RULES:
        policy = policy_of(built(rule, hr.Box([0.0, -1.0], [2.0, INF])))
        far = np.full((2, FEATURES), [[3e38], [-3e38]])
        assert np.all(np.isfinite(policy.decide(far)))
        assert policy.decide(far).shape == (2, 2)
        module = module_of(policy)
        np.testing.assert_allclose(module["decide"](far[0].tolist()), policy.decide(far)[0])


def numbers(size):
    return st.lists(st.floats(-50, 50), min_size=size, max_size=size)


@given(numbers(5))
def test_maps_end_in_their_sets(raw):
    onto = Joined((Intervals(np.array([0.0, -INF]), np.array([1.0, 2.0])), Shares(3)))
    found = onto.image(np.array(raw)[:, None])[:, 0]
    assert 0 <= found[0] <= 1
    assert found[1] <= 2
    assert np.all(found[2:] >= 0)
    assert abs(found[2:].sum() - 1) < 1e-12


class TestModules:
    NASTY = (
        '"""; import os', "'''", "\\", "a\nimport os", "{x}", "\u202e", "%s", "\ud800", "'", '"',
    )  # fmt: skip

    def test_names_do_nothing(self):
        size = len(self.NASTY)
        trees = Trees(np.ones((1, 1, size)), np.zeros((1, 1)), np.ones((1, 2, 1)), 1.0)
        policy = PlainPolicy(np.zeros(size), np.ones(size), np.ones(1), trees)
        columns = [(name, "category", (name, "b")) for name in self.NASTY]
        for known in (None, columns):
            source = python_source(
                policy, About(self.NASTY, self.NASTY[:1], known, self.NASTY, True)
            )
            tree = ast.parse(source)
            imported = {
                name.name
                for node in ast.walk(tree)
                if isinstance(node, ast.Import | ast.ImportFrom)
                for name in node.names
            }
            assert imported == {"math"}
            kinds = {type(node) for node in tree.body}
            assert kinds == {ast.Expr, ast.Import, ast.Assign, ast.FunctionDef}
            assert sum(isinstance(node, ast.Expr) for node in tree.body) == 1  # the docstring
            source.encode()

    def test_columns_are_treated_as_in_training(self):
        columns = [("sky", "category", ("7", "sun")), ("day", "date", ()), ("wind", "number", ())]
        policy = PlainPolicy(
            np.zeros(6), np.ones(6), np.ones(1),
            Trees(np.ones((1, 1, 6)), np.zeros((1, 1)), np.array([[[3.0], [1.0]]]), 1.0),
        )  # fmt: skip
        names = ["sky_7", "sky_sun", "day_weekday", "day_month", "day_day_of_year", "wind"]
        module = module_of(policy, True, columns, names)
        day = datetime.date(2015, 11, 7)
        expected = [0.0, 1.0, 5.0, 11.0, 311.0, -2.5]
        for said in (day, "2015-11-07", "2015-11-07 10:00"):
            row = {"sky": " sun", "day": said, "wind": "-2.5"}
            assert module["features"](row) == expected
        assert module["features"]({"sky": 7.0, "day": day, "wind": 1})[:2] == [1.0, 0.0]
        assert module["decide"](row) == module["decide"](expected)
        with pytest.raises(ValueError, match="'fog', which was not seen"):
            module["decide"](row | {"sky": "fog"})
        with pytest.raises(ValueError, match="lacks 'wind'"):
            module["decide"]({"sky": "sun", "day": day})
        with pytest.raises(ValueError, match="6 features; got 1"):
            module["decide"]([1.0])
        with pytest.raises(ValueError, match="finite"):
            module["decide"]([float("nan")] * 6)


def test_a_precision_that_is_none(tmp_path):
    with pytest.raises(ValueError, match="float64, float32, got 'float16'"):
        write_onnx(tmp_path / "p", policy_of(built(hr.Affine(), hr.Free(1))), {}, "float16")


def test_trees_that_see_the_same_features_share_them():
    """One product for all of them decides as one for each, whose features are in another order."""
    rng = np.random.default_rng(0)
    weights, biases = rng.normal(size=(3, 7, 4)), rng.normal(size=(3, 7))
    leaves, u = rng.normal(size=(3, 8, 1)), rng.normal(size=(6, 50))
    seen = np.tile([0, 2, 3, 5], (3, 1))
    alike = Trees(weights, biases, leaves, 0.7, seen)
    turned, other = weights.copy(), seen.copy()
    turned[1], other[1] = weights[1][:, ::-1], seen[1][::-1]
    each = Trees(turned, biases, leaves, 0.7, other)
    assert alike._alike
    assert not each._alike
    np.testing.assert_allclose(alike.decide(u), each.decide(u), rtol=1e-12)
