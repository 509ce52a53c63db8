"""Programs: compiled as preferred, only from outside, and without the preference where unknown."""

import jax
import jax.numpy as jnp
import joblib
import numpy as np
import pytest

from hedgerow import programs
from hedgerow.programs import program


@program
def _double(x):
    """Twice x."""
    return 2 * x


@program(static_argnames="times")
def _repeat(x, times):
    return jnp.tile(x, times)


def test_a_program_computes_what_its_function_does():
    assert np.array_equal(_double(np.arange(3.0)), [0.0, 2.0, 4.0])
    assert np.array_equal(_repeat(np.arange(2.0), times=2), [0.0, 1.0, 0.0, 1.0])
    assert _double.__doc__ == "Twice x."


def test_a_program_is_compiled_once_for_a_shape():
    traced = []

    @program
    def noted(x):
        traced.append(x.shape)
        return x + 1

    for values in ([1.0, 2.0], [3.0, 4.0], [1.0, 2.0, 3.0]):
        noted(np.array(values))
    assert traced == [(2,), (3,)]


def test_the_preferred_generator_is_asked_for():
    assert programs.options() == programs.PREFERRED  # else this version of XLA no longer has it


def test_an_option_that_xla_does_not_know_is_done_without(monkeypatch):
    programs.options.cache_clear()
    monkeypatch.setattr(programs, "PREFERRED", {"xla_no_such_option": True})
    try:
        assert programs.options() == {}
        assert float(program(lambda x: x + 1)(1.0)) == 2.0
    finally:
        programs.options.cache_clear()


def test_a_program_inside_a_program_is_refused():
    with pytest.raises(ValueError, match="top-level"):
        jax.jit(_double)(1.0)


@pytest.mark.parametrize(
    ("asked", "found"), [({"NPROC": "1"}, 1), ({"PJRT_NPROC": "1", "NPROC": "9"}, 1), ({}, None)]
)
def test_programs_run_beside_each_other_as_jax_has_threads(monkeypatch, asked, found):
    for name in ("NPROC", "PJRT_NPROC"):
        monkeypatch.delenv(name, raising=False)
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert programs.threads() == (found or joblib.cpu_count())
