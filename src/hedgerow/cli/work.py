"""What the commands do: read a table, compose a policy, train, decide, evaluate, and say so."""

from __future__ import annotations

import os
import tomllib
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

from hedgerow._files import check_target
from hedgerow._warnings import VacuousCausalityWarning
from hedgerow.ambiguity import ERM, KL, Ambiguity, CausalSinkhorn, CausalWasserstein, Sinkhorn
from hedgerow.certify.value import RobustValue
from hedgerow.cli.choosing import choose
from hedgerow.cli.loading import load_policy
from hedgerow.cli.options import FitRequest, cost_columns, repeated
from hedgerow.cli.options import listed as names_in
from hedgerow.cli.screen import print_csv, print_facts, progress, say
from hedgerow.data.encoder import NUMBER, TableEncoder, numeric_column
from hedgerow.data.nominal import AdaptedNominal, EmpiricalNominal, NeighbourNominal, Nominal
from hedgerow.data.table_files import (
    check_table_target,
    is_csv,
    read_table,
    without_formulas,
    write_table,
)
from hedgerow.describe.names import decision_names, training_words
from hedgerow.describe.numbers import listed, number, percent
from hedgerow.describe.parts import settings_words
from hedgerow.estimator import RobustPolicy
from hedgerow.fitting import default_ambiguity
from hedgerow.forecasts import ResidualNominal
from hedgerow.losses import Column, InventorySubstitution, Loss, Newsvendor, along, located
from hedgerow.report.costs import fixed_words, standard_error
from hedgerow.rules import Affine, Constant, Rule, SoftForest, TwoLayer
from hedgerow.solvers import default_solver

NOMINALS: dict[str, type[Nominal] | None] = {
    "auto": None,
    "residual": ResidualNominal,
    "empirical": EmpiricalNominal,
    "neighbour": NeighbourNominal,
    "adapted": AdaptedNominal,
}
AUTO: dict[str, Any] = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}


def prepare() -> None:
    """Keep compiled programs between runs, where the user's cache folder allows it."""
    if jax.config.jax_compilation_cache_dir:  # pyright: ignore[reportAttributeAccessIssue]
        return
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "hedgerow" / "jax"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)


def fit(request: FitRequest) -> None:
    """Learn a policy from a table, save it, and print what was done."""
    check_target(request.out, overwrite=request.force)
    loss, loss_words = _loss(request)
    table = read_table(request.data)
    Y = np.column_stack([numeric_column(table, name) for name in request.outcomes])
    censored = _censored(table, request.censored)
    encoder = TableEncoder().fit(_chosen(table, request))
    X = encoder.transform(table)
    _check_costs(loss, X)
    y = Y[:, 0] if Y.shape[1] == 1 else Y
    ambiguity = _ambiguity(request, len(Y))
    nominal = NOMINALS[request.nominal]
    solver = None
    if request.steps is not None:
        solver = default_solver(ambiguity, len(Y)).set_params(steps=request.steps)
    policy = RobustPolicy(
        loss=loss,
        ambiguity=ambiguity,
        rule=_rule(request),
        nominal=None if nominal is None else nominal(),
        solver=solver,
        random_state=request.seed,
        outliers=str(request.outliers),
    )
    chosen = []
    if request.search != "none":
        policy, words = choose(policy, X, y, request.search, censored)
        chosen = [("chosen", words)]
    with progress("training") as report, warnings.catch_warnings():
        if request.nominal == "auto":  # nobody asked for a causal model on rows as they are
            warnings.simplefilter("ignore", VacuousCausalityWarning)
        policy.set_params(verbose=report)
        try:
            policy.fit(X, y, censored=censored)
        except KeyboardInterrupt:
            if not hasattr(policy, "rule_"):  # nothing was learned yet
                raise
        policy.set_params(verbose=False)
        policy.remember_columns(encoder, request.outcomes)
        value = policy.robust_value_  # so that the file holds it
        policy.save(request.out)
    in_sample, units = value.nominal, policy.units_
    if censored is None:
        in_sample = policy.losses(X, Y).mean()
    best = f"{number(units.constant_loss)} a row, deciding {fixed_words(units.constant)}"
    facts = [
        ("history", f"{len(table):,} rows of {request.data}"),
        ("outcome" if len(request.outcomes) == 1 else "outcomes", ", ".join(request.outcomes)),
        *_censored_facts(censored, request.censored),
        *_column_facts(encoder),
        ("loss", loss_words),
        ("model", _model_words(request.model, policy.given_)),
        *chosen,
        ("nominal", policy.nominal_for(len(Y)).description().short),
        ("rule", request.rule),
        ("training", training_words(policy)),
        ("in-sample loss", f"{number(in_sample)} a row"),
        ("best constant", best),
        ("robust value", _value_words(value)),
        ("saved as", str(request.out)),
    ]
    print_facts(facts)
    if policy.status_ == "interrupted":
        stopped = "Training was interrupted; what had been learned by then is what was saved."
        say(stopped, "yellow")


