"""Radii that people can read: what a radius allows in the data's units, and what it costs.

All of a radius may be spent in one way (``Ambiguity.moves``). With a transport cost of order p that
moves the share q of rows by

    q·|δ/s|^p = ρ^p − least   ⟹   δ = s·((ρ^p − least)/q)^(1/p)

in one column alone, so every row by δ, one in ten by δ·10^(1/p). With a divergence, what is now one
row in ten may become more frequent. A menu puts beside each radius what it says, what the policy
costs if nothing changes (the price), and what its mean cost cannot exceed within it (the value).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from sklearn.base import clone

from hedgerow import _checks
from hedgerow._frames import require_pandas
from hedgerow._warnings import OutlierWarning, WideRadiusWarning, unsaid
from hedgerow.ambiguity import InfeasibleRadiusError, Moves, Problem
from hedgerow.certify.reaching import with_radius
from hedgerow.certify.value import certify
from hedgerow.describe.display import Display
from hedgerow.describe.names import feature_names, outcome_names
from hedgerow.describe.numbers import number, percent
from hedgerow.describe.parts import offered
from hedgerow.kernels import Sobol

if TYPE_CHECKING:
    from hedgerow.estimator import RobustPolicy

FEW = 0.1
"""One row in ten."""
NAMED = 3
"""Features that a sentence names."""
WIDE, OFTEN = 1.0, 0.5
"""Spreads of an outcome that every row may be moved by, and shares of rows that one row in ten may
become: a radius beyond them allows more than rows differ by."""


@dataclass(frozen=True)
class RadiusWords:
    """What a radius allows, each line a way to spend all of it.

    Attributes
    ----------
    radius : float
    least : float
        The radius that smearing points out takes by itself; 0 for models that do not.
    text : str
        The sentence.
    moves_all, moves_few : Moves
        By how much every row, and one in ten, may be moved in one column alone.
    spreads : float
        By how many spreads of an outcome every row may be moved; NaN for divergences.
    """

    radius: float
    least: float
    text: str
    moves_all: Moves
    moves_few: Moves
    spreads: float

    def __str__(self) -> str:
        """Return the sentence."""
        return self.text


def words_of(
    problem: Problem, radius: float, features: Sequence[str], outcomes: Sequence[str]
) -> RadiusWords:
    """Put in words what a radius of a problem's model allows."""
    radius = _checks.nonnegative("radius", radius)
    model, units = problem.model, problem.units
    given = with_radius(problem.given, 1.0)
    least = least_discrepancy(problem)
    spare = given.power(radius) - least
    smallest = float(given.root(max(least, 0.0)))
    if spare < 0:
        raise InfeasibleRadiusError(
            f"radius={radius:.9g} allows nothing: smearing points out takes {smallest:.6g} by "
            "itself."
        )
    needed = "What a radius allows is said by the model's moves"
    every, few = (offered(model.moves(spare, share), model, "moves", needed) for share in (1, FEW))
    said, spreads = [], float("nan")
    if every.outcomes is not None:
        middle = np.median(problem.nominal.outcomes, axis=0)
        said += [
            f"{name} up to {_far(every.outcomes[j], middle[j])} for everyone, or "
            f"{_far(few.outcomes[j], middle[j])} for one row in ten"
            for j, name in enumerate(list(outcomes)[:NAMED])
            if every.outcomes[j] > 0
        ]
        varies = units.y_spread > 0
        if varies.any():
            spreads = float(np.max(every.outcomes[varies] / units.y_spread[varies]))
    if every.contexts is not None:
        order = [j for j in range(len(features)) if every.contexts[j] > 0][:NAMED]
        said += [f"{features[j]} misread by {number(every.contexts[j], 3)}" for j in order]
    if every.frequency is not None:
        said.append(f"what is now one row in ten may become {percent(every.frequency)} of rows")
    blur = f" (of which {number(smallest, 3)} is blur)" if smallest else ""
    text = f"Within a radius of {number(radius, 3)}{blur}: {'; or '.join(said) or 'nothing'}."
    return RadiusWords(radius, smallest, text, every, few, spreads)


