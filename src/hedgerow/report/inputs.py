"""What a reader can set in the what-if panel: one control for each thing that can be known.

A column of text is one choice, however many features it makes; so is a family of 0/1 columns of
which exactly one is 1 on every row (``weekday_MON`` … ``weekday_SUN``). A date is one control, and
columns that follow from it are moved along with it (``calendar``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.data.columns import CATEGORY, DATE, Column
from hedgerow.report.calendar import following
from hedgerow.report.subject import Subject

MARGIN = 0.05
SLIDER_STEPS = 200
JOINTS = ("_", "=", ".", " = ")
"""Between the name of a family of 0/1 columns and the value that each stands for."""


def inputs_of(subject: Subject) -> list[dict[str, Any]]:
    """Everything that can be set; inputs that follow from the date say so."""
    place = {name: j for j, name in enumerate(subject.features)}
    families = _families(subject, place)
    taken = {name for _, members in families.values() for name in members}
    found: list[dict[str, Any]] = []
    for column in subject.columns:
        if column.name not in taken:
            found.append(_input(subject, column, [place[name] for name in column.features]))
        elif column.name in families:
            name, members = families[column.name]
            values = tuple(member[len(name) :].lstrip("_=. ") for member in members)
            columns = [place[member] for member in members]
            found.append(_about(subject, name, columns) | {"kind": CATEGORY, "values": values})
    return _following(subject, found)


def typical(subject: Subject, one: dict[str, Any]) -> Any:
    """Mean of numbers, most common value of everything else, the date in the middle."""
    values = subject.contexts[:, one["features"]]
    if one["kind"] == CATEGORY:
        return one["values"][int(values.sum(axis=0).argmax())]
    if one["kind"] == DATE:
        return sorted(dates_shown(subject, one["name"]))[subject.rows // 2]
    mean = float(values.mean())
    return float(mean >= 0.5) if one["kind"] == "switch" else mean


def dates_shown(subject: Subject, name: str) -> list[str]:
    """Calendar days of a column of dates, as text."""
    if subject.dates is not None and name == subject.date_name:
        return [str(day) for day in subject.dates]
    return [str(value).strip()[:10] for value in subject.table[name]]


def _following(subject: Subject, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, with a date among them if rows have one, and what follows from it."""
    if subject.dates is None:
        return found
    at = next((i for i, one in enumerate(found) if one["name"] == subject.date_name), None)
    if at is None:
        days = sorted(map(str, subject.dates))
        about = {"name": subject.date_name, "features": [], "used": False, "kind": DATE}
        found, at = [about | {"low": days[0], "high": days[-1]}, *found], 0
    for i, one in enumerate(found):
        if i == at or one["kind"] == DATE:
            continue
        rows = subject.contexts[:, one["features"]]
        values = rows[:, 0] if one["kind"] != CATEGORY else np.array(one["values"])[rows.argmax(1)]
        how = following(subject.dates, values)
        if how is not None:
            one["follows"] = how | {"input": at}
            found[at]["used"] = found[at]["used"] or one["used"]
    moved = any("follows" in one for one in found)
    if not found[at]["features"] and not moved:  # a date that decides nothing
        return found[:at] + found[at + 1 :]
    return found


def _families(subject: Subject, place: dict[str, int]) -> dict[str, tuple[str, list[str]]]:
    """First member → name and members of families of 0/1 columns that share out every row."""
    if subject.encoder is not None:
        alone = {c.name for c in subject.columns if c.features == [c.name]}
    else:
        alone = {c.name for c in subject.columns}
    stems: dict[str, list[str]] = {}
    for column in subject.columns:
        if column.name not in alone:
            continue
        for joint in JOINTS:
            stem, found, value = column.name.rpartition(joint)
            if found and stem and value:
                stems.setdefault(stem, []).append(column.name)
                break
    names = {column.name for column in subject.columns}
    families = {}
    for stem, members in stems.items():
        values = subject.contexts[:, [place[name] for name in members]]
        shared = np.all((values == 0) | (values == 1)) and np.all(values.sum(axis=1) == 1)
        if len(members) > 1 and shared and stem not in names:
            families[members[0]] = stem, members
    return families


def _about(subject: Subject, name: str, features: list[int]) -> dict[str, Any]:
    used = bool(np.any(subject.policy.units_.x_factor[features] > 0))
    return {"name": name, "features": features, "used": used}


def _input(subject: Subject, column: Column, features: list[int]) -> dict[str, Any]:
    about = _about(subject, column.name, features)
    if column.kind == CATEGORY:
        return about | {"kind": CATEGORY, "values": list(column.values)}
    if column.kind == DATE:
        dates = dates_shown(subject, column.name)
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
