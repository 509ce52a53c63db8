"""A study that costs nothing, for tests of the runner; importable by other processes."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from hedgerow_studies.paper.study import Study


@dataclass(frozen=True)
class Toy(Study):
    """Rows of random numbers; every computation is noted in a file."""

    what = "Toy"
    family = "trials"
    log: str = ""
    seconds: float = 0.0
    count: int = 12
    colour: str = "green"
    shared: str = ""

    def cells(self, scale):
        return [{"seed": seed, "scale": scale} for seed in range(self.count)]

    def run(self, cell):
        time.sleep(self.seconds)
        if self.log:
            with Path(self.log).open("a") as file:
                openmp = os.environ.get("OMP_NUM_THREADS", "?")
                file.write(f"{cell['seed']} {os.getpid()} {threads()} {openmp}\n")
        draw = np.random.default_rng(cell["seed"]).normal(size=3)
        return [{"place": i, "value": float(value)} for i, value in enumerate(draw)]

    @property
    def source(self):
        return self.shared or self.name

    def data(self):
        return {"colour": self.colour}


@dataclass(frozen=True)
class Broken(Toy):
    """Fails at seed 5; the one before may take its time."""

    slow: float = 0.0

    def run(self, cell):
        if cell["seed"] == 4:
            time.sleep(self.slow)
        if cell["seed"] == 5:
            raise ValueError("seed 5 is unlucky")
        return super().run(cell)


class Deadly(Toy):
    """Ends its process at seed 5, as the system does when memory is short."""

    def run(self, cell):
        if cell["seed"] == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(cell)


def threads():
    """How many threads JAX computes with here, counted where that can be seen."""
    jax.jit(lambda x: x @ x)(np.ones((4, 4))).block_until_ready()
    tasks = Path("/proc/self/task")
    if not tasks.exists():
        return "?"
    names = [(task / "comm").read_text().strip() for task in tasks.iterdir()]
    return names.count("tf_XLAEigen")


def computed(log):
    """Seeds that were computed, in the order in which they ended."""
    path = Path(log)
    return [int(line.split()[0]) for line in path.read_text().splitlines()] if path.exists() else []
