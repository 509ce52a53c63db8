"""What models that move points share: a transport cost, its order, norm and scales.

    c_p = ‖(x − x̂)/s_x‖_p^p + ‖(y − ŷ)/s_y‖_p^p    or, with norm = q,    ‖·‖_q^p in both terms

What smears points out besides is in ``transport_smearing``, what moves them to where they cost most
in ``transport_ascent``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.stats import chi2

from hedgerow import _checks
from hedgerow._components import ABSENT
from hedgerow._warnings import HedgerowWarning, VacuousCausalityWarning
from hedgerow.ambiguity.base import Kernels
from hedgerow.ambiguity.penalised import InadmissiblePenaltyError, PenalisedAmbiguity
from hedgerow.ambiguity.radius_wishes import CERTAIN, Moves
from hedgerow.ambiguity.supports import (
    INTEGERS,
    STILL,
    Declared,
    context_kernel,
    declared,
    outcome_kernel,
)
from hedgerow.contexts import check_kinds, kinds_words
from hedgerow.data import NominalDistribution, Units
from hedgerow.losses import Loss

PINNED = 1e-6
"""Of its own size: what an adversary with "auto" scales moves an outcome by that never varied."""


class TransportAmbiguity(PenalisedAmbiguity):
    """Shared by models with a transport cost: its order, norm and scales."""

    traced = (*PenalisedAmbiguity.traced, "x_scale", "y_scale")
    order = ABSENT
    _: KW_ONLY
    x_scale: Any = 1.0
    y_scale: Any = 1.0
    norm: Any = None
    contexts: Any = None
    outcomes: str | None = None
    _declared = None
    """What was declared of contexts and outcomes, known once the model is resolved."""

    def check(self) -> None:
        """Penalty or radius, scales, order and norm are in range, and columns are declared."""
        super().check()
        check_kinds(self.contexts)
        _checks.one_of("outcomes", self.outcomes, (None, INTEGERS, STILL))
        _checks.order("order", self.order)
        _checks.norms("norm", self.norm)
        _checks.scale("x_scale", self.x_scale)
        _checks.scale("y_scale", self.y_scale)

    def resolve(self, units: Units, loss: Loss, nominal: NominalDistribution) -> Self:
        """Fix the scales, and refuse an inadmissible penalty (paper: condit-1)."""
        loss_scale = _resolved("loss_scale", self.loss_scale, np.asarray(units.loss_unit))
        smallest = self.smallest_penalty(units, loss, nominal) / float(loss_scale)
        if np.isinf(smallest):
            raise InadmissiblePenaltyError(
                f"With order={self.order:g} the robust value is infinite for every penalty, because"
                " the loss outgrows the transport cost: give the loss a bounded outcome_support"
                + (", or use order=2." if self.order < 2 else ".")
            )
        if self.penalty is not None and not self.penalty > smallest:
            raise InadmissiblePenaltyError(
                f"penalty={self.penalty:g} makes the robust value infinite (order={self.order:g}); "
                f"the penalty must be greater than {smallest:.6g}"
                + (", or use order=2." if self.order < 2 else ".")
            )
        return self.replace(
            x_scale=_resolved("x_scale", self.x_scale, units.x_spread),
            y_scale=self._y_scale(units),
            loss_scale=loss_scale,
            _declared=declared(
                self, units, self._y_scale(units), loss.support_for(len(units.y_unit)), nominal
            ),
        )

    def located(self, names: Sequence[str] | None, features: int) -> Self:
        """Return the model knowing the positions of the columns that it declares."""
        if self.contexts is None:
            return self
        kinds = tuple(kind.located(names, features) for kind in check_kinds(self.contexts))
        return self.replace(contexts=kinds)

    def columns_words(self) -> str:
        """Say in a sentence what columns do in a worst case; nothing where nothing was declared."""
        outcomes = {INTEGERS: "outcomes are whole numbers", STILL: "outcomes are left alone"}
        said = kinds_words(check_kinds(self.contexts))
        said += filter(None, [outcomes.get(self.outcomes or "")])
        return f"In a worst case {'; '.join(said)}." if said else ""

    def smallest_penalty(self, units: Units, loss: Loss, nominal: NominalDistribution) -> float:
        """What the loss's growth in the outcome asks for."""
        if self.outcomes == STILL:
            return 0.0
        cost = loss.outcome_cost(
            self.order, self._y_scale(units), _checks.norms("norm", self.norm)[1]
        )
        return loss.smallest_penalty(cost, units.constant, nominal.outcomes)

    def radius_unit(self, units: Units) -> float:
        """The largest spread over its scale."""
        x_scale = _resolved("x_scale", self.x_scale, units.x_spread)
        free = x_scale > 0
        in_scales = [units.y_unit / self._y_scale(units), units.x_spread[free] / x_scale[free]]
        return float(np.max(np.concatenate(in_scales)))

    def usual_radius(self, units: Units, rows: int) -> float:
        """How far the means of so many rows, all columns together, are uncertain."""
        x_scale = _resolved("x_scale", self.x_scale, units.x_spread)
        free = (x_scale > 0) & (units.x_spread > 0)
        ratios = [units.y_spread / self._y_scale(units), units.x_spread[free] / x_scale[free]]
        square = np.mean(np.concatenate(ratios) ** 2)
        columns = len(np.concatenate(ratios))
        far = np.sqrt(chi2.ppf(CERTAIN, columns) * square / rows)  # in the Euclidean norm
        return float(far * columns ** max(1 / self.order - 1 / 2, 0.0))

    def moves(self, spare: float, share: float) -> Moves:
        """(spare/share)^(1/p) scales, in one column alone; 0 where nothing moves by degrees."""
        far = (spare / share) ** (1 / self.order)
        x, y = far * np.asarray(self.x_scale), far * np.asarray(self.y_scale)
        known: Any = self._declared
        supports = None if known is None else known.supports
        if supports is not None:
            x = np.where(supports.fixed, 0.0, x)
            for columns, *_ in supports.variables:
                x[list(columns)] = 0.0
        return Moves(0.0 * y if self.outcomes == STILL else y, x)

    def _y_scale(self, units: Units) -> np.ndarray:
        """s_y; "auto" hardly moves an outcome that never varied."""
        automatic = np.maximum(units.y_spread, PINNED * units.y_unit)
        return _resolved("y_scale", self.y_scale, automatic)

    def in_units(self, units: Units) -> Self:
        """In working units; what only the kernels need is theirs from here on.

        So models of several orders share the programs that their kernels share.
        """
        return super().in_units(units).replace(order=None, norm=None, contexts=None, _declared=None)

    def power(self, radius: float) -> float:
        """ρ^p."""
        return radius**self.order

    def root(self, discrepancy: float) -> float:
        """ρ with ρ^p = discrepancy; NaN below 0, where a discrepancy has no root."""
        return discrepancy ** (1 / self.order) if discrepancy >= 0 else float("nan")

    def kernels(self, units: Units, loss: Loss) -> Kernels:
        """Kernels of both coordinates, cut to the loss's outcome support.

        Without entropy they stand for the cost alone, with ε = 1.
        """
        return self._kernels(units, loss, 1.0)

    def censored_kernels(self, units: Units, loss: Loss) -> Kernels:
        """Those whose outcomes can be cut, entry by entry, where ``outcome_moves`` asks them."""
        kernels = self.kernels(units, loss)
        return Kernels(kernels.context, kernels.outcome.with_ends())

    def _kernels(self, units: Units, loss: Loss, epsilon: Any) -> Kernels:
        """In float64, whoever asks; they are cast where they are used."""
        support = loss.support_for(len(units.y_unit))
        low: Any = None
        high: Any = None
        if support is not None and np.any(np.isfinite(support)):
            low, high = (np.asarray(end / units.y_unit) for end in support)
        epsilon = np.float64(epsilon)
        x_scale: Any = np.asarray(self.x_scale * units.x_factor)
        y_scale: Any = np.asarray(self.y_scale / units.y_unit)
        x_norm, y_norm = _checks.norms("norm", self.norm)
        known: Any = self._declared or Declared(None, None)
        return Kernels(
            context=context_kernel(self.order, x_norm, epsilon, x_scale, known.supports, units),
            outcome=outcome_kernel(
                self.order,
                y_norm,
                epsilon,
                y_scale,
                (low, high),
                self.outcomes,
                known.first,
                units.y_unit,
            ),
        )


def causality_remarks(
    model: TransportAmbiguity, plain: str, nominal: NominalDistribution
) -> Iterator[HedgerowWarning]:
    """Say so when contexts have a single outcome, where causal and plain duals coincide."""
    repeated = float(nominal.context_mass[nominal.count > 1].sum())
    if repeated < 0.01:
        often = "Every context occurs once" if repeated == 0 else "Nearly every context occurs once"
        yield VacuousCausalityWarning(
            f"{often}, so {type(model).__name__} coincides with {plain} on this nominal; "
            "for causal robustness give every context a distribution of outcomes with "
            "nominal=ResidualNominal()."
        )


def _resolved(name: str, given: Any, automatic: np.ndarray) -> np.ndarray:
    if isinstance(given, str):
        return automatic
    array = np.asarray(given, dtype=np.float64)
    if array.ndim == 1 and array.shape != np.shape(automatic):
        raise ValueError(
            f"{name} has {array.size} entries, but the data have {np.size(automatic)} column(s)."
        )
    return np.broadcast_to(array, np.shape(automatic))
