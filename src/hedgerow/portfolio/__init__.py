"""Portfolio selection on market data: a rolling backtest without looking ahead.

files → ``market`` → ``windows`` → ``methods`` choose → ``backtest`` keeps → ``summary`` tells
"""

from hedgerow.portfolio.backtest import Backtest, Outcome, Task, diverged
from hedgerow.portfolio.market import (
    Market,
    index_covariates,
    make_market,
    read_market,
    sp500_market,
)
from hedgerow.portfolio.methods import METHODS, RULES, Parameters
from hedgerow.portfolio.summary import figures, monthly, table, tracks, weights
from hedgerow.portfolio.windows import Horizon, Window, latest_months

__all__ = [
    "METHODS",
    "RULES",
    "Backtest",
    "Horizon",
    "Market",
    "Outcome",
    "Parameters",
    "Task",
    "Window",
    "diverged",
    "figures",
    "index_covariates",
    "latest_months",
    "make_market",
    "monthly",
    "read_market",
    "sp500_market",
    "table",
    "tracks",
    "weights",
]
