"""From options to a policy: its loss, what it hedges against, its rule, its training.

What was not asked for has the library's defaults. A panel has others than a single policy, so there
it stays open, for the panel to fill in.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hedgerow.ambiguity import (
    ERM,
    KL,
    Ambiguity,
    CausalSinkhorn,
    CausalWasserstein,
    ChiSquare,
    LikelihoodRatio,
    Reweighting,
    Sinkhorn,
    TotalVariation,
    Wasserstein,
)
from hedgerow.cli.options import FitRequest, cost_columns
from hedgerow.cli.panel_options import Strategy
from hedgerow.data.nominal import AdaptedNominal, EmpiricalNominal, NeighbourNominal, Nominal
from hedgerow.describe.numbers import percent
from hedgerow.estimator import RobustPolicy
from hedgerow.fitting import default_ambiguity
from hedgerow.forecasts import ResidualNominal
from hedgerow.losses import Column, CVaR, InventorySubstitution, Loss, Newsvendor
from hedgerow.panels.pooled import MANY
from hedgerow.rules import Affine, Constant, Rule, SoftForest, TwoLayer
from hedgerow.solvers import default_solver

NOMINALS: dict[str, type[Nominal] | None] = {
    "auto": None,
    "residual": ResidualNominal,
    "empirical": EmpiricalNominal,
    "neighbour": NeighbourNominal,
    "adapted": AdaptedNominal,
}
DIVERGENCES: dict[str, type[Reweighting]] = {
    "kl": KL,
    "chi-square": ChiSquare,
    "total-variation": TotalVariation,
    "likelihood-ratio": LikelihoodRatio,
}
WASSERSTEINS = {"causal-wasserstein": CausalWasserstein, "wasserstein": Wasserstein}
AUTO: dict[str, Any] = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}


def compose(request: FitRequest, loss: Loss, rows: int) -> RobustPolicy:
    """Return the policy that was asked for, not fitted, to learn from so many rows."""
    ambiguity = None if request.leaves_model else _ambiguity(request, rows)
    nominal, solver = NOMINALS[request.nominal], None
    if request.steps is not None:
        ambiguity = ambiguity or _ambiguity_of_panels(request, rows)
        solver = default_solver(ambiguity, rows).set_params(steps=request.steps)
    return RobustPolicy(
        loss=loss,
        ambiguity=ambiguity,
        rule=None if request.leaves_rule else _rule(request),
        nominal=None if nominal is None else nominal(),
        solver=solver,
        random_state=request.seed,
        outliers=str(request.outliers),
    )


def loss_of(request: FitRequest) -> tuple[Loss, str]:
    """The loss, and how to speak of it."""
    loss, words = _loss_inside(request)
    if request.tail is None:
        return loss, words
    return CVaR(loss, request.tail), f"CVaR {percent(request.tail)} of {words}"


def _loss_inside(request: FitRequest) -> tuple[Loss, str]:
    if request.costs is not None:
        loss = _inventory(request.costs, len(request.outcomes))
        return loss, f"{loss.description().short}, costs from {request.costs}"
    loss = Newsvendor(_costs(request.holding), _costs(request.stockout))
    return loss, loss.description().short


def _costs(given: list[str] | None) -> Any:
    """Costs as numbers, or the columns that hold them."""
    if cost_columns(given):
        return Column(*cost_columns(given))
    numbers = [float(text) for text in given or []]
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


def _ambiguity(request: FitRequest, rows: int) -> Ambiguity:
    if request.model_kind == "erm":
        return ERM()
    default = default_ambiguity(rows)
    form: dict[str, Any] = {
        "penalty": default.penalty if request.penalty is None else request.penalty
    }
    if request.radius is not None:
        form = {"radius": request.radius}
    if request.model_kind in DIVERGENCES:
        return DIVERGENCES[request.model_kind](**form, loss_scale="auto")
    order = default.order if request.order is None else request.order
    if request.model_kind in WASSERSTEINS:
        return WASSERSTEINS[request.model_kind](**form, order=order, **AUTO)
    kind = CausalSinkhorn if request.model_kind == "causal-sinkhorn" else Sinkhorn
    epsilon = default.epsilon if request.epsilon is None else request.epsilon
    return kind(**form, epsilon=epsilon, order=order, **AUTO)


def _ambiguity_of_panels(request: FitRequest, rows: int) -> Ambiguity:
    """What a panel hedges against where nothing was said, as ``PanelPolicy`` has it."""
    separate = request.strategy == Strategy.separate
    return ERM() if separate or rows > MANY else default_ambiguity(rows)


def _rule(request: FitRequest) -> Rule:
    if request.rule_kind == "forest":
        given: dict[str, Any] = {"trees": request.trees, "depth": request.depth}
        return SoftForest(**{name: value for name, value in given.items() if value is not None})
    return {"two-layer": TwoLayer, "affine": Affine, "constant": Constant}[request.rule_kind]()
