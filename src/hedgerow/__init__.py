"""hedgerow: decision rules from data that hedge against the data being misleading.

Names are imported when they are first used, so that ``hedgerow --help`` need not wait for JAX.
"""

# ruff: noqa: F401 (the imports below tell type checkers what the names are)

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hedgerow._version import __version__

if TYPE_CHECKING:
    from hedgerow import (
        ambiguity,
        baselines,
        contexts,
        data,
        datasets,
        decisions,
        explain,
        forecasts,
        kernels,
        losses,
        lots,
        metrics,
        plots,
        rules,
        solvers,
        theory,
    )
    from hedgerow._convergence import DivergedWarning, InexactValueWarning
    from hedgerow._warnings import (
        ConstantFeatureWarning,
        CrossingQuantilesWarning,
        HedgerowWarning,
        InfiniteValueWarning,
        OutlierWarning,
        OutsideWarning,
        RecourseWarning,
        SeenRowsWarning,
        ShortSeriesWarning,
        UnreadableSeriesWarning,
        UselessRuleWarning,
        VacuousCausalityWarning,
        WideRadiusWarning,
    )
    from hedgerow.ambiguity import (
        ERM,
        KL,
        Calibrated,
        CausalSinkhorn,
        CausalWasserstein,
        ChiSquare,
        InadmissiblePenaltyError,
        InfeasibleRadiusError,
        LikelihoodRatio,
        Sinkhorn,
        TotalVariation,
        Wasserstein,
    )
    from hedgerow.certify.calibration import calibrate
    from hedgerow.certify.promise import Calibration, Promise
    from hedgerow.certify.radii import RadiusMenu, RadiusWords, radius_in_words, radius_menu
    from hedgerow.certify.value import RobustValue, robust_value
    from hedgerow.certify.worst_cases import DiscreteWorstCase, SmoothWorstCase, worst_case
    from hedgerow.data import (
        AdaptedNominal,
        EmpiricalNominal,
        NeighbourNominal,
        TableEncoder,
        TimeFeatures,
    )
    from hedgerow.decisions import Box, Free, Nonnegative, Product, Simplex
    from hedgerow.estimator import RobustPolicy
    from hedgerow.forecasts import (
        ForestRegressor,
        IndexRegressor,
        LogLinearRegressor,
        ResidualNominal,
        ScenarioNominal,
        StackedRegressor,
    )
    from hedgerow.kernels import GaussQuadrature, Kernel, MonteCarlo, Reference, Sobol
    from hedgerow.losses import (
        Column,
        CustomLoss,
        CVaR,
        InventorySubstitution,
        MaxAffine,
        MeanCVaR,
        MeanVariance,
        Newsvendor,
        TwoStageLP,
    )
    from hedgerow.lots import Lots
    from hedgerow.monitoring import Watch, remember, watch
    from hedgerow.panels import PanelPolicy
    from hedgerow.policy_file import PolicyFileError
    from hedgerow.program_cache import compilation_cache
    from hedgerow.report.calling import CallableReport
    from hedgerow.rules import Affine, Constant, ScoreForest, SoftForest, TwoLayer
    from hedgerow.search import RobustPolicyCV
    from hedgerow.solvers import MLMC, SAA, SCGD, SCSC, NestedSGD
    from hedgerow.stored import load
    from hedgerow.transport import DiscreteMeasure, TransportResult, causal_sinkhorn, sinkhorn
    from hedgerow.warming import warm_up

    report: CallableReport

_MODULES = (
    *(
        "ambiguity",
        "baselines",
        "contexts",
        "data",
        "datasets",
        "decisions",
        "explain",
        "forecasts",
    ),
    *("kernels", "losses", "lots", "metrics", "plots", "report", "rules", "solvers", "theory"),
)
_HOMES = {
    "_convergence": "DivergedWarning InexactValueWarning",
    "_warnings": "ConstantFeatureWarning CrossingQuantilesWarning HedgerowWarning "
    "InfiniteValueWarning OutlierWarning OutsideWarning RecourseWarning "
    "SeenRowsWarning ShortSeriesWarning UnreadableSeriesWarning UselessRuleWarning "
    "VacuousCausalityWarning WideRadiusWarning",
    "ambiguity": "Calibrated CausalSinkhorn CausalWasserstein ChiSquare ERM "
    "InadmissiblePenaltyError InfeasibleRadiusError KL LikelihoodRatio Sinkhorn TotalVariation "
    "Wasserstein",
    "certify.calibration": "calibrate",
    "certify.promise": "Calibration Promise",
    "certify.radii": "RadiusMenu RadiusWords radius_in_words radius_menu",
    "certify.value": "RobustValue robust_value",
    "certify.worst_cases": "DiscreteWorstCase SmoothWorstCase worst_case",
    "data": "AdaptedNominal EmpiricalNominal NeighbourNominal TableEncoder TimeFeatures",
    "decisions": "Box Free Nonnegative Product Simplex",
    "estimator": "RobustPolicy",
    "kernels": "GaussQuadrature Kernel MonteCarlo Reference Sobol",
    "losses": "CVaR Column CustomLoss InventorySubstitution MaxAffine MeanCVaR MeanVariance "
    "Newsvendor TwoStageLP",
    "lots": "Lots",
    "monitoring": "Watch remember watch",
    "panels": "PanelPolicy",
    "policy_file": "PolicyFileError",
    "program_cache": "compilation_cache",
    "forecasts": "ForestRegressor IndexRegressor LogLinearRegressor ResidualNominal "
    "ScenarioNominal StackedRegressor",
    "rules": "Affine Constant ScoreForest SoftForest TwoLayer",
    "search": "RobustPolicyCV",
    "solvers": "MLMC NestedSGD SAA SCGD SCSC",
    "stored": "load",
    "warming": "warm_up",
    "transport": "DiscreteMeasure TransportResult causal_sinkhorn sinkhorn",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = ["__version__", *_MODULES, *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import what a public name stands for, once."""
    if name in _MODULES:
        return import_module(f"hedgerow.{name}")
    if name == "portfolio":
        raise AttributeError(
            "hedgerow.portfolio is a study now: import hedgerow_studies.portfolio."
        )
    if name not in _HOME:
        raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")
    value = getattr(import_module(f"hedgerow.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
