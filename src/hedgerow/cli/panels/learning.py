"""``hedgerow fit --by``: one policy for all series of a table."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from hedgerow._warnings import UnreadableSeriesWarning
from hedgerow.cli.composing import compose, loss_of
from hedgerow.cli.named_columns import (
    censored_facts,
    censored_in,
    chosen_columns,
    column_facts,
    columns_read,
)
from hedgerow.cli.options import FitRequest
from hedgerow.cli.options import listed as names_in
from hedgerow.cli.panel_options import (
    NONE,
    WINDOWS,
    BadSeries,
    Gaps,
    Strategy,
    dashed,
    default_windows,
    windows_in,
)
from hedgerow.cli.panels.partitioned import fit_folder, rows_in
from hedgerow.cli.panels.tables import in_options, ticks_of, told_of
from hedgerow.cli.reading import read, read_found
from hedgerow.cli.screen import counting, print_facts
from hedgerow.data import TimeFeatures
from hedgerow.data.columns import numeric_column
from hedgerow.data.time_steps import TimeStep
from hedgerow.describe.names import training_words
from hedgerow.describe.numbers import counted, listed, number
from hedgerow.describe.parts import settings_words
from hedgerow.panels import PanelPolicy
from hedgerow.panels.pooled import SEEDS
from hedgerow.panels.series import STATUSES, SeriesKeys

NAMED = 3
"""Odd series that are named."""


def fit(request: FitRequest) -> None:
    """Learn the policy of a panel, save it, and print what was done."""
    loss, loss_words = loss_of(request)
    folder = request.data.is_dir()
    table, found = (None, None) if folder else read_found(request.data, request)
    rows = rows_in(request.data) if table is None else len(table)
    by, name = tuple(names_in(request.by)), request.outcomes[0]
    costs = columns_read(loss)
    group_costs = _group_costs(request, by, costs)
    if group_costs is not None:
        costs = [column for column in costs if column not in group_costs.columns]
        loss_words += f", costs by group from {request.group_costs}"
    with told_of(None, fitting=True):
        features = time_features(request, by, costs)
    with told_of(request.data, fitting=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreadableSeriesWarning)  # told below
        series = 1 if table is None else len(SeriesKeys.of(table, by))
        separate = request.strategy == Strategy.separate
        censored = None if table is None else censored_in(table, request.censored)
        learned_from = table
        if features is None and table is not None:
            _check_complete(table, name, by, request)
            chosen = chosen_columns(table, request, costs)
            columns = [*by, *(each for each in chosen if each not in by), name]
            learned_from = table.filter(items=columns)
        panel = PanelPolicy(
            compose(request, loss, rows // series if separate else rows),
            by,
            strategy=str(request.strategy or Strategy.pooled),
            features=features,
            seeds=request.seeds or SEEDS,
            n_jobs=request.jobs,
            engine=request.engine,
            scheduler=request.scheduler,
            store=request.resume,
            costs=group_costs,
            bad_series="refuse" if request.bad_series is None else request.bad_series.spoken,
        )
        outcome = None if features else name
        with _shown_training(panel):
            if learned_from is None:
                fit_folder(panel, request.data, outcome, request.resume)
            else:
                panel.fit(learned_from, outcome, censored=censored)
    panel.table_format_ = None if found is None else found.to_json()
    panel.save(request.out)
    series = max(series, len(panel.panel_.keys))
    facts = panel.panel_.facts
    cost = float(panel.series_loss_ @ facts.rows / facts.rows.sum())
    print_facts(
        [
            ("history", f"{rows:,} rows of {request.data}{_span(panel, table)}"),
            *_series_facts(panel, series),
            ("outcome", name + _covered(features)),
            *censored_facts(censored, request.censored),
            *(
                column_facts(panel.panel_.encoder)
                if features is None
                else _feature_facts(features, request)
            ),
            ("loss", loss_words),
            *_training_facts(panel),
            ("in-sample cost", f"{number(cost)} a row, over {int(facts.rows.sum()):,} rows"),
            ("saved as", str(request.out)),
        ]
    )


DAYS_OF_A_WEEK = 7


def time_features(
    request: FitRequest, by: tuple[str, ...], costs: list[str]
) -> TimeFeatures | None:
    """The features that were asked for, with defaults that this step allows; None without time."""
    if request.time is None:
        return None
    step: Any = request.step or "D"
    step = int(step) if step.isascii() and step.isdigit() else step
    lead, review = request.lead or 1, request.review or 1
    kind = TimeStep.of(step)
    least = max(lead, 1) + max(review, 1) - 1
    windows: dict[str, Any] = default_windows(kind.week, least, kind.kind == "M")
    for name in WINDOWS:
        text = getattr(request, name)
        windows[name] = windows[name] if text is None else windows_in(text)
    windows["level"] = windows["level"][0] if windows["level"] else None
    calendar: Any = ("weekday", "season") if kind.week == DAYS_OF_A_WEEK else True
    if request.calendar is not None:
        calendar = request.calendar != NONE and tuple(names_in([request.calendar]))
    return TimeFeatures(
        request.time,
        request.outcomes[0],
        by=by,
        known=tuple(dict.fromkeys([*names_in(request.known), *costs])),
        **windows,
        lead=lead,
        review=review,
        calendar=calendar,
        step=step,
        gaps=str(request.gaps or Gaps.refuse),
    )


def _group_costs(request: FitRequest, by: tuple[str, ...], names: list[str]) -> pd.DataFrame | None:
    """The table of costs by group, with the columns that are read from it."""
    path = request.group_costs
    if path is None:
        return None
    table = read(path, request)
    found = [name for name in dict.fromkeys(names) if name in table.columns]
    groups = [name for name in by if name in table.columns]
    if not found or not groups:
        wanted = f"group column ({listed(by)})" if not groups else f"column {names[0]!r} of costs"
        raise ValueError(f"{path} has no {wanted}; it has {listed(table.columns)}.")
    with told_of(path):
        for name in found:
            values = numeric_column(table, name)
            if np.any(values < 0):
                row = int(np.argmax(values < 0))
                raise ValueError(
                    f"Column {name!r} must not be negative, but row {row + 1} holds "
                    f"{number(float(values[row]))}."
                )
    return table.filter(items=[*groups, *found])


def _check_complete(
    table: pd.DataFrame, name: str, by: tuple[str, ...], request: FitRequest
) -> None:
    """Without time nobody fills in outcomes: name the first series that lacks one."""
    if name not in table.columns or request.bad_series == BadSeries.leave_out:
        return
    lacking = np.flatnonzero(table[name].isna())
    if len(lacking):
        keys = SeriesKeys.of(table.iloc[lacking[:1]], by)
        raise ValueError(
            f"Column {name!r} is empty in row {lacking[0] + 1} ({keys.words(keys.values[0])}); "
            "fill it in, drop the row, or say --bad-series leave-out to go on without such series."
        )


@contextmanager
def _shown_training(panel: PanelPolicy) -> Iterator[None]:
    """Show how far training has come: steps of every forest, or series."""
    policy = panel.policy
    if panel.strategy == Strategy.separate:
        policy.set_params(verbose=True)  # shows series
        yield
    else:
        runs, state = _beginnings(panel), {"run": 0, "done": 0}
        with counting("training") as report:

            def trained(done: int, total: int, objective: float) -> None:
                state["run"] += done < state["done"]
                state["done"] = done
                nth = f"beginning {state['run'] + 1} of {runs}" if runs > 1 else ""
                report(state["run"] * total + done, runs * total, nth)

            policy.set_params(verbose=trained)
            yield
    policy.set_params(verbose=False)


def _beginnings(panel: PanelPolicy) -> int:
    """How many trainings there are: rules without a mean are trained once."""
    rule = panel.policy.rule
    return panel.seeds if rule is None or rule.mean_of(panel.seeds) is not None else 1


def _span(panel: PanelPolicy, table: pd.DataFrame | None) -> str:
    features = panel.features
    if features is None or table is None or panel.left_out_:  # whose dates may be none
        return ""
    ticks = ticks_of(features, table)
    return f", {features.time_step.shown(ticks.min())} to {features.time_step.shown(ticks.max())}"


def _covered(features: TimeFeatures | None) -> str:
    if features is None or features.review == 1:
        return ""
    return f", the sum of {features.review} periods from a row's date on"


def _series_facts(panel: PanelPolicy, series: int) -> list[tuple[str, str]]:
    """How many series there are of each kind, and which are not just learned."""
    table = panel.series_
    found = {status: np.flatnonzero(table["status"] == status) for status in STATUSES}
    words = [f"{len(rows):,} {status}" for status, rows in found.items() if len(rows)]
    without = series - len(table) - len(panel.left_out_)
    if without:
        words.append(f"{without:,} without a row to learn from")
    if panel.left_out_:
        words.append(f"{len(panel.left_out_):,} left out")
    keys = panel.panel_.keys
    left_out = [
        ("  left out", f"{key}: {in_options(why, fitting=True).replace('row', 'its row')}")
        for key, why in panel.left_out_.items()
    ]
    return [("series", f"{series:,}: {', '.join(words)}"), *left_out[:NAMED]] + [
        (f"  {status}", _first(keys, rows))
        for status, rows in found.items()
        if status != STATUSES[0] and len(rows)
    ]


def _first(keys: SeriesKeys, rows: np.ndarray) -> str:
    named = "; ".join(keys.words(keys.values[row]) for row in rows[:NAMED])
    return named + (f" and {len(rows) - NAMED:,} more" if len(rows) > NAMED else "")


def _feature_facts(features: TimeFeatures, request: FitRequest) -> list[tuple[str, str]]:
    """What is made of the table, and which of it nobody asked for."""
    facts = [("features", f"{len(features.feature_names)}, made of what is known in time")]
    if features.known:
        facts.append(("  known ahead", listed(features.known)))
    if features.calendar_parts:
        facts.append(("  calendar", ", ".join(features.calendar_parts).replace("_", " ")))
    unit = {"D": "day", "h": "hour", "W": "week", "M": "month"}.get(str(features.step), "period")
    words = {
        "lags": "the outcome {} before",
        "rolling": "the mean of the last {}",
        "same_weekday": "the mean of the last {} of a weekday",
        "level": "the mean of the last {}",
    }
    for name, told in words.items():
        sizes = getattr(features, name)
        if sizes:
            sizes = sizes if isinstance(sizes, tuple) else (sizes,)
            numbers = ", ".join(map(str, sizes)) + ("" if name == "same_weekday" else f" {unit}s")
            default = " (default)" if getattr(request, name) is None else ""
            facts.append((f"  {dashed(name)}", told.format(numbers) + default))
    facts.append(("  decided", f"{counted(features.lead, unit)} ahead"))
    return facts


def _training_facts(panel: PanelPolicy) -> list[tuple[str, str]]:
    """Which rules there are, and what they are hedged against."""
    policy, series = panel.policy_, len(panel.panel_.keys)
    if policy is None:
        assert panel.rules_ is not None
        own = panel.policy_for(panel.panel_.keys.values[0])
        fixed = int(panel.rules_.constant.sum())
        told = f"separate: a rule for each of {series:,} series"
        if fixed:
            told += f"; of {fixed:,} the best constant decision, which no rule beat"
        return [("strategy", told), ("model", _model_words(own))]
    told = {
        "pooled": "pooled: one rule for all series, each in units of its level",
        "refined": "refined: one rule for all series, and a factor for each",
    }[panel.strategy]
    runs = _beginnings(panel)
    return [
        ("strategy", told),
        ("model", _model_words(policy)),
        ("rule", policy.rule_.words()),
        ("training", training_words(policy) + (f", {runs} times" if runs > 1 else "")),
    ]


def _model_words(policy: Any) -> str:
    given = policy.given_
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(given).__name__).lower()  # as --model has it
    return ", ".join(filter(None, [name, settings_words(given)]))
