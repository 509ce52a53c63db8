"""What the commands do: read a table, compose a policy, train, decide, evaluate, and say so."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd

from hedgerow import program_cache
from hedgerow._files import check_target
from hedgerow._warnings import VacuousCausalityWarning
from hedgerow.ambiguity import Ambiguity
from hedgerow.certify.radii import radius_in_words
from hedgerow.certify.value import RobustValue
from hedgerow.cli import panels
from hedgerow.cli.asking_options import EvaluateRequest
from hedgerow.cli.choosing import choose
from hedgerow.cli.composing import (
    MODELS,
    RULES,
    compose,
    contexts_in,
    effective,
    loss_of,
    search_settings,
)
from hedgerow.cli.loading import load_stored, refuse_history
from hedgerow.cli.named_columns import (
    censored_facts,
    censored_in,
    chosen_columns,
    column_facts,
    columns_read,
    features_of,
    matching,
    outcomes_of,
)
from hedgerow.cli.options import FitRequest
from hedgerow.cli.reading import read, read_found
from hedgerow.cli.screen import print_facts, progress, say
from hedgerow.cli.settings import write_settings
from hedgerow.cli.time_order import time_order
from hedgerow.data.columns import numeric_column
from hedgerow.data.encoder import TableEncoder
from hedgerow.data.table_writing import check_table_target
from hedgerow.describe.names import training_words
from hedgerow.describe.numbers import number, percent
from hedgerow.describe.parts import settings_words
from hedgerow.estimator import RobustPolicy
from hedgerow.losses import Loss, along, located
from hedgerow.monitoring import remember
from hedgerow.panels import PanelPolicy
from hedgerow.report.compared_costs import fixed_words, standard_error
from hedgerow.rules import Rule, SoftForest


def prepare() -> None:
    """Keep compiled programs between runs, where the user's cache folder allows it."""
    if program_cache.in_use():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without a cache everything works, too
        program_cache.compilation_cache()


def fit(request: FitRequest) -> None:
    """Learn a policy from a table, save it, and print what was done."""
    check_target(request.out, overwrite=request.force)
    if request.write_config is not None:
        check_target(request.write_config, overwrite=request.force)
    if request.by:
        panels.fit(request)
        return
    table, found = read_found(request.data, request)
    request = replace(request, outcomes=matching(table, request.outcomes))
    loss, loss_words = loss_of(request)
    Y = np.column_stack([numeric_column(table, name) for name in request.outcomes])
    censored = censored_in(table, request.censored)
    encoder = TableEncoder().fit(chosen_columns(table, request, columns_read(loss)))
    X = encoder.transform(table)
    _check_costs(loss, X)
    order = time_order(table, request)
    if order is not None:
        X, Y = X.iloc[order], Y[order]
        censored = None if censored is None else censored[order]
    y = Y[:, 0] if Y.shape[1] == 1 else Y
    policy = compose(request, loss, len(Y), contexts_in(encoder, X))
    chosen = []
    if request.write_config is not None:
        write_settings(request.write_config, *effective(request, policy, len(Y)))
    if request.searches != "none":
        tried = search_settings(request)
        if "solver" in request.sections:
            tried["solver"] = policy.solver
        policy, words = choose(policy, X, y, request.searches, censored, tried)
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
        policy.table_format_ = found.to_json()
        value = policy.robust_value_  # so that the file holds it
        remember(policy, X, y)
        policy.save(request.out)
    in_sample, units = value.nominal, policy.units_
    if censored is None:
        in_sample = policy.losses(X, Y).mean()
    best = f"{number(units.constant_loss)} a row, deciding {fixed_words(units.constant)}"
    facts = [
        ("history", f"{len(table):,} rows of {request.data}"),
        ("outcome" if len(request.outcomes) == 1 else "outcomes", ", ".join(request.outcomes)),
        *censored_facts(censored, request.censored),
        *column_facts(encoder),
        ("loss", loss_words),
        ("model", _model_words(request, policy.given_)),
        *_columns_facts(policy.given_),
        *chosen,
        ("nominal", policy.nominal_for(len(Y)).description().short),
        ("rule", _rule_word(policy.rule)),
        ("training", training_words(policy)),
        ("in-sample loss", f"{number(in_sample)} a row"),
        ("best constant", best),
        ("robust value", _value_words(value)),
        *_promise_facts(policy),
        ("saved as", str(request.out)),
    ]
    print_facts(facts)
    if policy.status_ == "interrupted":
        stopped = "Training was interrupted; what had been learned by then is what was saved."
        say(stopped, "yellow")