def decide(
    path: Path, new: Path, out: Path | None, *, force: bool = False, raw_text: bool = False
) -> None:
    """Add a policy's decisions to a table; formulas in CSV become text, unless ``raw_text``."""
    if out is not None:
        check_table_target(out, overwrite=force)
    policy = load_policy(path)
    table = read_table(new)
    decisions = policy.predict(features_of(policy, table)).reshape(len(table), -1)
    headings = _headings(policy)
    for heading, values in zip(headings, decisions.T, strict=True):
        if heading in table.columns:
            raise ValueError(f"{new} already has a column {heading!r}; rename or remove it.")
        table[heading] = values
    if not raw_text and (out is None or is_csv(out)):
        table = without_formulas(table)
    if out is None:
        print_csv(table.to_csv(index=False))
        return
    write_table(table, out)
    say(f"Wrote {len(table):,} decisions to {out}.", stderr=True)


def _headings(policy: RobustPolicy) -> list[str]:
    """Columns that decisions are written to."""
    if policy.n_decisions_ == 1:
        return ["decision"]
    names = [name.removeprefix("decision ") for name in decision_names(policy)]
    return [f"decision_{name}" for name in names]


def evaluate(path: Path, test: Path, outcomes: list[str] | None) -> None:
    """Print what a policy's decisions would have cost on a table with outcomes."""
    policy = load_policy(path)
    table = read_table(test)
    found = outcomes_of(policy, path, table, outcomes)
    X, Y = features_of(policy, table), found.to_numpy()
    _check_costs(policy.loss, X)
    losses = policy.losses(X, Y)
    constant = policy.units_.constant
    always = np.broadcast_to(constant, (len(Y), len(constant)))
    constant_losses = np.asarray(policy.loss_on(X)(always, Y))
    mean, error = losses.mean(), standard_error(losses)
    best = number(constant_losses.mean())
    low, middle, high = (number(part) for part in np.quantile(losses, [0.1, 0.5, 0.9]))
    value = getattr(policy, "robust_value_", None)  # a file may hold none
    known = []
    if value is not None:
        known = [
            ("in training", f"{number(value.nominal)}, under the nominal distribution"),
            ("robust value", number(value.value)),
        ]
    print_facts(
        [
            ("policy", str(path)),
            ("test data", f"{len(table):,} rows of {test}"),
            ("mean loss", f"{number(mean)} ± {number(error, 2)} (standard error)"),
            *_part_facts(policy, X, found),
            ("spread", f"10 % {low}, median {middle}, 90 % {high}, worst {number(losses.max())}"),
            *known,
            ("best constant", f"{best}, deciding {fixed_words(constant)} as was best in training"),
        ]
    )
    _compare(losses - constant_losses, constant_losses.mean())
    if value is not None and len(losses) > 1 and mean - 2 * error > value.value:
        say(
            "The mean loss exceeds the robust value: these rows differ from the training data by "
            "more than the policy was hedged against.",
            "yellow",
        )


def _compare(gain: np.ndarray, constant: float) -> None:
    """One sentence on the policy against the best constant decision of training."""
    saved, doubt = -gain.mean(), 2 * standard_error(gain)
    if abs(saved) <= doubt or len(gain) == 1:
        say("On these rows the policy and the best constant decision cannot be told apart.")
    else:
        share = percent(abs(saved) / constant) if constant > 0 else number(abs(saved), 3)
        better = "less" if saved > 0 else "MORE"
        say(f"The policy costs {share} {better} than the best constant decision.")


def _part_facts(policy: RobustPolicy, X: pd.DataFrame, Y: pd.DataFrame) -> list[tuple[str, str]]:
    """Mean loss of each outcome, where the loss is a sum over several."""
    decisions = policy.predict(X).reshape(len(Y), -1)
    parts = policy.loss_on(X).by_outcome(decisions, Y.to_numpy())
    if parts is None or len(Y.columns) == 1:
        return []
    means = np.mean(parts, axis=0)
    return [(f"  {name}", number(mean)) for name, mean in zip(Y.columns, means, strict=True)]


def _censored(table: pd.DataFrame, name: str | None) -> np.ndarray | None:
    """Which rows a column says are censored; None without one."""
    if name is None:
        return None
    flags = numeric_column(table, name)
    odd = np.flatnonzero((flags != 0) & (flags != 1))
    if len(odd):
        raise ValueError(
            f"Column {name!r} must hold 0 and 1, or true and false, to say which rows are "
            f"censored; row {odd[0] + 1} has {number(float(flags[odd[0]]))}."
        )
    return flags == 1


