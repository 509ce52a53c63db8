"""The scan before nodes are placed: what is narrow and far is found, and nothing is not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.certify.scan import scan_around

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.full(40, 5.0)
LOSS = hr.Newsvendor(1.0, 1.0)
PENALTY, TEMPERATURE, PEAK, HEIGHT = 0.05, 2e-4, 4.0, 3.0


def bump(x):
    """Half a tenth wide, four away: kernels a twentieth wide would never meet it."""
    return 5 + HEIGHT * jnp.exp(-0.5 * ((x[0] - PEAK) / 0.05) ** 2)


def scanned(rule, seed=0, X=X, model=None, penalty=PENALTY, temperature=TEMPERATURE):
    """At a penalty and temperature in the loss's units; scales are the data's own."""
    policy = hr.RobustPolicy.from_function(rule, LOSS, X, Y)
    model = model or hr.CausalSinkhorn(penalty, temperature / penalty)
    problem, unit = policy.problem(X, Y, ambiguity=model), policy.units_.loss_unit
    with jax.enable_x64(True):
        found = scan_around(problem, policy.rule_, penalty / unit, temperature / unit, seed)
    return found, policy.units_


@pytest.mark.parametrize("seed", range(3))
def test_a_narrow_bump_far_away_is_found(seed):
    """Demand is 5 everywhere: nothing is lost at home, HEIGHT at the peak."""
    found, units = scanned(bump, seed)
    assert found.hidden
    places = units.x_centre + found.places * units.x_spread
    assert np.min(np.abs(places[:, 0] - PEAK)) < 0.02
    best = HEIGHT - PENALTY * np.min((X[:, 0] - PEAK) ** 2)  # the nearest context, first feature
    # places are met to a fraction of the bump's width
    assert found.net * units.loss_unit == pytest.approx(best, rel=0.02)
    nearest = found.places[np.argmin(np.abs(places[:, 0] - PEAK))]
    moved = found.moved[np.where((found.places == nearest).all(axis=1))[0][0]]
    assert moved[0]
    assert found.reach >= np.min(PEAK - X[:, 0])


def test_where_nothing_pays_nothing_is_hidden():
    found, _ = scanned(lambda x: jnp.asarray(5.0))
    assert found.net == 0.0
    assert not found.hidden
    # moves whose cost is above thirty temperatures carry no mass
    assert found.reach <= np.sqrt(30 * TEMPERATURE / PENALTY)


def test_what_pays_less_than_it_costs_is_not_taken_for_a_place():
    dear, _ = scanned(bump, penalty=50.0, temperature=0.2)
    assert not dear.hidden
    assert dear.net < 0.2


def test_a_slope_everywhere_is_in_sight_of_home():
    """|z − y| = |x₁|/2 at λ: moving pays up to 1/(16 λ), along the gradient."""
    found, units = scanned(lambda x: 5 + 0.5 * jnp.abs(x[0]), penalty=1.0, temperature=1.0)
    assert not found.hidden
    # ((|x| + d)/2 − |x|/2 − d²) is largest at d = 1/4; strata meet it to a few per cent
    assert found.net * units.loss_unit == pytest.approx(1 / 16, rel=0.05)


def test_features_that_never_vary_do_not_move():
    constant = np.ones((40, 2))
    with pytest.warns(UserWarning, match="never vary"):
        found, _ = scanned(lambda x: 5 + x[0] - 1, X=constant)
    assert (found.net, found.hidden, found.reach) == (0.0, False, 0.0)
    with pytest.warns(UserWarning, match="never vary"):
        found, _ = scanned(bump, X=np.column_stack([X[:, :1], np.ones(40)]))
    assert found.hidden
    np.testing.assert_array_equal(found.places[:, 1], 0.0)


def test_scans_with_one_seed_agree_and_others_are_other_opinions():
    first, again, other = (scanned(bump, seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.places, again.places)
    assert first.net == again.net != other.net


def test_a_rule_that_is_not_finite_near_the_data_is_refused():
    with pytest.raises(ValueError, match=r"not finite \(NaN or inf\) at some context"):
        scanned(lambda x: 5 + jnp.log(x[0] + 3.0))
