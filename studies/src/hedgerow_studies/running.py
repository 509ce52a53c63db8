"""Running cells: one by one in this process, in processes of this machine, or on a Dask cluster.

    work + cell  →  is its file there?  →  compute  →  write it at once  →  the next

A run that is killed loses what was in flight; started again it goes on, and two runs on one folder
help each other. Workers use one thread each, so that they do not fight over cores, and refuse work
whose versions or data are not theirs. Results are returned in the order in which they were asked
for, not in which they came, so that tables are the same however the work was done.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jax

from hedgerow import _checks
from hedgerow_studies.cells import Cell, Cells
from hedgerow_studies.worker_start import begin

ENGINES = ("local", "dask")
AT_A_TIME = 32
"""Cells that are taken in any order; those asked for later come after them."""
Depends = dict[str, Any]
Progress = Callable[[int, int, str], Any]
"""Called with (cells done, cells in all, what was done last)."""
ONE_THREAD = {
    name: "1"
    for name in (
        "NPROC",  # JAX asks these two when it first computes
        "PJRT_NPROC",
        "OMP_NUM_THREADS",  # and the others are asked when they are loaded
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
    )
}


class Work(Protocol):
    """Cells of one kind; whatever has these methods can be run, if it can be pickled."""

    @property
    def name(self) -> str:
        """What it is called; unique in a run."""
        ...

    def depends(self) -> Depends:
        """Everything that results depend on besides their cells, versions first; plain JSON."""
        ...

    def run(self, cell: Cell) -> Any:
        """Compute one cell; plain JSON values."""
        ...

    def label(self, cell: Cell) -> str:
        """What is said of a cell that was just computed."""
        ...


class Result(NamedTuple):
    """What came of a cell, and the seconds that it took."""

    value: Any
    seconds: float


def compute(
    wanted: Sequence[tuple[Work, Cell]],
    folder: str | os.PathLike[str],
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """Compute what is missing of some cells, and return the results of all, in their order.

    Cells that depend on the same and are the same are computed once, whoever asks for them.
    """
    kinds = {work.name: work for work, _ in wanted}
    depends = {name: work.depends() for name, work in kinds.items()}
    stores = {name: Cells(folder, known) for name, known in depends.items()}
    once = {stores[work.name].path(cell): (work, cell) for work, cell in wanted}
    missing = [(work, cell) for work, cell in once.values() if stores[work.name].get(cell) is None]
    done, elsewhere = len(once) - len(missing), []
    # a run that is stopped has what was asked for first
    blocks = [missing[at : at + AT_A_TIME] for at in range(0, len(missing), AT_A_TIME)]
    missing = [one for block in blocks for one in _shuffled(block)]
    if progress is not None:
        progress(done, len(once), "")

    def still_missing() -> Iterator[tuple[Work, Cell]]:
        """Asked at the last moment: another run may have been here meanwhile."""
        for work, cell in missing:
            if stores[work.name].get(cell) is None:
                yield work, cell
            else:
                elsewhere.append(cell)

    with closing((engine or Engine()).results(still_missing(), depends)) as results:
        for work, cell, result in results:
            stores[work.name].put(cell, result._asdict())
            done += 1
            if progress is not None:
                progress(done + len(elsewhere), len(once), work.label(cell))
    return [_kept(stores[work.name], cell) for work, cell in wanted]


@dataclass(frozen=True)
class Engine:
    """Where cells are computed.

    Parameters
    ----------
    kind : {"local", "dask"}
        Processes of this machine, or workers of a Dask cluster.
    jobs : int
        Processes; one means this one. A cluster that is given has its own number.
    scheduler : str or None
        Address of a Dask scheduler, such as "tcp://10.0.0.5:8786". None: a cluster of ``jobs``
        processes is started here.
    """

    kind: str = "local"
    jobs: int = 1
    scheduler: str | None = None

    def __post_init__(self) -> None:
        _checks.one_of("engine", self.kind, ENGINES)
        _checks.count("jobs", self.jobs)
        if self.scheduler is not None and self.kind != "dask":
            raise ValueError("A scheduler was given, but the engine is not dask.")

    def results(
        self, wanted: Iterator[tuple[Work, Cell]], depends: dict[str, Depends]
    ) -> Generator[tuple[Work, Cell, Result], None, None]:
        """Yield results as they come; work is asked for when there is a worker for it.

        ``depends`` says by name what results depend on: workers have to have the same.
        """
        if self.kind == "local" and self.jobs == 1:
            for work, cell in wanted:
                yield work, cell, _computed(work, cell)
            return
        compiled = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
        running: dict[Future[Result], tuple[Work, Cell]] = {}
        with self._executor() as (executor, workers):
            try:
                while True:
                    for work, cell in islice(wanted, max(0, workers() - len(running))):
                        future = executor.submit(
                            _in_worker, work, cell, depends[work.name], compiled
                        )
                        running[future] = work, cell
                    if not running:
                        return
                    done = wait(running, return_when=FIRST_COMPLETED).done
                    # what went well is handed over, and kept, before a mistake is raised
                    for future in sorted(done, key=lambda ended: ended.exception() is not None):
                        work, cell = running.pop(future)
                        yield work, cell, future.result()
            except BrokenProcessPool:
                raise RuntimeError(
                    "A process that was computing died, perhaps for lack of memory; what was "
                    "finished is kept, so start again, with fewer jobs if need be."
                ) from None
            finally:
                for future in running:
                    future.cancel()

    def _executor(self) -> Any:
        """What cells are given to, and a function that counts its workers."""
        return _processes(self.jobs) if self.kind == "local" else _cluster(self)


def _shuffled(cells: list[Any]) -> list[Any]:
    """In an order of its own: runs that share a folder so meet what others have done."""
    return secrets.SystemRandom().sample(cells, len(cells))


def _kept(store: Cells, cell: Cell) -> Result:
    found = store.get(cell)
    if found is None:
        raise RuntimeError(f"The result of {cell} was just there and is gone.")
    return Result(**found)


def _computed(work: Work, cell: Cell) -> Result:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # thousands of fits; what matters is in the result
        return Result(work.run(cell), time.perf_counter() - start)


# --------------------------------------------------------------------------- in other processes


def _in_worker(work: Work, cell: Cell, depends: Depends, compiled: str | None) -> Result:
    """Compute in another process: on one thread, with this machine's compiled programs."""
    for name, count in ONE_THREAD.items():
        os.environ.setdefault(name, count)
    if compiled and Path(compiled).is_dir():
        jax.config.update("jax_compilation_cache_dir", compiled)
    here = work.depends()
    other = [name for name in depends if here.get(name) != depends[name]]
    if other:
        raise ValueError(
            f"A worker would compute {work.name} with another {other[0]} than the machine that "
            "asks: install the same versions everywhere, and do not change them on the way."
        )
    return _computed(work, cell)


@contextmanager
def _processes(jobs: int) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """Processes of this machine that end with this one, and at once if the run is stopped."""
    others = set(multiprocessing.active_children())
    fresh = multiprocessing.get_context("spawn")  # JAX does not survive a fork
    with _one_thread(), ProcessPoolExecutor(jobs, fresh, initializer=begin) as pool:
        try:
            yield pool, lambda: jobs
        finally:
            # whatever is still in flight would be stored by nobody
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()


@contextmanager
def _cluster(engine: Engine) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """The workers of the given scheduler, or of a cluster that lives as long as the work does."""
    try:
        import distributed
    except ImportError:
        raise ImportError(
            "The engine dask needs distributed, which is not installed: "
            "pip install 'hedgerow-studies[dask]'."
        ) from None

    @contextmanager
    def address() -> Iterator[str]:
        if engine.scheduler is not None:
            yield engine.scheduler
            return
        settings = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
        cluster: Any = distributed.LocalCluster(engine.jobs, **settings)
        with cluster:
            yield cluster.scheduler_address

    with _one_thread(), address() as scheduler:
        client: Any = distributed.Client(scheduler)
        with client:
            yield client.get_executor(pure=False), lambda: sum(client.nthreads().values()) or 1


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
