"""Every study by the name of the figure or table that it recomputes, in the paper's order.

Those of the paper as published, its own code's method and protocol, come last.
"""

from __future__ import annotations

from hedgerow_studies.paper.as_published.differences import Differences
from hedgerow_studies.paper.as_published.portfolios import PortfolioAsPublished
from hedgerow_studies.paper.as_published.studies import AsPublished
from hedgerow_studies.paper.distribution_studies import Plans, WorstCases
from hedgerow_studies.paper.market_study import Files
from hedgerow_studies.paper.portfolio_studies import (
    PortfolioAblations,
    PortfolioModels,
    PortfolioParameters,
    PortfolioRules,
    PortfolioTable,
)
from hedgerow_studies.paper.study import Study
from hedgerow_studies.paper.synthetic_studies import Fitted, Models, Parameters, Rules
from hedgerow_studies.paper.tree_studies import TreeAttribution, TreeImportance, TreeRoutes


def catalogue(files: Files | None = None) -> dict[str, Study]:
    """Return studies by name; ``files`` hold the market of portfolios, None: that of skfolio.

    Figure 3 of the paper is a sketch of a tree and has no data.
    """
    studies = [
        Plans("fig1"),
        WorstCases("fig2"),
        Rules("fig4", "newsvendor"),
        Fitted("fig5", "newsvendor"),
        Parameters("fig6", "newsvendor"),
        Models("fig7", "newsvendor"),
        Rules("fig8", "inventory"),
        PortfolioTable("table1", files),
        PortfolioRules("fig9", files),
        TreeRoutes("fig10", files),
        TreeImportance("fig11", files),
        TreeAttribution("fig12", files),
        Parameters("fig13", "inventory"),
        PortfolioParameters("fig14", files),
        Models("fig15", "inventory"),
        PortfolioModels("fig16", files),
        AsPublished("newsvendor", "newsvendor"),
        AsPublished("inventory", "inventory"),
        PortfolioAsPublished("portfolio", files),
        Differences("differences"),
        PortfolioAblations("ablations", files),
    ]
    return {study.name: study for study in studies}
