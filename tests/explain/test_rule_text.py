"""Rules in words: the text decides as it says, and fidelity is what it claims to be."""

import re

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import hedgerow as hr
from hedgerow import explain
from hedgerow.describe.numbers import percent
from hedgerow.explain.rule_text import decide as decide_words
from tests.explain.policies import data, decide, forest, other, portfolio


def read(text, X, names):
    """Follow the printed text for every row, knowing nothing but the text."""

    def follow(lines, row):
        while True:
            head = lines[0]
            if head.startswith("decide "):
                return float(head.split()[1])
            question = head.removeprefix("if ").removesuffix(":")
            cut = lines.index("otherwise:")
            yes, no = lines[1:cut], lines[cut + 1 :]
            lines = [line[4:] for line in (yes if holds(question, row) else no)]

    def holds(question, row):
        if question.endswith(" is 1"):
            return row[names.index(question.removesuffix(" is 1"))] == 1
        left, right = question.split(" ≥ ")
        total = 0.0
        for sign, size, name in re.findall(r"(^|[+−] )(?:([0-9.e+-]+)·)?(feature \d+)", left):
            value = float(size or 1) * row[names.index(name)]
            total += -value if sign == "− " else value
        return total >= float(right.replace("−", "-").replace(",", ""))

    return np.array([follow(text.splitlines(), row) for row in X])


NAMES = [f"feature {i}" for i in range(4)]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("hardened", {"trees": 1, "depth": 3}),
        ("hardened", {"trees": 3, "depth": 2}),
        ("distilled", {"trees": 3, "depth": 3}),
    ],
)
def test_the_text_says_what_the_object_does(kind, settings):
    policy, X = forest(**settings), data()[0]
    found = explain.words(policy, X, kind)
    read_off = read(found.text, X, NAMES)
    np.testing.assert_allclose(read_off, decide_words(found.root, X)[:, 0], rtol=1e-3)
    exact = decide(policy, X)[:, 0]
    share = np.mean(np.abs(read_off - exact) <= 0.1 * np.abs(exact))
    assert found.fidelity == pytest.approx(share, abs=2.1 / len(X))  # decisions have four digits
    assert f"on {percent(found.fidelity)} of 120 rows" in str(found)


def test_a_crisp_tree_is_its_own_text():
    """With τ → 0 and all terms written out, what is left is the rounding of the numbers."""
    policy, X = forest(trees=1, depth=3, steepness=2000.0), data()[0]
    found = explain.words(policy, X, terms=4)
    assert (found.kind, found.tree, found.trees) == ("hardened", 0, 1)
    assert found.fidelity > 0.9
    soft = explain.words(forest(trees=1, depth=3, steepness=0.3), X, terms=4)
    assert soft.fidelity < found.fidelity


def test_the_most_faithful_tree_is_taken():
    policy, X = forest(trees=3, depth=2), data()[0]
    best = explain.words(policy, X, "hardened")
    assert best.fidelity == max(
        explain.words(policy, X, "hardened", tree=t).fidelity for t in range(3)
    )


def test_people_count_trees_from_one():
    policy, X = forest(trees=3, depth=2), data()[0]
    found = explain.words(policy, X, "hardened", tree=2)
    assert found.tree == 2
    assert "Tree 3 of 3 with crisp gates" in str(found)
    assert "The tree with crisp gates" in str(explain.words(forest(trees=1, depth=2), X))


def test_decisions_have_the_names_of_the_loss_and_numbers_from_one():
    X = data()[0]
    assert re.search(r"decide .*asset [123] 0\.\d", explain.words(portfolio("forest"), X).text)
    several = explain.words(forest(decisions=2), X)
    assert re.search(r"decision [12] [\d.]+, decision [12] [\d.]+", several.text)


def test_more_leaves_are_more_faithful():
    policy, X = forest(), data()[0]
    few, many = (explain.words(policy, X, "distilled", leaves=n) for n in (2, 40))
    assert few.mean_difference > many.mean_difference
    assert few.text.count("decide") == 2


def test_a_gate_without_weights_is_no_question():
    policy, X = forest(trees=1, depth=2), data()[0]
    blind = hr.RobustPolicy.__new__(hr.RobustPolicy)
    blind.__dict__.update(policy.__dict__)
    blind.rule_ = eqx.tree_at(
        lambda r: r.gate_weights, policy.rule_, jnp.zeros_like(policy.rule_.gate_weights)
    )
    found = explain.words(blind, X)
    assert "if" not in found.text
    assert found.text.startswith("decide ")


def test_units_and_names_are_written():
    X, _ = data()
    found = explain.words(
        forest(), X, units={"feature 0": "°C"}, decision_unit="portions", leaves=30
    )
    assert "feature 0 [°C] ≥" in found.text
    assert re.search(r"decide [\d.]+ portions", found.text)
    shares = explain.words(portfolio("forest"), X, decision_names=["level", "A", "B", "C"])
    assert re.search(r"decide [ABC] 0\.\d+, [ABC] 0", shares.text)
    with pytest.raises(ValueError, match="no feature 'price' to give a unit to"):
        explain.words(forest(), X, units={"price": "€"})
    with pytest.raises(ValueError, match="Give a name to each of 4 decisions; got 1"):
        explain.words(portfolio("forest"), X, decision_names=["A"])


def test_other_rules_are_distilled_and_not_hardened():
    X = data()[0]
    assert explain.words(other("network"), X).kind == "distilled"
    assert explain.words(other("constant"), X).fidelity == 1
    with pytest.raises(TypeError, match=r"\(write AffineRule.trees\), or ask for kind='distilled'"):
        explain.words(other("affine"), X, "hardened")
    with pytest.raises(ValueError, match="tree must lie between 0 and 2; got 3"):
        explain.words(forest(), X, "hardened", tree=3)


def test_phrases_ask_about_zeros_and_ones():
    found = explain.words(forest(), data()[0], phrases={"feature 3": "sky is sun"}, leaves=30)
    assert "if sky is sun:" in found.text
    assert "feature 3" not in found.text
