"""Anybody's forecast as the nominal: outcomes and their weights, given for every context.

    P̂ = Σ_k m_k · δ(x̂_k) ⊗ Σ_i p̂_ki · δ(ŷ_ki),    ŷ_ki the scenarios of x̂_k, p̂_ki ∝ their weights

History says how often contexts occur (m_k), the forecast what may happen in them. It comes as
scenarios, as quantiles (``quantile_tables``), or as sample paths, whose totals over a lead time are
the outcomes.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from jaxtyping import Float, Int

from hedgerow import _checks
from hedgerow._warnings import OutlierWarning
from hedgerow.data.nominal import Nominal, NominalDistribution
from hedgerow.data.rows import in_order, tie_labels
from hedgerow.data.spreads import ordinary_ends
from hedgerow.describe.numbers import counted, number
from hedgerow.describe.parts import NominalDescription
from hedgerow.forecasts.quantile_tables import quantile_columns, read_at


class Given(NamedTuple):
    """Contexts, their scenarios and the scenarios' weights, as checked arrays."""

    contexts: Float[np.ndarray, "rows d"]
    scenarios: Float[np.ndarray, "rows scenarios y"]
    weights: Float[np.ndarray, "rows scenarios"]


class ScenarioNominal(Nominal):
    """Each context with the outcomes that a forecast holds possible there.

    Every row of X in ``fit`` is looked up among ``contexts`` by exactly equal values, so rows may
    come in any order, repeatedly, or in parts, as in cross-validation. Y is not used, save that it
    must have as many outcomes: search and score judge by it. Forecasts of rows in X should not have
    seen their outcomes; else the policy trusts them too much.

    Policy files do not hold the arrays. A policy that was read decides as before; before it is
    fitted again, its nominal is to be set again.

    Parameters
    ----------
    contexts : (rows, features) array
        As in the X given to ``fit``. Rows of other data may be there as well, and must be for
        ``robust_value`` and ``worst_case`` on them.
    scenarios : (rows, scenarios) or (rows, scenarios, outcomes) array
        What may happen in each context. A context that occurs several times has all of its
        scenarios.
    weights : (scenarios,) or (rows, scenarios) array or None
        How much each scenario counts, not negative; only proportions within a context matter.
        None: all alike.

    Examples
    --------
    >>> import hedgerow as hr
    >>> nominal = hr.ScenarioNominal([[0.0], [1.0]], [[3.0, 5.0], [6.0, 8.0]])
    >>> policy = hr.RobustPolicy(hr.Newsvendor(1, 3), nominal=nominal)
    """

    unstored = ("contexts", "scenarios", "weights")
    contexts: Any = None
    scenarios: Any = None
    weights: Any = None

    @classmethod
    def from_quantiles(cls, contexts: Any, levels: Any, quantiles: Any, outcomes: int = 32) -> Self:
        """Take scenarios from predicted quantiles of one outcome.

        The quantile function is linear between the levels and goes on beyond the outermost ones
        as its outermost pieces do; scenarios are taken at the levels (j + ½)/outcomes. A tail that
        is longer than that is missed, so give levels as far out as decisions depend on.

        Parameters
        ----------
        contexts : (rows, features) array
        levels : (levels,) array
            At least two, between 0 and 1, in any order.
        quantiles : (rows, levels) array
            Predicted at these levels. Quantiles that cross are sorted, with a
            ``CrossingQuantilesWarning``.
        outcomes : int
            Scenarios per context.
        """
        _checks.count("outcomes", outcomes)
        wanted = (np.arange(outcomes) + 0.5) / outcomes
        return cls(contexts, read_at(wanted, levels, quantiles))

    @classmethod
    def from_paths(cls, contexts: Any, paths: Any, lead_time: Any = None) -> Self:
        """Take totals of sample paths over a lead time.

        Quantiles of single periods do not add up to those of a total; paths do.

        Parameters
        ----------
        contexts : (rows, features) array
        paths : (rows, paths, periods) or (rows, paths, periods, outcomes) array
        lead_time : int, (rows,) array of int or None
            The first so many periods count, the same for all rows or one per row; None: all.
        """
        array = _checks.numeric("paths", paths)
        if array.ndim not in (3, 4) or array.size == 0:
            raise ValueError(
                "paths must have the shape (rows, paths, periods) or (rows, paths, periods, "
                f"outcomes), got {array.shape}."
            )
        counts = np.arange(array.shape[2]) < _lead_times(lead_time, array)[:, None]
        totals = np.einsum("rps...,rs->rp...", array, counts.astype(np.float64))
        return cls(contexts, totals)

    @classmethod
    def from_frame(
        cls, contexts: Any, frame: Any, model: str | None = None, outcomes: int = 32
    ) -> Self:
        """Take scenarios from the quantiles in a frame of statsforecast or neuralforecast.

        Columns are told by their names: ``M-lo-90`` and ``M-hi-90`` are the quantiles 0.05 and 0.95
        of the model M, ``M_ql0.1`` is the quantile 0.1, and ``M-median``, or else ``M`` itself, the
        median. Others, such as ``unique_id`` and ``ds``, are not looked at.

        Parameters
        ----------
        contexts : (rows, features) array
            The contexts of the frame's rows, in their order.
        frame : pandas or polars frame
            One row per context.
        model : str or None
            Whose quantiles; None: those of the only model there is.
        outcomes : int
            Scenarios per context, as in ``from_quantiles``.
        """
        columns = quantile_columns(frame, model)
        quantiles = np.column_stack(
            [_checks.numeric(name, frame[name].to_numpy()) for name in columns.values()]
        )
        return cls.from_quantiles(contexts, list(columns), quantiles, outcomes)

    def check(self) -> None:
        """Arrays are finite and fit together; a nominal from a file has none."""
        if self.contexts is not None or self.scenarios is not None:
            self._given()

    def description(self) -> NominalDescription:
        """Each has a distribution that was given."""
        return NominalDescription(
            "scenario: each context with the outcomes that a forecast gives it",
            "each with what a forecast holds possible there",
        )

    def build(self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> NominalDistribution:
        """Look the rows of X up, and give every context its scenarios."""
        given = self._given()
        _check_columns(given, X, Y)
        _remark(given)
        rows, width, outcomes = given.scenarios.shape
        labels = tie_labels(np.concatenate([given.contexts, X]))
        owner, asked = labels[:rows], labels[rows:]
        _check_found(asked, owner, weights)
        held, _, weights = in_order(asked[:, None], Y, weights)
        mass = np.bincount(held[:, 0], weights, minlength=len(labels))
        chosen = np.argsort(owner, kind="stable")
        chosen = chosen[mass[owner[chosen]] > 0]
        label, first, context = np.unique(owner[chosen], return_index=True, return_inverse=True)
        made = given.scenarios[chosen]
        order = _entry_order(made[:, :, 0], context)
        of = np.repeat(context, width)
        share = given.weights[chosen].ravel()
        share = share / np.bincount(of, share)[of]
        order = order[share[order] > 0]
        count = np.bincount(of[order])
        return NominalDistribution(
            contexts=given.contexts[chosen[first]],
            context_mass=mass[label] / mass[label].sum(),
            outcomes=made.reshape(-1, outcomes)[order],
            start=np.cumsum(count) - count,
            count=count,
            entry_outcome=np.arange(len(order)),
            entry_mass=share[order],
        )

    def _given(self) -> Given:
        """Check the arrays, without keeping anything."""
        if self.contexts is None and self.scenarios is None:
            raise ValueError(
                "This ScenarioNominal has no scenarios, which policy files do not hold; set it "
                "again with policy.set_params(nominal=hedgerow.ScenarioNominal(contexts, "
                "scenarios))."
            )
        contexts = _checks.numeric("contexts", self.contexts)
        if contexts.ndim != 2 or contexts.size == 0:
            raise ValueError(
                f"contexts must have the shape (rows, features), as X does; got {contexts.shape}."
            )
        scenarios = _checks.numeric("scenarios", self.scenarios)
        if scenarios.ndim not in (2, 3) or scenarios.size == 0:
            raise ValueError(
                "scenarios must have the shape (rows, scenarios) or (rows, scenarios, outcomes), "
                f"got {scenarios.shape}."
            )
        if len(contexts) != len(scenarios):
            raise ValueError(
                f"Every context needs its scenarios, but there are {len(contexts)} row(s) of "
                f"contexts and {len(scenarios)} of scenarios."
            )
        shape = scenarios.shape[:2]
        return Given(contexts, scenarios.reshape(*shape, -1), self._weights(shape))

    def _weights(self, shape: tuple[int, int]) -> Float[np.ndarray, "rows scenarios"]:
        """Weights of all scenarios, checked."""
        if self.weights is None:
            return np.broadcast_to(1.0, shape)
        weights = _checks.numeric("weights", self.weights)
        if weights.shape not in (shape, shape[1:]):
            raise ValueError(
                f"weights must have the shape of the scenarios, {shape} or {shape[1:]}, got "
                f"{weights.shape}."
            )
        if np.any(weights < 0):
            raise ValueError(f"weights must not be negative, but the least is {weights.min():g}.")
        empty = np.flatnonzero(np.atleast_2d(weights).sum(axis=1) <= 0)
        if len(empty):
            raise ValueError(
                f"weights must have a positive sum in every row, but those of row {empty[0]} "
                "are all zero."
            )
        return np.broadcast_to(weights, shape)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Sizes in place of numbers."""
        if self.contexts is None or self.scenarios is None:
            return "ScenarioNominal()"
        rows, width = np.shape(self.scenarios)[:2]
        return f"ScenarioNominal({rows} contexts, {width} scenarios each)"


def _check_columns(given: Given, X: np.ndarray, Y: np.ndarray) -> None:
    """Contexts are as wide as X, and scenarios as Y."""
    if given.contexts.shape[1] != X.shape[1]:
        raise ValueError(
            f"The contexts of ScenarioNominal have {given.contexts.shape[1]} feature(s), but X has "
            f"{X.shape[1]}."
        )
    if given.scenarios.shape[2] != Y.shape[1]:
        raise ValueError(
            f"The scenarios of ScenarioNominal have {given.scenarios.shape[2]} outcome(s), but Y "
            f"has {Y.shape[1]}."
        )


def _remark(given: Given) -> None:
    """Warn of scenarios that look like typos, as ``fit`` does of outcomes."""
    rows, width, outcomes = given.scenarios.shape
    values = given.scenarios.reshape(-1, outcomes)
    ordinary = ordinary_ends(values, np.ones(len(values)))
    within = ordinary.within(values).all(axis=1)
    if within.all():
        return
    odd = np.flatnonzero(~within.reshape(rows, width).all(axis=1))
    row = given.scenarios[odd[0]]
    column = int(np.argmax(~ordinary.within(row).all(axis=0)))
    value = row[int(np.argmax(~ordinary.within(row)[:, column])), column]
    rest = values[within, column]
    contexts = "a context looks" if len(odd) == 1 else f"{len(odd)} contexts look"
    warnings.warn(
        f"Scenarios of {contexts} like typos: row {odd[0]} (counted from 0) has {number(value)}, "
        f"where others lie between {number(rest.min())} and {number(rest.max())}. They are kept as "
        "they are, but take no part in scales; correct them if they are wrong.",
        OutlierWarning,
        stacklevel=2,
    )


def _check_found(asked: np.ndarray, owner: np.ndarray, weights: np.ndarray) -> None:
    """Rows that count are among the contexts."""
    missing = np.flatnonzero(~np.isin(asked, owner) & (weights > 0))
    if len(missing):
        verb = "is" if len(missing) == 1 else "are"
        raise ValueError(
            f"{counted(len(missing), 'row')} of X {verb} not among the contexts of ScenarioNominal "
            f"(counted from 0, the first is row {missing[0]}); give scenarios for every row of X, "
            "under exactly equal values (outliers='clip' moves values before they are looked up)."
        )


def _entry_order(
    values: Float[np.ndarray, "rows scenarios"], context: Int[np.ndarray, " rows"]
) -> Int[np.ndarray, " entries"]:
    """Sort scenarios by context and then by value; rows are in the order of their contexts.

    Solvers that cannot take all of a context's outcomes take every so-manieth, in this order.
    """
    rows, width = values.shape
    if context[-1] == rows - 1:  # one row per context: many short sorts are faster than a long one
        within = np.argsort(values, axis=1, kind="stable")
        return (within + width * np.arange(rows)[:, None]).ravel()
    return np.lexsort((values.ravel(), np.repeat(context, width)))


def _lead_times(lead_time: Any, paths: np.ndarray) -> np.ndarray:
    """How many periods count, one per row."""
    rows, periods = paths.shape[0], paths.shape[2]
    if lead_time is None:
        return np.full(rows, periods)
    times = np.asarray(lead_time)
    if times.dtype.kind not in "iu" or times.shape not in ((), (rows,)):
        raise TypeError(
            f"lead_time must be a whole number or one for each of the {rows} row(s), got "
            f"{type(lead_time).__name__} of shape {times.shape}."
        )
    if times.min() < 1 or times.max() > periods:
        worst = times.min() if times.min() < 1 else times.max()
        raise ValueError(
            f"lead_time must lie between 1 and the paths' {periods} period(s), got {worst}."
        )
    return np.broadcast_to(times, (rows,))
