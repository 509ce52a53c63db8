"""Conditional distributions: what may happen in a context, by residuals or anybody's forecast."""

from hedgerow.data.nominal import EmpiricalNominal, Nominal
from hedgerow.forecasts.forest_regressor import ForestRegressor
from hedgerow.forecasts.index_regressor import IndexRegressor
from hedgerow.forecasts.log_linear_regressor import LogLinearRegressor
from hedgerow.forecasts.residual import ResidualNominal
from hedgerow.forecasts.scenario import ScenarioNominal
from hedgerow.forecasts.stacked_regressor import StackedRegressor

__all__ = [
    "ForestRegressor",
    "IndexRegressor",
    "LogLinearRegressor",
    "ResidualNominal",
    "ScenarioNominal",
    "StackedRegressor",
    "default_nominal",
]

FEWEST_ROWS, MOST_ROWS, MOST_OUTCOMES = 100, 2_000, 8


def default_nominal(rows: int, outcomes: int) -> Nominal:
    """Return what ``nominal=None`` stands for: a distribution in every context where it pays.

    From 100 to 2,000 rows residuals halve the excess loss (docs/results/choosing.md). Pooled tables
    of many thousands, whose series differ in more than their means, are better trusted as they are
    (docs/results/real_series.md); with many outcomes a model of each takes long.

    Examples
    --------
    >>> import hedgerow as hr
    >>> type(hr.forecasts.default_nominal(500, 1)).__name__
    'ResidualNominal'
    """
    learned = FEWEST_ROWS <= rows <= MOST_ROWS and outcomes <= MOST_OUTCOMES
    return ResidualNominal() if learned else EmpiricalNominal()
