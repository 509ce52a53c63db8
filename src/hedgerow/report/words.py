"""The report's sentences: what is decided, what it costs, what it hedges against, in plain words.

Every function returns plain text; ``page.py`` escapes it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hedgerow.ambiguity import ERM, KL, CausalSinkhorn, CausalWasserstein, Sinkhorn
from hedgerow.certify.value import RobustValue
from hedgerow.data.nominal import AdaptedNominal, NeighbourNominal
from hedgerow.losses import InventorySubstitution, MeanCVaR, MeanVariance, Newsvendor
from hedgerow.report.costs import Cost
from hedgerow.report.scenario import Scenario
from hedgerow.report.subject import Subject
from hedgerow.rules import Forest
from hedgerow.rules.affine import AffineRule, ConstantRule
from hedgerow.rules.two_layer import TwoLayerNetwork

MOST_NAMED, SHORT = 5, 20


def number(value: float, digits: int = 4) -> str:
    """A number for people: some significant digits, a real minus sign, commas in thousands."""
    if not math.isfinite(value):
        return "∞" if value == math.inf else "–"
    size = abs(value)
    if size != 0 and (size < 1e-6 or size >= 1e9):
        return f"{value:.{digits - 1}e}".replace("-", "−")
    whole = 1 if size == 0 else math.floor(math.log10(size)) + 1
    places = min(max(digits - whole, 0), 8)
    text = f"{size:,.{places}f}"
    text = text.rstrip("0").rstrip(".") if places else text
    return f"−{text}" if value < 0 and text.strip("0.,") else text


def percent(share: float) -> str:
    """A share of a hundred, with a space that does not break."""
    return f"{share:.0%}".replace("%", "\u00a0%")


def named(names: list[str], most: int = MOST_NAMED, room: int = 150) -> str:
    """A list of names, the first few of many: at most so many, and about so many letters."""
    shown = 1
    while shown < min(len(names), most) and sum(map(len, names[: shown + 1])) <= room:
        shown += 1
    if shown == len(names) - 1 and len(names[-1]) <= SHORT:
        shown += 1  # "and 1 more" would take as long
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {rest} more" if rest else "")


def counted(count: int, noun: str) -> str:
    """So many of something."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def decides(subject: Subject) -> str:
    """What is decided."""
    loss, names = subject.policy.loss, subject.outcome_names
    if isinstance(loss, MeanVariance | MeanCVaR):
        return f"How to divide money among {counted(len(names), 'asset')}: {named(names)}"
    if isinstance(loss, Newsvendor | InventorySubstitution):
        unit = f", in {subject.unit}" if subject.unit else ""
        return f"How much to have ready before demand is known: {named(names)}{unit}"
    unit = f", in {subject.unit}" if subject.unit else ""
    return (
        f"{counted(len(subject.decision_names), 'number')}: {named(subject.decision_names)}{unit}"
    )


def sources(subject: Subject, inputs: list[dict[str, Any]]) -> str:
    """What it is decided from."""
    names = [one["name"] for one in inputs if one["used"]]
    text = f"{counted(len(names), 'column')}: {named(names, 8)}"
    if len(inputs) != len(subject.features):
        text += f" ({counted(len(subject.features), 'number')} after encoding)"
    ignored = [one["name"] for one in inputs if not one["used"]]
    return text + (f"; ignored, as never varied in training: {named(ignored)}" if ignored else "")


def loss_words(subject: Subject) -> str:
    """What a decision costs."""
    loss, unit = subject.policy.loss, subject.loss_unit
    money = f" {unit}" if unit else ""
    if isinstance(loss, Newsvendor):
        over, under = _costs(loss.holding), _costs(loss.stockout)
        return f"Each unit left over costs {over}{money}, each one missing costs {under}{money}" + (
            "" if unit else ", in the unit these costs were given in"
        )
    if isinstance(loss, InventorySubstitution):
        return (
            f"Each unit left over costs {_costs(loss.holding)}{money}, each one missing "
            f"{_costs(loss.shortage)}{money}; one product may stand in for another at a cost"
        )
    if isinstance(loss, MeanVariance):
        return (
            "Variance of the return, less "
            f"{number(float(loss.return_weight))} times the return: lower is better, and negative "
            "is a gain"
        )
    if isinstance(loss, MeanCVaR):
        return (
            f"Mean loss in the worst {percent(float(loss.tail))} of cases, less "
            f"{number(float(loss.return_weight))} times the mean return: lower is better"
        )
    return f"{type(loss).__name__}{f', in {unit}' if unit else ''}: lower is better"


def model_words(subject: Subject) -> str:
    """What it hedges with."""
    model: Any = subject.policy._given
    settings = [
        f"{name} {number(float(getattr(model, name)))}"
        for name in ("penalty", "radius", "epsilon", "order")
        if getattr(model, name, None) is not None
    ]
    name, idea = _MODELS.get(type(model), (type(model).__name__, ""))
    setting = f" ({', '.join(settings)})" if settings else ""
    return f"{name}{setting}{f': {idea}' if idea else ''}"


_MODELS = {
    ERM: ("Nothing", "history is trusted as it is (empirical risk minimisation)"),
    KL: ("KL divergence", "rows of the history may occur more or less often than they did"),
    Sinkhorn: ("Sinkhorn distance", "every row of the history may be shifted and blurred"),
    CausalSinkhorn: (
        "Causal Sinkhorn distance",
        "what is known beforehand and what then happens may both be shifted and blurred, the first "
        "without foreknowledge of the second",
    ),
    CausalWasserstein: (
        "Causal Wasserstein distance",
        "what is known beforehand and what then happens may both be shifted, the first without "
        "foreknowledge of the second",
    ),
}