def _censored_facts(censored: np.ndarray | None, name: str | None) -> list[tuple[str, str]]:
    if censored is None:
        return []
    share = percent(censored.mean())
    return [("censored", f"{censored.sum():,} rows ({share}) were at least that much, by {name}")]


def _chosen(table: pd.DataFrame, request: FitRequest) -> pd.DataFrame:
    """The columns to decide by, those of costs among them."""
    costs = [name for given in (request.holding, request.stockout) for name in cost_columns(given)]
    for name in costs:
        numeric_column(table, name)  # or say what it is instead
    if request.features is None:
        others = (*request.outcomes, request.censored)
        names = [name for name in table.columns if name not in others]
        if not names:
            raise ValueError("The table has no columns besides the outcomes to decide by.")
        return table.filter(items=names)
    names = list(dict.fromkeys([*names_in(request.features), *costs]))
    for name in names:
        if name not in table.columns:
            raise ValueError(
                f"There is no column {name!r} to use as a feature; the table has "
                f"{listed(table.columns)}."
            )
        if name in request.outcomes:
            raise ValueError(f"Column {name!r} is an outcome, so it cannot be a feature as well.")
        if name == request.censored:
            raise ValueError(
                f"Column {name!r} says which outcomes are censored, which nobody knows when "
                "deciding, so it cannot be a feature as well."
            )
    return table.filter(items=names)


def features_of(policy: RobustPolicy, table: pd.DataFrame) -> pd.DataFrame:
    """Treat a table as the training table was treated."""
    if policy.encoder_ is not None:
        return policy.encoder_.transform(table)
    names = getattr(policy, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "The policy does not know its columns' names; fit it on a pandas table or with "
            "`hedgerow fit`."
        )
    return pd.DataFrame({str(name): numeric_column(table, str(name)) for name in names})


def outcomes_of(
    policy: RobustPolicy, path: Path, table: pd.DataFrame, given: list[str] | None
) -> pd.DataFrame:
    """What then happened, by the names given or by those of training."""
    names = given or policy.outcome_names_
    if not names:
        raise ValueError(f"{path} holds no names of outcomes; name them with --outcome.")
    if repeated(names):
        raise ValueError(f"--outcome names the column {repeated(names)[0]!r} more than once.")
    return pd.DataFrame({name: numeric_column(table, name) for name in names}, dtype=np.float64)


def _loss(request: FitRequest) -> tuple[Loss, str]:
    """The loss, and how to speak of it."""
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


def _check_costs(loss: Loss, X: pd.DataFrame) -> None:
    """Say which row has costs that make no sense, the first being 1, as tables are read."""
    found = located(loss, list(X.columns), X.shape[1])
    along(found, X.to_numpy(np.float64)).check_rows(first=1)


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
    if request.model == "erm":
        return ERM()
    default = default_ambiguity(rows)
    form: dict[str, Any] = {
        "penalty": default.penalty if request.penalty is None else request.penalty
    }
    if request.radius is not None:
        form = {"radius": request.radius}
    if request.model == "kl":
        return KL(**form, loss_scale="auto")
    order = default.order if request.order is None else request.order
    if request.model == "causal-wasserstein":
        return CausalWasserstein(**form, order=order, **AUTO)
    kind = CausalSinkhorn if request.model == "causal-sinkhorn" else Sinkhorn
    epsilon = default.epsilon if request.epsilon is None else request.epsilon
    return kind(**form, epsilon=epsilon, order=order, **AUTO)


def _rule(request: FitRequest) -> Rule:
    if request.rule == "forest":
        given: dict[str, Any] = {"trees": request.trees, "depth": request.depth}
        return SoftForest(**{name: value for name, value in given.items() if value is not None})
    return {"two-layer": TwoLayer, "affine": Affine, "constant": Constant}[request.rule]()


def _column_facts(encoder: TableEncoder) -> list[tuple[str, str]]:
    """What was done to the columns; those that stayed as they are share a line."""
    features = len(encoder.get_feature_names_out())
    facts = [("features", f"{features} from {len(encoder.columns_)} columns")]
    plain = [column.name for column in encoder.columns_ if column.kind == NUMBER]
    if plain:
        facts.append(("  as they are", ", ".join(plain)))
    return facts + [
        (f"  {column.name}", column.treatment)
        for column in encoder.columns_
        if column.kind != NUMBER
    ]


def _model_words(name: str, model: Ambiguity) -> str:
    """The model as it is asked for, and its settings; a search may have found it of no use."""
    name = name if model.description().hedges else "erm"
    return ", ".join(filter(None, [name, settings_words(model)]))


def _value_words(value: RobustValue) -> str:
    words = f"{number(value.value)} ± {number(value.stderr + value.bias, 1)}"
    if value.radius is not None and value.penalty is not None:
        words += f", at the penalty {number(value.penalty)} that goes with the radius"
    return words
