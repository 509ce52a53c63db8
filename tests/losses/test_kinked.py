"""The derivative in the kink is that of the value, under every kernel and on every layout."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hedgerow.kernels import Kernel
from hedgerow.losses.kinked import Kinked

KINKS = np.array([-3.0, -0.4, 0.0, 0.3, 2.5])


def _total(kink, kernel, centre=0.2, below=-1.5, above=3.0):
    kink = jnp.asarray(kink)[..., None]
    return jnp.sum(Kinked(kernel, jnp.asarray([centre]), kink, below, above).log_mass())


def _kernel(order, cut):
    ends = (jnp.asarray([-1.0]), jnp.asarray([jnp.inf])) if cut else (None, None)
    return Kernel(order, jnp.asarray(0.3), jnp.ones(1), *ends)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("cut", [False, True])
def test_derivatives_equal_differences(order, cut):
    with jax.enable_x64(True):
        kernel, h = _kernel(order, cut), 1e-5
        slopes = jax.grad(_total)(jnp.asarray(KINKS), kernel)
        for i in range(len(KINKS)):
            step = h * (np.arange(len(KINKS)) == i)
            apart = _total(KINKS + step, kernel) - _total(KINKS - step, kernel)
            assert abs(slopes[i] - apart / (2 * h)) < 1e-7
        for name, value in (("centre", 0.2), ("below", -1.5), ("above", 3.0)):
            slope = jax.grad(lambda v, n=name: _total(KINKS, kernel, **{n: v}))(value)
            ends = (_total(KINKS, kernel, **{name: value + s * h}) for s in (1, -1))
            assert abs(slope - (next(ends) - next(ends)) / (2 * h)) < 1e-6


def test_one_coordinate_among_several_is_as_on_its_own():
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        scale = np.array([0.5, 1.0, 2.0])
        centre, kink = rng.normal(size=(4, 1, 6, 3)), rng.normal(size=(4, 5, 1, 3))
        kernel = Kernel(2, jnp.asarray(0.1), jnp.asarray(scale))
        together = Kinked(kernel, jnp.asarray(centre), jnp.asarray(kink), -1.0, 2.0).log_mass()
        assert together.shape == (4, 5, 6, 3)
        for j in range(3):
            one = Kernel(2, jnp.asarray(0.1), jnp.asarray(scale[[j]]))
            parts = jnp.asarray(centre[..., [j]]), jnp.asarray(kink[..., [j]])
            alone = Kinked(one, *parts, -1.0, 2.0).log_mass()
            assert np.allclose(alone[..., 0], together[..., j], rtol=0, atol=1e-13)
