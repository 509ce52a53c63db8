"""Tables of panels as the commands are given them, and what is wrong with them in their words.

The library speaks of settings (``gaps='fill'``); whoever uses the command knows options and files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from hedgerow.data.encoder import labels_of
from hedgerow.data.table_files import read_table
from hedgerow.describe.numbers import counted
from hedgerow.panels import PanelPolicy
from hedgerow.panels.series import SeriesKeys

_SETTINGS = (
    (r"\bsay gaps='(\w+)'", r"{say} --gaps \1"),
    (r"\bgaps='(\w+)'", r"--gaps \1"),
    (r"\bstep='?(\w+)'?", r"--step \1"),
    (r"\bset (step|lead) to\b", r"set --\1 to"),
    (r"\bname in by\b", "name in --by"),
    (r"\bstrategy='(\w+)'", r"fitting with --strategy \1"),
    (r"give more history, or say short='missing' .*", "give more history."),
    (r"^(step|lags|rolling|same_weekday|level|calendar|lead|review) must", r"--\1 must"),
)


@contextmanager
def told_of(path: Path, new: Path | None = None, *, fitting: bool = False) -> Iterator[None]:
    """Turn mistakes in a table, or in new rows beside it, into sentences about files and options.

    ``fitting``: options that are settled when a policy is fitted can still be given.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        told = str(error)
        for pattern, words in _SETTINGS:
            told = re.sub(pattern, words.replace("{say}", "say" if fitting else "fit with"), told)
        if new is not None:
            told = re.sub("[Tt]he table of wanted rows|the wanted rows", str(new), told)
        told = told.replace("The table ", f"{path} ").replace("the table has", f"{path} has")
        named = any(str(file) in told for file in (path, new) if file is not None)
        raise type(error)(told if named else f"{path}: {told}") from error


def history_of(panel: PanelPolicy, path: Path | None, given: Path) -> pd.DataFrame | None:
    """Read the table of recent outcomes; None if there is none."""
    if path is None:
        return None
    if panel.features is None:
        raise ValueError(
            "The policy was fitted without --time, so no feature is made of --history; leave it "
            "out."
        )
    return read_table(path)


def check_rows(panel: PanelPolicy, table: pd.DataFrame, path: Path) -> None:
    """Say what is wrong with the series or dates of a table, before it is joined with another."""
    with told_of(path):
        SeriesKeys.of(table, panel.by)
        features = panel.features
        if features is not None:
            if features.time not in table.columns:
                raise ValueError(f"There is no column {features.time!r} with dates.")
            features.time_step.ticks(table[features.time])


def new_series(panel: PanelPolicy, table: pd.DataFrame) -> str | None:
    """A sentence on rows of series that the policy was not trained on; None if there are none."""
    keys = panel.panel_.keys
    new = np.flatnonzero(keys.places(table) < 0)
    if not len(new):
        return None
    found = SeriesKeys.of(table.iloc[new], keys.by)
    verb = "is" if len(new) == 1 else "are"
    first = f"{keys.words(found.values[0])}" if len(found) == 1 else (
        f"{len(found):,} new series, the first {keys.words(found.values[0])}"
    )
    one = "a new series, " if len(found) == 1 else ""
    return (
        f"{counted(len(new), 'row')} {verb} of {one}{first}: decided by what all series have in "
        "common."
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
