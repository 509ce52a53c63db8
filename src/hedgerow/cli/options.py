"""What can be asked of the commands: every option is stated once, as a field of a request.

A request is a dataclass. Typer reads a command's options off its fields (``asked_with``), and the
work that the command does takes the request as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from hedgerow.cli.cost_options import CostOptions, in_model
from hedgerow.cli.panel_options import (
    PanelOptions,
    option,
)
from hedgerow.cli.settings import SettingsOptions

Request = TypeVar("Request")


class ProblemKind(StrEnum):
    """What is decided."""

    newsvendor = "newsvendor"
    inventory = "inventory"
    portfolio = "portfolio"


class Model(StrEnum):
    """What to hedge against."""

    causal_sinkhorn = "causal-sinkhorn"
    sinkhorn = "sinkhorn"
    causal_wasserstein = "causal-wasserstein"
    wasserstein = "wasserstein"
    kl = "kl"
    chi_square = "chi-square"
    total_variation = "total-variation"
    likelihood_ratio = "likelihood-ratio"
    erm = "erm"


class NominalKind(StrEnum):
    """How history becomes a distribution."""

    auto = "auto"
    empirical = "empirical"
    adapted = "adapted"
    neighbour = "neighbour"
    residual = "residual"


class Search(StrEnum):
    """Which rows a search holds out."""

    none = "none"
    folds = "folds"
    time = "time"


class Outliers(StrEnum):
    """What to do about values that look like typos."""

    warn = "warn"
    clip = "clip"
    error = "error"


class Precision(StrEnum):
    """Of exported numbers."""

    float64 = "float64"
    float32 = "float32"


class RuleKind(StrEnum):
    """The kind of decision rule."""

    forest = "forest"
    two_layer = "two-layer"
    affine = "affine"
    constant = "constant"


IN_DATA: dict[str, Any] = {"rich_help_panel": "Data"}
IN_RULE: dict[str, Any] = {"rich_help_panel": "Rule and training", "show_default": False}


IN_ORDERS: dict[str, Any] = {"rich_help_panel": "Orders that can be placed"}
in_data, in_rule, in_orders = (partial(option, **panel) for panel in (IN_DATA, IN_RULE, IN_ORDERS))
OUT = ("--out", "-o")


PolicyFile = Annotated[Path, typer.Argument(help="A policy file written by `hedgerow fit`.")]
Outcomes = Annotated[
    list[str] | None, option("COLUMN", "Outcome columns; default: those of training.", "--outcome")
]
AgainstColumn = Annotated[
    str | None, option("COLUMN", "What was ordered until now, to compare with.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]
Seed = Annotated[int, option("NUMBER", "Same seed, same policy.", min=0)]


@dataclass(frozen=True)
class FitRequest(SettingsOptions, PanelOptions, CostOptions):
    """What ``hedgerow fit`` is asked for; None leaves a choice to the library."""

    data: Annotated[Path, typer.Argument(help="Table of history, .csv or .parquet.")]
    outcomes: Annotated[
        list[str],
        in_data(
            "COLUMN", "What to prepare for; may be repeated, or a pattern: ret_*.", "--outcome"
        ),
    ]
    holding: Annotated[
        list[str] | None,
        in_data(
            "COST",
            "Newsvendor: cost of a unit left over, a number or the column that holds it; one for "
            "all, or one per outcome.",
        ),
    ] = None
    stockout: Annotated[
        list[str] | None, in_data("COST", "Newsvendor: cost of a unit short, likewise.")
    ] = None
    costs: Annotated[
        Path | None,
        in_data("FILE", "Inventory: .toml with holding, shortage, substitution and purchase."),
    ] = None
    tail: Annotated[
        float | None,
        in_data("SHARE", "Count only the worst share of cases, such as 0.1 (CVaR)."),
    ] = None
    features: Annotated[
        list[str] | None, in_data("COLUMNS", "What to decide by: a,b,c; default: all others.")
    ] = None
    censored: Annotated[
        str | None,
        in_data(
            "COLUMN", "0/1 or true/false: where the outcome was at least this, as if sold out."
        ),
    ] = None
    outliers: Annotated[
        Outliers, in_data("NAME", "Values that look like typos: warn, clip or error.")
    ] = Outliers.warn
    problem: Annotated[ProblemKind, in_data("NAME", "newsvendor, inventory or portfolio.")] = (
        ProblemKind.newsvendor
    )
    return_weight: Annotated[
        float | None,
        in_data("NUMBER", "Portfolio: what a unit of mean return is worth; default: 1."),
    ] = None
    model: Annotated[
        Model | None,
        in_model(
            "NAME",
            "causal-sinkhorn, sinkhorn, causal-wasserstein, wasserstein, kl, chi-square, "
            "total-variation, likelihood-ratio or erm.",
        ),
    ] = None
    penalty: Annotated[
        float | None, in_model("NUMBER", "Price of moving data; default: √rows, from 10.")
    ] = None
    radius: Annotated[
        str | None,
        in_model(
            "NUMBER",
            "How far data may move, instead of a price; auto: as rows and columns suggest; "
            "calibrated: so that the value bounds the next rows' mean cost with probability "
            "--level.",
        ),
    ] = None
    horizon: Annotated[
        int | None, in_model("ROWS", "Of --radius calibrated: rows that the promise is about.")
    ] = None
    epsilon: Annotated[
        float | None, in_model("NUMBER", "Spread of the worst case; default: 0.01.")
    ] = None
    order: Annotated[
        float | None,
        in_model("NUMBER", "Power of the distance moved, any number from 1 on; default: 2."),
    ] = None
    nominal: Annotated[
        NominalKind, in_model("NAME", "auto, residual, empirical, neighbour or adapted.")
    ] = NominalKind.auto
    search: Annotated[
        Search,
        in_model(
            "NAME",
            "none, folds or time (rows are in its order): choose penalty, epsilon and at most "
            "--steps steps by cross-validation.",
        ),
    ] = Search.none
    rule: Annotated[RuleKind | None, in_rule("NAME", "forest, two-layer, affine or constant.")] = (
        None
    )
    trees: Annotated[int | None, in_rule("NUMBER", "Trees of the forest; default: 20.")] = None
    depth: Annotated[
        str | None, in_rule("NUMBER", "Questions per tree; default: 2. 2,3,5: trees of several.")
    ] = None
    steps: Annotated[
        int | None, in_rule("NUMBER", "Training steps; default: 500 up to 1,000 rows.")
    ] = None
    seed: Annotated[int, in_rule("NUMBER", "Same seed, same policy.", min=0)] = 0
    out: Annotated[Path, option("FILE", "Policy file to write.", *OUT)] = Path("policy.hedgerow")
    force: Force = False

    @property
    def searches(self) -> Search:
        """Which rows a search holds out, as an option or the file's table says."""
        table = self.sections.get("search")
        if table is None or self.search != Search.none:
            return self.search
        by = table.get("by", Search.folds.value)
        if by not in list(Search):
            raise ValueError(f"search.by must be {', '.join(Search)}; got {by!r}.")
        return Search(by)

    @property
    def leaves_model(self) -> bool:
        """Whether a panel is to choose what to hedge against."""
        given = (self.model, self.penalty, self.radius, self.epsilon, self.order, self.norm)
        said = any(one is not None for one in given) or "ambiguity" in self.sections
        return bool(self.by) and not said

    @property
    def leaves_rule(self) -> bool:
        """Whether a panel is to choose the rule."""
        given = (self.rule, self.trees, self.depth)
        said = any(one is not None for one in given) or "rule" in self.sections
        return bool(self.by) and not said


def asked_with(
    kind: Callable[..., Request],
) -> Callable[[Callable[[Request], None]], Callable[..., None]]:
    """Make a function of a request one of the request's fields, as Typer wants it."""

    def decorate(work: Callable[[Request], None]) -> Callable[..., None]:
        @wraps(work)
        def command(**options: Any) -> None:
            work(kind(**options))

        hints = get_type_hints(kind, include_extras=True)  # each where its class is written
        fields = [
            field.replace(annotation=hints[name])
            for name, field in inspect.signature(kind).parameters.items()
        ]
        command.__annotations__ = hints
        command.__signature__ = inspect.Signature(fields)  # pyright: ignore[reportAttributeAccessIssue]
        return command

    return decorate


def listed(given: list[str] | None) -> list[str]:
    """Names given one by one or separated by commas."""
    return [name.strip() for text in given or [] for name in text.split(",") if name.strip()]


def cost_columns(given: list[str] | None) -> list[str]:
    """Columns among costs: what is no number."""
    return [text for text in given or [] if not is_number(text)]


def is_number(text: str) -> bool:
    """Whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def repeated(names: Sequence[str]) -> list[str]:
    """Names that stand in a list more than once."""
    return [name for i, name in enumerate(names) if name in names[:i]]
