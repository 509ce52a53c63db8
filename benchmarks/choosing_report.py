"""Tables of ``benchmarks.choosing``: losses per cell, paired differences, worlds that differ."""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t

from hedgerow_studies.trials import contenders
from hedgerow_studies.trials.newsvendor_trial import AS_TRAINED, CORRUPTED_HISTORY

PUBLISHED = Path(__file__).parents[2] / "shared" / "data" / "published"
OURS = (
    contenders.CHOSEN,
    contenders.CAUTIOUS,
    contenders.DEFAULT,
    contenders.EARLIER,
    contenders.DIVERGENCE,
)
PEERS = (
    contenders.TRUSTING,
    contenders.BOOSTING,
    contenders.FOREST,
    contenders.NEIGHBOURS,
    contenders.LINEAR,
    contenders.NETWORK,
)


def report(problem: str, found: list) -> None:
    """Print everything that the finished cells say."""
    table = pd.DataFrame(_rows(found))
    if not len(table):
        print("nothing is finished yet")
        return
    means = table[table["world"] == AS_TRAINED]
    draws = means.groupby(["rows", "features", "method"])["seed"].nunique()
    print(f"{problem}: {draws.min()} to {draws.max()} draws a cell\n")
    _losses(means, _published(problem))
    _differences(means)
    _draw_by_draw(means)
    if table["world"].nunique() > 1:
        _shifts(table)
    _corrupted(table)


def _rows(found):
    for key, result in found:
        for method, worlds in (result or {}).items():
            if method == "oracle":
                continue
            for world, value in worlds.items():
                if isinstance(value, dict) and "mean" in value:
                    oracle = worlds.get("oracle") or result["oracle"][AS_TRAINED]["mean"]
                    yield {
                        **{name: key[name] for name in ("rows", "features", "seed")},
                        "method": method,
                        "world": world,
                        "mean": value["mean"],
                        "cvar": value.get("cvar"),
                        "oracle": oracle,
                    }


def _published(problem):
    """The better of the two published orders, per cell; None if the file is not there."""
    path = PUBLISHED / f"{problem}_rules.csv"
    if not path.exists():
        return None
    table = pd.read_csv(path)
    forest = table[table["rule"] == "SRF"].groupby(["N", "d_x"])
    return forest["csdro_loss"].min() - forest["oracle_loss"].first()


def _losses(means, published):
    """Mean excess over the oracle per cell and method, the published one beside it."""
    excess = means.assign(excess=means["mean"] - means["oracle"])
    table = excess.pivot_table(
        index=["rows", "features"], columns="method", values="excess", aggfunc="mean"
    )
    names = [name for name in (*OURS, *PEERS) if name in table]
    oracle = means.groupby(["rows", "features"])["oracle"].mean()
    print("Mean excess over the oracle\n")
    print("| N × d_x | oracle | published | " + " | ".join(names) + " |")
    print("|---|" + "---:|" * (len(names) + 2))
    for cell, row in table.iterrows():
        known = "" if published is None else f"{published[cell]:.3f}"
        best = row[names].min()
        cells = [f"**{row[n]:.3f}**" if row[n] == best else f"{row[n]:.3f}" for n in names]
        print(f"| {cell[0]} × {cell[1]} | {oracle[cell]:.3f} | {known} | {' | '.join(cells)} |")
    total = [f"{table[name].mean():.4f}" for name in names]
    average = "" if published is None else f"{published[table.index].mean():.4f}"
    print(f"| mean | {oracle.mean():.3f} | {average} | {' | '.join(total)} |\n")
    for name in OURS:
        if name not in table:
            continue
        said = [f"{peer} {(table[name] < table[peer]).sum()}" for peer in PEERS if peer in table]
        if published is not None:
            below = (table[name] < published[table.index]).sum()
            share = table[name].mean() / published[table.index].mean()
            said.insert(0, f"published {below} (excess {100 * share:.0f} %)")
        print(f"{name}: below in cells of {len(table)}: " + ", ".join(said))


