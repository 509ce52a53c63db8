"""Portfolio selection on market data: a rolling backtest without looking ahead.

files → ``market`` → ``windows`` → ``selection`` chooses → ``backtest`` keeps → ``summary`` tells,
``backtest_figures`` draw
"""

from hedgerow_studies.portfolio.backtest import Backtest, Outcome, Task, diverged
from hedgerow_studies.portfolio.backtest_figures import held, wealth
from hedgerow_studies.portfolio.market import (
    Market,
    index_covariates,
    make_market,
    read_market,
    sp500_market,
)
from hedgerow_studies.portfolio.selection import METHODS, RULES, USUAL, Parameters
from hedgerow_studies.portfolio.summary import figures, monthly, table, tracks, weights
from hedgerow_studies.portfolio.windows import Horizon, Window, latest_months

__all__ = [
    "METHODS",
    "RULES",
    "USUAL",
    "Backtest",
    "Horizon",
    "Market",
    "Outcome",
    "Parameters",
    "Task",
    "Window",
    "diverged",
    "figures",
    "held",
    "index_covariates",
    "latest_months",
    "make_market",
    "monthly",
    "read_market",
    "sp500_market",
    "table",
    "tracks",
    "wealth",
    "weights",
]
