"""Tables of panels as the commands are given them, and what is wrong with them in their words.

The library speaks of settings (``gaps='fill'``); whoever uses the command knows options and files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hedgerow.cli.asking_options import (
    DecideRequest,
    EvaluateRequest,
    ExplainRequest,
    ReportRequest,
)
from hedgerow.cli.reading import read
from hedgerow.data.columns import labels_of
from hedgerow.describe.numbers import counted, listed
from hedgerow.panels.series import QUIET, STATUSES, SeriesKeys

if TYPE_CHECKING:
    from hedgerow.data import TimeFeatures
    from hedgerow.panels import PanelPolicy

Asking = DecideRequest | EvaluateRequest | ExplainRequest | ReportRequest
"""What may name a table of recent outcomes."""
_SETTINGS = (
    (r"\bsay gaps='(\w+)'", r"{say} --gaps \1"),
    (r"\bgaps='(\w+)'", r"--gaps \1"),
    (r"\bstep='?(\w+)'?", r"--step \1"),
    (r"\bset step to\b", "{set} --step to"),
    (r"\bset lead to how far ahead is decided", "fit with a longer --lead"),
    (r"\bname in by\b", "name in --by"),
    (r"\bstrategy='(\w+)'", r"fitting with --strategy \1"),
    (r"give more history, or say short='missing' .*", "give more history."),
    (r"^(step|lags|rolling|same_weekday|level|calendar|lead|review) must", r"--\1 must"),
    ("be true, false or some of", "be none or some of"),
)


def in_options(told: str, *, fitting: bool = False) -> str:
    """A sentence of the library in the command's words.

    ``fitting``: options that are settled when a policy is fitted can still be given.
    """
    say, set_ = ("say", "set") if fitting else ("fit with", "fit with")
    for pattern, words in _SETTINGS:
        told = re.sub(pattern, words.replace("{say}", say).replace("{set}", set_), told)
    return told


@contextmanager
def told_of(path: Path | None, new: Path | None = None, *, fitting: bool = False) -> Iterator[None]:
    """Turn mistakes in a table, or in new rows beside it, into sentences about files and options.

    None: there is only options to be wrong.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        told = in_options(str(error), fitting=fitting)
        if new is not None:
            told = re.sub("[Tt]he table of wanted rows|the wanted rows", str(new), told)
        if path is not None:
            told = told.replace("The table ", f"{path} ").replace("the table has", f"{path} has")
        named = path is None or any(str(file) in told for file in (path, new) if file is not None)
        raise type(error)(told if named else f"{path}: {told}") from error


def history_of(panel: PanelPolicy, request: Asking) -> pd.DataFrame | None:
    """Read the table of recent outcomes; None if there is none."""
    path = request.history
    if path is None:
        return None
    if panel.features is None:
        raise ValueError(
            "The policy was fitted without --time, so no feature is made of --history; leave it "
            "out."
        )
    table = read(path, request, panel)
    check_rows(panel, table, path)
    return table


def check_rows(panel: PanelPolicy, table: pd.DataFrame, path: Path) -> None:
    """Say what is wrong with the series or dates of a table, before it is joined with another."""
    with told_of(path):
        SeriesKeys.of(table, panel.by)
        features = panel.features
        if features is not None:
            if features.time not in table.columns:
                raise ValueError(f"There is no column {features.time!r} with dates.")
            ticks_of(features, table)


def check_costs(panel: PanelPolicy, table: pd.DataFrame, path: Path) -> None:
    """Say which row has costs that make no sense, the first being 1."""
    with told_of(path):
        panel.check_costs(table)


def rows_of(features: TimeFeatures, keys: SeriesKeys, table: pd.DataFrame) -> pd.MultiIndex:
    """Series and time of every row."""
    return pd.MultiIndex.from_arrays([keys.places(table), ticks_of(features, table)])


def ticks_of(features: TimeFeatures, table: pd.DataFrame) -> np.ndarray:
    """Times of the rows, as whole numbers, or say which is none."""
    times: Any = table[features.time]
    return features.time_step.ticks(times)


def all_series(by: Sequence[str], *tables: pd.DataFrame) -> SeriesKeys:
    """The series of several tables."""
    together: Any = pd.concat([table.filter(items=[*by]) for table in tables])
    return SeriesKeys.of(together, by)


def joined(features: TimeFeatures, history: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """History and what followed it in one table; a row that is in both is the table's."""
    keys = all_series(features.by, history, table)
    again = rows_of(features, keys, history).isin(rows_of(features, keys, table))
    together: Any = pd.concat([history[~again], table], ignore_index=True)
    return together


@contextmanager
def told_of_both(
    features: TimeFeatures, history: pd.DataFrame, table: pd.DataFrame, paths: tuple[Path, Path]
) -> Iterator[None]:
    """Say what is wrong with two tables that were joined: of one alone, if it is, with its rows."""
    try:
        with told_of(*paths):
            yield
    except ValueError:
        for each, path in zip((history, table), paths, strict=True):
            if features.outcome in each.columns:
                with told_of(path):
                    features.overview(each)
        raise


def new_series(panel: PanelPolicy, table: pd.DataFrame) -> str | None:
    """A sentence on rows of series that the policy was not trained on; None if there are none."""
    keys = panel.panel_.keys
    new = np.flatnonzero(keys.places(table) < 0)
    if not len(new):
        return None
    found = SeriesKeys.of(table.iloc[new], keys.by)
    several = "a new series" if len(found) == 1 else f"{len(found):,} new series, the first"
    return (
        f"{counted(len(new), 'row')} of {several} ({keys.words(found.values[0])}): decided by what "
        "all series have in common."
    )


def quiet_series(panel: PanelPolicy, table: pd.DataFrame) -> str | None:
    """A sentence on rows of series that had long sold nothing; None if there are none."""
    panel_ = panel.panel_
    keys, places = panel_.keys, panel_.keys.places(table)
    retired = (places >= 0) & (panel_.facts.status[places] == STATUSES.index("retired"))
    if not np.any(retired):
        return None
    words = keys.words(keys.values[places[int(np.argmax(retired))]])
    return (
        f"{counted(int(retired.sum()), 'row')} of series whose last {QUIET} outcomes in training "
        f"were 0, the first {words}: leave out what is not sold any more."
    )


def chosen_series(panel: PanelPolicy, text: str) -> tuple[str, ...]:
    """The key of a series named as "store=1,item=a", in any order."""
    keys = panel.panel_.keys
    parts = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    given = {name.strip(): value for name, value in parts.items()}
    if set(given) != set(keys.by):
        shape = ",".join(f"{name}=…" for name in keys.by)
        raise ValueError(f"--series must name one series as {shape}; got {text!r}.")
    return keys.values[keys.place(labels_of([given[name] for name in keys.by]))]


def refuse_without_history(
    panel: PanelPolicy, table: pd.DataFrame, history: pd.DataFrame | None, path: Path
) -> None:
    """Features of time are made of recent outcomes, unless the table brings them."""
    if panel.features is None or history is not None:
        return
    missing = [name for name in panel.features.feature_names if name not in table.columns]
    if missing:
        raise ValueError(
            f"{path} lacks {listed(missing, most=3)}: give recent outcomes with --history, from "
            "which they are made."
        )
