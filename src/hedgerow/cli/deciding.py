"""``hedgerow decide``: a table in, the table with decisions out, without waiting for JAX."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow._warnings import OutsideWarning
from hedgerow.cli.asking_options import DecideRequest
from hedgerow.cli.loading import load_stored, refuse_history
from hedgerow.cli.named_columns import features_of
from hedgerow.cli.reading import read_found, remembered
from hedgerow.cli.screen import print_csv, say
from hedgerow.data.table_kinds import runs_formulas
from hedgerow.data.table_writing import check_table_target, csv_text, without_formulas, write_table
from hedgerow.stored import is_panel

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.data.table_format import TableFormat


Decided = tuple[dict[str, Any], list[tuple[str, ...]] | None]
"""Columns to write beside rows, and what of each is far outside of training, if that is known."""


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

        if folder:
            from hedgerow.cli.work import prepare

            prepare()
            panels.decide_folder(policy, request)
            return
        columns_of = panels.decide
    table, found = read_found(request.new, request, policy)
    columns, outside = columns_of(policy, table, request)
    if outside is not None:
        columns["outside"] = [", ".join(names) for names in outside]
    for heading in columns:
        if heading in table.columns:
            raise ValueError(
                f"{request.new} already has a column {heading!r}; rename or remove it."
            )
    decided = table.assign(**columns)
    write_decisions(decided, out, raw_text=request.raw_text, form=_alike(found, policy))


def _columns_of_rows(policy: Any, table: pd.DataFrame, request: DecideRequest) -> Decided:
    """The columns to write beside the rows, for a policy of single rows."""
    refuse_history(request)
    X = features_of(policy, table)
    decisions = policy.predict(X).reshape(len(table), -1)
    columns = dict(zip(_headings(policy), decisions.T, strict=True))
    if request.wants_orders:
        from hedgerow.cli.orders import ordered

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutsideWarning)  # said once
            columns |= ordered(request, table, partial(policy.place, X))
    return columns, None if policy.ranges_ is None else policy.outside(X)


def write_decisions(
    table: pd.DataFrame, out: Path | None, *, raw_text: bool, form: TableFormat
) -> None:
    """Write or print a table; formulas in CSV and Excel become text, unless ``raw_text``."""
    if not raw_text and (out is None or runs_formulas(out)):
        table = without_formulas(table)
    if out is None:
        print_csv(csv_text(table, form))
        return
    write_table(table, out, form)
    say(f"Wrote {len(table):,} decisions to {out}.", stderr=True)


def _alike(found: TableFormat, policy: Any) -> TableFormat:
    """How decisions are written: as the new rows are, so that the same program opens them."""
    decimal = found.decimal or remembered(policy).decimal
    return replace(found, decimal=None if found.separator in (None, ",") else decimal)


def _headings(policy: Any) -> list[str]:
    """Columns that decisions are written to."""
    if policy.n_decisions_ == 1:
        return ["decision"]
    names = [name.removeprefix("decision ") for name in policy.decision_names_]
    return [f"decision_{name}" for name in names]
