"""``hedgerow decide``: a table in, the table with decisions out, without waiting for JAX."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.cli.columns import features_of
from hedgerow.cli.loading import load_stored, refuse_history
from hedgerow.cli.options import DecideRequest
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
    import pandas as pd

ORDERS = ("lot", "least_order", "most_order", "on_hand")
"""Options that ask for orders."""


def decide(request: DecideRequest) -> None:
    """Add a policy's decisions to a table."""
    out = None if request.out == "-" else Path(request.out)
    folder = request.new.is_dir()
    if out is not None and not folder:
        check_table_target(out, overwrite=request.force)
    policy: Any = load_stored(request.policy)
    panel = is_panel(policy)
    if panel:
        from hedgerow.cli import panels
        from hedgerow.cli.work import prepare

        prepare()
        if folder:
            panels.decide_folder(policy, request)
            return
    table = read_table(request.new)
    if panel:
        columns = panels.decide(policy, table, request)
    else:
        refuse_history(request)
        decisions = policy.predict(features_of(policy, table)).reshape(len(table), -1)
        columns = dict(zip(_headings(policy), decisions.T, strict=True))
        if any(getattr(request, name) is not None for name in ORDERS):
            from hedgerow.cli.orders import ordered

            columns |= ordered(request, table, partial(policy.place, features_of(policy, table)))
    for heading in columns:
        if heading in table.columns:
            raise ValueError(
                f"{request.new} already has a column {heading!r}; rename or remove it."
            )
    write_decisions(table.assign(**columns), out, raw_text=request.raw_text)


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
