"""From options and tables of settings to a policy: loss, model, rule, nominal, solver.

Every part is a table (``cli.settings``): what the file and ``--set`` say, under what options say,
over what the command has without either. A model's scales are "auto" here, its price and spread the
library's defaults for as many rows. A panel has other defaults than a single policy, so there what
nobody asked for stays open, for the panel to fill in.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hedgerow import contexts
from hedgerow.ambiguity import (
    ERM,
    KL,
    Ambiguity,
    Calibrated,
    CausalSinkhorn,
    CausalWasserstein,
    ChiSquare,
    LikelihoodRatio,
    Sinkhorn,
    TotalVariation,
    Wasserstein,
)
from hedgerow.cli.building import built, kind_of, parameters_of, told
from hedgerow.cli.cost_options import ContextsAre
from hedgerow.cli.options import FitRequest, cost_columns
from hedgerow.cli.panel_options import Strategy
from hedgerow.cli.settings import Settings
from hedgerow.contexts import ContextKind
from hedgerow.data.encoder import TableEncoder
from hedgerow.data.nominal import AdaptedNominal, EmpiricalNominal, NeighbourNominal, Nominal
from hedgerow.describe.numbers import percent
from hedgerow.estimator import RobustPolicy
from hedgerow.fitting import Parts, default_ambiguity
from hedgerow.forecasts import ResidualNominal
from hedgerow.losses import (
    Column,
    CVaR,
    InventorySubstitution,
    Loss,
    MeanCVaR,
    MeanVariance,
    Newsvendor,
)
from hedgerow.panels.pooled import MANY
from hedgerow.rules import Affine, Constant, Rule, SoftForest, TwoLayer
from hedgerow.solvers import Solver, default_solver

NOMINALS: dict[str, type[Nominal]] = {
    "residual": ResidualNominal,
    "empirical": EmpiricalNominal,
    "neighbour": NeighbourNominal,
    "adapted": AdaptedNominal,
}
MODELS: dict[str, type[Ambiguity]] = {
    "causal-sinkhorn": CausalSinkhorn,
    "sinkhorn": Sinkhorn,
    "causal-wasserstein": CausalWasserstein,
    "wasserstein": Wasserstein,
    "kl": KL,
    "chi-square": ChiSquare,
    "total-variation": TotalVariation,
    "likelihood-ratio": LikelihoodRatio,
    "erm": ERM,
}
RULES: dict[str, type[Rule]] = {
    "forest": SoftForest,
    "two-layer": TwoLayer,
    "affine": Affine,
    "constant": Constant,
}
AUTO: dict[str, Any] = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}


def compose(
    request: FitRequest, loss: Loss, rows: int, columns: Sequence[ContextKind] = ()
) -> RobustPolicy:
    """Return the policy that was asked for, not fitted, to learn from so many rows.

    ``columns`` is what contexts are where they are asked for as "auto".
    """
    ambiguity = None if request.leaves_model else model_of(request, rows, columns)
    return RobustPolicy(
        loss=loss,
        ambiguity=ambiguity,
        rule=None if request.leaves_rule else rule_of(request),
        nominal=_nominal(request),
        solver=_solver(request, ambiguity or _model_of_panels(request, rows), rows),
        random_state=request.seed,
        outliers=str(request.outliers),
    )


def loss_of(request: FitRequest) -> tuple[Loss, str]:
    """The loss, and how to speak of it."""
    loss, words = _loss_inside(request)
    if request.tail is None or "tail" in parameters_of(type(loss)):  # it was told
        return loss, words
    return CVaR(loss, request.tail), f"CVaR {percent(request.tail)} of {words}"


def _loss_inside(request: FitRequest) -> tuple[Loss, str]:
    """The loss, but for the tail that an option may put around it."""
    if "loss" in request.sections:
        given = {
            "holding": _costs(request.holding),
            "stockout": _costs(request.stockout),
            "return_weight": request.return_weight,
        }
        table = _over(request, "loss", None, Loss, given)
        kind = kind_of("loss", table["part"], Loss) if "part" in table else None
        if request.tail is not None and kind is not None and "tail" in parameters_of(kind):
            table["tail"] = request.tail
        loss = built("loss", table, Loss)
        return loss, loss.description().short
    if request.problem == "portfolio":
        weight = 1.0 if request.return_weight is None else request.return_weight
        loss = MeanVariance(weight) if request.tail is None else MeanCVaR(weight, tail=request.tail)
        return loss, loss.description().short
    if request.costs is not None:
        loss = _inventory(request.costs, len(request.outcomes))
        return loss, f"{loss.description().short}, costs from {request.costs}"
    loss = Newsvendor(_costs(request.holding), _costs(request.stockout))
    return loss, loss.description().short


def contexts_in(encoder: TableEncoder, X: Any) -> list[ContextKind]:
    """What the columns of a table are, by the names of its features."""
    names = [str(name) for name in encoder.get_feature_names_out()]
    return [
        kind.replace(columns=tuple(names[place] for place in kind.columns))
        for kind in contexts.of(encoder, X)
    ]


def model_of(request: FitRequest, rows: int, columns: Sequence[ContextKind] = ()) -> Ambiguity:
    """The ambiguity model: as asked for, with the library's defaults for so many rows."""
    asked = None if request.model is None else MODELS[request.model]
    given = {name: getattr(request, name) for name in ("penalty", "radius", "epsilon", "order")}
    if request.radius is not None:
        given["radius"] = radius_of(request)
    if given["order"] is not None and given["order"].is_integer():
        given["order"] = int(given["order"])
    given["norm"] = None if request.norm is None else float(request.norm)
    table = _over(request, "ambiguity", asked, Ambiguity, given)
    said = request.contexts or table.get("contexts")
    if said == ContextsAre.auto:
        table["contexts"] = tuple(columns)
    elif said == ContextsAre.continuous:
        table.pop("contexts", None)
    kind = kind_of("ambiguity", table["part"], Ambiguity) if "part" in table else CausalSinkhorn
    declared, default = parameters_of(kind), default_ambiguity(rows)
    free: dict[str, Any] = {name: value for name, value in AUTO.items() if name in declared}
    free |= {name: getattr(default, name) for name in ("epsilon", "order") if name in declared}
    for one, other in (("penalty", "radius"), ("radius", "penalty")):  # the option wins
        if given[one] is not None:
            table.pop(other, None)
    if "penalty" in declared and not {"penalty", "radius"} & set(table):
        free["penalty"] = default.penalty
    return built("ambiguity", free | table, Ambiguity, kind)


