"""What models that move points share: a transport cost, and for Sinkhorn's its kernels.

    c_p = ‖(x − x̂)/s_x‖_p^p + ‖(y − ŷ)/s_y‖_p^p    or, with norm = q,    ‖·‖_q^p in both terms

With regularisation ε, moving mass according to the kernels Q_ε ⊗ W_ε ∝ exp(−c_p/ε) is what costs
least, and its discrepancy is  −ε·( E log-normaliser of Q_ε + E log-normaliser of W_ε ), with the
true normalisers of truncated kernels (paper: the constant before Eq:MCO:whole).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.stats import chi2

from hedgerow import _checks, ladder
from hedgerow._components import ABSENT
from hedgerow._warnings import HedgerowWarning, VacuousCausalityWarning
from hedgerow.ambiguity.base import Batch, Kernels, Perturbed, Setting, decide
from hedgerow.ambiguity.outcome_moves import closed_log_moments, outcome_nodes
from hedgerow.ambiguity.penalised import InadmissiblePenaltyError, PenalisedAmbiguity
from hedgerow.ambiguity.radii import CERTAIN, Moves
from hedgerow.ambiguity.reductions import MeanOfLogs
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
from hedgerow.kernels import AbstractKernel, Nodes
from hedgerow.losses import Loss
from hedgerow.programs import program
from hedgerow.rules import FittedRule

EPSILONS, TEMPERATURES = (1e-10, 1e6), (1e-8, 1e7)
"""Working units within which ε and λε can be told from 0, and from infinity, in float32."""
MOST_CENTRES = 2**16
"""Normalisers that are computed at a time."""
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


class SinkhornAmbiguity(TransportAmbiguity):
    """Shared by the Sinkhorn models, which smear points out: ε, kernels, moments over them."""

    traced = (*TransportAmbiguity.traced, "epsilon")
    epsilon: float = 0.1
    order: float = 2

    def check(self) -> None:
        """Epsilon is positive too."""
        super().check()
        _checks.positive("epsilon", self.epsilon)

    @property
    def temperature(self) -> Any:
        """T = λε."""
        return self.penalty * self.epsilon

    def in_units(self, units: Units) -> Self:
        """In working units; ε and λε within what float32 can tell apart."""
        working = super().in_units(units)
        widest = np.max(
            np.concatenate([self.y_scale / units.y_unit, self.x_scale * units.x_factor])
        )
        if widest > PINNED:  # else nothing moves anyway
            _checks.within_reach("epsilon", self.epsilon, widest**-self.order, *EPSILONS)
        if self.penalty is not None:
            unit = units.loss_unit / float(self.loss_scale)
            _checks.within_reach("penalty·epsilon", self.temperature, unit, *TEMPERATURES)
        return working

    def kernels(self, units: Units, loss: Loss) -> Kernels:
        """Kernels with the model's own ε."""
        return self._kernels(units, loss, self.epsilon)

    def reduction(self) -> MeanOfLogs:
        """One logarithm per group, at the temperature λε."""
        return MeanOfLogs(self.temperature)

    def node_plan(self, planner: Any, level: int) -> Any:
        """Kernels are integrated over."""
        return planner.integration(level, float(self.epsilon))

    def worst_case(self, maker: Any) -> Any:
        """Kernels tilted by the loss."""
        return maker.gibbs()

    def bounds(self, bounder: Any) -> Any:
        """Kernels are integrated over."""
        return bounder.integrated()

    def least_discrepancy(
        self, units: Units, loss: Loss, nominal: NominalDistribution, setting: Setting
    ) -> float:
        """−ε·(E log-normaliser of the context kernel + E log-normaliser of the outcome kernel).

        Volume is counted in the user's units; in units of the scales where those are "auto", so
        that changing units changes nothing there. Features that never vary take no part.
        """
        around = setting.moving()
        contexts = _mean_log_normaliser(
            around.context,
            setting.context_nodes,
            units.contexts(nominal.contexts, np.float64),
            nominal.context_mass,
            None if isinstance(self.x_scale, str) else units.x_spread,
        )
        outcomes = _mean_log_normaliser(
            around.outcome,
            setting.outcome_nodes,
            units.outcomes(nominal.outcomes, np.float64)[nominal.entry_outcome],
            nominal.joint_mass(),
            None if isinstance(self.y_scale, str) else units.y_unit,
            None if nominal.entry_low is None else nominal.entry_low / units.y_unit,
        )
        return -float(self.epsilon) * (contexts + outcomes)

    def perturb(
        self, rule: FittedRule, setting: Setting, batch: Batch, key: PRNGKeyArray
    ) -> Perturbed:
        """Place nodes around contexts and, where the loss needs them, around outcomes."""
        around = setting.moving()
        key_context, key_outcome = jax.random.split(key)
        if batch.modes is None:
            points, log_weights = setting.context_nodes(around.context, batch.contexts, key_context)
        else:
            points, log_weights = _around_modes(
                around.context, setting.context_nodes, batch.contexts, batch.modes, key_context
            )
        moved = Perturbed(points, decide(rule, points), log_weights)
        if setting.outcome_nodes is None:
            return moved
        y, y_weights = outcome_nodes(setting, batch, key_outcome)
        return moved._replace(outcomes=y, outcome_log_weights=y_weights)

    def inner_log_moments(
        self, perturbed: Perturbed, setting: Setting, batch: Batch
    ) -> Float[Array, "b m n"]:
        """G_ki at every context node."""
        if perturbed.outcomes is None or perturbed.outcome_log_weights is None:
            return closed_log_moments(setting, perturbed.decisions, batch, self.temperature)
        z = perturbed.decisions[:, :, None, None, :]
        values = setting.loss(z, perturbed.outcomes[:, None]) / self.temperature
        return jax.nn.logsumexp(values + perturbed.outcome_log_weights[:, None], axis=-1)


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


