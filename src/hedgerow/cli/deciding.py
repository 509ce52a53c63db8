"""``hedgerow decide``: a table in, the table with decisions out, without waiting for JAX."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.cli.asking_options import DecideRequest
from hedgerow.cli.columns import features_of
from hedgerow.cli.loading import load_stored, refuse_history
from hedgerow.cli.screen import print_csv, say
from hedgerow.data.table_files import (
    check_table_target,
    is_csv,
    read_table,
    without_formulas,
    write_table,
)
from hedgerow.stored import is_panel

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def decide(request: DecideRequest) -> None:
    """Add a policy's decisions to a table."""
    out = None if request.out == "-" else Path(request.out)
    folder = request.new.is_dir()
    if out is not None and not folder:
        check_table_target(out, overwrite=request.force)
    policy: Any = load_stored(request.policy)
    columns_of = _columns_of_rows
    if is_panel(policy):
        from hedgerow.cli import panels
        from hedgerow.cli.work import prepare

        prepare()
        if folder:
            panels.decide_folder(policy, request)
            return
        columns_of = panels.decide
    table = read_table(request.new)
    columns = columns_of(policy, table, request)
    for heading in columns:
        if heading in table.columns:
            raise ValueError(
                f"{request.new} already has a column {heading!r}; rename or remove it."
            )
    write_decisions(table.assign(**columns), out, raw_text=request.raw_text)


def _columns_of_rows(
    policy: Any, table: pd.DataFrame, request: DecideRequest
) -> dict[str, np.ndarray]:
    """The columns to write beside the rows, for a policy of single rows."""
    refuse_history(request)
    X = features_of(policy, table)
    decisions = policy.predict(X).reshape(len(table), -1)
    columns = dict(zip(_headings(policy), decisions.T, strict=True))
    if request.wants_orders:
        from hedgerow.cli.orders import ordered

        columns |= ordered(request, table, partial(policy.place, X))
    return columns


def write_decisions(table: pd.DataFrame, out: Path | None, *, raw_text: bool) -> None:
    """Write or print a table; formulas in CSV become text, unless ``raw_text``."""
    if not raw_text and (out is None or is_csv(out)):
        table = without_formulas(table)
    if out is None:
        print_csv(table.to_csv(index=False))
        return
    write_table(table, out)
    say(f"Wrote {len(table):,} decisions to {out}.", stderr=True)


def _headings(policy: Any) -> list[str]:
    """Columns that decisions are written to."""
    if policy.n_decisions_ == 1:
        return ["decision"]
    names = [name.removeprefix("decision ") for name in policy.decision_names_]
    return [f"decision_{name}" for name in names]
