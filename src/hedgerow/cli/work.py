"""What the commands do: read a table, compose a policy, train, decide, evaluate, and say so."""

from __future__ import annotations

import os
import tomllib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

from hedgerow._files import check_target
from hedgerow.ambiguity import ERM, KL, Ambiguity, CausalSinkhorn, CausalWasserstein, Sinkhorn
from hedgerow.certify.value import RobustValue
from hedgerow.cli.screen import print_csv, print_facts, progress, say
from hedgerow.cli.search import choose
from hedgerow.data.encoder import TableEncoder, numeric_column
from hedgerow.data.nominal import AdaptedNominal, EmpiricalNominal, NeighbourNominal, Nominal
from hedgerow.data.table_files import check_table_target, read_table, write_table
from hedgerow.estimator import DEFAULT_AMBIGUITY, RobustPolicy, load
from hedgerow.losses import InventorySubstitution, Loss, Newsvendor
from hedgerow.rules import Affine, Constant, Rule, SoftForest, TwoLayer
from hedgerow.solvers import default_solver

MOST_NEIGHBOUR_ROWS = 20_000
"""Beyond this many rows the search for neighbours takes longer than training; cells are used."""
ENOUGH_TIES = 5
"""With this many rows per distinct context, history holds conditional distributions as it is."""
AUTO: dict[str, Any] = {"x_scale": "auto", "y_scale": "auto", "loss_scale": "auto"}


@dataclass(frozen=True)
class Plan:
    """What ``hedgerow fit`` was asked for; None leaves a choice to the library."""

    outcomes: list[str]
    features: list[str] | None
    holding: list[float]
    stockout: list[float]
    costs: Path | None
    model: str
    penalty: float | None
    radius: float | None
    epsilon: float | None
    order: int | None
    nominal: str
    search: str
    rule: str
    trees: int | None
    depth: int | None
    steps: int | None
    seed: int


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


def fit(data: Path, plan: Plan, out: Path) -> None:
    """Learn a policy from a table, save it, and print what was done."""
    check_target(out)
    loss, loss_words = _loss(plan)
    table = read_table(data)
    Y = np.column_stack([numeric_column(table, name) for name in plan.outcomes])
    encoder = TableEncoder().fit(_chosen(table, plan))
    X = encoder.transform(table)
    y = Y[:, 0] if Y.shape[1] == 1 else Y
    ambiguity = _ambiguity(plan)
    nominal = _nominal(plan, X.to_numpy())
    solver = None
    if plan.steps is not None:
        solver = default_solver(ambiguity).set_params(steps=plan.steps)
    policy = RobustPolicy(
        loss=loss,
        ambiguity=ambiguity,
        rule=_rule(plan),
        nominal=nominal,
        solver=solver,
        random_state=plan.seed,
    )
    chosen = []
    if plan.search != "none":
        nominals = [nominal]
        if plan.nominal == "auto" and not isinstance(nominal, EmpiricalNominal):
            nominals.append(EmpiricalNominal())  # what pooling brings is for the folds to say
        policy, words = choose(policy, nominals, X, y, plan.search)
        chosen = [("chosen", words)]
    with progress("training") as report, warnings.catch_warnings():
        if plan.nominal == "auto":  # whether contexts recur was looked at, or searched for
            warnings.filterwarnings("ignore", message="Every context occurs once")
        policy.set_params(verbose=report)
        policy.fit(X, y)
        policy.set_params(verbose=False)
        if len(policy.history_) == 0:
            raise KeyboardInterrupt
        policy.columns_ = {"encoder": encoder.to_json(), "outcomes": plan.outcomes}
        policy.save(out)
    value = policy.robust_value_
    in_sample = policy.losses(X, Y).mean()
    constant = ", ".join(f"{z:.4g}" for z in policy.units_.constant)
    facts = [
        ("history", f"{len(table):,} rows of {data}"),
        ("outcome" if len(plan.outcomes) == 1 else "outcomes", ", ".join(plan.outcomes)),
        *_column_facts(encoder),
        ("loss", loss_words),
        ("model", _model_words(plan.model, policy.ambiguity)),
        *chosen,
        ("nominal", _nominal_words(policy.nominal or nominal)),
        ("rule", plan.rule),
        ("training", _training_words(policy)),
        ("in-sample loss", f"{in_sample:.4g} a row"),
        ("best constant", f"{policy.units_.constant_loss:.4g} a row, deciding {constant}"),
        ("robust value", _value_words(value)),
        ("saved as", str(out)),
    ]
    print_facts(facts)
    if policy.status_ == "stopped early":
        say(
            "Training was stopped early; what had been learned by then is what was saved.", "yellow"
        )


