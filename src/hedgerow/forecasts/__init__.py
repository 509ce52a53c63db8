"""Conditional distributions: what may happen in a context, by residuals or anybody's forecast."""

from hedgerow.forecasts.forest_regressor import ForestRegressor
from hedgerow.forecasts.residual import ResidualNominal
from hedgerow.forecasts.scenario import ScenarioNominal

__all__ = ["ForestRegressor", "ResidualNominal", "ScenarioNominal"]