def evaluate(request: EvaluateRequest) -> None:
    """Print what a policy's decisions would have cost on a table with outcomes."""
    path, test = request.policy, request.test
    if request.by_series is not None:
        check_table_target(request.by_series, overwrite=request.force)
    policy = load_stored(path)
    table = read(test, request, policy)
    if isinstance(policy, PanelPolicy):
        panels.evaluate(policy, table, request)
        return
    refuse_history(request)
    found = outcomes_of(policy, path, table, request.outcomes)
    X, Y = features_of(policy, table), found.to_numpy()
    _check_costs(policy.loss, X)
    policy.tell_typos(X, Y)
    losses = policy.losses(X, Y)
    constant = policy.units_.constant
    always = np.broadcast_to(constant, (len(Y), len(constant)))
    constant_losses = np.asarray(policy.loss_on(X)(always, Y))
    mean, error = losses.mean(), standard_error(losses)
    best = number(constant_losses.mean())
    present = _losses_of_column(policy, X, table, request)
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
            *((name, number(found.mean())) for name, found in present.items()),
        ]
    )
    for name, others in {"the best constant decision": constant_losses, **present}.items():
        _compare(losses - others, others.mean(), name)
    if value is not None and len(losses) > 1 and mean - 2 * error > value.value:
        say(
            "The mean loss exceeds the robust value: these rows differ from the training data by "
            "more than the policy was hedged against.",
            "yellow",
        )


def _losses_of_column(
    policy: RobustPolicy, X: pd.DataFrame, table: pd.DataFrame, request: EvaluateRequest
) -> dict[str, np.ndarray]:
    """What the decisions in a column of the table would have cost, by its name."""
    name = request.against_column
    if name is None:
        return {}
    if policy.n_decisions_ != 1:
        raise ValueError(
            f"--against-column is one decision, but the policy makes {policy.n_decisions_}."
        )
    outcomes = outcomes_of(policy, request.policy, table, request.outcomes).to_numpy()
    return {name: np.asarray(policy.loss_on(X)(numeric_column(table, name)[:, None], outcomes))}


def _compare(gain: np.ndarray, other: float, name: str) -> None:
    """One sentence on the policy against something else."""
    saved, doubt = -gain.mean(), 2 * standard_error(gain)
    if abs(saved) <= doubt or len(gain) == 1:
        say(f"On these rows the policy and {name} cannot be told apart.")
    else:
        share = percent(abs(saved) / other) if other > 0 else number(abs(saved), 3)
        better = "less" if saved > 0 else "MORE"
        say(f"The policy costs {share} {better} than {name}.")


def _part_facts(policy: RobustPolicy, X: pd.DataFrame, Y: pd.DataFrame) -> list[tuple[str, str]]:
    """Mean loss of each outcome, where the loss is a sum over several."""
    decisions = policy.predict(X).reshape(len(Y), -1)
    parts = policy.loss_on(X).by_outcome(decisions, Y.to_numpy())
    if parts is None or len(Y.columns) == 1:
        return []
    means = np.mean(parts, axis=0)
    return [(f"  {name}", number(mean)) for name, mean in zip(Y.columns, means, strict=True)]


def _check_costs(loss: Loss, X: pd.DataFrame) -> None:
    """Say which row has costs that make no sense, the first being 1, as tables are read."""
    found = located(loss, list(X.columns), X.shape[1])
    along(found, X.to_numpy(np.float64)).check_rows(first=1)


def _rule_word(rule: Rule | None) -> str:
    """The rule as it is asked for."""
    kind = type(rule or SoftForest())
    return next((name for name, known in RULES.items() if known is kind), kind.__name__)


def _model_words(request: FitRequest, model: Ambiguity) -> str:
    """The model as it is asked for, and its settings; a search may have found it of no use."""
    kind = type(model)
    name = next((name for name, known in MODELS.items() if known is kind), kind.__name__)
    name = request.model or name
    name = name if model.description().hedges else "erm"
    return ", ".join(filter(None, [name, settings_words(model)]))


def _columns_facts(model: Ambiguity) -> list[tuple[str, str]]:
    """What columns do in a worst case, where something was said of them."""
    words = model.description().columns
    return [("contexts", words)] if words else []


def _promise_facts(policy: RobustPolicy) -> list[tuple[str, str]]:
    """What the radius allows, and what was promised by calibration."""
    radius, found = policy.given_.radius, policy.calibration_
    facts = []
    if radius is not None and policy.ambiguity_.moves(1.0, 1.0) is not None:
        facts.append(("radius", str(radius_in_words(policy))))
    if found is not None:
        facts += [
            ("promise", str(found)),
            ("  assuming", found.assumption),
            ("  guarantee", f"{found.guarantee}; {found.blocks} blocks, {found.needed} needed"),
        ]
    return facts


def _value_words(value: RobustValue) -> str:
    words = f"{number(value.value)} ± {number(value.stderr + value.bias, 1)}"
    if value.radius is not None and value.penalty is not None:
        words += f", at the penalty {number(value.penalty)} that goes with the radius"
    return "; ".join(filter(None, [words, value.guarantee()]))
