"""The API reference: which page of the site holds which public name.

One table says it all. A test compares it with what the package really offers, so a new public name
without a place here fails there.
"""

# ruff: noqa: E501 (a link is not broken)

from __future__ import annotations

import json
from typing import NamedTuple


class Page(NamedTuple):
    """One page of the reference: its file, its title, what it is about, and its names."""

    file: str
    title: str
    about: str
    names: str

    def paths(self) -> list[str]:
        """Import paths of its names, such as ``hedgerow.explain.attribute``."""
        return [f"hedgerow.{name}" for name in self.names.split()]


PAGES = (
    Page(
        "policies",
        "Policies",
        "What is fitted, searched over, saved, read and asked for decisions.",
        "RobustPolicy RobustPolicyCV PanelPolicy load",
    ),
    Page(
        "losses",
        "Losses",
        "What a decision costs once the outcome is known. [Which to take](../choosing.md#the-loss).",
        "Newsvendor InventorySubstitution TwoStageLP MaxAffine MeanVariance MeanCVaR CVaR "
        "CustomLoss Column",
    ),
    Page(
        "decisions",
        "Decision sets",
        "Where decisions may lie; a policy's decisions lie there by construction.",
        "Free Nonnegative Box Simplex Product",
    ),
    Page(
        "ambiguity",
        "Ambiguity models",
        "What the adversary may do. [What each guards against](../choosing.md#what-each-guards-against).",
        "ERM CausalSinkhorn Sinkhorn CausalWasserstein Wasserstein KL ChiSquare TotalVariation "
        "LikelihoodRatio Calibrated",
    ),
    Page(
        "contexts",
        "Kinds of context columns",
        "What the adversary may do with a column: move it, within bounds, between categories, or not "
        "at all. [How they are used](../costs.md).",
        "contexts.Continuous contexts.Bounded contexts.Categorical contexts.Fixed contexts.of "
        "contexts.ContextKind",
    ),
    Page(
        "rules",
        "Rules",
        "Maps from context to decision. [Which to take](../choosing.md#the-rule).",
        "SoftForest ScoreForest TwoLayer Affine Constant",
    ),
    Page(
        "nominals",
        "Nominals and forecasts",
        "What history says may happen in a context, before anybody doubts it. "
        "[Forecasts](../forecasts.md).",
        "EmpiricalNominal AdaptedNominal NeighbourNominal ResidualNominal ScenarioNominal "
        "ForestRegressor IndexRegressor LogLinearRegressor StackedRegressor "
        "forecasts.default_nominal",
    ),
    Page(
        "kernels",
        "Kernels and nodes",
        "How points are smeared out, and how expectations over that are taken.",
        "Kernel GaussQuadrature MonteCarlo Sobol Reference",
    ),
    Page(
        "solvers",
        "Solvers",
        "Ways to minimise the robust objective, [measured against exact minima](../solvers.md).",
        "SCSC SCGD NestedSGD MLMC SAA solvers.default_solver",
    ),
    Page(
        "certify",
        "How bad can it get?",
        "Certified values, worst cases, promises and radii. [Guide](../robustness.md), "
        "[promises](../promise.md).",
        "robust_value RobustValue worst_case SmoothWorstCase DiscreteWorstCase calibrate Calibration "
        "Promise radius_in_words RadiusWords radius_menu RadiusMenu",
    ),
    Page(
        "explain",
        "Why this decision?",
        "Attributions, importance, certificates and rules in words. [Guide](../explain.md).",
        "explain.attribute explain.Attribution explain.importance explain.Importance "
        "explain.route_importance explain.permutation_importance explain.interactions "
        "explain.gradients explain.routes explain.Routes explain.route_gradients "
        "explain.route_hessians explain.certificate explain.Certificate explain.lipschitz "
        "explain.words explain.RuleWords explain.shap_values explain.correlation",
    ),
    Page(
        "tables",
        "Tables and time",
        "From tables with text and dates to features. [Tables](../tables.md), [panels](../panels.md).",
        "data.read_table data.write_table TableEncoder TimeFeatures",
    ),
    Page(
        "orders",
        "Orders, baselines and figures",
        "Orders that can be placed, what a planner would do today, and how both are judged.",
        "Lots lots.PlacedOrders lots.error_quantiles baselines.seasonal_naive "
        "baselines.same_weekday_quantile metrics.inventory_summary metrics.InventorySummary "
        "metrics.InventoryFigures metrics.fill_rate metrics.service_level metrics.waste "
        "metrics.waste_share metrics.stockouts metrics.prescriptiveness metrics.sharpe metrics.cvar "
        "metrics.drawdown metrics.turnover",
    ),
    Page(
        "monitoring",
        "Watching a policy at work",
        "Is what arrives still what the policy was made for? [Guide](../promise.md).",
        "watch Watch remember",
    ),
    Page(
        "report",
        "Reports and figures",
        "The page for whoever decides, and figures for papers and slides. [Reports](../report.md).",
        "report.write_page report.write_report report.write_panel_report report.check_page_target "
        "plots.decision_curve plots.partial_dependence plots.importance plots.waterfall "
        "plots.attribution_scatter plots.tree plots.worst_cases plots.transport_plans "
        "plots.radius_frontier plots.search_map plots.training_curve plots.save_figure",
    ),
    Page(
        "transport",
        "Transport between distributions",
        "Causal and plain Sinkhorn discrepancies, with their plans.",
        "causal_sinkhorn sinkhorn DiscreteMeasure TransportResult",
    ),
    Page(
        "datasets",
        "Data sets",
        "Real demand that travels with the package, and the paper's generators with exact oracles.",
        "datasets.load_restaurant datasets.load_bakery datasets.make_newsvendor "
        "datasets.newsvendor_signal datasets.oracle_newsvendor_decision "
        "datasets.oracle_newsvendor_loss datasets.expected_newsvendor_loss datasets.make_inventory "
        "datasets.paper_inventory_costs datasets.InventoryCosts datasets.inventory_scale "
        "datasets.oracle_inventory_decision datasets.oracle_inventory_loss "
        "datasets.mean_oracle_inventory_loss datasets.expected_inventory_loss",
    ),
    Page(
        "theory",
        "Theory in numbers",
        "The paper's constants, sample sizes and step sizes. [Guide](../theory.md).",
        "theory.forest_constants theory.policy_constants theory.ForestConstants "
        "theory.compositional_constants theory.CompositionalConstants theory.saa_sample_sizes "
        "theory.saa_failure_probability theory.SampleSizes theory.scsc_step_sizes theory.StepSizes "
        "theory.scsc_convergence theory.ConvergenceBound",
    ),
    Page(
        "running",
        "Compilation",
        "First fits compile; these keep what was compiled, or do it ahead of time.",
        "compilation_cache warm_up",
    ),
    Page(
        "warnings",
        "Warnings and errors",
        "Every warning is a `HedgerowWarning` of its own class, to be filtered or turned into an error.",
        "HedgerowWarning ConstantFeatureWarning CrossingQuantilesWarning DivergedWarning "
        "InexactValueWarning InfiniteValueWarning OutlierWarning OutsideWarning RecourseWarning "
        "SeenRowsWarning ShortSeriesWarning UnreadableSeriesWarning UselessRuleWarning VacuousCausalityWarning "
        "WideRadiusWarning InadmissiblePenaltyError InfeasibleRadiusError PolicyFileError",
    ),
    Page(
        "bases",
        "Parts of your own: bases",
        "What a part of your own subclasses. [How to write one](../extending.md).",
        "losses.Loss losses.PortfolioLoss losses.RecourseLoss decisions.DecisionSet "
        "ambiguity.Ambiguity ambiguity.PenalisedAmbiguity ambiguity.Reweighting "
        "ambiguity.TransportAmbiguity ambiguity.SinkhornAmbiguity ambiguity.WassersteinAmbiguity "
        "rules.Rule rules.FittedRule data.Nominal "
        "solvers.Solver solvers.StochasticSolver kernels.AbstractKernel kernels.Nodes",
    ),
    Page(
        "pieces",
        "Parts of your own: pieces",
        "What parts are handed and hand back. You meet these only when you write a part.",
        "losses.ClosedMoments losses.RescaledLoss losses.JointCVaR losses.along losses.bound "
        "losses.by_row losses.located losses.named_columns losses.parameters decisions.Block "
        "decisions.interval_blocks ambiguity.Budget ambiguity.Inner ambiguity.Kernels "
        "ambiguity.Reduction ambiguity.LogReduction ambiguity.Mean "
        "ambiguity.MeanOfLogs ambiguity.LogOfMean ambiguity.Moves ambiguity.Perturbed "
        "ambiguity.Problem ambiguity.RadiusWish ambiguity.Risk ambiguity.Setting ambiguity.Tilt "
        "ambiguity.Usual ambiguity.decide data.Batch data.NominalDistribution data.TrainingTable "
        "data.Units rules.ConstantRule rules.Forest rules.GivenRule rules.Hardening rules.JointRule "
        "rules.LinearForest rules.ScoredForest rules.Start solvers.At solvers.Interrupted "
        "solvers.Objective solvers.Parameters solvers.Solution solvers.Step solvers.TrainingProblem "
        "kernels.Anchored kernels.Scattered kernels.LatticeKernel kernels.MixedKernel "
        "kernels.PowerKernel kernels.RadialKernel kernels.StillKernel kernels.invert "
        "kernels.kernel_of kernels.lattice kernels.log_add kernels.mixed",
    ),
)

