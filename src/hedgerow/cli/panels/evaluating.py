"""``hedgerow evaluate`` with the policy of a panel: what it costs, beside what is done now.

Comparisons are paired by week, as on the page (``report/panel/ways.py``): what makes a week dear
for one makes it dear for all, and the days of a week and the series of a day are no independent
observations. The standard error of a sum over w weeks is √w times the standard deviation of the
weeks' differences; a difference is told where its 95 % interval (Student's t) is clear of 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hedgerow.cli.asking_options import EvaluateRequest
from hedgerow.cli.panels.tables import new_series
from hedgerow.cli.panels.trial import POLICY, SPOKEN, Trial, put_to_the_test
from hedgerow.cli.screen import print_facts, print_rows, say
from hedgerow.data.table_kinds import is_csv
from hedgerow.data.table_writing import without_formulas, write_table
from hedgerow.describe.numbers import counted, number, percent
from hedgerow.panels import PanelPolicy

WORST = 5
"""Series that are listed."""
FEWEST_WEEKS = 2
"""Below, differences are paired by date."""
FEW = 8
"""Of what is paired; below, even large differences may be chance."""
MOST_LINES = 15
"""Of the table over time; beyond, quarters or years are taken together."""
WIDEST, NARROW = 32, 17
"""Letters of a name in a table, and in one with many columns."""


def evaluate(panel: PanelPolicy, table: pd.DataFrame, request: EvaluateRequest) -> None:
    """Print what a panel's decisions would have cost on a table with outcomes."""
    trial = put_to_the_test(panel, table, request)
    total = trial.summary(POLICY).total
    facts = [
        ("policy", str(request.policy)),
        ("test data", f"{len(table):,} rows of {request.test}{_span(trial)}"),
        ("series", f"{len(trial.keys):,}"),
        ("cost", f"{number(total.mean_cost)} a row, {number(total.cost)} in total"),
    ]
    if trial.left_out:
        words = "not judged: too early to decide on, or their outcome is not complete"
        facts.insert(2, ("", f"{trial.left_out:,} of them {words}"))
    print_facts(facts)
    remark = new_series(panel, trial.table)
    if remark is not None:
        say(remark, "yellow")
    everybody = trial.everybody
    shared = trial.where(everybody)
    if not everybody.all():
        say(f"Compared on the {everybody.sum():,} rows where each had a history to order by.")
    if everybody.any():
        _print_ways(shared)
        _print_worst(shared)
        _print_over_time(shared)
        _conclude(shared)
    if request.by_series is not None:
        _write_series(trial, shared, request.by_series)


def _print_ways(trial: Trial) -> None:
    """How everybody did, in total."""
    totals = {name: trial.summary(name).total for name in trial.orders}
    most = max(one.mean_cost for one in totals.values())
    unit = 1000 if max(one.cost for one in totals.values()) >= 1e7 else 1
    rows = [
        [
            _short(name, NARROW),
            number(one.mean_cost, like=most),
            f"{one.cost / unit:,.0f}",
            percent(one.fill_rate),
            percent(one.service_level),
            percent(one.waste_share),
            f"{one.stockouts:,}",
        ]
        for name, one in totals.items()
    ]
    total = "total" if unit == 1 else "in 1000s"
    headings = ["", "mean cost", total, "fill rate", "service", "waste", "stock-outs"]
    print_rows(headings, rows, breaks=set())


def _print_worst(trial: Trial) -> None:
    """Series with the largest cost, relative to what is done now where that is known."""
    others = _others(trial)
    own = trial.summary(POLICY)
    count = min(WORST, len(own.groups))
    headings, columns = ["series", "rows", "mean cost"], []
    if others:
        theirs = trial.summary(others[0]).by_group
        ratio = _ratio(own.by_group.cost, theirs.cost)
        order = np.argsort(-ratio, kind="stable")[:count]
        headings += [_short(others[0]), "ratio"]
        columns = [_alike(theirs.mean_cost[order]), [f"{each:.2f}" for each in ratio[order]]]
        told = f"costliest series, relative to {_spoken(others[0])}:"
    else:
        order = np.argsort(-own.by_group.cost, kind="stable")[:count]
        headings.append("in total")
        columns = [[f"{each:,.0f}" for each in own.by_group.cost[order]]]
        told = "costliest series:"
    names = [_short(trial.keys.words(trial.keys.values[own.groups[at]])) for at in order]
    counts = [f"{own.by_group.rows[at]:,}" for at in order]
    lines = zip(names, counts, _alike(own.by_group.mean_cost[order]), *columns, strict=True)
    say(f"The {count} {told}" if count > 1 else f"The {told}")
    print_rows(headings, [list(line) for line in lines], breaks=set())


