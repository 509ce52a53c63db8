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

from hedgerow.data.columns import CATEGORY, DATE, Column
from hedgerow.describe.page_form import PageForm
from hedgerow.describe.parts import Missing, offered
from hedgerow.report.subject import Subject

MOST_ROWS, MOST_NUMBERS = 2000, 60_000
"""Rows, and numbers in them, that a page carries; they are evenly spaced over the data."""
BACKGROUND, FEWER, LARGE = 100, 25, 2000
"""Rows that decisions are compared with, and how many for rules of more gates or units than that,
so that reasons keep up with a slider."""
MARGIN = 0.05
SLIDER_STEPS = 200


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
    inputs = _inputs(subject)
    spaced = evenly(subject.rows, FEWER if form and form.units > LARGE else BACKGROUND)
    decided = {} if form else {"decisions": subject.decisions[chosen]}
    found = {
        "rule": form.parameters if form else None,
        "units": {"centre": units.x_centre, "factor": units.x_factor, "decision": units.z_unit},
        "features": subject.labels,
        "inputs": inputs,
        "typical": [_typical(subject, one) for one in inputs],
        "decisions": subject.decision_names,
        "outcomes": subject.outcome_names,
        "outcome_of": [subject.outcome_of(k) for k in range(policy.n_decisions_)],
        "shares": (~subject.decision_set.scalable).tolist(),
        "unit": subject.unit,
        "loss_unit": subject.loss_unit,
        "background": subject.contexts[spaced],
        "rows": decided
        | {
            "total": subject.rows,
            "numbers": (chosen + 1).tolist(),
            "contexts": subject.contexts[chosen],
            "outcomes": subject.outcomes[chosen],
            "dates": {
                str(i): np.array(_dates(subject, one["name"]))[chosen].tolist()
                for i, one in enumerate(inputs)
                if one["kind"] == DATE
            },
        },
        "start": 1 if row is None else row,
    }
    return packed(found)


def chosen_rows(subject: Subject, row: int | None = None) -> np.ndarray:
    """Positions of the rows that the page carries, ``row`` (from 1) among them."""
    numbers = subject.contexts.shape[1] + subject.outcomes.shape[1]
    spaced = evenly(subject.rows, min(MOST_ROWS, max(50, MOST_NUMBERS // numbers)))
    return spaced if row is None else np.union1d(spaced, [row - 1])


def evenly(rows: int, most: int) -> np.ndarray:
    """At most so many positions, evenly spaced from the first row to the last."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(int))


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


def _inputs(subject: Subject) -> list[dict[str, Any]]:
    """What a reader can set."""
    place = {name: j for j, name in enumerate(subject.features)}
    return [
        _input(subject, column, [place[name] for name in column.features])
        for column in subject.columns
    ]


def _input(subject: Subject, column: Column, features: list[int]) -> dict[str, Any]:
    used = bool(np.any(subject.policy.units_.x_factor[features] > 0))
    about = {"name": column.name, "features": features, "used": used}
    if column.kind == CATEGORY:
        return about | {"kind": CATEGORY, "values": list(column.values)}
    if column.kind == DATE:
        dates = _dates(subject, column.name)
        return about | {"kind": DATE, "low": min(dates), "high": max(dates)}
    values = subject.contexts[:, features[0]]
    if np.all((values == 0) | (values == 1)):
        return about | {"kind": "switch"}
    return about | {"kind": "number"} | _range(values)


def _range(values: np.ndarray) -> dict[str, Any]:
    """Ends and step of a slider: a little beyond the data, in round numbers."""
    least, most = float(values.min()), float(values.max())
    span = (most - least) or abs(most) or 1.0
    whole = bool(np.all(values == np.round(values))) and span <= SLIDER_STEPS * 50
    step = _round_step(span / SLIDER_STEPS)
    if whole:
        step = max(1.0, step)
    low, high = least - MARGIN * span, most + MARGIN * span
    if least >= 0:  # what was never negative is not made so
        low = max(low, 0.0)
    low, high = np.floor(low / step + 1e-9) * step, np.ceil(high / step - 1e-9) * step
    return {"least": least, "most": most, "low": float(low), "high": float(high), "step": step}


def _round_step(rough: float) -> float:
    power = 10.0 ** np.floor(np.log10(rough))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999))


def _typical(subject: Subject, one: dict[str, Any]) -> Any:
    """Mean of numbers, most common value of everything else, the date in the middle."""
    values = subject.contexts[:, one["features"]]
    if one["kind"] == CATEGORY:
        return one["values"][int(values.sum(axis=0).argmax())]
    if one["kind"] == DATE:
        return sorted(_dates(subject, one["name"]))[subject.rows // 2]
    mean = float(values.mean())
    return float(mean >= 0.5) if one["kind"] == "switch" else mean


def _dates(subject: Subject, name: str) -> list[str]:
    """Calendar days of a column of dates, which the encoder has accepted already."""
    return [str(value).strip()[:10] for value in subject.table[name]]
