"""The page that a tree is drawn on: boxes for gates and leaves, branches between them, shares.

What is said was worked out in ``tree.py``; here it becomes ink. All lengths are points.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path

from hedgerow.describe.numbers import percent
from hedgerow.plots.labels import PLAIN, fitted, width_of
from hedgerow.plots.style import COLOURS, GREY, PALE

SHOWN = 0.001
"""Probability from which a route is drawn and written."""
WIDEST, THINNEST = 6.0, 0.6
"""The line of a route that is certain, and of one that hardly is taken."""
SIZE, SMALL = 8.0, 7.0
LINE = 11.5
"""From one line of text to the next."""
MOST_TEXT = 150.0
"""That a name may take."""
SHARE = 34.0
"""That a gate's shares take, before the names."""
GAP, COLUMN, PAD, MARGIN = 60.0, 42.0, 5.0, 12.0
"""Between columns, for a column of probabilities, inside and around boxes, at the edge."""


class Line(NamedTuple):
    """A line in a box: a number, a name, and how long a bar lies behind it (0 to 1)."""

    value: str
    name: str
    bar: float = 0.0


class Place(NamedTuple):
    """Where a gate or a leaf begins and ends, and its height, in points from the bottom left."""

    left: float
    right: float
    y: float


class Sheet:
    """A page measured in points, with a place for every gate and every leaf.

    Nodes are numbered as gates are, level by level; leaf l is node gates + l. Boxes stand as close
    together as their words allow.
    """

    def __init__(
        self, gates: list[list[Line]], leaves: list[list[Line]], columns: int, titled: bool
    ) -> None:
        self.gates, self.boxes = len(gates), [*gates, *leaves]
        self.value_width, name_width = _widest(leaves, "value"), _widest(leaves, "name")
        gate_width = SHARE + _widest(gates, "name") + 3 * PAD
        leaf_width = self.value_width + 2 * PAD + (name_width + PAD if name_width else 0)
        gate_height, self.leaf_height = (
            max(map(len, boxes)) * LINE + 2 * PAD for boxes in (gates, leaves)
        )
        pitch = max(self.leaf_height + PAD, (gate_height + 2 * PAD) / 2, LINE + 2 * PAD)
        head, foot = MARGIN + (2 * LINE + PAD if titled else LINE), 2 * LINE + MARGIN
        top = foot + pitch * len(leaves)
        depth, leaf, step = _level(self.gates), np.arange(len(leaves)), gate_width + GAP
        ranks = sum((leaf >> level & 1) << (depth - 1 - level) for level in range(depth))
        heights = np.append(np.zeros(self.gates), top - (ranks + 0.5) * pitch)
        for node in reversed(range(1, len(heights))):
            heights[_parent(node)] += heights[node] / 2
        start = MARGIN + depth * step + columns * COLUMN
        self.places = [
            Place(MARGIN + _level(node) * step, MARGIN + _level(node) * step + gate_width, y)
            if node < self.gates
            else Place(start, start + leaf_width, y)
            for node, y in enumerate(heights)
        ]
        self.ends = self.places[self.gates :]
        width, height = start + leaf_width + MARGIN, top + head
        self.figure = Figure(figsize=(width / 72, height / 72))
        self.ax: Any = self.figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height))
        self.ax.set_axis_off()

    def draw_branches(self, flow: np.ndarray | None) -> None:
        """Every branch in grey, as wide as the share of all rows that takes it."""
        for node in range(1, len(self.places)):
            width = 1.0 if flow is None else max(THINNEST, WIDEST * flow[node])
            self._branch(node, 0.0, color=PALE, linewidth=width, gid=f"branch {node}")

    def draw_route(self, flow: np.ndarray, rank: int, count: int) -> None:
        """The branches that one row takes, beside those of the others."""
        shift = ((count - 1) / 2 - rank) * WIDEST
        for node in range(1, len(self.places)):
            if flow[node] >= SHOWN:
                self._branch(
                    node, shift, color=COLOURS[rank], linewidth=max(THINNEST, WIDEST * flow[node]),
                    gid=f"route {rank} {node}", zorder=3,
                )  # fmt: skip

    def _branch(self, node: int, shift: float, **ink: Any) -> None:
        begin, end = self.places[_parent(node)], self.places[node]
        # all branches of a level end at one edge; columns of probabilities follow it
        stop = end.left if node < self.gates else begin.right + GAP
        middle = (begin.right + stop) / 2
        points = [
            (begin.right, begin.y + shift), (middle, begin.y + shift),
            (middle, end.y + shift), (stop, end.y + shift),
        ]  # fmt: skip
        curve = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        self.ax.add_patch(PathPatch(curve, fill=False, capstyle="butt", **ink))

    def draw_boxes(self) -> None:
        """Words of gates and leaves, with bars behind the shares."""
        for node, (place, lines) in enumerate(zip(self.places, self.boxes, strict=True)):
            leaf = node >= self.gates
            height = len(lines) * LINE + 2 * PAD
            bottom, width = place.y - height / 2, place.right - place.left
            self.ax.add_patch(
                FancyBboxPatch(
                    (place.left, bottom), width, height, boxstyle="round,pad=0,rounding_size=3",
                    facecolor="#F4F4F4" if leaf else "white", edgecolor="none" if leaf else PALE,
                    linewidth=0.8, zorder=4,
                )
            )  # fmt: skip
            edge = place.left + PAD + (self.value_width if leaf else SHARE)
            for i, line in enumerate(lines):
                y = bottom + height - PAD - (i + 0.5) * LINE
                if line.bar:
                    bar = (place.left + 1.5, y - LINE / 2 + 0.75)
                    length = line.bar * (width - 3)
                    shade = "#F1F1F1" if line.value.startswith("±") else "#DEDEDE"
                    self.ax.add_patch(
                        Rectangle(bar, length, LINE - 1.5, color=shade, linewidth=0, zorder=5)
                    )
                quiet = not line.bar and not leaf
                where = place.left + PAD if quiet else edge + PAD
                size, ink = (SMALL, GREY) if quiet else (SIZE, None)
                self._write(edge, y, line.value, size, ink, ha="right")
                self._write(where, y, fitted(line.name, MOST_TEXT, size), size, ink)

    def write_shares(self, flow: np.ndarray, column: int, colour: str, bold: bool) -> None:
        """The probability of every leaf, in a column before it."""
        first = self.places[self.gates - 1].right + GAP
        for leaf, place in enumerate(self.ends):
            share = float(flow[self.gates + leaf])
            if share >= SHOWN or not bold:
                self._write(
                    first + (column + 1) * COLUMN - PAD, place.y, percent(share), SIZE, colour,
                    ha="right", weight="bold" if bold else "normal", gid=f"share {column} {leaf}",
                )  # fmt: skip

    def write_around(
        self, title: str | None, called: list[str], decision: str, shares: bool, trees: int
    ) -> None:
        """Title, legend, heads of columns, and how to read it all."""
        width, height = self.ax.get_xlim()[1], self.ax.get_ylim()[1]
        y = height - MARGIN - LINE / 2
        if title:
            self._write(MARGIN, y, fitted(title, width - 2 * MARGIN, 11), 11, None)
        if called:
            self._legend(called, y if not title else y - LINE - PAD)
        heads = self.ends[0].y + self.leaf_height / 2 + LINE * 0.9
        if decision:
            room = self.ends[0].right - self.ends[0].left
            text = fitted(decision, room, SMALL)
            self._write(self.ends[0].left, heads, text, SMALL, GREY)
        if shares:
            edge = self.places[self.gates - 1].right + GAP + COLUMN - PAD
            self._write(edge, heads, "all rows", SMALL, GREY, ha="right")
        notes = ["Up the more, the larger features with + and the smaller those with − are."]
        if trees > 1:
            notes.append(f"One of {trees} trees, whose decisions are averaged.")
        fits = width_of(" ".join(notes), SMALL) <= width - 2 * MARGIN
        for i, note in enumerate([" ".join(notes)] if fits else notes):
            self._write(MARGIN, MARGIN + (1.2 - i) * LINE - LINE / 2, note, SMALL, GREY)

    def _legend(self, called: list[str], y: float) -> None:
        x = MARGIN
        room = (self.ax.get_xlim()[1] - 2 * MARGIN) / len(called) - 34
        for rank, label in enumerate(called):
            self.ax.plot([x, x + 16], [y, y], color=COLOURS[rank], linewidth=WIDEST / 2)
            text = fitted(label, room, SIZE)
            self._write(x + 21, y, text, SIZE, COLOURS[rank], weight="bold")
            x += 42 + 1.1 * width_of(text, SIZE)

    def _write(
        self, x: float, y: float, text: str, size: float, colour: str | None, **more: Any
    ) -> None:
        ink = {} if colour is None else {"color": colour}
        self.ax.text(
            x, y, text, fontsize=size, va="center_baseline", zorder=6, **ink, **PLAIN, **more
        )


def _widest(boxes: list[list[Line]], part: str) -> float:
    words = [getattr(line, part) for box in boxes for line in box]
    return max(width_of(fitted(word, MOST_TEXT, SIZE), SIZE) for word in words)


def _level(node: int) -> int:
    return (node + 1).bit_length() - 1


def _parent(node: int) -> int:
    """The gate before a node, in the order that ``rules.soft_forest`` stores them."""
    level = 2 ** (_level(node) - 1)
    return level - 1 + (node - (2 * level - 1)) % level
