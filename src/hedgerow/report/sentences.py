"""The report's sentences: what is decided, what it costs, what it hedges against, in plain words.

What the policy's parts say of themselves, put together. Every function returns plain text;
``html.py`` escapes it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hedgerow.certify.value import RobustValue
from hedgerow.describe.numbers import counted, listed, number, percent
from hedgerow.describe.parts import settings_words
from hedgerow.report.compared_costs import Cost, compared_with
from hedgerow.report.subject import Subject
from hedgerow.report.worst_world import Scenario

MOST_NAMED = 5
SOURCES = {
    "distilled": "It is a small tree that was fitted to the rule’s decisions.",
    "hardened": "It is the most faithful of the rule’s trees, its questions answered by yes or no.",
}
"""Where rules in words come from."""


def lead(subject: Subject) -> str:
    """What the page is about: the rows, and when they were."""
    span = ""
    if subject.dates is not None:
        span = f", {subject.dates.min()} to {subject.dates.max()}"
    return (
        f"A decision rule that was learned from history, on {counted(subject.rows, subject.noun)} "
        f"of data{span}."
    )


def decides(subject: Subject) -> str:
    """What is decided."""
    unit = f", in {subject.unit}" if subject.unit else ""
    what, names = subject.policy.loss.description().decides, subject.outcome_names
    if not what:
        names = subject.decision_names
        what = counted(len(names), "number")
    return f"{what}: {listed(names, MOST_NAMED)}{unit}"


def sources(subject: Subject, inputs: list[dict[str, Any]]) -> str:
    """What it is decided from."""
    inputs = [one for one in inputs if one["features"]]
    names = [one["name"] for one in inputs if one["used"]]
    text = f"{counted(len(names), 'column')}: {listed(names, 8)}"
    if len(inputs) != len(subject.features):
        text += f" ({counted(len(subject.features), 'number')} after encoding)"
    ignored = [one["name"] for one in inputs if not one["used"]]
    if ignored:
        text += f"; ignored, as never varied in training: {listed(ignored, MOST_NAMED)}"
    return text


def hedges_with(subject: Subject) -> str:
    """What it hedges with."""
    model = subject.policy.given_
    about, settings = model.description(), settings_words(model)
    idea = f": {about.idea}" if about.idea else ""
    columns = f". {about.columns}" if about.columns else ""
    return f"{about.name}{f' ({settings})' if settings else ''}{idea}{columns}"


def rule_words(subject: Subject) -> str:
    """What kind of rule it is and, if its gates were hardened, what that changed."""
    policy = subject.policy
    words = policy.rule_.words()
    return words if policy.hardening_ is None else f"{words}. {policy.hardening_}"


def tiles(
    subject: Subject, costs: list[Cost], value: RobustValue | None, most: tuple[str, float] | None
) -> list[tuple[str, str, str]]:
    """One number for each question: question, figure, remark.

    ``most`` is the column that decisions depend on most, and its share.
    """
    money, noun = subject.money, subject.noun
    own = costs[0]
    found = [
        (
            "What does it cost?",
            f"{number(own.mean)}{money}",
            f"a {noun} on average, ± {number(own.error, 2)} standard error",
        ),
        _saving(subject, costs),
    ]
    if value is not None and _hedges(subject):
        bad = f"{number(value.expected_loss)}{money}"
        remark = f"a {noun} on average, in the worst world it is hedged against"
        found.append(("How bad can it get?", bad, remark))
    else:
        tail = f"{number(own.spread['tail'])}{money}"
        remark = f"on average over the worst {percent(0.05)} of these {noun}s"
        found.append(("How bad can it get?", tail, remark))
    if most is not None:
        name, share = most
        found.append(("What decides most?", name, f"{percent(share)} of how the decision reacts"))
    return found


def _saving(subject: Subject, costs: list[Cost]) -> tuple[str, str, str]:
    """What it saves against what is done now, or against always deciding the same."""
    own, other = costs[0], compared_with(costs)
    gap, low, high = own.against(other)
    name = _plainly(other)
    if len(own.losses) < 2:
        return "What does it save?", "–", "one row is too little to tell"
    if low <= 0 <= high:
        ends = f"{number(-high, 2, signed=True)} to {number(-low, 2, signed=True)}"
        remark = f"against {name}: {ends}{subject.money} a {subject.noun}, which may be chance"
        return "What does it save?", "Not clear", remark
    share = abs(gap) / (other.mean if other.mean > 0 else math.inf)
    figure = percent(share) if share > 0 else f"{number(abs(gap), 3)}{subject.money}"
    question = "What does it save?" if gap < 0 else "What more does it cost?"
    remark = f"{number(abs(gap), 3)}{subject.money} a {subject.noun}, against {name}"
    return question, figure, remark


def _plainly(other: Cost) -> str:
    """What the policy is compared with, within a sentence."""
    if other.kind == "orders":
        return other.name[:1].lower() + other.name[1:]
    return "always deciding the same"


def _hedges(subject: Subject) -> bool:
    return subject.policy.given_.description().hedges


def verdict(subject: Subject, costs: list[Cost]) -> str:
    """The policy against present orders or the best fixed decision, in one sentence."""
    own, other = costs[0], compared_with(costs)
    gap, low, high = own.against(other)
    noun, name = subject.noun, _plainly(other)
    if len(own.losses) < 2:
        return "One row is too little to compare policies on."
    compared = int(np.isfinite(other.losses).sum())
    rows = f"On the {counted(compared, noun)} of this report"
    if compared < len(own.losses):
        rows = f"On the {counted(compared, noun)} for which they are known"
    fixed = "" if other.kind == "orders" else ", as was best in training"
    if low <= 0 <= high:
        return (
            f"{rows} it cannot be told apart from {name}{fixed}: the difference of "
            f"{number(gap, 3, signed=True)}{subject.money} a {noun} lies within chance "
            f"({number(low, 3, signed=True)} to {number(high, 3, signed=True)})."
        )
    share = f" ({percent(abs(gap) / other.mean)})" if other.mean > 0 else ""
    word = "less" if gap < 0 else "more"
    ends = sorted((abs(low), abs(high)))
    return (
        f"{rows} it cost {number(abs(gap), 3)}{subject.money} a {noun}{share} {word} than "
        f"{name}{fixed}; {percent(0.95)} interval {number(ends[0], 3)} to {number(ends[1], 3)}."
    )


def bad_words(subject: Subject, value: RobustValue | None, own: Cost, scenario: Scenario) -> str:
    """How bad it can get, in one sentence or two."""
    money, noun = subject.money, subject.noun
    if value is None:
        return "This policy was saved before its robust value was computed."
    if not _hedges(subject):
        return scenario.trouble
    if not math.isfinite(value.value):
        return "Nothing bounds how bad it can get: at its penalty the robust value is infinite."
    usual = f"instead of the {number(value.nominal)}{money} it cost on the training data"
    text = (
        f"In the worst world that it is hedged against, a {noun} costs "
        f"{number(value.expected_loss)}{money} on average, {usual}."
    )
    margin = own.mean - value.expected_loss
    if margin <= 0:
        return f"{text} The {subject.noun}s of this report cost less than that."
    if margin <= 2 * own.error:
        kept = "cost more, but by no more than chance explains"
    else:
        kept = "cost more: they differ from training by more than it was hedged against"
    return f"{text} The {subject.noun}s of this report {kept}."


def robust_words(subject: Subject, value: RobustValue | None) -> list[str]:
    """Where the numbers of "How bad can it get?" come from, and how sure they are."""
    if value is None or not _hedges(subject) or not math.isfinite(value.value):
        return []
    money, price = subject.money, value.expected_loss - value.value
    within = value.stderr + value.bias
    shown = within > 1e-6 * abs(value.value)
    known = [f"computed to within {number(within, 1)}"] if shown else []
    known += filter(None, [value.guarantee(money)])
    sure = f" It is {' and '.join(known)}." if known else ""
    if value.radius is not None:
        meaning = (
            f"The robust value is {number(value.value)}{money}: whatever distribution within the "
            f"radius {number(value.radius)} of the training data comes true, the average cost is "
            f"no more than that.{sure}"
        )
    else:
        meaning = (
            f"The robust value is {number(value.value)}{money}: the "
            f"{number(value.expected_loss)}{money} of the worst world, less the "
            f"{number(price, 3)}{money} that its distance from the training data is charged. No "
            f"world as near as this one costs more than it does.{sure}"
        )
    return [
        meaning,
        "“Computed to within” is numerical error; “proved” is a guarantee about the training data "
        "as they are. Neither says how the next rows will differ from them by chance: that is "
        "for `hedgerow.calibrate`.",
    ]


def scenario_words(subject: Subject, scenario: Scenario) -> list[str]:
    """What the worst world near the rows looks like; where its numbers come from."""
    if scenario.trouble:
        return []
    rows = f"the {counted(scenario.rows, subject.noun)}"
    similar = subject.policy.nominal_for(scenario.rows).description().rows
    origin = (
        f"What the worst world near {rows} of this report looks like"
        f"{f', {similar}' if similar else ''}. It starts from these {subject.noun}s, the sentence "
        f"above from the training data: here the average goes from {number(scenario.nominal)} to "
        f"{number(scenario.expected_loss)}{subject.money}."
    )
    return [origin, *scenario.words]


def limits(subject: Subject, carried: int) -> str:
    """What the page leaves out, if it does."""
    if carried == subject.rows:
        return ""
    return (
        f"Charts and the what-if panel carry {carried:,} of the {subject.rows:,} rows, evenly "
        "spaced; costs are of all rows."
    )
