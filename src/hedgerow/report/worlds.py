"""The worst world in words: what is different there, the most different first.

    level      mean outcome of all rows, and of those of one weekday, category or switch
    spread     how far outcomes lie from what is usual
    relation   how much a column tells of the outcome: its squared correlation with it
    frequency  how often a value of a category occurs

All are compared between the rows of the report and draws from the worst case near them; what
differs by less than draws and rows scatter is not mentioned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hedgerow.describe.numbers import number, percent
from hedgerow.report.calendar import parts_of
from hedgerow.report.subject import Subject

MOST = 4
LEAST_CHANGE, LEAST_ROWS = 0.03, 5
"""Changes, as a share of the mean outcome, and rows of a group, that are worth a sentence."""
TELLS, FORGOTTEN = 0.05, 0.5
"""Share of the outcome's variance that a column has to tell, and of that to lose."""
DAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")


@dataclass(frozen=True)
class Drawn:
    """Rows and draws from the worst case beside them."""

    subject: Subject
    rows: np.ndarray
    """Which rows of the report the worst case was computed from."""
    x: np.ndarray
    y: np.ndarray
    source: np.ndarray | None
    """Which of these rows each draw was moved from; None where contexts were merged."""


def worlds(drawn: Drawn) -> list[str]:
    """What is different in the worst world: a few sentences, the weightiest first."""
    found = [*_levels(drawn), *_spread(drawn), *_frequencies(drawn), *_relations(drawn)]
    found.sort(key=lambda one: -one[0])
    return [text for _, text in found[:MOST]]


def _levels(drawn: Drawn) -> Iterator[tuple[float, str]]:
    """Outcomes that are higher or lower, overall and where that differs most."""
    subject, name = drawn.subject, drawn.subject.outcome_names[0]
    data, worst = subject.outcomes[drawn.rows, 0], drawn.y[:, 0]
    size = abs(float(data.mean()))
    if not size > 0 or subject.outcomes.shape[1] > 1:
        yield from _each_level(drawn)
        return
    overall = float(worst.mean() - data.mean()) / size
    if abs(overall) >= LEAST_CHANGE:
        yield 2 + abs(overall), f"{_cap(name)} is {_change(overall)} on average."
    best: tuple[float, str] = (0.0, "")
    for label, before, after in _groups(drawn):
        if before.sum() < LEAST_ROWS or after.sum() < LEAST_ROWS:
            continue
        usual = float(data[before].mean())
        if not usual > 0.05 * size:
            continue
        change = float(worst[after].mean()) / usual - 1
        beyond = abs(change - overall) * usual / size
        noise = 2 * float(worst[after].std()) / np.sqrt(after.sum()) / size
        if abs(change) >= LEAST_CHANGE and beyond > max(best[0], LEAST_CHANGE, noise):
            best = beyond, f"{label}: {name} is {_change(change)}."
    if best[1]:
        yield 1 + best[0], best[1]


def _each_level(drawn: Drawn) -> Iterator[tuple[float, str]]:
    """Of several outcomes, or ones around zero, those whose mean moves most."""
    data, worst = drawn.subject.outcomes[drawn.rows], drawn.y
    spread = np.maximum(data.std(axis=0), 1e-300)
    moved = (worst.mean(axis=0) - data.mean(axis=0)) / spread
    for k in np.argsort(-np.abs(moved), kind="stable")[:2]:
        if abs(moved[k]) >= LEAST_CHANGE:
            before, after = (number(float(v[:, k].mean()), 3) for v in (data, worst))
            name = drawn.subject.outcome_names[k]
            yield 1 + abs(float(moved[k])), f"{_cap(name)} is {after} on average, not {before}."


def _spread(drawn: Drawn) -> Iterator[tuple[float, str]]:
    """Outcomes that scatter more, or less."""
    name, noun = drawn.subject.outcome_names[0], drawn.subject.noun
    before = float(drawn.subject.outcomes[drawn.rows, 0].std())
    change = float(drawn.y[:, 0].std()) / before - 1 if before > 0 else 0.0
    if abs(change) >= LEAST_CHANGE:
        word = "more" if change > 0 else "less"
        yield (
            1 + abs(change),
            f"{_cap(name)} swings {percent(abs(change))} {word} from {noun} to {noun}.",
        )


def _frequencies(drawn: Drawn) -> Iterator[tuple[float, str]]:
    """Values of categories that occur more or less often."""
    best: tuple[float, str] = (0.0, "")
    for label, before, after in _groups(drawn):
        then, now = float(before.mean()), float(after.mean())
        noise = 2 * np.sqrt(then * (1 - then) / max(len(before), 1))
        if abs(now - then) > max(best[0], LEAST_CHANGE, noise):
            word = "more" if now > then else "less"
            best = (
                abs(now - then),
                f"{label} are {word} frequent: {percent(now)} of all, not {percent(then)}.",
            )
    if best[1]:
        yield best


def _relations(drawn: Drawn) -> Iterator[tuple[float, str]]:
    """Columns that tell less of the outcome than they do in the data."""
    subject, name = drawn.subject, drawn.subject.outcome_names[0]
    X, y = subject.contexts[drawn.rows], subject.outcomes[drawn.rows, 0]
    for j, label in enumerate(subject.labels):
        before, after = _told(X[:, j], y), _told(drawn.x[:, j], drawn.y[:, 0])
        if before < max(TELLS, 9 / len(y)) or after > (1 - FORGOTTEN) * before:
            continue
        if after < 0.1 * before:
            yield before - after, f"{_cap(label)} no longer says anything about {name}."
        else:
            lost = percent(1 - after / before)
            yield before - after, f"{_cap(label)} says {lost} less about {name} than in the data."


def _told(x: np.ndarray, y: np.ndarray) -> float:
    """Share of the outcome's variance that goes with one column."""
    if not (np.ptp(x) > 0 and np.ptp(y) > 0):
        return 0.0
    return float(np.corrcoef(x, y)[0, 1] ** 2)


def _groups(drawn: Drawn) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Weekdays, and 0/1 columns: what they are called, which rows and which draws they hold."""
    subject, rows, source = drawn.subject, drawn.rows, drawn.source
    if source is not None and subject.dates is not None:
        weekday = parts_of(subject.dates)["weekday"][rows]
        for k, name in enumerate(DAYS):
            yield name, weekday == k, weekday[source] == k
    for j, label in enumerate(subject.labels):
        values = subject.contexts[rows, j]
        if not np.all((values == 0) | (values == 1)):
            continue
        moved = drawn.x[:, j] if source is None else values[source]
        if np.all((moved == 0) | (moved == 1)):
            words = label if " = " in label else f"{label} = 1"
            yield f"{_cap(subject.noun)}s with {words}", values == 1, moved == 1


def _change(share: float) -> str:
    return f"{percent(abs(share))} {'higher' if share > 0 else 'lower'}"


def _cap(text: str) -> str:
    return text[:1].upper() + text[1:]
