"""What the page's script computes with: the rule, its units, inputs, rows and a background.

Arrays are base64 of little-endian bytes. Parameters are float32, as they were learned, and data are
float64, so the script decides exactly what the policy does, up to the rounding of float32.

A forest's leaves are mapped onto the decision set here; rules that map their own output are sent
with their raw parameters and the blocks of the decision set.
"""

from __future__ import annotations

import base64
from typing import Any

import jax
import numpy as np

from hedgerow._components import double
from hedgerow.data.encoder import CATEGORY, DATE, Column, TableEncoder
from hedgerow.decisions import Box, DecisionSet, Free, Nonnegative, Product, Simplex
from hedgerow.programs import program
from hedgerow.report.subject import Subject
from hedgerow.rules import Forest
from hedgerow.rules.affine import AffineRule, ConstantRule
from hedgerow.rules.two_layer import TwoLayerNetwork

MOST_ROWS, MOST_NUMBERS = 2000, 60_000
"""Rows, and numbers in them, that a page carries; they are evenly spaced over the data."""
BACKGROUND, FEWER, LARGE = 100, 25, 2000
"""Rows that decisions are compared with, and how many for rules of more gates or units than that,
so that reasons keep up with a slider."""
MARGIN = 0.05
SLIDER_STEPS = 200


def live_part(subject: Subject, row: int | None) -> dict[str, Any]:
    """Everything the script needs, as plain values; ``row`` (from 1) is where it begins."""
    policy, units = subject.policy, subject.policy.units_
    chosen = chosen_rows(subject, row)
    inputs = _inputs(subject)
    spaced = evenly(subject.rows, _background_rows(policy.rule_))
    return {
        "rule": _rule(policy.rule_),
        "units": {
            "centre": f64(units.x_centre),
            "factor": f64(units.x_factor),
            "decision": f64(units.z_unit),
        },
        "features": subject.labels,
        "inputs": inputs,
        "typical": [_typical(subject, one) for one in inputs],
        "decisions": subject.decision_names,
        "outcomes": subject.outcome_names,
        "outcome_of": [subject.outcome_of(k) for k in range(policy.n_decisions_)],
        "shares": [not scalable for scalable in _decision_set(subject).scalable.tolist()],
        "unit": subject.unit,
        "loss_unit": subject.loss_unit,
        "background": f64(subject.contexts[spaced]),
        "rows": {
            "total": subject.rows,
            "numbers": (chosen + 1).tolist(),
            "contexts": f64(subject.contexts[chosen]),
            "outcomes": f64(subject.outcomes[chosen]),
            "dates": {
                str(i): np.array(_dates(subject, one["name"]))[chosen].tolist()
                for i, one in enumerate(inputs)
                if one["kind"] == DATE
            },
        },
        "start": 1 if row is None else row,
    }


def chosen_rows(subject: Subject, row: int | None = None) -> np.ndarray:
    """Positions of the rows that the page carries, ``row`` (from 1) among them."""
    numbers = subject.contexts.shape[1] + subject.outcomes.shape[1]
    spaced = evenly(subject.rows, min(MOST_ROWS, max(50, MOST_NUMBERS // numbers)))
    return spaced if row is None else np.union1d(spaced, [row - 1])


def evenly(rows: int, most: int) -> np.ndarray:
    """At most so many positions, evenly spaced from the first row to the last."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(int))


def f32(array: Any) -> dict[str, str]:
    """Pack numbers that were learned in float32."""
    return {"f32": base64.b64encode(np.asarray(array, "<f4").tobytes()).decode("ascii")}


def f64(array: Any) -> dict[str, str]:
    """Pack numbers exactly."""
    return {"f64": base64.b64encode(np.asarray(array, "<f8").tobytes()).decode("ascii")}


def _decision_set(subject: Subject) -> DecisionSet:
    return subject.policy.loss.decisions_for(subject.outcomes.shape[1])


@program
def _leaf_decisions(forest: Forest) -> jax.Array:
    return forest.leaf_decisions()


def _rule(rule: Any) -> dict[str, Any]:
    if isinstance(rule, Forest):
        trees, leaves, decisions = rule.leaves.shape
        with jax.enable_x64(True):
            mapped = np.asarray(_leaf_decisions(double(rule)))
        return {
            "kind": "forest",
            "trees": trees,
            "depth": leaves.bit_length() - 1,
            "decisions": decisions,
            "temperature": float(rule.temperature),
            "weights": f32(rule.gate_weights),
            "biases": f32(rule.gate_biases),
            "leaves": f32(mapped),
            "seen": None if rule.features is None else np.asarray(rule.features).tolist(),
        }
    if isinstance(rule, AffineRule):
        parts = {"kind": "affine", "matrix": f32(rule.matrix)}
    elif isinstance(rule, TwoLayerNetwork):
        parts = {
            "kind": "two-layer",
            "hidden": f32(rule.hidden),
            "bias": f32(rule.bias),
            "output": f32(rule.output),
        }
    elif isinstance(rule, ConstantRule):
        parts = {"kind": "constant"}
    else:
        raise ValueError(
            f"A report computes decisions live, which it cannot do for a {type(rule).__name__}; it "
            "knows forests, two-layer networks, affine and constant rules."
        )
    return parts | {"offset": f32(rule.offset), "map": _blocks(rule.decision_set)}


def _blocks(decision_set: DecisionSet) -> list[dict[str, Any]]:
    """The decision set as a row of blocks, in working units."""
    if isinstance(decision_set, Product):
        return [block for part in decision_set.sets for block in _blocks(part)]
    kinds = {Free: "free", Nonnegative: "nonnegative", Simplex: "simplex", Box: "box"}
    kind = kinds.get(type(decision_set))
    if kind is None:
        raise ValueError(
            "A report computes decisions live, which it cannot do for decisions in a "
            f"{type(decision_set).__name__}; a forest's can be shown in any set."
        )
    block: dict[str, Any] = {"kind": kind, "size": decision_set.dimension}
    if isinstance(decision_set, Box):
        block["low"], block["high"] = _ends(decision_set.low), _ends(decision_set.high)
    return [block]


def _ends(values: Any) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in np.asarray(values)]


def _background_rows(rule: Any) -> int:
    parts = {Forest: "gate_biases", TwoLayerNetwork: "bias"}.get(type(rule))
    return FEWER if parts and np.size(getattr(rule, parts)) > LARGE else BACKGROUND


def _inputs(subject: Subject) -> list[dict[str, Any]]:
    """What a reader can set: the table's columns, or the features themselves."""
    columns = [Column(name, "number") for name in subject.features]
    if subject.table is not None:
        columns = TableEncoder.from_json((subject.policy.columns_ or {})["encoder"]).columns_
    place = {name: j for j, name in enumerate(subject.features)}
    return [
        _input(subject, column, [place[name] for name in column.features]) for column in columns
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