WITH_INHERITED = ("policies",)
"""Pages whose classes get their methods from classes that have no place of their own."""
PARTS = ("losses", "decisions", "ambiguity", "contexts", "rules", "nominals", "kernels", "solvers")
"""Pages of parts: what they offer to a policy is said once, of their bases."""
ASKED = {
    "Newsvendor": ("from_prices",),
    "MeanVariance": ("best_constant", "realised"),
    "MeanCVaR": ("best_constant", "realised"),
    "ScenarioNominal": ("from_quantiles", "from_paths", "from_frame"),
    "ForestRegressor": ("fit", "predict"),
    "IndexRegressor": ("fit", "predict"),
    "LogLinearRegressor": ("fit", "predict"),
    "StackedRegressor": ("fit", "predict"),
}
"""Methods of parts that a user calls."""


def pages() -> dict[str, str]:
    """Return the Markdown of every page by its place in the site."""
    made = {f"api/{page.file}.md": _page(page) for page in PAGES}
    made["api/index.md"] = _index()
    return made


def _page(page: Page) -> str:
    entries = (f"::: {path}\n    options: {_options(page, path)}\n" for path in page.paths())
    return "\n".join([f"# {page.title}\n\n{page.about}\n", *entries])


def _options(page: Page, path: str) -> str:
    """Options of one entry, as JSON, which is YAML as well."""
    inherited = page.file in WITH_INHERITED
    options: dict[str, object] = {"inherited_members": inherited}
    if page.file in PARTS:
        methods = ASKED.get(path.rpartition(".")[2], ())
        options = {"inherited_members": bool(methods), "members": list(methods) or False}
    return json.dumps(options)


def _index() -> str:
    lines = [
        "# API reference",
        "",
        "Every public name, from its docstring. `import hedgerow as hr` gives them all; whatever is in a "
        "module of its own, such as `hr.explain.attribute`, is written with it.",
        "",
    ]
    for page in PAGES:
        links = ", ".join(
            f"[`{path.removeprefix('hedgerow.')}`]({page.file}.md#{path})" for path in page.paths()
        )
        lines += [f"**[{page.title}]({page.file}.md)**", f": {links}", ""]
    return "\n".join(lines)