def _around_modes(
    kernel: AbstractKernel,
    nodes: Nodes,
    centre: Float[Array, "b d"],
    modes: Float[Array, "b s d"],
    key: PRNGKeyArray,
) -> tuple[Float[Array, "b m d"], Float[Array, "b m"]]:
    """Nodes around the centre and around each mode, weighted as one mixture.

    With n nodes around each of the s + 1 places the weight of a node is the centre's kernel over
    n·Σ (all kernels): right wherever the modes were thought to be, and even where they truly are.
    """
    places = jnp.concatenate([centre[:, None], modes], axis=1)
    points, log_weights = nodes(kernel, places, key)
    points = points.reshape(len(centre), -1, centre.shape[-1])
    # the weight of a node around its own place is the kernel over what nodes are drawn from
    own = jnp.repeat(places, points.shape[1] // places.shape[1], axis=1)
    drawn = log_weights.reshape(len(centre), -1)
    drawn = drawn - (kernel.log_nearness(own, points) - kernel.log_proposal(own, points))
    mixture = jax.nn.logsumexp(kernel.log_proposal(places[:, None], points[:, :, None]), axis=-1)
    return points, kernel.log_nearness(centre[:, None], points) - mixture + drawn


def _mean_log_normaliser(
    kernel: AbstractKernel,
    nodes: Nodes | None,
    centres: np.ndarray,
    mass: np.ndarray,
    unit: np.ndarray | None,
    low: np.ndarray | None = None,
) -> float:
    """Mean log-normaliser over Lebesgue measure in ``unit`` (None: in the kernel's scales).

    Over a discrete reference measure, where there is one, which has no unit. Kernels of censored
    outcomes are cut from below, each where ``low`` says.
    """
    measure = None if nodes is None else nodes.reference()
    size = ladder.piece(len(centres), MOST_CENTRES)
    rows = np.pad(np.arange(len(centres)), (0, -len(centres) % size), mode="edge")
    each = [
        _log_normalisers(kernel, measure, centres[some], None if low is None else low[some])
        for some in rows.reshape(-1, size)
    ]
    mean = float(mass @ np.concatenate(each)[: len(centres)])
    if measure is not None:
        return mean
    scale, free = np.asarray(kernel.scale), np.asarray(kernel.lebesgue)
    return mean + float(np.sum(np.log(1 / scale[free] if unit is None else unit[free])))


@program(brief=True)
def _log_normalisers(
    kernel: AbstractKernel,
    measure: Any,
    centres: Float[Array, "b d"],
    low: Float[Array, "b d"] | None,
) -> Float[Array, " b"]:
    kernel = kernel if low is None else kernel.above(low)
    if measure is not None:
        return measure.log_normaliser(kernel, centres)
    return kernel.log_normaliser(centres)


def _resolved(name: str, given: Any, automatic: np.ndarray) -> np.ndarray:
    if isinstance(given, str):
        return automatic
    array = np.asarray(given, dtype=np.float64)
    if array.ndim == 1 and array.shape != np.shape(automatic):
        raise ValueError(
            f"{name} has {array.size} entries, but the data have {np.size(automatic)} column(s)."
        )
    return np.broadcast_to(array, np.shape(automatic))