def _print_over_time(trial: Trial) -> None:
    """Mean cost by month, or by quarter or year if there are many."""
    if trial.times is None or trial.times.dtype.kind != "M":
        return
    dates = pd.DatetimeIndex(trial.times)
    units = {"month": "M", "quarter": "Q", "year": "Y"}
    counts = {name: dates.to_period(unit).nunique() for name, unit in units.items()}
    called = next((name for name, count in counts.items() if count <= MOST_LINES), "year")
    if counts[called] < 2:
        return
    periods = dates.to_period(units[called])
    others = _others(trial)
    shown = [POLICY, *others[:1]]
    costs: Any = pd.DataFrame({name: trial.costs(name) for name in shown})
    means = costs.groupby(periods).mean()
    columns = [_alike(means[name].to_numpy()) for name in shown]
    headings = [called, "mean cost", *map(_short, others[:1])]
    if others:
        headings.append("ratio")
        ratio = _ratio(means[POLICY].to_numpy(), means[others[0]].to_numpy())
        columns.append([f"{each:.2f}" for each in ratio])
    lines = zip(map(str, means.index), *columns, strict=True)
    print_rows(headings, [list(line) for line in lines], breaks=set())


def _conclude(trial: Trial) -> None:
    """One sentence on the policy against everybody else, with standard errors."""
    from scipy.stats import t as student  # slow to import, and needed here alone

    others = _others(trial)
    if not others:
        return
    own, told, alike = trial.costs(POLICY), [], []
    blocks, called = _blocks(trial)
    count = len(np.unique(blocks))
    for name in others:
        theirs = trial.costs(name)
        saved = np.bincount(blocks, theirs - own)
        error = np.sqrt(count) * saved.std(ddof=1) if count > 1 else np.inf
        reach = float(student.ppf(0.975, count - 1)) if count > 1 else 1.0
        if abs(saved.sum()) <= reach * error or theirs.sum() <= 0:
            alike.append(_spoken(name))
            continue
        share, doubt = abs(saved.sum()) / theirs.sum(), error / theirs.sum()
        better = "less" if saved.sum() > 0 else "MORE"
        told.append(f"costs {percent(share)} (± {percent(doubt)}) {better} than {_spoken(name)}")
    errors = "± standard errors over" if told else "over"
    if alike:
        told.insert(0, f"cannot be told apart from {_joined(alike, 'or')}")
    little = f" {counted(count, called)} are little to go by." if count < FEW else ""
    say(f"This policy {_joined(told, 'and')} ({errors} {counted(count, called)}).{little}")


def _joined(words: list[str], last: str) -> str:
    """A list in a sentence."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def _blocks(trial: Trial) -> tuple[np.ndarray, str]:
    """Rows that are taken together: those of a week, of a date if there are few weeks."""
    if trial.times is None:
        return np.arange(len(trial.outcomes)), "row"
    if trial.times.dtype.kind == "M":
        days = trial.times.astype("datetime64[D]").astype(np.int64)
        weeks = np.unique((days + 3) // 7, return_inverse=True)[1]
        if weeks.max() + 1 >= FEWEST_WEEKS:
            return weeks, "week"
    return np.unique(trial.times, return_inverse=True)[1], "date"


def _write_series(trial: Trial, shared: Trial, path: Path) -> None:
    """Write every series' figures, and what it would have cost with others."""
    own = trial.summary(POLICY)
    keys = [trial.keys.values[place] for place in own.groups]
    table = pd.DataFrame(keys, columns=list(trial.keys.by))
    for name, figures in own.by_group._asdict().items():
        table[name] = figures
    others = _others(trial)
    if others and len(shared.outcomes):
        if len(shared.outcomes) < len(trial.outcomes):
            compared = shared.summary(POLICY)
            at = pd.Index(own.groups)
            table["rows_compared"] = _at(compared.by_group.rows, compared.groups, at, 0)
            table["mean_cost_compared"] = _at(compared.by_group.mean_cost, compared.groups, at)
        for name in others:
            found = shared.summary(name)
            heading = "mean_cost_" + name.replace(" ", "_").replace("-", "_")
            table[heading] = _at(found.by_group.mean_cost, found.groups, pd.Index(own.groups))
    write_table(without_formulas(table) if is_csv(path) else table, path)
    say(f"Wrote {counted(len(table), 'series').removesuffix('s')} to {path}.", stderr=True)


def _at(values: np.ndarray, groups: np.ndarray, wanted: pd.Index, else_: float = np.nan) -> list:
    return pd.Series(values, index=groups).reindex(wanted, fill_value=else_).to_list()


def _others(trial: Trial) -> list[str]:
    return [name for name in trial.orders if name != POLICY]


def _ratio(own: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Cost over cost; where neither paid anything, 1."""
    free = np.where(own > 0, np.inf, 1.0)
    return np.where(theirs > 0, own / np.where(theirs > 0, theirs, 1.0), free)


def _alike(values: np.ndarray) -> list[str]:
    """Numbers below each other, with as many decimals."""
    most = float(np.max(np.abs(values), initial=0.0))
    return [number(float(value), like=most) for value in values]


def _short(name: str, most: int = WIDEST) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _spoken(name: str) -> str:
    return SPOKEN.get(name, name)


def _span(trial: Trial) -> str:
    if trial.times is None or not len(trial.times):
        return ""
    first, last = (str(end).split("T")[0] for end in (trial.times.min(), trial.times.max()))
    return f", {first} to {last}"