def _differences(means):
    """Paired differences to the empirical risk, with 95 % intervals over draws."""
    wide = means.pivot_table(index=["rows", "features", "seed"], columns="method", values="mean")
    if contenders.TRUSTING not in wide:
        return
    print(f"\nDifference to {contenders.TRUSTING!r}, paired, 95 % interval over draws\n")
    names = [name for name in OURS if name in wide]
    print("| N × d_x | its standard error | " + " | ".join(names) + " |")
    print("|---|---:|" + "---:|" * len(names))
    for cell, rows in wide.groupby(level=[0, 1]):
        error = rows[contenders.TRUSTING].std(ddof=1) / np.sqrt(len(rows))
        cells = []
        for name in names:
            gap = (rows[name] - rows[contenders.TRUSTING]).dropna()
            half = t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap))
            cells.append(f"{gap.mean():+.4f} ± {half:.4f}")
        print(f"| {cell[0]} × {cell[1]} | {error:.4f} | {' | '.join(cells)} |")


def _draw_by_draw(means):
    """In how many draws of all sizes the searched rule is below each of the others."""
    wide = means.pivot_table(index=["rows", "features", "seed"], columns="method", values="mean")
    if contenders.CHOSEN not in wide:
        return
    said = []
    for name in (*OURS[1:], *PEERS):
        if name in wide:
            gap = (wide[name] - wide[contenders.CHOSEN]).dropna()
            said.append(f"{name} {(gap > 0).sum()} of {len(gap)}")
    print(f"\n{contenders.CHOSEN}, draw by draw, below {', '.join(said)}")


def _corrupted(table):
    """Differences to the empirical risk where both learned from a corrupted history."""
    part = table[table["world"] == CORRUPTED_HISTORY]
    wide = part.pivot_table(index=["rows", "features", "seed"], columns="method", values="mean")
    if contenders.TRUSTING not in wide:
        return
    print(
        f"\nDifference to {contenders.TRUSTING!r} after a {CORRUPTED_HISTORY}, {len(wide)} draws\n"
    )
    for name in OURS:
        gap = (wide[name] - wide[contenders.TRUSTING]).dropna()
        print(f"{name}: {gap.mean():+.4f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.4f} (s.e.)")


def _shifts(table):
    """Every world's mean and tail over all cells, and the worst world per cell."""
    for column, title in (("mean", "Mean loss"), ("cvar", "95 % CVaR")):
        worlds = table.pivot_table(index="world", columns="method", values=column, sort=False)
        names = [name for name in (*OURS, *PEERS) if name in worlds]
        print(f"\n{title} by world, all cells\n")
        print("| world | " + " | ".join(names) + " |\n|---|" + "---:|" * len(names))
        for world, row in worlds.iterrows():
            cells = ("–" if pd.isna(row[n]) else f"{row[n]:.3f}" for n in names)
            print(f"| {world} | {' | '.join(cells)} |")
    hedged = table[table["method"].isin((*OURS, contenders.TRUSTING))]
    means = hedged.pivot_table(
        index=["rows", "features", "method"], columns="world", values="mean", aggfunc="mean"
    )
    worst = means.max(axis=1).unstack("method")
    names = [name for name in (*OURS, contenders.TRUSTING) if name in worst]
    print("\nLoss in the worst world\n")
    print(
        "| N × d_x | "
        + " | ".join(names)
        + " | worst world |\n|---|"
        + "---:|" * len(names)
        + "---|"
    )
    for cell, row in worst.iterrows():
        which = means.loc[(*cell, names[-1])].idxmax()
        print(
            f"| {cell[0]} × {cell[1]} | "
            + " | ".join(f"{row[n]:.3f}" for n in names)
            + f" | {which} |"
        )
    for name in OURS:
        if name in worst and contenders.TRUSTING in worst:
            lower = (worst[name] < worst[contenders.TRUSTING]).sum()
            print(f"{name}: lower than {contenders.TRUSTING!r} in {lower} of {len(worst)} cells")
