"""From what a file holds to a panel's policy: ``packing``, backwards, with every check."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from hedgerow.data import TimeFeatures
from hedgerow.estimator import RobustPolicy
from hedgerow.fitting import Parts
from hedgerow.panels.many import unpacked as unpacked_rules
from hedgerow.panels.packing import COSTS, EACH, SCATTER, SERIES
from hedgerow.panels.panel_policy import REFINED, SEPARATE, STRATEGIES, PanelPolicy
from hedgerow.panels.rows import Panel
from hedgerow.panels.scatter import SCENARIOS
from hedgerow.panels.series import STATUSES, SeriesFacts
from hedgerow.policy_file import unpacked
from hedgerow.policy_file.schema import (
    LARGEST,
    UNITS,
    Wrong,
    each,
    mapping,
    optional,
    record,
    text,
    whole,
)
from hedgerow.policy_file.storage import PANEL

ENTRIES = {
    "strategy": text,
    "features": optional(mapping),
    "outcome": optional(text),
    "seeds": whole(1),
    "by": each(text),
    "scaled": each(text),
    "levels": each(text),
    "apart": each(text),
    "keys": each(each(text)),
    "encoder": mapping,
    "costs": optional(record({"by": each(text), "keys": each(each(text)), "names": each(text)})),
}
__all__ = ["PANEL", "read_panel"]


def read_panel(
    arrays: dict[str, np.ndarray], about: dict[str, Any], parts: tuple[type, ...], loss: Any
) -> PanelPolicy:
    """Return the panel's policy that arrays and description tell of, or raise ``Wrong``."""
    told = about.pop(PANEL)
    record(ENTRIES)("the panel", told)
    if told["strategy"] not in STRATEGIES:
        raise Wrong(f"its strategy must be one of {', '.join(STRATEGIES)}")
    if any(len(key) != len(told["by"]) for key in told["keys"]):
        raise Wrong("its series have other numbers of values than of group columns")
    apart = {
        prefix: {
            name.removeprefix(prefix): arrays.pop(name)
            for name in list(arrays)
            if name.startswith(prefix)
        }
        for prefix in (SERIES, EACH)
    }
    scatter, costs = arrays.pop(SCATTER, None), arrays.pop(COSTS, None)
    inner = unpacked(RobustPolicy, arrays, about, parts, loss)
    facts = _facts(apart[SERIES], len(told["keys"]))
    panel = Panel.from_json(
        told,
        SeriesFacts(**{f.name: facts[f.name] for f in fields(SeriesFacts)}),
        _costs(told["costs"], costs),
    )
    features = None if told["features"] is None else TimeFeatures.from_json(told["features"])
    made = PanelPolicy(
        inner, told["by"], strategy=told["strategy"], features=features, seeds=told["seeds"]
    )
    separate = told["strategy"] == SEPARATE
    names = [*panel.encoder.get_feature_names_out(), *(() if separate else panel.codes)]
    if list(getattr(inner, "feature_names_in_", ())) != names:
        raise Wrong("its columns make other features than those it was trained with")
    made.policy_ = None if separate else inner
    made.rules_ = _rules(inner, apart[EACH], len(panel.keys)) if separate else None
    made.factors_ = facts.get("factor")
    if (made.factors_ is not None) != (told["strategy"] == REFINED):
        raise Wrong("it has factors of series, and is not refined, or none, and is")
    made.scatter_ = _table("its scatter", scatter, len(panel.keys) + 1, SCENARIOS)
    made.left_out_, made.table_format_ = {}, inner.table_format_
    made.ranges_ = inner.ranges_
    made.series_loss_, made.panel_, made.outcome_name_ = facts["loss"], panel, told["outcome"]
    return made


def _facts(arrays: dict[str, np.ndarray], series: int) -> dict[str, np.ndarray]:
    """What is known of the series: finite numbers, one for each."""
    needed = {field.name for field in fields(SeriesFacts)} | {"loss"}
    if not needed <= set(arrays) <= needed | {"factor"}:
        raise Wrong("what it knows of its series is incomplete, or too much")
    for name, values in arrays.items():
        if values.shape != (series,) or values.dtype.kind not in "fi":
            raise Wrong(f"{SERIES}{name} must hold a number for each of {series} series")
        if not np.all((np.abs(values) <= 1e150) & (values >= 0)) and name != "loss":
            raise Wrong(f"{SERIES}{name} must be finite and not negative")
    if np.any(arrays["status"] >= len(STATUSES)):
        raise Wrong(f"{SERIES}status must be less than {len(STATUSES)}")
    return arrays


def _costs(told: dict[str, Any] | None, values: np.ndarray | None) -> np.ndarray | None:
    """Costs of groups: a number for each group and name, or none of them."""
    if told is None and values is None:
        return None
    if told is None or any(len(key) != len(told["by"]) for key in told["keys"]):
        raise Wrong("its costs are those of other groups than it speaks of")
    return _table("its costs", values, len(told["keys"]), len(told["names"]))


def _table(what: str, values: np.ndarray | None, *shape: int) -> np.ndarray:
    """Finite numbers of a shape."""
    if values is None or values.shape != shape or values.dtype != np.float64:
        raise Wrong(f"{what} must be float64 of shape {shape}")
    if not np.all(np.abs(values) <= 1e150):
        raise Wrong(f"{what} must be finite")
    return values


def _rules(inner: RobustPolicy, arrays: dict[str, np.ndarray], series: int) -> Any:
    """Rules of all series, with units and numbers such as single policies may have."""
    for name, kind in UNITS.items():
        values = arrays.get(f"units.{name}")
        like = np.shape(getattr(inner.units_, name))
        if values is None or values.dtype != np.float64 or values.shape != (series, *like):
            raise Wrong(f"{EACH}units.{name} must be float64, one like the first for each series")
        within = (values >= kind.low) & (values <= kind.high)
        if not np.all(within | (values == 0) if kind.or_zero else within):
            raise Wrong(f"{EACH}units.{name} must lie between {kind.low:g} and {kind.high:g}")
    for name in ("constant", "loss"):
        if name not in arrays or arrays[name].shape != (series,):
            raise Wrong(f"{EACH}{name} must have an entry for each series")
    if arrays["constant"].dtype != np.bool_:
        raise Wrong(f"{EACH}constant must hold true or false")
    for name, values in arrays.items():
        if name.startswith("rule.") and not np.all(np.isinf(values) | (np.abs(values) <= LARGEST)):
            raise Wrong(f"its rules' numbers must be at most {LARGEST:g}")
    parts = Parts.of(inner.loss, inner.ambiguity, inner.rule)
    return unpacked_rules(arrays, parts)
