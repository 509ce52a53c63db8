"""Parts get their constructors from their fields, and keep those that were written for them."""

import jax
import numpy as np
import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow._components import Component


class Declared(Component):
    traced = ("size",)
    size: float
    name: str = "one"

    def check(self):
        if np.any(self.size < 0):
            raise ValueError("size must not be negative.")


class Longer(Declared):
    more: int = 3


class Written(Component):
    name: str  # says what there is; the constructor is written below

    def __init__(self, given, name="two"):
        self.given = given
        self.name = name


class Inheriting(Written):
    other: int = 0


def test_fields_become_parameters_in_order():
    assert Declared(2.0).get_params() == {"size": 2.0, "name": "one"}
    part = Longer(1.0, "x", 5)
    assert (part.size, part.name, part.more) == (1.0, "x", 5)
    assert clone(part).get_params() == part.get_params()
    with pytest.raises(TypeError, match="size"):
        Longer()


def test_every_part_checks_itself_when_it_is_made():
    for kind in (Declared, Longer):
        with pytest.raises(ValueError, match="negative"):
            kind(-1.0)
    assert Declared(1.0).replace(size=-1.0).size == -1.0  # unchecked: may be traced


def test_a_constructor_that_was_written_is_kept_and_inherited():
    for kind in (Written, Inheriting):
        assert kind(4).get_params() == {"given": 4, "name": "two"}
        with pytest.raises(TypeError, match="given"):
            kind()


def test_parts_are_compared_and_hashed_by_identity():
    assert Declared(1.0) != Declared(1.0)
    assert len({Declared(1.0), Declared(1.0)}) == 2


def test_traced_fields_are_leaves():
    leaves, structure = jax.tree_util.tree_flatten(Longer(np.ones(2), "x"))
    assert len(leaves) == 1
    again = jax.tree_util.tree_unflatten(structure, [np.zeros(2)])
    assert (again.size.sum(), again.name, again.more) == (0.0, "x", 3)


def test_positions_of_parameters_are_those_of_the_documentation():
    assert hr.SCSC("shared", 7, 8).get_params()["batch"] == 8
    assert hr.CausalSinkhorn(5.0, 0.2, 1).order == hr.CausalWasserstein(5.0, 1).order == 1
    with pytest.raises(TypeError, match="decision_set"):
        hr.TwoStageLP([1.0, 3.0], [[1.0, -1.0]], [[-1.0]], [[-1.0]])
