"""Pages: what is drawn and said about the results of each study, beside the published figures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hedgerow_studies.paper.pages import distributions, interpretation, portfolio, synthetic
from hedgerow_studies.paper.pages.page import Page
from hedgerow_studies.paper.study import Study

if TYPE_CHECKING:
    import pandas as pd

NEWSVENDOR: dict[str, Any] = {"problem": "newsvendor"}
INVENTORY: dict[str, Any] = {"problem": "inventory"}
PAGES: dict[str, Any] = {
    "fig1": distributions.plans,
    "fig2": distributions.worst,
    "fig4": partial(synthetic.rules, **NEWSVENDOR),
    "fig5": synthetic.fitted,
    "fig6": partial(synthetic.parameters, **NEWSVENDOR),
    "fig7": partial(synthetic.models, **NEWSVENDOR),
    "fig8": partial(synthetic.rules, **INVENTORY),
    "table1": portfolio.averages,
    "fig9": portfolio.rules,
    "fig10": interpretation.routes,
    "fig11": interpretation.importance,
    "fig12": interpretation.attribution,
    "fig13": partial(synthetic.parameters, **INVENTORY),
    "fig14": portfolio.parameters,
    "fig15": partial(synthetic.models, **INVENTORY),
    "fig16": portfolio.models,
}


def page_of(study: Study, table: pd.DataFrame) -> Page:
    """Draw and describe the finished table of a study."""
    return PAGES[study.name](table, name=study.name)
