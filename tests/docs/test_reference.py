"""The API reference: every public name has a place, words, parameters and an example that runs."""

import doctest
import importlib
import inspect
import re
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow._components import Component
from tests.docs.test_examples import EXAMPLES, PAGES

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "building"))

import constructors  # noqa: E402 (they belong to the site, which is no package)
import reference  # noqa: E402

YOUR_OWN = ("bases", "pieces")
"""Pages for those who write parts. A base has parts that are made of it; pieces are what methods of
parts are handed, and nobody calls them alone."""
CODE = "\n".join(
    [
        *(path.read_text() for path in EXAMPLES),
        *(
            "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL))
            for page in PAGES
        ),
    ]
)
PARTS = "\n".join(path.read_text() for path in (ROOT / "tests" / "extending").rglob("*.py"))


def public():
    """Every public name, by the path that a user writes after ``hr.``."""
    for name in hr._HOME:
        yield name, getattr(hr, name)
    seen = {id(getattr(hr, name)) for name in hr._HOME}
    for module in hr._MODULES:
        for name in getattr(hr, module).__all__:
            thing = getattr(getattr(hr, module), name)
            if id(thing) not in seen and callable(thing):
                seen.add(id(thing))
                yield f"{module}.{name}", thing


PUBLIC = dict(public())
BASES = {
    path.removeprefix("hedgerow.")
    for page in reference.PAGES
    if page.file == "bases"
    for path in page.paths()
}
FOR_USERS = {
    path.removeprefix("hedgerow.")
    for page in reference.PAGES
    if page.file not in YOUR_OWN
    for path in page.paths()
}


def asked_of(thing):
    """Parameters that a user can give."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        name
        for name, each in signature.parameters.items()
        if each.kind not in kinds and not name.startswith("_")
    ]


def examples_of(thing):
    return doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")


def test_every_public_name_has_one_place_in_the_reference():
    placed = [path.removeprefix("hedgerow.") for page in reference.PAGES for path in page.paths()]
    assert len(placed) == len(set(placed))
    assert set(placed) == set(PUBLIC), set(placed) ^ set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_words(name):
    assert len((PUBLIC[name].__doc__ or "").strip()) > 5


@pytest.mark.parametrize("name", sorted(FOR_USERS))
def test_parameters_are_in_the_docstring(name):
    """Each is named: in a section of its own, or in a sentence where there are few."""
    thing = PUBLIC[name]
    if inspect.isclass(thing) and not is_made_by_users(thing):
        return
    said = inspect.getdoc(thing) or ""
    for taken in constructors.TAKES.findall(said):
        said += inspect.getdoc(named(taken)) or ""
    missing = [each for each in asked_of(thing) if not re.search(rf"\b{re.escape(each)}\b", said)]
    assert not missing, f"the docstring of {name} does not say what {', '.join(missing)} is"


def named(last):
    """A public thing by the last part of its name."""
    return next(thing for name, thing in PUBLIC.items() if name.rpartition(".")[2] == last)


def is_made_by_users(thing):
    """Results and warnings are made by the library; what they hold is under Attributes."""
    return not issubclass(thing, Exception) and (
        issubclass(thing, Component) or "Parameters\n" in (thing.__doc__ or "")
    )


def is_shown(name):
    """Whether an example that runs uses it: its own, that of a script or that of a page."""
    last = name.rpartition(".")[2]
    used = rf"\b(?:hr|hedgerow|theory)\.(?:\w+\.)?{last}\b|import .*\b{last}\b"
    return bool(examples_of(PUBLIC[name]) or re.search(used, CODE))


def returned():
    """Classes that functions and methods with an example return: their example shows them."""
    for name, thing in PUBLIC.items():
        if is_shown(name):
            methods = vars(thing).values() if inspect.isclass(thing) else [thing]
            for method in methods:
                given = getattr(method, "__annotations__", {}).get("return", "")
                yield from re.findall(r"\w+", str(given))


RETURNED = {*returned(), "SmoothWorstCase", "DiscreteWorstCase"}  # the kinds of WorstCase


@pytest.mark.parametrize("name", sorted(FOR_USERS))
def test_every_name_for_users_has_an_example(name):
    """Of its own, or in a script or page that the tests run; a result has that of what makes it."""
    thing = PUBLIC[name]
    if inspect.isclass(thing) and issubclass(thing, Warning):
        return  # the example of a warning is what it warns of
    assert is_shown(name) or name.rpartition(".")[2] in RETURNED, f"{name} has no example that runs"


@pytest.mark.parametrize("name", [name for name in PUBLIC if name in BASES])
def test_every_base_has_a_part_made_of_it(name):
    """One from outside, in tests/extending, or one for users, which has its example."""
    thing, last = PUBLIC[name], name.rpartition(".")[2]
    for_users = (PUBLIC[each] for each in FOR_USERS)
    parts = [each for each in for_users if inspect.isclass(each) and issubclass(each, thing)]
    assert parts or re.search(rf"\b{last}\b", PARTS), name


def doctested():
    for name, thing in sorted(PUBLIC.items()):
        if examples_of(thing):
            yield pytest.param(thing, id=name)
        members = vars(thing).items() if inspect.isclass(thing) else ()
        for member, method in members:
            method = getattr(method, "__func__", method)
            if inspect.isfunction(method) and not member.startswith("_") and examples_of(method):
                yield pytest.param(method, id=f"{name}.{member}")


@pytest.mark.slow
@pytest.mark.parametrize("thing", list(doctested()))
def test_examples_in_docstrings_run(thing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEDGEROW_CACHE", "off")  # as one of them does
    module = importlib.import_module(thing.__module__)
    finder = doctest.DocTestFinder(recurse=False)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    names = vars(module) | {"hr": hr}
    for test in finder.find(thing, thing.__name__, module=False, globs=names):
        told = []
        doctest.DocTestRunner(optionflags=flags).run(test, out=told.append)
        assert not told, "".join(told)


def test_constructors_of_the_reference_are_those_of_the_package():
    """They are put together from the source; here they are compared with the real ones."""
    griffe = pytest.importorskip("griffe")
    package = griffe.load(
        "hedgerow",
        search_paths=[str(ROOT / "src")],
        extensions=griffe.load_extensions(str(ROOT / "docs" / "building" / "constructors.py")),
    )
    compared = 0
    for name, thing in PUBLIC.items():
        if not (inspect.isclass(thing) and issubclass(thing, Component) and is_dataclass(thing)):
            continue
        found = package[name]
        found = found.final_target if found.is_alias else found
        said = {each.name: each for each in list(found.parameters)[1:]}
        real = inspect.signature(thing).parameters
        assert list(said) == list(real), name
        for parameter, each in real.items():
            keyword_only = said[parameter].kind is griffe.ParameterKind.keyword_only
            assert keyword_only == (each.kind is inspect.Parameter.KEYWORD_ONLY), (name, parameter)
            required = each.default is inspect.Parameter.empty
            assert required == (said[parameter].default is None), (name, parameter)
        compared += 1 if fields(thing) else 0
    assert compared > 20
