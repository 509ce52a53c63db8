"""What can be asked of commands that have a policy: to decide, evaluate, explain, report and watch.

Each request is stated as in ``options``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.options import (
    IN_ORDERS,
    OUT,
    AgainstColumn,
    Force,
    Outcomes,
    PolicyFile,
    Precision,
    in_orders,
)
from hedgerow.cli.panel_options import EngineName, History, Jobs, Scheduler, option


@dataclass(frozen=True)
class DecideRequest:
    """What ``hedgerow decide`` is asked for."""

    policy: PolicyFile
    new: Annotated[
        Path,
        typer.Argument(
            help="Table of new contexts, CSV or Parquet; of a panel also a folder of Parquet."
        ),
    ]
    out: Annotated[str, option("FILE", "Table to write, .csv or .parquet; - prints.", *OUT)] = "-"
    force: Force = False
    raw_text: Annotated[
        bool, typer.Option("--raw-text", help="Leave texts in CSV that look like formulas alone.")
    ] = False
    history: History = None
    jobs: Jobs = None
    engine: EngineName = None
    scheduler: Scheduler = None
    lot: Annotated[
        str | None,
        in_orders("NUMBER", "Orders are multiples of it, a number or the column that holds it."),
    ] = None
    least_order: Annotated[
        str | None, in_orders("NUMBER", "An order is 0 or at least this; number or column.")
    ] = None
    most_order: Annotated[
        str | None, in_orders("NUMBER", "An order is at most this; number or column.")
    ] = None
    on_hand: Annotated[
        str | None, in_orders("COLUMN", "Stock that is there, to be subtracted.")
    ] = None
    perishable: Annotated[
        bool,
        typer.Option(
            "--perishable",
            help="Stock on hand cannot be sold any more, and is not subtracted.",
            **IN_ORDERS,
        ),
    ] = False

    @property
    def wants_orders(self) -> bool:
        """Whether any option asks for orders."""
        asked = (self.lot, self.least_order, self.most_order, self.on_hand)
        return any(one is not None for one in asked)


@dataclass(frozen=True)
class ExportRequest:
    """What ``hedgerow export`` is asked for."""

    policy: PolicyFile
    out: Annotated[Path, option("FILE", "What to write: policy.onnx or policy.py.", *OUT)]
    force: Force = False
    precision: Annotated[
        Precision, option("PRECISION", "Of an ONNX model's numbers.", "--precision")
    ] = Precision.float64


@dataclass(frozen=True)
class EvaluateRequest:
    """What ``hedgerow evaluate`` is asked for."""

    policy: PolicyFile
    test: Annotated[Path, typer.Argument(help="Table of contexts with outcomes, CSV or Parquet.")]
    outcomes: Outcomes = None
    against_column: AgainstColumn = None
    history: History = None
    by_series: Annotated[
        Path | None, option("FILE", "Of a panel: also write all series, .csv or .parquet.")
    ] = None
    force: Force = False


@dataclass(frozen=True)
class ExplainRequest:
    """What ``hedgerow explain`` is asked for; None leaves a choice to the library."""

    policy: PolicyFile
    data: Annotated[Path, typer.Argument(help="Table of contexts, CSV or Parquet.")]
    row: Annotated[int | None, option("NUMBER", "Which row to explain; the first is 1.")] = None
    background: Annotated[
        Path | None, option("FILE", "Table to compare with; default: DATA itself.")
    ] = None
    history: History = None
    series: Annotated[
        str | None, option("NAMES", "Of a panel, the rows of one series: store=1,item=a.")
    ] = None
    decision: Annotated[
        str | None, option("NAME", "Which decision; default: the most unusual one.")
    ] = None
    top: Annotated[int, option("NUMBER", "Features to list.", min=1)] = 10
    figure: Annotated[Path | None, option("FILE", "Also draw it, .png or .pdf.")] = None
    force: Force = False


@dataclass(frozen=True)
class ReportRequest:
    """What ``hedgerow report`` is asked for; None and empty leave it to the library."""

    policy: PolicyFile
    data: Annotated[Path, typer.Argument(help="Table of contexts with outcomes, CSV or Parquet.")]
    out: Annotated[Path, option("FILE", "Page to write, .html.", *OUT)] = Path("report.html")
    force: Force = False
    against: Annotated[
        list[Path] | None, option("FILE", "Another policy to compare with; may be repeated.")
    ] = None
    against_column: Annotated[
        str | None,
        option(
            "COLUMN", "What was ordered until now, to compare with; one for each decision: a,b."
        ),
    ] = None
    history: History = None
    series: Annotated[
        list[str] | None,
        option("NAMES", "Of a panel, a series to show: store=1,item=a; may be repeated."),
    ] = None
    outcomes: Outcomes = None
    row: Annotated[
        int | None, option("NUMBER", "Row the what-if panel begins with; default: 1.")
    ] = None
    time: Annotated[
        str | None, option("COLUMN", "Dates of the rows; default: the first column of dates.")
    ] = None
    title: Annotated[str | None, option("TEXT", "Heading of the page.")] = None
    unit: Annotated[str, option("TEXT", "What is decided on, such as portions.")] = ""
    loss_unit: Annotated[str, option("TEXT", "What losses are counted in, such as €.")] = ""


@dataclass(frozen=True)
class RadiiRequest:
    """What ``hedgerow radii`` is asked for."""

    policy: PolicyFile
    data: Annotated[Path, typer.Argument(help="Table of contexts with outcomes, CSV or Parquet.")]
    radii: Annotated[
        list[float] | None, option("NUMBER", "A radius to try; may be repeated.", "--radius")
    ] = None
    outcomes: Outcomes = None
    keep: Annotated[
        bool, typer.Option("--keep", help="Judge the policy as it is; train none for each radius.")
    ] = False
    figure: Annotated[Path | None, option("FILE", "Also draw them, .png or .pdf.")] = None
    force: Force = False


@dataclass(frozen=True)
class WatchRequest:
    """What ``hedgerow watch`` is asked for."""

    policy: PolicyFile
    new: Annotated[
        Path, typer.Argument(help="Table of all rows since the policy began, with outcomes.")
    ]
    history: Annotated[
        Path | None,
        option("FILE", "Rows it was not trained on, to compare with; default: what it remembers."),
    ] = None
    outcomes: Outcomes = None
    bound: Annotated[
        float | None, option("COST", "Mean cost not to exceed; default: promise or robust value.")
    ] = None
    level: Annotated[float, option("NUMBER", "Chance of any false alarm, ever.")] = 0.05
    floor: Annotated[float, option("COST", "A cost that no row falls below.")] = 0.0
    ignore: Annotated[
        list[str] | None, option("COLUMNS", "Features that are meant to move: a,b,c.")
    ] = None
    json: Annotated[str | None, option("FILE", "Also write JSON; - prints it alone.")] = None
    page: Annotated[Path | None, option("FILE", "Also write a page, .html.")] = None
    force: Force = False
