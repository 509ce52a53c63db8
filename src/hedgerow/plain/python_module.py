"""A policy as a Python module that needs nothing but Python's standard library.

    decide(row) → a number, or a tuple of numbers, in the user's units

``row`` is a mapping by names, or the features in their order. What the policy knows of its columns
(``data.columns``) is in the module, too: text and dates are turned into features as in training.
Names come from tables and files, so they are written as Python writes strings and nowhere else.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.plain.forms import literal
from hedgerow.plain.policy import FARTHEST, PlainPolicy

HELPERS = {
    "sigmoid(": '''
def sigmoid(v):
    """1/(1 + exp(-v)) without overflow."""
    if v >= 0:
        return 1.0 / (1.0 + math.exp(-v))
    grown = math.exp(v)
    return grown / (1.0 + grown)
''',
    "between(": '''
def softplus(v):
    """log(1 + exp(v)) without overflow."""
    return max(v, 0.0) + math.log1p(math.exp(-abs(v)))


def between(raw, low, high):
    """Map a number between two ends, of which one or both may be None."""
    if low is None:
        return raw if high is None else high - softplus(-raw)
    if high is None:
        return low + softplus(raw)
    return low + (high - low) * sigmoid(raw)
''',
    "shares(": '''
def shares(raw):
    """Shares of a whole: softmax."""
    most = max(raw)
    grown = [math.exp(r - most) for r in raw]
    whole = sum(grown)
    return [g / whole for g in grown]
''',
}
NUMBERS = '''
def features(row):
    """The features of a row, in their order."""
    if hasattr(row, "keys"):
        missing = [name for name in FEATURES if name not in row]
        if missing:
            raise ValueError(f"the row lacks {missing[0]!r}")
        row = [row[name] for name in FEATURES]
    values = [float(value) for value in row]
    if len(values) != len(FEATURES):
        raise ValueError(f"a row has {len(FEATURES)} features; got {len(values)}")
    return values
'''
COLUMNS = '''
def features(row):
    """The features of a row: a mapping by columns, or the features themselves in their order."""
    if not hasattr(row, "keys"):
        values = [float(value) for value in row]
        if len(values) != len(FEATURES):
            raise ValueError(f"a row has {len(FEATURES)} features; got {len(values)}")
        return values
    values = []
    for name, kind, known in COLUMNS:
        if name not in row:
            raise ValueError(f"the row lacks {name!r}")
        value = row[name]
        if kind == "number":
            values.append(float(value))
        elif kind == "category":
            whole = isinstance(value, float) and value.is_integer()
            value = str(int(value)) if whole else str(value).strip()
            if value not in known:
                raise ValueError(f"{name!r} holds {value!r}, which was not seen in training")
            values += [float(value == one) for one in known]
        else:
            day = datetime.date.fromisoformat(str(value).strip()[:10])
            values += [float(n) for n in (day.weekday(), day.month, day.timetuple().tm_yday)]
    return values
'''


@dataclass(frozen=True)
class About:
    """What the module says of the policy.

    Attributes
    ----------
    features, decisions : names, in their order
    columns : (name, kind, known values) of the table's columns, or None
    told : lines of provenance
    single : bool
        Whether ``decide`` returns a number and no tuple.
    """

    features: Sequence[str]
    decisions: Sequence[str]
    columns: Sequence[tuple[str, str, tuple[str, ...]]] | None
    told: Sequence[str]
    single: bool


def python_source(policy: PlainPolicy, about: About) -> str:
    """The text of the module."""
    code = policy.rule.python()
    everything = code.body + code.constants
    helpers = [text for mark, text in HELPERS.items() if mark in everything]
    if "between(" in everything and "sigmoid(" not in everything:  # between calls it
        helpers.insert(0, HELPERS["sigmoid("])
    columns = about.columns
    dated = columns is not None and any(kind == "date" for _, kind, _ in columns)
    imports = [*(["import datetime"] if dated else []), "import math"]
    parts = [
        _docstring(about),
        "\n".join(imports) + "\n\n",
        _names("FEATURES", about.features),
        "" if columns is None else _names("COLUMNS", columns),
        _names("DECISIONS", about.decisions),
        f"CENTRE = {literal(policy.centre)}\nFACTOR = {literal(policy.factor)}\n",
        f"UNIT = {literal(policy.unit)}\n",
        code.constants,
        *(f"\n{text}" for text in helpers),
        f"\n{NUMBERS if columns is None else COLUMNS}",
        f'\n\ndef rule(u):\n    """Decisions in working units, for standardised features."""\n'
        f"{code.body}",
        _decide(about.single),
    ]
    return "".join(parts)


def _decide(single: bool) -> str:
    returned = "decisions[0]" if single else "tuple(decisions)"
    words = "The decision" if single else "The decisions, in the order of DECISIONS,"
    return f'''

def decide(row):
    """{words} for one row: a mapping by names, or the features in the order of FEATURES."""
    values = features(row)
    if not all(map(math.isfinite, values)):
        raise ValueError("a row must hold finite numbers")
    u = [
        max(-{FARTHEST!r}, min({FARTHEST!r}, (v - c) * f))
        for v, c, f in zip(values, CENTRE, FACTOR)
    ]
    decisions = [d * unit for d, unit in zip(rule(u), UNIT)]
    return {returned}
'''


def _names(constant: str, values: Sequence[Any]) -> str:
    lines = "".join(f"    {value!r},\n" for value in values)
    return f"{constant} = (\n{lines})\n"


def _docstring(about: About) -> str:
    """What the module is; quotes and backslashes of names end no docstring."""
    lines = ["Decisions of a policy that was learned with hedgerow; nothing but Python is needed."]
    lines += [
        "",
        "    decide(row)  one row in, its decision out, both in the units of the data",
        "",
    ]
    lines += ["Features, in this order:"]
    lines += [f"    {name!r}" for name in about.features]
    lines += ["Decisions, in the units in which outcomes were given:"]
    lines += [f"    {name!r}" for name in about.decisions]
    lines += ["", "Where it comes from:"]
    for line in about.told:
        lines += textwrap.wrap(line, 90, initial_indent="    ", subsequent_indent="        ")
    lines = ["".join(c if c.isprintable() else ascii(c)[1:-1] for c in line) for line in lines]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"', '\\"')
    return f'"""{text}\n"""\n\n'