def decide(path: Path, new: Path, out: Path | None) -> None:
    """Add a policy's decisions to a table."""
    if out is not None:
        check_table_target(out)
    policy = load(path)
    table = read_table(new)
    decisions = policy.predict(features_of(policy, table)).reshape(len(table), -1)
    names = (policy.columns_ or {}).get("outcomes") or [str(i) for i in range(decisions.shape[1])]
    headings = ["decision"] if len(names) == 1 else [f"decision_{name}" for name in names]
    for heading, values in zip(headings, decisions.T, strict=True):
        if heading in table.columns:
            raise ValueError(f"{new} already has a column {heading!r}; rename or remove it.")
        table[heading] = values
    if out is None:
        print_csv(table.to_csv(index=False))
        return
    write_table(table, out)
    say(f"Wrote {len(table):,} decisions to {out}.", stderr=True)


def evaluate(path: Path, test: Path, outcomes: list[str] | None) -> None:
    """Print what a policy's decisions would have cost on a table with outcomes."""
    policy = load(path)
    table = read_table(test)
    names = outcomes or (policy.columns_ or {}).get("outcomes")
    if not names:
        raise ValueError(f"{path} holds no names of outcomes; name them with --outcome.")
    Y = np.column_stack([numeric_column(table, name) for name in names])
    X = features_of(policy, table)
    losses = policy.losses(X, Y)
    constant = policy.units_.constant
    constant_losses = np.asarray(policy.loss(np.broadcast_to(constant, (len(Y), len(constant))), Y))
    mean, error = losses.mean(), _standard_error(losses)
    gain = losses - constant_losses
    low, middle, high = np.quantile(losses, [0.1, 0.5, 0.9])
    value = policy.robust_value_
    print_facts(
        [
            ("policy", str(path)),
            ("test data", f"{len(table):,} rows of {test}"),
            ("mean loss", f"{mean:.4g} ± {error:.2g} (standard error)"),
            *_product_facts(policy, X, Y, names),
            (
                "spread",
                f"10 % {low:.4g}, median {middle:.4g}, 90 % {high:.4g}, worst {losses.max():.4g}",
            ),
            ("in training", f"{value.nominal:.4g}, under the nominal distribution"),
            ("robust value", f"{value.value:.4g}"),
            (
                "best constant",
                f"{constant_losses.mean():.4g}, deciding {', '.join(f'{z:.4g}' for z in constant)} "
                "as was best in training",
            ),
        ]
    )
    _compare(gain, constant_losses.mean())
    if mean - 2 * error > value.value:
        say(
            "The mean loss exceeds the robust value: these rows differ from the training data by "
            "more than the policy was hedged against.",
            "yellow",
        )


def _compare(gain: np.ndarray, constant: float) -> None:
    """One sentence on the policy against the best constant decision of training."""
    saved, doubt = -gain.mean(), 2 * _standard_error(gain)
    if abs(saved) <= doubt:
        say("On these rows the policy and the best constant decision cannot be told apart.")
    else:
        share = f"{abs(saved) / constant:.0%}" if constant > 0 else f"{abs(saved):.3g}"
        better = "less" if saved > 0 else "MORE"
        say(f"The policy costs {share} {better} than the best constant decision.")


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _product_facts(
    policy: RobustPolicy, X: pd.DataFrame, Y: np.ndarray, names: list[str]
) -> list[tuple[str, str]]:
    """Mean loss of each product, where the loss is a sum over products."""
    loss = policy.loss
    if len(names) == 1 or not isinstance(loss, Newsvendor):
        return []
    decisions = policy.predict(X).reshape(Y.shape)
    holding = np.broadcast_to(loss.holding, len(names))
    stockout = np.broadcast_to(loss.stockout, len(names))
    parts = [
        np.mean(Newsvendor(h, b)(z[:, None], y[:, None]))
        for h, b, z, y in zip(holding, stockout, decisions.T, Y.T, strict=True)
    ]
    return [(f"  {name}", f"{part:.4g}") for name, part in zip(names, parts, strict=True)]