def rule_of(request: FitRequest) -> Rule:
    """The rule."""
    asked = None if request.rule is None else RULES[request.rule]
    given = {"trees": request.trees, "depth": depth_in(request.depth)}
    return built("rule", _over(request, "rule", asked, Rule, given), Rule, SoftForest)


def search_settings(request: FitRequest) -> Settings:
    """What a search tries, as ``RobustPolicyCV`` takes it; nominals and rules are parts."""
    from hedgerow.search import RobustPolicyCV

    settings = request.section("search")
    settings.pop("by", None)
    own = ("penalties", "epsilons", "orders", "radii", "nominals", "rules", "cv", "selection")
    own = (*own, "race", "n_jobs")
    for name in settings:
        if name not in own:
            raise ValueError(f"search has an entry {name!r}; it may have by, {', '.join(own)}.")
    read: dict[str, Callable[[str, Any], Any]] = {
        "nominals": lambda where, table: built(where, table, Nominal),
        "rules": lambda where, table: built(where, table, Rule),
    }
    for name, part in read.items():
        if name in settings:
            found = settings[name]
            if not isinstance(found, list):
                raise ValueError(f"search.{name} must be a list of tables, got {found!r}.")
            settings[name] = [part(f"search.{name}[{i}]", one) for i, one in enumerate(found)]
    for name in ("penalties", "epsilons", "orders", "radii"):
        if name in settings and not isinstance(settings[name], list):
            raise ValueError(f"search.{name} must be a list of numbers, got {settings[name]!r}.")
    for name in ("cv", "n_jobs"):
        if type(settings.get(name, 1)) is not int:
            raise ValueError(f"search.{name} must be a whole number, got {settings[name]!r}.")
    RobustPolicyCV(Newsvendor(1, 1), **settings)
    return settings


