"""The report's sentences: what is decided, what it costs, what it hedges against, in plain words.

What the policy's parts say of themselves, put together. Every function returns plain text;
``html.py`` escapes it.
"""

from __future__ import annotations

import math
from typing import Any

from hedgerow.certify.value import RobustValue
from hedgerow.describe.numbers import counted, listed, number, percent
from hedgerow.describe.parts import settings_words
from hedgerow.report.costs import Cost
from hedgerow.report.scenario import Scenario
from hedgerow.report.subject import Subject

MOST_NAMED = 5
SOURCES = {
    "distilled": "It is a small tree that was fitted to the rule’s decisions.",
    "hardened": "It is the most faithful of the rule’s trees, its questions answered by yes or no.",
}
"""Where rules in words come from."""


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
    subject: Subject, costs: list[Cost], value: RobustValue | None
) -> list[tuple[str, str, str]]:
    """The few numbers to remember: name, figure, remark."""
    money = subject.money
    own, fixed = costs[0], next(cost for cost in costs if cost.kind == "reference")
    gap, low, high = own.against(fixed)
    sure = "within chance" if low <= 0 <= high else "beyond chance"
    found = [
        (
            "Mean loss of a row",
            f"{number(own.mean)}{money}",
            f"± {number(own.error, 2)} standard error",
        ),
        (
            "Against one fixed decision",
            percent(gap / fixed.mean, signed=True) if fixed.mean > 0 else number(gap, signed=True),
            f"{number(gap, 3, signed=True)}{money} a row, {sure}",
        ),
        (
            f"Worst {percent(0.05)} of rows",
            f"{number(own.spread['tail'])}{money}",
            f"on average; worst row {number(own.spread['worst'])}",
        ),
    ]
    if value is not None and subject.policy.given_.description().hedges:
        remark = f"against {number(value.nominal)} if nothing changes"
        found.append(("Robust value", f"{number(value.value)}{money}", remark))
    return found


def verdict(subject: Subject, costs: list[Cost]) -> str:
    """The policy against the best fixed decision of training, in one sentence."""
    policy = costs[0]
    fixed = next(cost for cost in costs if cost.kind == "reference")
    gap, low, high = policy.against(fixed)
    if len(policy.losses) < 2:
        return "One row is too little to compare policies on."
    if low <= 0 <= high:
        return (
            f"On these rows it cannot be told apart from always making the same decision: the "
            f"difference of {number(gap, 3)}{subject.money} a row lies within chance "
            f"({number(low, 3)} to {number(high, 3)})."
        )
    share = f" ({percent(abs(gap) / fixed.mean)})" if fixed.mean > 0 else ""
    word = "less" if gap < 0 else "more"
    ends = sorted((abs(low), abs(high)))
    return (
        f"On these rows it cost {number(abs(gap), 3)}{subject.money} a row{share} {word} than "
        f"always making the decision that was best in training ({percent(0.95)} interval "
        f"{number(ends[0], 3)} to {number(ends[1], 3)})."
    )


def robust_words(
    subject: Subject, value: RobustValue | None, mean: float, error: float
) -> list[str]:
    """What the robust value says, and whether the rows kept to it."""
    if value is None:
        return ["This policy was saved before its robust value was computed."]
    money = subject.money
    trained = f"Under the training distribution it costs {number(value.nominal)}{money} a row."
    if not subject.policy.given_.description().hedges:
        return [trained]
    within = value.stderr + value.bias
    shown = within > 1e-6 * abs(value.value)
    known = [f"computed to within {number(within, 1)}"] if shown else []
    known += filter(None, [value.guarantee(money)])
    tolerance = f" ({'; '.join(known)})" if known else ""
    if not math.isfinite(value.value):
        meaning = "Its robust value is infinite: at this penalty nothing bounds how bad it can get."
    elif value.radius is not None:
        meaning = (
            f"Its robust value is {number(value.value)}{money}{tolerance}: whatever distribution "
            f"within the radius {number(value.radius)} of the training data comes true, the "
            "average cost is no more than that."
        )
    else:
        meaning = (
            f"Its robust value is {number(value.value)}{money}{tolerance}: in the worst world near "
            f"the training data a row costs {number(value.expected_loss)}{money} on average, and "
            "what that world is charged for being unlike the data is taken off. The further the "
            "robust value lies above the average of training, the more could go wrong nearby."
        )
    rows = f"The rows of this report cost {number(mean)}{money} on average,"
    if mean <= value.value:
        kept = f"{rows} less than the robust value."
    elif mean - 2 * error <= value.value:
        kept = f"{rows} more than the robust value, but by no more than chance explains."
    else:
        kept = (
            f"{rows} more than the robust value: they differ from the training data by more than "
            "the policy was hedged against."
        )
    return [trained, meaning, kept]


def scenario_words(subject: Subject, scenario: Scenario) -> str:
    """What the histograms show."""
    if scenario.trouble:
        return scenario.trouble
    rows = "the rows" if scenario.rows == subject.rows else f"{scenario.rows:,} of the rows"
    similar = subject.policy.nominal_for(scenario.rows).description().rows
    shares = any("values" in panel for panel in scenario.panels)
    degrees = "" if shares else " that vary by degrees"
    return (
        f"Around {rows} of this report,{f' {similar},' if similar else ''} the worst world would "
        f"cost {number(scenario.expected_loss)}{subject.money} a row instead of "
        f"{number(scenario.nominal)}{subject.money}. This is how outcomes, and the most important "
        f"columns{degrees}, would be distributed in it."
    )


def limits(subject: Subject, carried: int) -> str:
    """What the page leaves out, if it does."""
    if carried == subject.rows:
        return ""
    return (
        f"Charts and the what-if panel carry {carried:,} of the {subject.rows:,} rows, evenly "
        "spaced; costs are of all rows."
    )
