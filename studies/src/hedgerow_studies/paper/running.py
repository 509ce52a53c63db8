"""Running studies: cells one by one, in processes of this machine, or on a Dask cluster.

Each finished cell is written at once, under a key of its parameters and of the code's version
(``hedgerow_studies.cells``). A run that is killed loses what was in flight; started again it goes on, and
two runs on one folder help each other. Workers use one thread each, so they do not fight over
cores. Tables are sorted by what their cells are, not by when they came, so they are the same
however the work was done.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
from joblib import Parallel, delayed, parallel_config

from hedgerow import _checks
from hedgerow_studies.cells import Cells, uninterrupted
from hedgerow_studies.paper.code_version import code_version, library_versions
from hedgerow_studies.paper.study import SCALES, Cell, Row, Study

ENGINES = ("local", "dask")
Context = dict[str, Any]
GROWTH = int(3e9)
"""Bytes of compiled programs that a worker may gather. At a tenth of that loky takes them for a
leak and has a fresh worker compile them again."""
Progress = Callable[[int, int, str], Any]
"""Called with (cells done, cells in all, study of the last one)."""


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
        self, work: Iterator[tuple[Study, Cell]], depends: dict[str, Context]
    ) -> Generator[Any, None, None]:
        """Yield (study, cell, result) as they come; work is asked for a little ahead of time.

        ``depends`` says by name what a study's results depend on: workers have to have the same.
        """
        if self.kind == "local" and self.jobs == 1:
            for study, cell in work:
                yield study, cell, _computed(study, cell)
            return
        compiled = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
        with self._backend():
            settings: dict[str, Any] = {"batch_size": 1, "pre_dispatch": "n_jobs"}
            parallel: Any = Parallel(
                n_jobs=-1 if self.scheduler else self.jobs,
                return_as="generator_unordered",
                **settings,
            )
            yield from parallel(
                delayed(_in_worker)(study, cell, compiled, depends[study.name])
                for study, cell in work
            )

    @contextmanager
    def _backend(self) -> Iterator[None]:
        if self.kind == "local":
            with parallel_config(backend="loky", inner_max_num_threads=1):
                yield
            return
        distributed = _distributed()
        with (
            _cluster(self) as address,
            distributed.Client(address),
            parallel_config(backend="dask"),
        ):
            yield


def run(
    studies: Sequence[Study],
    scale: str,
    folder: str | os.PathLike[str],
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> dict[str, list[Row]]:
    """Compute what is missing of some studies, and return the rows of each, by its name."""
    _checks.one_of("scale", scale, SCALES)
    for study in studies:
        study.check(scale)
    depends = {study.name: _depends_on(study) for study in studies}
    stores = {name: _store(known, folder) for name, known in depends.items()}
    work = tasks(studies, scale)
    missing = [(study, cell) for study, cell in work if stores[study.name].get(cell) is None]
    done, elsewhere = len(work) - len(missing), []
    # runs that share a folder begin in different places, so that they meet what others have done
    first = secrets.randbelow(len(missing)) if missing else 0
    missing = missing[first:] + missing[:first]
    if progress is not None:
        progress(done, len(work), "")

    def still_missing() -> Iterator[tuple[Study, Cell]]:
        """Asked at the last moment: another run may have been here meanwhile."""
        for study, cell in missing:
            if stores[study.name].get(cell) is None:
                yield study, cell
            else:
                elsewhere.append(cell)

    results = (engine or Engine()).results(still_missing(), depends)
    with warnings.catch_warnings(), closing(results):
        # compiled programs fill a worker's memory, and a fresh one takes its place
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        for study, cell, result in results:
            stores[study.name].put(cell, result)
            done += 1
            if progress is not None:
                progress(done + len(elsewhere), len(work), study.name)
    return {
        study.name: [
            cell | row for cell in study.cells(scale) for row in _kept(stores[study.name], cell)
        ]
        for study in studies
    }


def seconds(
    studies: Sequence[Study], scale: str, folder: str | os.PathLike[str]
) -> dict[str, float]:
    """Return the seconds of computing that each study's finished cells took, by its name.

    Cells that studies share count for the first of them.
    """
    stores = {study.name: _store(_depends_on(study), folder) for study in studies}
    found = dict.fromkeys(stores, 0.0)
    for study, cell in tasks(studies, scale):
        result = stores[study.name].get(cell)
        found[study.name] += 0.0 if result is None else result["seconds"]
    return found


def tasks(studies: Sequence[Study], scale: str) -> list[tuple[Study, Cell]]:
    """Everything to be computed; a cell that studies share is listed once."""
    listed = {
        (study.source, json.dumps(cell, sort_keys=True)): (study, cell)
        for study in reversed(studies)
        for cell in reversed(study.cells(scale))
    }
    return list(reversed(listed.values()))


def _depends_on(study: Study) -> Context:
    """Everything that a study's results depend on besides their cells; plain JSON values."""
    return {
        "study": study.source,
        "code": code_version(),
        "libraries": library_versions(),
        **study.context(),
    }


def _store(depends: Context, folder: str | os.PathLike[str]) -> Cells:
    return Cells(Path(folder) / "cells", depends)


def _kept(store: Cells, cell: Cell) -> list[Row]:
    result = store.get(cell)
    if result is None:
        raise RuntimeError(f"The result of {cell} was just there and is gone.")
    return result["rows"]


def _computed(study: Study, cell: Cell) -> dict[str, Any]:
    start = time.perf_counter()
    with warnings.catch_warnings(), uninterrupted():
        warnings.simplefilter("ignore")  # thousands of fits; what matters is in the rows
        rows = study.run(cell)
    return {"rows": rows, "seconds": time.perf_counter() - start}


def _in_worker(study: Study, cell: Cell, compiled: str | None, depends: Context) -> Any:
    """Compute in another process: on one thread, with this machine's compiled programs."""
    # JAX asks these two when it first computes, which in a fresh process is below
    os.environ.setdefault("NPROC", "1")
    os.environ.setdefault("PJRT_NPROC", "1")
    loky: Any = sys.modules.get("joblib.externals.loky.process_executor")
    if loky is not None:
        loky._MAX_MEMORY_LEAK_SIZE = GROWTH
    if compiled and Path(compiled).is_dir():
        jax.config.update("jax_compilation_cache_dir", compiled)
    here = _depends_on(study)
    other = [name for name in depends if here.get(name) != depends[name]]
    if other:
        raise ValueError(
            f"A worker would compute {study.name} with another {other[0]} than the machine that "
            "asks: install the same hedgerow everywhere, and do not change it on the way."
        )
    return study, cell, _computed(study, cell)


@contextmanager
def _cluster(engine: Engine) -> Iterator[str]:
    """The address of the given scheduler, or of one that lives as long as the work does."""
    if engine.scheduler is not None:
        yield engine.scheduler
        return
    distributed = _distributed()
    with distributed.LocalCluster(
        n_workers=engine.jobs, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ImportError(
            "The engine dask needs distributed, which is not installed: "
            "pip install 'hedgerow[dask]'."
        ) from None
    return distributed