def wide_radius(problem: Problem, names: Sequence[str] | None) -> WideRadiusWarning | None:
    """Warn of a radius that allows more than rows differ by; the sentence says what it allows.

    A radius that leaves nothing, and a model that does not say what it allows, get none.
    """
    if problem.given.radius is None or problem.given.radius_wish() is not None:
        return None
    if problem.model.moves(1.0, 1.0) is None:
        return None
    columns, outcomes = problem.nominal.contexts.shape[1], problem.nominal.outcomes.shape[1]
    named = [f"feature {j}" for j in range(columns)] if names is None else list(map(str, names))
    called = ["the outcome"] if outcomes == 1 else [f"outcome {j + 1}" for j in range(outcomes)]
    try:
        found = words_of(problem, float(problem.given.radius), named, called)
    except (InfeasibleRadiusError, OverflowError):  # said when it is used
        return None
    often = found.moves_all.frequency or 0.0
    if not (found.spreads > WIDE or often > OFTEN):
        return None
    return WideRadiusWarning(
        f"{found.text} That is more than rows differ by, and such a hedge is dear: "
        "hedgerow.radius_menu shows what radii cost; radius='auto' goes by the number of rows."
    )


def _far(shift: float, middle: float) -> str:
    """A move in the outcome's unit, and in per cent where the middle is a size."""
    size = f"±{number(shift, 3)}"
    return f"{size} ({percent(shift / middle, signed=True)})" if middle > shift * 1e-3 else size


def least_discrepancy(problem: Problem) -> float:
    """Return what smearing points out takes by itself, for models that do."""
    with jax.enable_x64(True):
        about = (problem.units, problem.loss, problem.nominal, problem.setting(Sobol(1), None))
        return float(with_radius(problem.given, 1.0).least_discrepancy(*about) or 0.0)


def usual_radius(problem: Problem, rows: int) -> float:
    """Return the radius of "auto": how far the means of so many rows are uncertain, plus blur."""
    given = with_radius(problem.given, 1.0)
    beyond = given.power(given.usual_radius(problem.units, rows))
    return float(given.root(max(least_discrepancy(problem), 0.0) + beyond))


def radius_in_words(
    policy: RobustPolicy, X: Any = None, Y: Any = None, radius: float | None = None
) -> RadiusWords:
    """Say what a radius allows in the data's units, before training or after.

    Parameters
    ----------
    policy : RobustPolicy
        Fitted, or not yet: then X and Y are the history.
    X, Y : array-like or None
        History; None for a fitted policy: its own. Names of columns are used.
    radius : float or None
        None: the radius of the policy's model.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load_restaurant("steak", as_frame=True)
    >>> model = hr.CausalWasserstein(radius=0.8, x_scale="auto", y_scale="auto")
    >>> policy = hr.RobustPolicy(hr.Newsvendor(1, 3), model)
    >>> print(hr.radius_in_words(policy, data.data, data.target))  # doctest: +SKIP
    """
    policy, X = _of_a_pipeline(policy, X, Y)
    problem, policy, rows = policy.posed(X, Y)
    if radius is None:
        radius = problem.given.radius
        if radius is None:
            raise ValueError("Give a radius: the policy's model has a penalty in its place.")
        wish = problem.given.radius_wish()
        if wish is not None:
            radius = usual_radius(problem, rows)
    return words_of(problem, radius, feature_names(policy, X), outcome_names(policy, Y))


def _of_a_pipeline(policy: Any, X: Any, Y: Any) -> tuple[RobustPolicy, Any]:
    """Return the policy, and what it is given: behind a pipeline's steps, what those make of X."""
    if hasattr(policy, "posed"):
        return policy, X
    last: Any = policy[-1] if hasattr(policy, "steps") else None
    if not hasattr(last, "posed"):
        return _checks.fitted_policy(policy), X  # says what it is, and what is wanted
    if X is None:
        return last, None
    fitted = hasattr(last, "rule_")
    steps: Any = policy[:-1] if fitted else clone(policy[:-1])
    return last, steps.transform(X) if fitted else steps.fit_transform(X, Y)


