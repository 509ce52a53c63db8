"""Where the pieces of a panel's work are done: in this process, in several, or on a Dask cluster.

    tasks → (place of a task, what came of it), as they come

Tasks are asked for when there is somebody to do them, so that only a few are in memory. Workers
compute on one thread each, since arrays of a few series are too small to share. Results do not
depend on who computed them, nor on how often a worker died on the way: a cluster gives what a dead
one had to another; processes of this machine are not replaced, and the run ends with one sentence.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from hedgerow import _checks
from hedgerow._version import NUMERICS

LOCAL, DASK = ENGINES = ("local", "dask")
ONE_THREAD: dict[str, str] = dict.fromkeys(
    (
        "NPROC",  # JAX asks these two when it first computes
        "PJRT_NPROC",
        "OMP_NUM_THREADS",  # and the others are asked when they are loaded
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
    ),
    "1",
)
AHEAD = 2
"""Tasks in flight for each thread of a cluster, so that none waits for its next one."""
BETWEEN_LOOKS = 1.0
"""Seconds between two looks of a process whether the one that asked is still there."""


@dataclass(frozen=True)
class Engine:
    """Who computes.

    Parameters
    ----------
    kind : {"local", "dask"} or None
        Processes of this machine, or the workers of a Dask cluster. None: "dask" if there is a
        scheduler.
    jobs : int or None
        Processes, as joblib understands it; None: this one, or what ``joblib.parallel_config``
        says. A cluster that is given has its own number.
    scheduler : str or None
        Address of a Dask scheduler, such as "tcp://10.0.0.5:8786". None: a cluster of ``jobs``
        processes is started here, and ended when the work is done.
    """

    kind: str | None = None
    jobs: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.kind is not None:
            _checks.one_of("engine", self.kind, ENGINES)
        if self.scheduler is not None and self.kind == LOCAL:
            raise ValueError(
                "A scheduler was given, but the engine is 'local': leave one of them out."
            )

    def each(
        self, function: Callable[..., Any], tasks: Iterable[tuple]
    ) -> Generator[tuple[int, Any], None, None]:
        """Yield (place, function(*task)) of every task, in the order in which they are done."""
        if self.kind == DASK or self.scheduler is not None:
            return self._on_cluster(function, tasks)
        return self._in_processes(function, tasks)

    def _in_processes(
        self, function: Callable[..., Any], tasks: Iterable[tuple]
    ) -> Generator[tuple[int, Any], None, None]:
        if self.jobs == 1:
            for place, task in enumerate(tasks):
                yield place, function(*task)
            return
        here = os.getpid()
        work = (
            delayed(_in_process)(here, place, function, task) for place, task in enumerate(tasks)
        )
        try:
            running: Any = Parallel(n_jobs=self.jobs, return_as="generator_unordered")(work)
            yield from running
        except TerminatedWorkerError:
            raise RuntimeError(
                "A process that was computing died, perhaps for lack of memory; start again, with "
                "fewer jobs if need be: what a store holds by now is not computed again."
            ) from None

    def _on_cluster(
        self, function: Callable[..., Any], tasks: Iterable[tuple]
    ) -> Generator[tuple[int, Any], None, None]:
        distributed = _require_distributed()
        numbered = enumerate(tasks)
        with _client(distributed, self) as client:
            running: dict[Any, int] = {}
            while True:
                room = AHEAD * max(sum(client.nthreads().values()), 1) - len(running)
                for place, task in islice(numbered, max(room, 0)):
                    future = client.submit(_on_worker, NUMERICS, function, task, pure=False)
                    running[future] = place
                if not running:
                    return
                done = distributed.wait(list(running), return_when="FIRST_COMPLETED").done
                for future in done:
                    try:
                        result = future.result()
                    except distributed.KilledWorker:
                        raise RuntimeError(
                            "Several workers died one after another with the same piece of work, "
                            "perhaps for lack of memory: give them more, or fewer threads."
                        ) from None
                    yield running.pop(future), result


def _in_process(asker: int, place: int, function: Callable[..., Any], task: tuple) -> Any:
    """Compute in another process of this machine, which ends with the one that asked."""
    if os.getpid() != asker:
        _one_thread_from_here()
        if os.getppid() == asker:
            _end_with(asker)
    return place, function(*task)


def _on_worker(numerics: int, function: Callable[..., Any], task: tuple) -> Any:
    """Compute on a worker of a cluster, unless it would compute something else."""
    if numerics != NUMERICS:
        raise ValueError(
            f"A worker has another version of hedgerow (its numbers are of kind {NUMERICS}, not "
            f"{numerics}): install the same everywhere."
        )
    _one_thread_from_here()
    return function(*task)


def _one_thread_from_here() -> None:
    """Compute on one thread, if nothing was computed yet."""
    for name, count in ONE_THREAD.items():
        os.environ.setdefault(name, count)


@cache
def _end_with(parent: int) -> None:
    """Let this process end when its parent does, in the middle of a task if need be."""

    def follow() -> None:
        while os.getppid() == parent:
            time.sleep(BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _require_distributed() -> Any:
    """Return distributed, or say how to get it."""
    try:
        import distributed
    except ImportError:
        raise ImportError(
            "The engine 'dask' needs distributed, which is not installed: "
            "pip install 'hedgerow[dask]'."
        ) from None
    return distributed


@contextmanager
def _client(distributed: Any, engine: Engine) -> Iterator[Any]:
    """A client of the given scheduler, or of a cluster that lives as long as the work does."""
    if engine.scheduler is not None:
        with distributed.Client(engine.scheduler) as client:
            yield client
        return
    settings = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        _one_thread(),
        distributed.LocalCluster(engine.jobs or os.cpu_count(), **settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def _one_thread() -> Iterator[None]:
    """An environment in which new processes compute on one thread from their first import on."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
