"""What all figures share: colours, type, and how a figure becomes a file.

Colours are Okabe & Ito's, which stay apart for colour-blind readers and in grey.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hedgerow._files import whole_file

INK, GREY, PALE = "#222222", "#6B6B6B", "#B5B5B5"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.labelsize": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "pdf.fonttype": 42,
}
DIAMOND: dict[str, Any] = {"marker": "D", "markeredgecolor": "white", "linestyle": "none"}
"""The sign of where something ends up."""
SIZE = (6.4, 4.0)
DPI = 200


def save_figure(fig: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG (200 dpi) or PDF, by its suffix, whole or not at all.

    Parameters
    ----------
    fig : Figure
        A Matplotlib figure, such as every function of ``hedgerow.plots`` returns.
    path : str or path
        Where to write it; ends in .png or .pdf.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> hr.plots.save_figure(hr.plots.training_curve(policy), "training.png")
    """
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix not in (".png", ".pdf"):
        raise ValueError(f"{path} must end in .png or .pdf, so that its format is known.")
    with style(), whole_file(path) as temporary:
        fig.savefig(temporary, format=suffix[1:], dpi=DPI)


def style() -> AbstractContextManager[None]:
    """Draw in the house style for as long as the context lasts."""
    return matplotlib.rc_context(STYLE)


@contextmanager
def drawing(
    ax: Axes | None, title: str | None, size: tuple[float, float] = SIZE
) -> Iterator[tuple[Any, Any]]:
    """Draw in the house style, on the axes given or on new ones that belong to no window.

    Yields their figure and the axes; ``size`` is that of a new figure, in inches.
    """
    with style():
        ax = ax or Figure(figsize=size, layout="constrained").add_subplot()
        if title:
            ax.set_title(title)
        yield ax.figure, ax
