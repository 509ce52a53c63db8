"""What is compared of a panel: all its series together, period by period, and each by itself.

cost       the mean over the rows of a period, in the costs' own unit
features   what is known ahead of a row and no calendar says, on average over the series; what is
           made of outcomes follows from the days before, so it is not compared
outcomes   what they were beyond decisions, as a share of what the series usually is: on average,
           and series by series
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._warnings import OutsideWarning, unsaid
from hedgerow.monitoring.look import Streams
from hedgerow.panels.judged import JudgedRows, judged_pair

if TYPE_CHECKING:
    from hedgerow.panels import PanelPolicy


def panel_streams(panel: PanelPolicy, table: Any, y: Any, history: Any) -> Streams:
    """Lay out what is compared of new rows with history, period by period."""
    if history is None:
        raise ValueError(
            "A panel remembers nothing to compare with: give history=, a long table of rows that "
            "it was not trained on."
        )
    past, past_y = history if isinstance(history, tuple | list) else (history, None)
    old, new = judged_pair(panel, (past, past_y), (table, y))
    keys = panel.panel_.keys
    known, met = (np.unique(places(panel, rows)) for rows in (old, new))
    watched = np.intersect1d(known[known >= 0], met)
    with unsaid(OutsideWarning):  # new rows are what it is said of
        before, names = _columns(panel, old, watched)
    now, _ = _columns(panel, new, watched)
    several = before.shape[1] - len(watched)
    single = np.arange(before.shape[1]) >= several
    spread = np.array([np.std(each[np.isfinite(each)]) for each in before.T])
    return Streams(
        costs=new.by_period(panel.losses(new.table, new.outcomes)),
        before=before,
        now=now,
        names=[*names, *(keys.words(keys.values[place]) for place in watched)],
        scales=spread,
        order=2.0,
        room=None,
        single=single,
        unit="period",
        unwatched=_unwatched(panel, new, watched),
    )


def places(panel: PanelPolicy, rows: JudgedRows) -> np.ndarray:
    """The series of every row, among those that the panel was trained on; −1: a new one."""
    return panel.panel_.keys.places(rows.table)


def _columns(
    panel: PanelPolicy, rows: JudgedRows, watched: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Values of every period: features, outcomes beyond decisions, and those of single series."""
    features = panel.features
    assert features is not None  # rows have periods
    made = [name for name in features.feature_names if name not in features.known]
    plain = panel.panel_.plain(rows.table)
    named = [name for name in plain.columns if not _is_of(name, made)]
    own = places(panel, rows)
    usual = panel.panel_.usual(rows.table, own)
    beyond = (rows.outcomes - panel.predict(rows.table)) / np.where(usual > 0, usual, 1.0)
    values = [plain[name].to_numpy(np.float64) for name in named]
    together = np.column_stack([rows.by_period(each) for each in [*values, beyond]])
    assert rows.periods is not None
    each = np.full((rows.length, len(watched)), np.nan)
    at = np.searchsorted(watched, own)
    some = np.isin(own, watched)
    each[rows.periods[some], at[some]] = beyond[some]
    return np.hstack([together, each]), [*named, f"{features.outcome} beyond decision"]


def _is_of(name: str, columns: list[str]) -> bool:
    """Whether an encoded column stands for one of these, such as "date_weekday_Fri"."""
    return any(name == column or name.startswith(f"{column}_") for column in columns)


def _unwatched(panel: PanelPolicy, new: JudgedRows, watched: np.ndarray) -> tuple[str, ...]:
    """Series among new rows that cannot be compared with any history."""
    keys = type(panel.panel_.keys).of(new.table, panel.by)
    known = set(watched.tolist())
    trained = panel.panel_.keys.places(new.table)
    own = keys.places(new.table)
    without = dict.fromkeys(own[[place not in known for place in trained.tolist()]].tolist())
    return tuple(keys.words(keys.values[place]) for place in without)
