"""What all figures share: colours, type, names of things, and how a figure becomes a file.

Colours are Okabe & Ito's, which stay apart for colour-blind readers and in grey.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._files import whole_file
from hedgerow.estimator import RobustPolicy

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


def feature_names(policy: RobustPolicy, X: Any) -> list[str]:
    """What features are called by X or, failing that, by the policy."""
    names = getattr(X, "columns", None)
    if names is None:
        names = getattr(policy, "feature_names_in_", None)
    if names is None:
        names = [f"feature {i}" for i in range(np.shape(X)[1])]
    return [str(name) for name in names]


def outcome_name(policy: RobustPolicy, Y: Any, decision: int) -> str:
    """What the outcome is called by Y or, failing that, by the policy's own table."""
    names = getattr(Y, "columns", None)
    if names is None:
        names = [Y.name] if getattr(Y, "name", None) is not None else None
    if names is None:
        names = (getattr(policy, "columns_", None) or {}).get("outcomes")
    return str(names[decision]) if names is not None and decision < len(names) else "outcome"


def decisions_of(policy: RobustPolicy, contexts: np.ndarray) -> np.ndarray:
    """Decisions (rows, decisions) for an array of contexts, whether or not features have names."""
    names = getattr(policy, "feature_names_in_", None)
    if names is not None:  # the policy compares names, so it is handed a table with the same ones
        import pandas

        contexts = pandas.DataFrame(contexts, columns=list(names))  # pyright: ignore[reportAssignmentType]
    return policy.predict(contexts).reshape(len(contexts), -1)


def shortened(text: str, most: int) -> str:
    """Cut a text to at most so many characters, with an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