def _chosen(table: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The columns to decide by."""
    if plan.features is None:
        names = [name for name in table.columns if name not in plan.outcomes]
        if not names:
            raise ValueError("The table has no columns besides the outcomes to decide by.")
        return table.filter(items=names)
    names = list(dict.fromkeys(name.strip() for name in plan.features if name.strip()))
    for name in names:
        if name not in table.columns:
            raise ValueError(
                f"There is no column {name!r} to use as a feature; the table has "
                f"{', '.join(table.columns)}."
            )
        if name in plan.outcomes:
            raise ValueError(f"Column {name!r} is an outcome, so it cannot be a feature as well.")
    return table.filter(items=names)


def features_of(policy: RobustPolicy, table: pd.DataFrame) -> pd.DataFrame:
    """Treat a table as the training table was treated."""
    if policy.columns_:
        return TableEncoder.from_json(policy.columns_.get("encoder")).transform(table)
    names = getattr(policy, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "The policy does not know its columns' names; fit it on a pandas table or with "
            "`hedgerow fit`."
        )
    return pd.DataFrame({str(name): numeric_column(table, str(name)) for name in names})


def _loss(plan: Plan) -> tuple[Loss, str]:
    """The loss, and how to speak of it."""
    if plan.costs is not None:
        loss = _inventory(plan.costs, len(plan.outcomes))
        return loss, f"inventory with substitution, costs from {plan.costs}"
    holding = plan.holding[0] if len(plan.holding) == 1 else plan.holding
    stockout = plan.stockout[0] if len(plan.stockout) == 1 else plan.stockout
    words = f"newsvendor, holding {_costs(plan.holding)}, stockout {_costs(plan.stockout)}"
    return Newsvendor(holding, stockout), words


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


def _ambiguity(plan: Plan) -> Ambiguity:
    if plan.model == "erm":
        return ERM()
    default = DEFAULT_AMBIGUITY
    form: dict[str, Any] = {"penalty": default.penalty if plan.penalty is None else plan.penalty}
    if plan.radius is not None:
        form = {"radius": plan.radius}
    if plan.model == "kl":
        return KL(**form, loss_scale="auto")
    order = default.order if plan.order is None else plan.order
    if plan.model == "causal-wasserstein":
        return CausalWasserstein(**form, order=order, **AUTO)
    kind = CausalSinkhorn if plan.model == "causal-sinkhorn" else Sinkhorn
    epsilon = default.epsilon if plan.epsilon is None else plan.epsilon
    return kind(**form, epsilon=epsilon, order=order, **AUTO)


def _nominal(plan: Plan, X: np.ndarray) -> Nominal:
    """The nominal asked for; "auto" gives causal models several outcomes per context."""
    named = {
        "empirical": EmpiricalNominal,
        "adapted": AdaptedNominal,
        "neighbour": NeighbourNominal,
    }
    if plan.nominal != "auto":
        return named[plan.nominal]()
    if not plan.model.startswith("causal") or len(np.unique(X, axis=0)) * ENOUGH_TIES <= len(X):
        return EmpiricalNominal()
    return NeighbourNominal() if len(X) <= MOST_NEIGHBOUR_ROWS else AdaptedNominal()


def _rule(plan: Plan) -> Rule:
    if plan.rule == "forest":
        given: dict[str, Any] = {"trees": plan.trees, "depth": plan.depth}
        return SoftForest(**{name: value for name, value in given.items() if value is not None})
    return {"two-layer": TwoLayer, "affine": Affine, "constant": Constant}[plan.rule]()


def _column_facts(encoder: TableEncoder) -> list[tuple[str, str]]:
    """What was done to the columns; those that stayed as they are share a line."""
    features = len(encoder.get_feature_names_out())
    facts = [("features", f"{features} from {len(encoder.columns_)} columns")]
    plain = [column.name for column in encoder.columns_ if column.kind == "number"]
    if plain:
        facts.append(("  as they are", ", ".join(plain)))
    return facts + [
        (f"  {column.name}", column.treatment)
        for column in encoder.columns_
        if column.kind != "number"
    ]


def _model_words(name: str, ambiguity: Any) -> str:
    words = ["erm" if isinstance(ambiguity, ERM) else name]
    for part in ("penalty", "radius", "epsilon", "order"):
        if getattr(ambiguity, part, None) is not None:
            words.append(f"{part} {getattr(ambiguity, part):g}")
    return ", ".join(words)


def _value_words(value: RobustValue) -> str:
    words = f"{value.value:.4g} ± {value.stderr + value.bias:.1g}"
    if value.radius is not None and value.penalty is not None:
        words += f", at the penalty {value.penalty:.4g} that goes with the radius"
    return words


def _nominal_words(nominal: Nominal) -> str:
    if isinstance(nominal, NeighbourNominal):
        return f"neighbour: each context with the outcomes of its {nominal.k} nearest"
    if isinstance(nominal, AdaptedNominal):
        return "adapted: contexts gathered in cells"
    return "empirical: history as it is"


def _training_words(policy: RobustPolicy) -> str:
    words = {"step limit": "ran to its step limit"}.get(policy.status_, policy.status_)
    return f"{words}, {len(policy.history_):,} steps"


def _costs(costs: list[float]) -> str:
    return ", ".join(f"{cost:g}" for cost in costs)
