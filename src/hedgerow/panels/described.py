"""What a panel's file says of its strategy, series and tables, read without anything that learns.

    arrays and description  →  what is a panel's own: ``PanelFacts``
                            →  the rest, which is that of a single policy

Everything is checked as in files of single policies, before anything is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from hedgerow.data.time_features import TimeFeatures
from hedgerow.panels.deciding import REFINED, SEPARATE, STRATEGIES
from hedgerow.panels.scaled_rows import Panel
from hedgerow.panels.series import STATUSES, SeriesFacts
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

SERIES, EACH = "series.", "each."
SCATTER, COSTS = "scatter", "costs"
SCENARIOS = 49
"""Levels that a series' errors are kept at."""
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


@dataclass(frozen=True)
class PanelFacts:
    """What of a file is a panel's own.

    Attributes
    ----------
    told : its entry in the description
    panel : what turns tables into rows
    features : how lags and the like are made, or None
    loss, factors, scatter : arrays by series, as ``PanelPolicy`` has them
    each : arrays of rules of single series
    """

    told: dict[str, Any]
    panel: Panel
    features: TimeFeatures | None
    loss: np.ndarray
    factors: np.ndarray | None
    scatter: np.ndarray
    each: dict[str, np.ndarray]

    @property
    def separate(self) -> bool:
        """Whether each series has a rule of its own."""
        return self.told["strategy"] == SEPARATE

    @property
    def feature_names(self) -> list[str]:
        """What the rule's features are called."""
        return [*self.panel.plain_names, *(() if self.separate else self.panel.codes)]


@np.errstate(all="ignore")
def read_facts(
    arrays: Mapping[str, np.ndarray], about: Mapping[str, Any]
) -> tuple[PanelFacts, dict[str, np.ndarray], dict[str, Any]]:
    """Return what is a panel's own, and arrays and description of the rest, or raise ``Wrong``."""
    arrays, about = dict(arrays), dict(about)
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
    facts = _facts(apart[SERIES], len(told["keys"]))
    panel = Panel.from_json(
        told,
        SeriesFacts(**{f.name: facts[f.name] for f in fields(SeriesFacts)}),
        _costs(told["costs"], costs),
    )
    features = None if told["features"] is None else TimeFeatures.from_json(told["features"])
    factors = facts.get("factor")
    if (factors is not None) != (told["strategy"] == REFINED):
        raise Wrong("it has factors of series, and is not refined, or none, and is")
    scatter = _table("its scatter", scatter, len(panel.keys) + 1, SCENARIOS)
    found = PanelFacts(told, panel, features, facts["loss"], factors, scatter, apart[EACH])
    return found, arrays, about


@np.errstate(all="ignore")
def check_each(
    each: Mapping[str, np.ndarray], series: int, of_one: Mapping[str, tuple[int, ...]]
) -> None:
    """Rules of all series have units and numbers such as single policies may have.

    ``of_one`` are shapes of the units of one.
    """
    for name, kind in UNITS.items():
        values = each.get(f"units.{name}")
        if values is None or values.dtype != np.float64 or values.shape != (series, *of_one[name]):
            raise Wrong(f"{EACH}units.{name} must be float64, one like the first for each series")
        within = (values >= kind.low) & (values <= kind.high)
        if not np.all(within | (values == 0) if kind.or_zero else within):
            raise Wrong(f"{EACH}units.{name} must lie between {kind.low:g} and {kind.high:g}")
    for name in ("constant", "loss"):
        if name not in each or each[name].shape != (series,):
            raise Wrong(f"{EACH}{name} must have an entry for each series")
    if each["constant"].dtype != np.bool_:
        raise Wrong(f"{EACH}constant must hold true or false")
    for name, values in each.items():
        if name.startswith("rule.") and not np.all(np.isinf(values) | (np.abs(values) <= LARGEST)):
            raise Wrong(f"its rules' numbers must be at most {LARGEST:g}")


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
