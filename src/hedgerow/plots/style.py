"""What all figures share: colours, type, and how a figure becomes a file.

Colours are Okabe & Ito's, which stay apart for colour-blind readers and in grey.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from hedgerow._files import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
SIZE = (6.4, 4.0)
DPI = 200


def save_figure(fig: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG (200 dpi) or PDF, by its suffix, whole or not at all."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix not in (".png", ".pdf"):
        raise ValueError(f"{path} must end in .png or .pdf, so that its format is known.")
    with style(), whole_file(path) as temporary:
        fig.savefig(temporary, format=suffix[1:], dpi=DPI)


def axes_for(ax: Axes | None) -> tuple[Any, Any]:
    """The given axes and their figure, or new ones that belong to no window."""
    if ax is not None:
        return ax.figure, ax
    from matplotlib.figure import Figure

    fig = Figure(figsize=SIZE, layout="constrained")
    return fig, fig.add_subplot()


def style() -> AbstractContextManager[None]:
    """Draw in the house style for as long as the context lasts."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError(
            "Figures need matplotlib, which is not installed: pip install 'hedgerow[plots]'."
        ) from None
    return matplotlib.rc_context(STYLE)
