"""Conditional distributions: what may happen in a context, by residuals or anybody's forecast."""

from hedgerow.forecasts.forest_regressor import ForestRegressor
from hedgerow.forecasts.index_regressor import IndexRegressor
from hedgerow.forecasts.residual import ResidualNominal
from hedgerow.forecasts.scenario import ScenarioNominal
from hedgerow.forecasts.stacked_regressor import StackedRegressor

__all__ = [
    "ForestRegressor",
    "IndexRegressor",
    "ResidualNominal",
    "ScenarioNominal",
    "StackedRegressor",
]
