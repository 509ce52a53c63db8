"""Names and panels that the commands' options share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Problem(StrEnum):
    """What is decided."""

    newsvendor = "newsvendor"
    inventory = "inventory"


class Model(StrEnum):
    """What to hedge against."""

    causal_sinkhorn = "causal-sinkhorn"
    sinkhorn = "sinkhorn"
    causal_wasserstein = "causal-wasserstein"
    kl = "kl"
    erm = "erm"


class NominalKind(StrEnum):
    """How history becomes a distribution."""

    auto = "auto"
    empirical = "empirical"
    adapted = "adapted"
    neighbour = "neighbour"


class Search(StrEnum):
    """Which rows a search holds out."""

    none = "none"
    folds = "folds"
    time = "time"


class RuleKind(StrEnum):
    """The kind of decision rule."""

    forest = "forest"
    two_layer = "two-layer"
    affine = "affine"
    constant = "constant"


class Risk(StrEnum):
    """What is weighed against a portfolio's return."""

    variance = "variance"
    cvar = "cvar"


class EngineKind(StrEnum):
    """Where a study's cells are computed."""

    local = "local"
    dask = "dask"


PolicyFile = Annotated[Path, typer.Argument(help="A policy file written by `hedgerow fit`.")]
IN_DATA: dict[str, Any] = {"rich_help_panel": "Data"}
IN_MODEL: dict[str, Any] = {"rich_help_panel": "What to hedge against", "show_default": False}
IN_STUDY: dict[str, Any] = {"rich_help_panel": "What is compared", "show_default": False}
IN_TIME: dict[str, Any] = {"rich_help_panel": "Windows", "show_default": False}
IN_RULE: dict[str, Any] = {"rich_help_panel": "Rule and training", "show_default": False}


Returns = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Daily returns: date, one column per asset.", **IN_DATA),
]
Covariates = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Closing levels of covariates: date, …", **IN_DATA),
]


def both_or_neither(returns: Path | None, covariates: Path | None) -> None:
    """A market is two files."""
    if (returns is None) != (covariates is None):
        missing = "--covariates" if covariates is None else "--returns"
        raise typer.BadParameter("both files are needed, or neither.", param_hint=missing)


def listed(given: list[str] | None) -> list[str]:
    """Names given one by one or separated by commas."""
    return [name.strip() for text in given or [] for name in text.split(",") if name.strip()]
