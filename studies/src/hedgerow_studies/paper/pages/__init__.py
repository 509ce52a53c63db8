"""Pages: what is drawn and said about the results of each study, beside the published figures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hedgerow_studies.paper.pages import (
    as_published_pages,
    distribution_pages,
    portfolio_pages,
    synthetic_pages,
    tree_pages,
)
from hedgerow_studies.paper.pages.study_page import Page
from hedgerow_studies.paper.study import Study

if TYPE_CHECKING:
    import pandas as pd

NEWSVENDOR: dict[str, Any] = {"problem": "newsvendor"}
INVENTORY: dict[str, Any] = {"problem": "inventory"}
PAGES: dict[str, Any] = {
    "fig1": distribution_pages.plans,
    "fig2": distribution_pages.worst,
    "fig4": partial(synthetic_pages.rules, **NEWSVENDOR),
    "fig5": synthetic_pages.fitted,
    "fig6": partial(synthetic_pages.parameters, **NEWSVENDOR),
    "fig7": partial(synthetic_pages.models, **NEWSVENDOR),
    "fig8": partial(synthetic_pages.rules, **INVENTORY),
    "table1": portfolio_pages.averages,
    "fig9": portfolio_pages.rules,
    "fig10": tree_pages.routes,
    "fig11": tree_pages.importance,
    "fig12": tree_pages.attribution,
    "fig13": partial(synthetic_pages.parameters, **INVENTORY),
    "fig14": portfolio_pages.parameters,
    "fig15": partial(synthetic_pages.models, **INVENTORY),
    "fig16": portfolio_pages.models,
    "newsvendor": partial(as_published_pages.synthetic, **NEWSVENDOR),
    "inventory": partial(as_published_pages.synthetic, **INVENTORY),
    "portfolio": as_published_pages.portfolios,
    "ablations": portfolio_pages.ablations,
    "differences": as_published_pages.differences,
}


def page_of(study: Study, table: pd.DataFrame) -> Page:
    """Draw and describe the finished table of a study."""
    return PAGES[study.name](table, name=study.name)
