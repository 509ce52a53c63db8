"""Tables of time features: rows to learn from, rows to decide for, an overview over series.

Settings say which features there are (``time_features``); the grid of all periods gives each row
its place (``time_grid``); what was known there is arithmetic on the grid (``time_windows``).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow import _checks
from hedgerow._frames import require_pandas
from hedgerow._warnings import ShortSeriesWarning
from hedgerow.data import time_grid
from hedgerow.data.time_grid import LongTable, SeriesNames, TimeGrid
from hedgerow.data.time_steps import checked_names
from hedgerow.data.time_windows import Past, outcomes_ahead
from hedgerow.describe.numbers import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.data.time_features import TimeFeatures

DROP, REFUSE, MISSING = "drop", "refuse", "missing"
"""What becomes of rows without enough history."""


def training(
    settings: TimeFeatures, table: pd.DataFrame, keep: str | Iterable[str], short: str
) -> pd.DataFrame:
    """Return rows to learn from; see ``TimeFeatures.training``."""
    _checks.one_of("short", short, (DROP, MISSING))
    kept = _kept(settings, keep)
    table, names, grid = _laid(settings, table, (*settings.known, *kept))
    columns = _outcome_columns(settings, grid)
    target = outcomes_ahead(grid, settings.review)
    possible = _is_row(settings, grid) & ~np.isnan(target)
    chosen = possible & _ready(columns, len(possible)) if short == DROP else possible
    _tell_short(settings, chosen, grid, names)
    place = np.flatnonzero(chosen)
    row, carried = grid.row[place], (*settings.known, *kept)
    if carried and np.any(row < 0):
        i = int(place[np.argmax(row < 0)])
        date = settings.time_step.shown(grid.ticks[i])
        raise ValueError(
            f"gaps='fill' makes a row of {names.label(grid.series[i])} for {date}, which has no "
            f"{listed(carried)}; add such rows to the table, with outcome 0."
        )
    made = _assembled(
        settings, names.keys.iloc[grid.series[place]], grid.ticks[place], columns, place
    )
    for name in carried:
        made[name] = table[name].array.take(row)
    made[settings.outcome] = target[place]
    order = [*settings.column_names, *kept, settings.outcome]
    return require_pandas().DataFrame({name: made[name] for name in order})


def upcoming(
    settings: TimeFeatures,
    history: pd.DataFrame,
    wanted: pd.DataFrame,
    keep: str | Iterable[str],
    short: str,
) -> pd.DataFrame:
    """Return rows to decide for; see ``TimeFeatures.upcoming``."""
    _checks.one_of("short", short, (REFUSE, MISSING))
    kept = _kept(settings, keep)
    wanted = time_grid.checked_table(
        wanted, (*settings.by, settings.time, *settings.known, *kept), "The table of wanted rows"
    )
    _, names, grid = _laid(settings, history, (), wanted)
    columns = _outcome_columns(settings, grid)
    if short == REFUSE:
        _refuse_short(settings, _ready(columns, len(grid.row))[grid.place], grid, names)
    made = _assembled(settings, wanted, grid.ticks[grid.place], columns, grid.place)
    for name in (*settings.known, *kept):
        made[name] = wanted[name].array
    order = [*settings.column_names, *kept]
    return require_pandas().DataFrame({name: made[name] for name in order}, index=wanted.index)


def overview(settings: TimeFeatures, table: pd.DataFrame) -> pd.DataFrame:
    """Return what there is of each series; see ``TimeFeatures.overview``."""
    _, names, grid = _laid(settings, table, ())
    count = len(names.keys)
    ready = _ready(_outcome_columns(settings, grid), len(grid.row))
    finished, is_row = ~np.isnan(outcomes_ahead(grid, settings.review)), _is_row(settings, grid)
    start = np.flatnonzero(np.diff(grid.series, prepend=-1))
    end = np.append(start[1:], len(grid.series)) - 1
    facts = {
        "first": settings.time_step.times(grid.ticks[start]),
        "last": settings.time_step.times(grid.ticks[end]),
    } | {
        name: np.bincount(grid.series[flags], minlength=count)
        for name, flags in (
            ("rows", grid.row >= 0),
            ("absent", grid.row < 0),
            ("usable", is_row & finished & ready),
            ("waiting", is_row & finished & ~ready),
            ("unfinished", is_row & ~finished),
        )
    }
    return names.keys.assign(**facts)


def _laid(
    settings: TimeFeatures, table: Any, further: Sequence[str], wanted: pd.DataFrame | None = None
) -> tuple[pd.DataFrame, SeriesNames, TimeGrid]:
    """The table, its series, and the grid of their periods."""
    columns = (*settings.by, settings.time, settings.outcome, *further)
    table = time_grid.checked_table(table, columns, "The table")
    tables = [table] if wanted is None else [table, wanted]
    codes, names = time_grid.series_of(settings.by, tables)
    ticks = [settings.time_step.ticks(each[settings.time]) for each in tables]
    outcomes = time_grid.outcomes_of(table, settings.outcome, codes[0], names, settings.gaps)
    history = LongTable(codes[0], ticks[0], outcomes)
    asked = None if wanted is None else LongTable(codes[1], ticks[1], np.full(len(wanted), np.nan))
    grid = time_grid.grid_of(
        history, names, settings.time_step, settings.gaps, asked, settings.lead
    )
    return table, names, grid


def _outcome_columns(settings: TimeFeatures, grid: TimeGrid) -> dict[str, np.ndarray]:
    """Features that are made of outcomes, and the level; NaN where history is too short."""
    past = Past(
        grid,
        settings.lead,
        settings.review,
        settings.time_step.week,
        settings.gaps == time_grid.MISSING,
    )
    columns = [
        *(past.lag(size) for size in settings.lags),
        *(past.rolling(size) for size in settings.rolling),
        *(past.same_weekday(size) for size in settings.same_weekday),
    ]
    made = dict(zip(settings.outcome_features, columns, strict=True))
    if settings.level is not None and settings.level_name is not None:
        level = np.maximum(past.rolling(settings.level, least=1), settings.floor)
        made[settings.level_name] = level
    return made


def _is_row(settings: TimeFeatures, grid: TimeGrid) -> np.ndarray:
    """Places that are rows: of the table, or of its filled gaps."""
    return (grid.row >= 0) | (settings.gaps == time_grid.FILL)


def _assembled(
    settings: TimeFeatures,
    keys: pd.DataFrame,
    ticks: np.ndarray,
    columns: dict[str, np.ndarray],
    place: np.ndarray,
) -> dict[str, Any]:
    """Everything at these places that does not come from columns of a table."""
    made: dict[str, Any] = {name: keys[name].array for name in settings.by}
    made[settings.time] = settings.time_step.times(ticks)
    for part in settings.calendar_parts:
        for ending, values in settings.time_step.calendar_part(part, ticks).items():
            made[f"{settings.time}_{ending}"] = values
    return made | {name: values[place] for name, values in columns.items()}


def _kept(settings: TimeFeatures, keep: Any) -> tuple[str, ...]:
    kept = checked_names("keep", keep)
    for name in kept:
        if name in (*settings.column_names, settings.outcome):
            raise ValueError(
                f"keep must name columns that are not among the features anyway; got {name!r}."
            )
    return kept


def _tell_short(
    settings: TimeFeatures, chosen: np.ndarray, grid: TimeGrid, names: SeriesNames
) -> None:
    """Warn of series of which nothing remains to learn from; refuse if nothing remains."""
    usable = np.bincount(grid.series[chosen], minlength=len(names.keys))
    empty = np.flatnonzero(usable == 0)
    need = (
        f"a row needs outcomes from {counted(settings.reach, 'period')} before it to "
        f"{counted(settings.review, 'period')} from its date on"
    )
    if len(empty) == len(usable):
        raise ValueError(
            f"There is no row to learn from: {need}; give more history, or shorter lags and "
            "windows."
        )
    if len(empty):
        warnings.warn(
            f"{len(empty):,} of {len(usable):,} series have no row to learn from "
            f"({names.labels(empty)}): {need}.",
            ShortSeriesWarning,
            stacklevel=4,
        )


def _refuse_short(
    settings: TimeFeatures, ready: np.ndarray, grid: TimeGrid, names: SeriesNames
) -> None:
    """Name the wanted series whose history does not suffice."""
    lacking = np.unique(grid.series[grid.place[~ready]])
    if len(lacking):
        raise ValueError(
            f"History is too short, or has gaps, for {len(lacking):,} of the wanted series "
            f"({names.labels(lacking)}): a row needs outcomes from "
            f"{counted(settings.reach, 'period')} before it on; give more history, or say "
            "short='missing' to leave empty what is lacking."
        )


def _ready(columns: dict[str, np.ndarray], places: int) -> np.ndarray:
    """Where nothing is lacking."""
    ready = np.full(places, True)
    for values in columns.values():
        ready &= ~np.isnan(values)
    return ready
