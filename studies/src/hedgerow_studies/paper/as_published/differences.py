"""What each documented difference is worth: one thing changed at a time, on a few sizes.

Text and released code differ in several places, and either may differ from what the published
tables were made by. Each variant changes one of them and leaves everything else as released.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hedgerow_studies.paper.as_published import studies
from hedgerow_studies.paper.as_published.studies import ADMISSIBLE, RELEASED, recipe
from hedgerow_studies.paper.as_published.training import Trainer
from hedgerow_studies.paper.study import Cell, Row, Study

SIZES = {"newsvendor": [(400, 10), (1000, 5), (200, 20)], "inventory": [(400, 10)]}
DRAWS = {"tiny": 1, "quick": 2, "full": 5}
RISK, TWO = "ERM", "2-Causal-SDRO"


def trainers(problem: str) -> dict[str, Trainer]:
    """Variants of the released code by what is changed, the baseline's first."""
    risk, hedged = Trainer("rows"), recipe(problem, RELEASED[2])
    found = {
        f"{RISK}: as meant": risk,
        f"{RISK}: 30 passes": replace(risk, passes=30),
        f"{RISK}: 100 passes": replace(risk, passes=100),
        f"{RISK}: 1000 passes": replace(risk, passes=1000),
        f"{RISK}: rate 0.01 for 0.05": replace(risk, rate=0.2),
        f"{TWO}: as released": hedged,
        f"{TWO}: rows tilted within a batch": replace(hedged, tilted=True),
        f"{TWO}: gradients set to zero": replace(hedged, fresh=True),
        f"{TWO}: both, which is nested sampling": replace(hedged, tilted=True, fresh=True),
        f"{TWO}: pairs not moved": studies.unmoved(problem),
        f"{TWO}: half the step size": replace(hedged, rate=0.5),
        f"{TWO}: twice the step size": replace(hedged, rate=2.0),
        f"{TWO}: 1000 passes": replace(hedged, passes=1000),
    }
    if problem == "newsvendor":
        found |= {
            f"{RISK}: every demand from every decision": replace(risk, kind="pairs"),
            f"{RISK}: the printed loss": replace(risk, smooth=False),
            f"{TWO}: the printed loss": replace(hedged, smooth=False),
        }
    return found


PRINTED: dict[str, dict[str, Any]] = {
    f"{TWO}: Algorithm 1, Adam": {},
    f"{TWO}: Algorithm 1, the theorem's steps": {"plain": True},
    f"{TWO}: Algorithm 1, linear leaves": {"leaves": "linear"},
    f"{TWO}: Algorithm 1, softer gates (τ = 4)": {"temperature": 4.0},
    f"{TWO}: the objective F minimised": {"trackers": "per-context"},
}
"""What the library trains, as ``studies.as_printed`` takes it."""
ORDER_ONE = f"1-Causal-SDRO: admissible penalty {ADMISSIBLE:g}"


@dataclass(frozen=True)
class Differences(Study):
    """One thing at a time."""

    what: ClassVar[str] = "What each difference is worth"
    family: ClassVar[str | None] = "as_published"

    def cells(self, scale: str) -> list[Cell]:
        """One per draw, problem, size and variant."""
        return [
            {"problem": problem, "rows": n, "features": d, "seed": seed, "scale": scale,
             "variant": variant}
            for seed in range(DRAWS[scale])
            for problem, sizes in SIZES.items()
            for n, d in (sizes if scale == "full" else sizes[:1])
            for variant in self._variants(problem)[: 1 if scale == "tiny" else None]
        ]  # fmt: skip

    def _variants(self, problem: str) -> list[str]:
        variants = [*trainers(problem), *PRINTED]
        if problem == "newsvendor":
            variants += [ORDER_ONE, "1-Causal-SDRO: as released"]
        return variants

    def run(self, cell: Cell) -> list[Row]:
        """Train one variant on one draw and score it."""
        problem, variant, seed = cell["problem"], cell["variant"], cell["seed"]
        history = studies.drawn(problem, cell)
        if variant in PRINTED:
            decide = studies.as_printed(problem, history, seed, **PRINTED[variant])
        else:
            trainer = _trainer(problem, variant)
            if cell["scale"] == "tiny":
                trainer = replace(trainer, passes=5)
            decide = studies.trained(problem, trainer, "forest", history, seed)
        return [studies.scores(problem, history, decide)]

    def label(self, cell: Cell) -> str:
        """Variant and size."""
        return f"{cell['variant']}, {cell['rows']} × {cell['features']}"


def _trainer(problem: str, variant: str) -> Trainer:
    if variant.startswith("1-"):
        released = recipe(problem, RELEASED[1])
        return replace(released, penalty=ADMISSIBLE) if variant == ORDER_ONE else released
    return trainers(problem)[variant]
