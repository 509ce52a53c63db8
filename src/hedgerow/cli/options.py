"""Names and panels that the commands' options share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class ProblemKind(StrEnum):
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


PolicyFile = Annotated[Path, typer.Argument(help="A policy file written by `hedgerow fit`.")]
IN_DATA: dict[str, Any] = {"rich_help_panel": "Data"}
IN_MODEL: dict[str, Any] = {"rich_help_panel": "What to hedge against", "show_default": False}
IN_RULE: dict[str, Any] = {"rich_help_panel": "Rule and training", "show_default": False}


def listed(given: list[str] | None) -> list[str]:
    """Names given one by one or separated by commas."""
    return [name.strip() for text in given or [] for name in text.split(",") if name.strip()]