def effective(
    request: FitRequest, policy: RobustPolicy, rows: int
) -> tuple[Settings, dict[str, Settings]]:
    """Return all settings of a policy to learn, as a file has them: options, and tables.

    What the command leaves to the library is told as the library has it for so many rows.
    """
    parts = Parts.of(
        policy.loss, policy.ambiguity, policy.rule, policy.nominal, policy.solver, rows,
        len(request.outcomes),
    )  # fmt: skip
    options = {
        "data": str(request.data),
        "outcome": list(request.outcomes),
        "features": request.features,
        "censored": request.censored,
        "outliers": str(request.outliers),
        "seed": request.seed,
    }
    tables = {name: told(part) for name, part in parts._asdict().items()}
    if request.searches != "none":
        for name in ("penalty", "radius", "epsilon"):  # are chosen
            tables["ambiguity"].pop(name, None)
        tables["search"] = {"by": str(request.searches)} | request.section("search")
    return options, tables


def depth_in(text: str | None) -> int | tuple[int, ...] | None:
    """One depth, or several separated by commas."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"--depth must be a whole number, or several as in 2,3,5; got {text!r}.")
    depths = [int(part) for part in parts]
    return tuple(depths) if len(depths) > 1 else depths[0]


def _over(
    request: FitRequest, name: str, asked: type | None, base: type, given: Settings
) -> Settings:
    """A part's table with what options say on top.

    Where they ask for another class than the table, it keeps the settings that the new one has too.
    """
    table = request.section(name)
    if asked is not None and table.get("part", asked.__name__) != asked.__name__:
        table = {key: value for key, value in table.items() if key in parameters_of(asked)}
    if asked is not None:
        table["part"] = asked.__name__
    return table | {key: value for key, value in given.items() if value is not None}


def _nominal(request: FitRequest) -> Nominal | None:
    asked = NOMINALS.get(request.nominal)
    table = _over(request, "nominal", asked, Nominal, {})
    return built("nominal", table, Nominal) if table else None


def _solver(request: FitRequest, ambiguity: Ambiguity, rows: int) -> Solver | None:
    table = _over(request, "solver", None, Solver, {"steps": request.steps})
    if not table:
        return None
    default = default_solver(ambiguity, rows)
    if table.get("part", type(default).__name__) == type(default).__name__:
        table = {"steps": default.steps, "batch": default.batch} | table
    return built("solver", table, Solver, type(default))


def _model_of_panels(request: FitRequest, rows: int) -> Ambiguity:
    """What a panel hedges against where nothing was said, as ``PanelPolicy`` has it."""
    separate = request.strategy == Strategy.separate
    return ERM() if separate or rows > MANY else default_ambiguity(rows)


def _costs(given: list[str] | None) -> Any:
    """Costs as numbers, or the columns that hold them; None if nobody named any."""
    if not given:
        return None
    if cost_columns(given):
        return Column(*cost_columns(given))
    numbers = [float(text) for text in given]
    return numbers[0] if len(numbers) == 1 else numbers


def _inventory(path: Path, products: int) -> InventorySubstitution:
    """Read an inventory's costs from TOML: holding, shortage, substitution and, maybe, purchase."""
    try:
        costs = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not valid TOML: {error}.") from None
    known = ("holding", "shortage", "substitution", "purchase")
    for name in costs:
        if name not in known:
            raise ValueError(f"{path} has an entry {name!r}; it may have {', '.join(known)}.")
    for name in known[:3]:
        if name not in costs:
            raise ValueError(f"{path} has no entry {name!r}; it needs {', '.join(known[:3])}.")
    loss = InventorySubstitution(**costs)
    if len(costs["substitution"]) != products:
        raise ValueError(
            f"{path} has costs of {len(costs['substitution'])} product(s), but there are "
            f"{products} outcome(s)."
        )
    return loss


def radius_of(request: FitRequest) -> Any:
    """The radius that was asked for: a number, or how to find one."""
    if request.radius == "calibrated":
        asked = {"level": request.level and float(request.level), "horizon": request.horizon}
        if request.search == "time":
            asked["held_out"] = "rolling"
        return Calibrated(**{name: given for name, given in asked.items() if given is not None})
    return request.radius if request.radius == "auto" else float(request.radius or "nan")