def settings_words(subject: Subject) -> list[tuple[str, str]]:
    """What the model's settings mean."""
    model = subject.policy._given
    return [
        (name, meaning)
        for name, meaning in _SETTINGS.items()
        if getattr(model, name, None) is not None
    ]


_SETTINGS = {
    "penalty": "price that a distribution pays per unit of distance from the data; the smaller, "
    "the more the policy hedges",
    "radius": "how far from the data a distribution may be; the larger, the more the policy hedges",
    "epsilon": "how much a shifted row is blurred",
    "order": "1: distance counts as such; 2: distance counts squared, so large shifts are dear",
}


def rule_words(subject: Subject) -> str:
    """What kind of rule it is."""
    rule = subject.policy.rule_
    if isinstance(rule, Forest):
        trees, leaves, _ = rule.leaves.shape
        return (
            f"The average of {counted(trees, 'soft decision tree')}, "
            f"{counted(rule.depth, 'question')} deep with {leaves} leaves each; soft: every "
            "question is answered by degrees"
        )
    if isinstance(rule, AffineRule):
        return "A weighted sum of the columns, kept within what can be decided"
    if isinstance(rule, ConstantRule):
        return "One decision for all rows, whatever the columns say"
    if isinstance(rule, TwoLayerNetwork):
        return f"A small neural network with {rule.bias.shape[1]:,} hidden units per decision"
    return type(rule).__name__


def tiles(subject: Subject, costs: list[Cost], value: RobustValue) -> list[tuple[str, str, str]]:
    """The few numbers to remember: name, figure, remark."""
    money = f" {subject.loss_unit}" if subject.loss_unit else ""
    own, fixed = costs[0], next(cost for cost in costs if cost.kind == "reference")
    gap, low, high = own.against(fixed)
    sure = "within chance" if low <= 0 <= high else "beyond chance"
    change = f"{gap / fixed.mean:+.0%}".replace("%", "\u00a0%").replace("-", "−")
    found = [
        (
            "Mean loss of a row",
            f"{number(own.mean)}{money}",
            f"± {number(own.error, 2)} standard error",
        ),
        (
            "Against one fixed decision",
            change if fixed.mean > 0 else signed(gap),
            f"{signed(gap, 3)}{money} a row, {sure}",
        ),
        (
            "Worst 5\u00a0% of rows",
            f"{number(own.spread['tail'])}{money}",
            f"on average; worst row {number(own.spread['worst'])}",
        ),
    ]
    if not isinstance(subject.policy.ambiguity_, ERM):
        found.append(
            (
                "Robust value",
                f"{number(value.value)}{money}",
                f"against {number(value.nominal)} in training",
            )
        )
    return found


def signed(value: float, digits: int = 4) -> str:
    """A number with its sign."""
    text = number(value, digits)
    return text if text == "0" or text.startswith("−") else f"+{text}"


def verdict(costs: list[Cost], unit: str) -> str:
    """The policy against the best fixed decision of training, in one sentence."""
    policy = costs[0]
    fixed = next(cost for cost in costs if cost.kind == "reference")
    gap, low, high = policy.against(fixed)
    money = f" {unit}" if unit else ""
    if len(policy.losses) < 2:
        return "One row is too little to compare policies on."
    if low <= 0 <= high:
        return (
            f"On these rows it cannot be told apart from always making the same decision: the "
            f"difference of {number(gap, 3)}{money} a row lies within chance "
            f"({number(low, 3)} to {number(high, 3)})."
        )
    share = f" ({percent(abs(gap) / fixed.mean)})" if fixed.mean > 0 else ""
    word = "less" if gap < 0 else "more"
    ends = sorted((abs(low), abs(high)))
    return (
        f"On these rows it cost {number(abs(gap), 3)}{money} a row{share} {word} than always "
        f"making the decision that was best in training (95 % interval {number(ends[0], 3)} to "
        f"{number(ends[1], 3)})."
    )


def robust_words(subject: Subject, value: RobustValue, mean: float, error: float) -> list[str]:
    """What the robust value says, and whether the rows kept to it."""
    money = f" {subject.loss_unit}" if subject.loss_unit else ""
    trained = f"In training the policy cost {number(value.nominal)}{money} a row on average."
    if isinstance(subject.policy.ambiguity_, ERM):
        return [trained]
    within = value.stderr + value.bias
    shown = within > 1e-6 * abs(value.value)
    tolerance = f" (computed to within {number(within, 1)})" if shown else ""
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
    money = f" {subject.loss_unit}" if subject.loss_unit else ""
    rows = "the rows" if scenario.rows == subject.rows else f"{scenario.rows:,} of the rows"
    similar = _NOMINALS.get(type(subject.policy.nominal), ",")
    return (
        f"Around {rows} of this report{similar} the worst world would cost "
        f"{number(scenario.expected_loss)}{money} a row instead of {number(scenario.nominal)}"
        f"{money}. This is how outcomes, and the most important columns that vary by degrees, "
        "would be distributed in it."
    )


_NOMINALS = {
    NeighbourNominal: ", each with what happened on similar rows,",
    AdaptedNominal: ", similar rows taken together,",
}


def _costs(costs: Any) -> str:
    values = np.unique(np.asarray(costs, dtype=float))
    if len(values) == 1:
        return number(float(values[0]))
    return f"{number(float(values[0]))} to {number(float(values[-1]))}"
