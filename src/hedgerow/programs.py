"""Compiled programs: ``jax.jit`` with a code generator that suits them, and only so many.

XLA has two code generators for processors. The newer one, its default, takes about half as long
again to compile our training loops, which then run more slowly (``python -m
benchmarks.compilation``), so programs are compiled by the older one for as long as XLA has it, in
one piece: in many, as XLA has it, takes a fifth longer. What runs once and has little to do is not
optimised (``brief``), which takes half as long. Nothing global is set.

Every new shape is compiled anew. Shapes are few (``ladder``), but a process may see many kinds of
fits, and a compiled program keeps dozens of memory maps. A process may have 65,530 of them (Linux),
after which LLVM, and with it the interpreter, dies; and a fit of a new shape leaves some 20 MB. So
programs are let go when the process has many maps or has grown by much; what is needed again is
compiled again.

JAX's own programs and traces go with them. It makes some for each new shape outside of ours
(``jnp.asarray`` of an array is one, and holds a megabyte; ``jax.device_put`` compiles nothing) and
keeps up to 2,048 of each kind; a process that kept them would grow to several gigabytes. Programs
of others in the same process are compiled again as well: JAX lets go of all traces or of none.

A program is called from outside any other; what is called inside of one is a plain function. None
can run in a process that was forked after one has run: JAX's threads are not there, and it would
wait for them forever.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial, wraps
from pathlib import Path
from threading import Lock, Thread, local
from typing import Any, TypeVar, overload

import jax
from joblib import cpu_count

FIRST = Lock()
PREFERRED = {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}
BRIEF = {"xla_backend_optimization_level": 0}
MOST_MAPS = 10_000
"""Memory maps of the process at which programs are let go: some twenty fits of new shapes with
their values, a gigabyte of programs, a sixth of what Linux allows."""
MOST_GROWTH = 3 * 2**29
"""Bytes by which the process may have grown since programs were let go: some eighty such fits. What
else it has taken in since then counts as well, since nobody tells them apart."""
BETWEEN_LOOKS = 8
"""Compilations between two looks at the number of maps, which takes a millisecond or more."""
MAPS, SIZES = Path("/proc/self/maps"), Path("/proc/self/statm")
R = TypeVar("R")

_compilations: Counter[str] = Counter()
_least_memory: int | None = None
_home: int | None = None
_begun = local()


@overload
def program(function: Callable[..., R]) -> Callable[..., R]: ...
@overload
def program(
    *, brief: bool = False, static_argnames: str = ...
) -> Callable[[Callable[..., R]], Callable[..., R]]: ...
def program(function: Any = None, *, brief: bool = False, **settings: Any) -> Any:
    """Compile a function at its first call; a decorator, with ``static_argnames`` as in JAX.

    What is called takes whatever JAX makes arrays of. ``brief``: it runs in no time as it is, so
    that no time is spent on making it faster.
    """
    if function is None:
        return partial(program, brief=brief, **settings)

    @cache
    def compiled() -> Any:
        chosen = options() | BRIEF if brief and options() else options()
        return jax.jit(function, compiler_options=chosen, **settings)

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        refuse_in_forked_process()
        with FIRST:  # threads that come at once get one program
            ready = compiled()
        known = ready._cache_size()
        result = ready(*arguments, **named)
        if ready._cache_size() > known:
            _count_compilation(function)
        return result

    return call


@cache
def options() -> dict[str, Any]:
    """What to compile with: PREFERRED, or nothing where this version of XLA does not know it."""
    try:
        jax.jit(lambda x: x, compiler_options=PREFERRED | BRIEF)(0.0)
    except jax.errors.JaxRuntimeError:
        return {}
    return PREFERRED


def threads() -> int:
    """How many programs to run beside each other: as many as JAX has threads.

    Those of the machine that this process may use, or as ``NPROC`` and ``PJRT_NPROC`` have it,
    which JAX asks. Two programs that share a single thread gain nothing, and once were seen to wait
    for it forever (jaxlib 0.10.2).
    """
    asked = (os.environ.get(name, "") for name in ("NPROC", "PJRT_NPROC"))
    return max(1, min([cpu_count(), *(int(each) for each in asked if each.isdigit())]))


def meanwhile(work: Callable[[], Any]) -> None:
    """Begin with work of which something is wanted later: compiling, while data are prepared.

    XLA compiles beside whatever else this process does. Work that fails was in vain, no more:
    whoever needs it does it again, and says what is wrong.
    """

    def attempt() -> None:
        with suppress(Exception):
            work()

    thread = Thread(target=attempt, daemon=True, name="hedgerow-compiling")
    thread.start()
    _begun.threads = [*getattr(_begun, "threads", ()), thread]


def awaited() -> None:
    """Wait for what this thread has begun ``meanwhile``: one program is not compiled twice."""
    for thread in getattr(_begun, "threads", ()):
        thread.join()
    _begun.threads = []


def memory_maps() -> int:
    """Memory maps of this process; 0 where the system does not tell, or has no limit to them."""
    return MAPS.read_bytes().count(b"\n") if MAPS.exists() else 0


def memory() -> int:
    """Bytes of this process that are in memory; 0 where the system does not tell."""
    if not SIZES.exists():
        return 0
    return int(SIZES.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def release() -> None:
    """Let go of every compiled program, and of what JAX keeps to make it.

    What compiling allocated goes back to the system: glibc would keep it, 10 MB for every program.
    """
    global _least_memory
    jax.clear_caches()
    _forget_types()
    gc.collect()
    trim = _malloc_trim()
    if trim is not None:
        trim(0)
    _least_memory = None


def _forget_types() -> None:
    """Let go of the types that functions were traced with, which JAX's own clearing leaves."""
    with suppress(ImportError, AttributeError):
        from jax._src import pjit

        pjit._seen_qdds.clear()


@cache
def _malloc_trim() -> Any:
    """Return glibc's function of that name; None where the C library is another one."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None


def compilations() -> Counter[str]:
    """How often each program has been compiled in this process, by its function's full name."""
    return Counter(_compilations)


def _count_compilation(function: Callable[..., Any]) -> None:
    """Look at maps and memory now and then, and let go if there are many or it is much."""
    with FIRST:
        _compilations[f"{function.__module__}.{function.__qualname__}"] += 1
        look = _compilations.total() % BETWEEN_LOOKS == 0
    if look and (_has_grown() or memory_maps() > MOST_MAPS):
        release()


def _has_grown() -> bool:
    """Whether the process is much larger than it was at its smallest since the last release."""
    global _least_memory
    now = memory()
    with FIRST:
        _least_memory = now if _least_memory is None else min(_least_memory, now)
        return now > _least_memory + MOST_GROWTH


def refuse_in_forked_process() -> None:
    """Say so where JAX, asked in the process that this one was forked from, would wait forever.

    Whatever asks JAX for something without a program calls this first.
    """
    global _home
    if _home is None:
        _home = os.getpid()
    elif _home != os.getpid():
        raise RuntimeError(
            "hedgerow was used before this process was forked from another, and what compiles its "
            "programs does not survive that: start processes by 'spawn' "
            "(multiprocessing.get_context('spawn')) or with joblib's default, loky."
        )
