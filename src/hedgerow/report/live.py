"""What the page's script computes with: the rule, its units, inputs, rows and a background.

Arrays are base64 of little-endian bytes. Parameters are float32, as they were learned, and data are
float64, so the script decides exactly what the policy does, up to the rounding of float32.

The rule brings its own script and parameters (``FittedRule.page_form``). Where it brings none, the
page carries what the policy decides on its rows, and computes nothing.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow.data.columns import DATE
from hedgerow.describe.page_form import PageForm
from hedgerow.describe.parts import Missing, offered
from hedgerow.report.inputs import dates_shown, inputs_of, typical
from hedgerow.report.subject import Subject, evenly

MOST_ROWS, MOST_NUMBERS = 2000, 60_000
"""Rows, and numbers in them, that a page carries; they are evenly spaced over the data."""
BACKGROUND, FEWER, LARGE = 100, 25, 2000
"""Rows that decisions are compared with, and how many for rules of more gates or units than that,
so that reasons keep up with a slider."""


def form_of(rule: Any) -> tuple[PageForm | None, str]:
    """What the page decides with or, if there is nothing, the sentence that says so."""
    needed = "This page cannot compute decisions for new inputs, for which it needs a page form"
    try:
        return offered(rule.page_form(), rule, "page_form", needed), ""
    except Missing as missing:
        return None, str(missing)


def live_part(subject: Subject, form: PageForm | None, row: int | None) -> dict[str, Any]:
    """Everything the script needs, as plain values; ``row`` (from 1) is where it begins."""
    policy, units = subject.policy, subject.policy.units_
    chosen = chosen_rows(subject, row)
    inputs = inputs_of(subject)
    spaced = evenly(subject.rows, FEWER if form and form.units > LARGE else BACKGROUND)
    decided = {} if form else {"decisions": subject.decisions[chosen]}
    found = {
        "rule": form.parameters if form else None,
        "units": {"centre": units.x_centre, "factor": units.x_factor, "decision": units.z_unit},
        "features": subject.labels,
        "inputs": inputs,
        "typical": [typical(subject, one) for one in inputs],
        "decisions": subject.decision_names,
        "outcomes": subject.outcome_names,
        "outcome_of": [subject.outcome_of(k) for k in range(policy.n_decisions_)],
        "shares": (~subject.decision_set.scalable).tolist(),
        "dated": subject.dated,
        "noun": subject.noun,
        "unit": subject.unit,
        "loss_unit": subject.loss_unit,
        "background": subject.contexts[spaced],
        "rows": decided
        | {
            "total": subject.rows,
            "numbers": (chosen + 1).tolist(),
            "days": None if not subject.dated else _days(subject)[chosen],
            "contexts": subject.contexts[chosen],
            "outcomes": subject.outcomes[chosen],
            "dates": {
                str(i): np.array(dates_shown(subject, one["name"]))[chosen].tolist()
                for i, one in enumerate(inputs)
                if one["kind"] == DATE
            },
        },
        "start": 1 if row is None else row,
    }
    return packed(found)


def _days(subject: Subject) -> np.ndarray:
    """Days since 1970 of all rows."""
    assert subject.dates is not None
    return subject.dates.astype(np.int64).astype(np.float64)


def chosen_rows(subject: Subject, row: int | None = None) -> np.ndarray:
    """Positions of the rows that the page carries, ``row`` (from 1) among them."""
    numbers = subject.contexts.shape[1] + subject.outcomes.shape[1]
    spaced = evenly(subject.rows, min(MOST_ROWS, max(50, MOST_NUMBERS // numbers)))
    return spaced if row is None else np.union1d(spaced, [row - 1])


def packed(value: Any) -> Any:
    """Plain values with their arrays packed, however deep: exactly, or in float32 as learned."""
    if isinstance(value, Mapping):
        return {name: packed(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [packed(part) for part in value]
    if isinstance(value, np.ndarray):
        name, kind = ("f32", "<f4") if value.dtype == np.float32 else ("f64", "<f8")
        return {name: base64.b64encode(value.astype(kind).tobytes()).decode("ascii")}
    return value
