"""Compiled programs: ``jax.jit``, with the code generator that suits programs such as these.

XLA has two of them for processors. The newer one, its default, takes about half as long again to
compile our training loops, which then run more slowly (``python -m benchmarks.compilation``), so
programs are compiled by the older one for as long as XLA has it. Nothing global is set.

A program is called from outside any other; what is called inside of one is a plain function.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, wraps
from threading import Lock
from typing import Any, TypeVar, overload

import jax

FIRST = Lock()
PREFERRED = {"xla_cpu_use_fusion_emitters": False}
R = TypeVar("R")


@overload
def program(function: Callable[..., R]) -> Callable[..., R]: ...
@overload
def program(*, static_argnames: str) -> Callable[[Callable[..., R]], Callable[..., R]]: ...
def program(function: Any = None, **settings: Any) -> Any:
    """Compile a function at its first call; a decorator, with ``static_argnames`` as in JAX.

    What is called takes whatever JAX makes arrays of.
    """
    if function is None:
        return partial(program, **settings)

    @cache
    def compiled() -> Any:
        return jax.jit(function, compiler_options=options(), **settings)

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        with FIRST:  # threads that come at once get one program
            ready = compiled()
        return ready(*arguments, **named)

    return call


@cache
def options() -> dict[str, Any]:
    """What to compile with: PREFERRED, or nothing where this version of XLA does not know it."""
    try:
        jax.jit(lambda x: x, compiler_options=PREFERRED)(0.0)
    except jax.errors.JaxRuntimeError:
        return {}
    return PREFERRED
