"""Columns of a table: what is decided by, what then happened, and what is said of them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from hedgerow.cli.options import FitRequest, repeated
from hedgerow.cli.options import listed as names_in
from hedgerow.data.columns import NUMBER, encode, from_json, numeric_column
from hedgerow.describe.numbers import listed, number, percent

if TYPE_CHECKING:
    from hedgerow.data.encoder import TableEncoder
    from hedgerow.estimator import RobustPolicy
    from hedgerow.losses import Loss


def matching(table: pd.DataFrame, names: list[str]) -> list[str]:
    """Columns by name; a name with * that is none stands for all columns that fit it."""
    found = []
    for name in names:
        fits = [name]
        if "*" in name and name not in table.columns:
            fits = [str(column) for column in table.columns if fnmatchcase(str(column), name)]
            if not fits:
                raise ValueError(f"No column fits {name!r}; the table has {listed(table.columns)}.")
        found += [one for one in fits if one not in found]
    return found


def censored_in(table: pd.DataFrame, name: str | None) -> np.ndarray | None:
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


def censored_facts(censored: np.ndarray | None, name: str | None) -> list[tuple[str, str]]:
    """How many rows are censored, if some may be."""
    if censored is None:
        return []
    share = percent(censored.mean())
    return [("censored", f"{censored.sum():,} rows ({share}) were at least that much, by {name}")]


def chosen_columns(table: pd.DataFrame, request: FitRequest, costs: list[str]) -> pd.DataFrame:
    """The columns to decide by, those of costs among them."""
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


def columns_read(loss: Loss) -> list[str]:
    """Columns of the table that a loss reads what things cost from."""
    from hedgerow.losses import named_columns

    names = (name for _, column in named_columns(loss) for name in column.columns)
    return list(dict.fromkeys(str(name) for name in names))


def features_of(policy: RobustPolicy, table: pd.DataFrame) -> pd.DataFrame:
    """Treat a table as the training table was treated."""
    if policy.columns_ is not None:
        return encode(table, from_json(policy.columns_["encoder"])[1])
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


def column_facts(encoder: TableEncoder) -> list[tuple[str, str]]:
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
