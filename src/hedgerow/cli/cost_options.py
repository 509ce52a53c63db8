"""Options of ``hedgerow fit`` on what moving data costs: the norm, and what contexts are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from hedgerow.cli.panel_options import option

IN_MODEL: dict[str, Any] = {"rich_help_panel": "What to hedge against", "show_default": False}
in_model = partial(option, **IN_MODEL)


class Norm(StrEnum):
    """How moves of several columns add up."""

    one = "1"
    two = "2"
    inf = "inf"


class ContextsAre(StrEnum):
    """What columns of contexts are taken for."""

    auto = "auto"
    continuous = "continuous"


@dataclass(frozen=True, kw_only=True)
class CostOptions:
    """What ``hedgerow fit`` is asked for of the transport cost; None leaves it to the library."""

    norm: Annotated[
        Norm | None,
        in_model("NORM", "Of moves of several columns: 1, 2 or inf; default: column by column."),
    ] = None
    contexts: Annotated[
        ContextsAre | None,
        in_model(
            "NAME",
            "continuous: any column may be moved by any amount (default). auto: texts and 0/1 "
            "columns change as a whole, what is never negative stays so, dates are left alone.",
        ),
    ] = None


def cost_mistakes(request: Any) -> Iterator[tuple[str, str]]:
    """Options of the cost that do not go with others, and why."""
    if request.by and request.contexts == ContextsAre.auto:
        yield (
            "contexts",
            "auto is not offered with --by, whose rules see other columns than the table's: name "
            "columns in the file of --config, as in contexts = [{ part = 'Fixed', columns = "
            "'promo' }].",
        )