@dataclass(frozen=True, repr=False)
class RadiusMenu(Display):
    """Radii, what they allow, what they cost and what they protect from; cheapest first.

    Attributes
    ----------
    radii : (n,) array
    price : (n,) array
        Mean cost under the nominal distribution: if nothing changes.
    value : (n,) array
        Certified mean cost within the radius; infinite where nothing bounds it.
    allows : list of str
        In words.
    retrained : bool
        Whether a policy was trained for each radius; else one is judged at all of them.
    """

    radii: np.ndarray
    price: np.ndarray
    value: np.ndarray
    allows: list[str]
    retrained: bool

    def to_frame(self) -> Any:
        """Return the menu as a pandas table."""
        found = {"radius": self.radii, "price": self.price, "value": self.value}
        return require_pandas().DataFrame(found | {"allows": self.allows})

    def _heading(self) -> str:
        return "Radii, cheapest first" + (", a policy trained for each" if self.retrained else "")

    def _rows(self) -> tuple[list[str], list[Sequence[str]]]:
        lines = zip(self.radii, self.price, self.value, self.allows, strict=True)
        told = [
            (number(r, 3), number(price), number(value), said) for r, price, value, said in lines
        ]
        return ["radius", "price", "value", "allows"], list(told)


def radius_menu(
    policy: RobustPolicy,
    X: Any = None,
    Y: Any = None,
    radii: float | Sequence[float] | None = None,
    *,
    retrain: bool = True,
    tolerance: float = 1e-2,
    random_state: int = 0,
) -> RadiusMenu:
    """Return a menu of radii: what each allows, what it costs, and what it protects from.

    Parameters
    ----------
    policy : RobustPolicy
        With ``retrain`` it is trained for every radius, fitted or not; without, a fitted one is
        judged at all of them.
    X, Y : array-like or None
        History; None for a fitted policy that is not retrained: its own.
    radii : float, sequence of float or None
        None: a quarter, a half, one, two and four times the "auto" radius, beyond the blur.
    retrain : bool
        See above.
    tolerance : float
        Numerical tolerance of values.
    random_state : int
        Seed of the values' nodes.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss, hedge = hr.Newsvendor(0.6, 1.0), hr.KL(penalty=2.0)
    >>> policy = hr.RobustPolicy(loss, hedge, solver=hr.SCSC(steps=50), random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> menu = hr.radius_menu(policy, data.data, data.target, radii=[0.05, 0.2])
    """
    if retrain and (X is None or Y is None):
        raise ValueError("To train a policy for every radius, give X and Y; or say retrain=False.")
    policy, X = _of_a_pipeline(policy, X, Y)
    problem, named, rows = policy.posed(X, Y)
    if radii is None:
        given = with_radius(problem.given, 1.0)
        least = max(least_discrepancy(problem), 0.0)
        beyond = given.power(usual_radius(problem, rows)) - least
        order = given.power(2.0) / given.power(1.0)  # 2^p: what doubling a radius multiplies by
        radii = [given.root(least + beyond * order**step) for step in (-2.0, -1.0, 0.0, 1.0, 2.0)]
    radii = sorted(_checks.positive("radius", radius) for radius in np.atleast_1d(radii).tolist())
    if not radii:
        raise ValueError("radii holds no radius: give one or more, or None for the usual ones.")
    names = feature_names(named, X), outcome_names(named, Y)
    key = jax.random.key(_checks.count("random_state", random_state, 0), impl="rbg")
    prices, values, said = [], [], []
    for radius in radii:
        model = with_radius(problem.given, radius)
        learned, posed = policy, problem
        if retrain:
            # typos were named when the problem was posed, and the menu says what radii allow
            with unsaid(OutlierWarning, WideRadiusWarning):
                learned = policy.retrained(model, X, Y)
            posed = learned.posed(None, None)[0]
        found = certify(posed.against(model), learned.rule_, key, tolerance).robust
        prices.append(found.nominal)
        values.append(found.value)
        said.append(words_of(posed, radius, *names).text.partition(": ")[2])
    return RadiusMenu(np.array(radii), np.array(prices), np.array(values), said, retrain)
