"""Panels in partitions: a folder of Parquet files, each series whole within one of them.

    describe   every file: its series and kinds of columns, put together to one ``Panel``
    map        every file: its rows as the rule sees them, float32, in a file beside others
    learn      from all of them, on disk (``memory_map``)
    judge      every file: what decisions would have cost, how outcomes scatter

No step holds more than one file's rows for each worker, and all but learning go through an
``Engine``: processes, or a cluster whose workers see the same folders. Decisions are written file
by file, each whole or not at all. What a file was made of stands beside it as a digest, in a name
that readers of datasets pass over, so a run that was killed goes on where it was and changed input
is never taken for old.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow import _checks
from hedgerow._files import whole_file
from hedgerow._frames import require_pandas
from hedgerow._version import NUMERICS
from hedgerow.data.columns import CATEGORY, Column
from hedgerow.data.encoder import TableEncoder
from hedgerow.data.table_files import read_table
from hedgerow.data.table_writing import write_table
from hedgerow.describe.text import shown
from hedgerow.lots import error_quantiles
from hedgerow.panels.deciding import POOLED
from hedgerow.panels.described import SCENARIOS
from hedgerow.panels.engine import Engine
from hedgerow.panels.memory_map import MappedRows, learn_mapped, write_rows
from hedgerow.panels.order_errors import ENOUGH, scatter_of
from hedgerow.panels.packing import packed_panel
from hedgerow.panels.panel_policy import PanelPolicy
from hedgerow.panels.reading import Reader
from hedgerow.panels.scaled_rows import Layout, Panel
from hedgerow.panels.series import SeriesFacts, SeriesKeys, facts_of_each

Folder = str | os.PathLike[str]
DECISION = "decision"


def fit_partitions(
    panel: PanelPolicy,
    folder: Folder,
    work: Folder,
    y: str | None = None,
    engine: Engine | None = None,
) -> PanelPolicy:
    """Learn a pooled policy from a folder of Parquet files, and return it.

    Parameters
    ----------
    panel : PanelPolicy
        What to learn; its strategy is "pooled".
    folder : path
        Files that end in .parquet, each series whole within one of them.
    work : path
        Folder for the mapped rows, four bytes a number; it may be removed afterwards.
    y : str or None
        Name of the outcomes' column; with ``features``, which know it, None.
    engine : Engine or None
        Who describes, maps and judges files; None: this process.
    """
    if panel.strategy != POOLED:
        raise ValueError(
            f"Partitions are learned from by strategy='pooled'; got {panel.strategy!r}: fit a "
            "panel of each file, or of a table in memory."
        )
    engine, files = engine or Engine(), files_of(folder)
    reader = Reader.of(
        panel.policy.loss, panel.by, panel.features, panel.scaled, panel.levels, panel.costs
    )
    seen = _in_order(engine, _describe, [(reader, file, y) for file in files])
    whole = _together(reader, files, seen)
    Path(work).mkdir(parents=True, exist_ok=True)
    told = json.dumps(whole.to_json(), sort_keys=True).encode()
    known = _digest(told, *whole.facts.arrays().values(), NUMERICS)
    tasks = [(reader, whole, file, y, Path(work) / f"{file.stem}.rows", known) for file in files]
    names = _in_order(engine, _map, tasks)[0]
    rows = MappedRows.of(names, [task[4] for task in tasks])
    made = (*whole.codes, *whole.layout.levels, *panel._cost_columns())
    panel.policy_ = learn_mapped(panel.policy, rows, _checks.count("seeds", panel.seeds), made)
    panel.rules_, panel.factors_, panel.left_out_ = None, None, {}
    panel.panel_ = whole
    panel.outcome_name_ = y if y is not None else getattr(panel.features, "outcome", None)
    judged = _in_order(engine, _judge, [(panel, reader, file, y) for file in files])
    contexts, outcomes = rows.gather(np.random.default_rng(0))
    decisions = panel.policy_.predict(require_pandas().DataFrame(contexts, columns=list(names)))
    panel.scatter_ = np.tile(
        error_quantiles(decisions, outcomes, SCENARIOS), (len(whole.keys) + 1, 1)
    )
    panel.series_loss_ = np.zeros(len(whole.keys))
    for places, loss, errors in judged:
        panel.series_loss_[places] = loss
        enough = whole.facts.rows[places] >= ENOUGH
        panel.scatter_[places[enough]] = errors[enough]
    return panel


def decide_partitions(
    panel: PanelPolicy,
    folder: Folder,
    out: Folder,
    history: Folder | None = None,
    engine: Engine | None = None,
    column: str = DECISION,
) -> list[Path]:
    """Decide for every row of a folder of Parquet files, and write the same files to another.

    Parameters
    ----------
    panel : PanelPolicy
        A fitted one, of any strategy.
    folder, out : path
        Rows to decide for; the same rows with their decisions. Files that are finished are kept.
    history : path or None
        Recent outcomes, in files of the same names: the history of a series stands in the file
        that is called like the one with its rows to decide for.
    engine : Engine or None
        Who decides; None: this process.
    column : str
        What decisions are called.
    """
    files, target = files_of(folder), Path(out)
    if target.resolve() == Path(folder).resolve():
        raise ValueError(f"Decisions cannot be written to the folder they are for, {shown(out)}.")
    pasts = [None] * len(files) if history is None else _pasts(panel, files, history)
    target.mkdir(parents=True, exist_ok=True)
    arrays, about = packed_panel(panel)
    known = _digest(json.dumps(about, sort_keys=True).encode(), *arrays.values(), NUMERICS, column)
    tasks = [
        (panel, file, past, target / file.name, known, column)
        for file, past in zip(files, pasts, strict=True)
    ]
    return _in_order(engine or Engine(), _decide, tasks)


def files_of(folder: Folder) -> list[Path]:
    """Parquet files of a folder, by name."""
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"There is no folder {shown(folder)}.")
    found = sorted(each for each in Path(folder).glob("*.parquet") if each.name[0] not in "._")
    if not found:
        raise FileNotFoundError(f"The folder {shown(folder)} holds no files that end in .parquet.")
    return found


# --------------------------------------------------------------------------- one file


@dataclass(frozen=True)
class Described:
    """What is known of one file: its layout, kinds of columns, series and facts of them."""

    layout: Layout
    columns: tuple[Column, ...]
    keys: SeriesKeys
    facts: tuple[np.ndarray, ...]


def _describe(reader: Reader, file: Path, y: str | None) -> Described:
    table, outcomes, layout = reader.read(read_table(file), y)
    keys, names = SeriesKeys.of(table, layout.by), layout.features(table)
    if not names:
        raise ValueError("The panel has no columns besides groups and outcome to decide by.")
    facts = facts_of_each(outcomes, keys.places(table), len(keys))
    return Described(layout, tuple(TableEncoder().fit(table[names]).columns_), keys, facts)


def _map(
    reader: Reader, panel: Panel, file: Path, y: str | None, target: Path, known: str
) -> tuple[str, ...]:
    """Write a file's rows as the rule sees them; return the features' names."""
    with _unless_finished(target, _digest(known, file)) as wanted:
        if wanted:
            table, outcomes, _ = reader.read(read_table(file), y)
            rows = panel.rows(table)
            used = rows.scale > 0
            scaled = outcomes[used] / rows.scale[used]
            write_rows(target, rows.contexts.to_numpy(np.float64)[used], scaled)
    return (*panel.plain_names, *panel.codes)


def _judge(
    panel: PanelPolicy, reader: Reader, file: Path, y: str | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places of a file's series, their mean losses, and how outcomes scatter."""
    table, outcomes, _ = reader.read(read_table(file), y)
    rows = panel.panel_.rows(table)
    decisions = panel._pooled_decisions(rows.contexts, rows.scale)
    paid = panel.loss_on(table)(decisions[:, None], outcomes[:, None])
    places, own = np.unique(rows.places, return_inverse=True)
    loss = np.bincount(own, np.asarray(paid, np.float64)) / np.bincount(own)
    return places, loss, scatter_of(decisions, outcomes, rows.scale, own, len(places))[:-1]


def _decide(
    panel: PanelPolicy, file: Path, past: Path | None, target: Path, known: str, column: str
) -> Path:
    inputs = (file,) if past is None else (file, past)
    with _unless_finished(target, _digest(known, *inputs)) as wanted:
        if wanted:
            table = read_table(file)
            history = None if past is None else read_table(past)
            write_table(table.assign(**{column: panel.predict(table, history)}), target)
    return target


# --------------------------------------------------------------------------- all files


def _together(reader: Reader, files: Sequence[Path], seen: Sequence[Described]) -> Panel:
    """What all files have in common, or a sentence why they are not one panel."""
    _whole_series(files, [each.keys for each in seen])
    for file, each in zip(files, seen, strict=True):
        names = [column.name for column in each.columns]
        expected = [column.name for column in seen[0].columns]
        if names != expected:
            raise ValueError(
                f"{shown(file)} has columns {', '.join(names)}, but {shown(files[0])} has "
                f"{', '.join(expected)}: files of one panel have the same columns in one order."
            )
    values = [key for each in seen for key in each.keys.values]
    order = sorted(range(len(values)), key=values.__getitem__)
    keys = SeriesKeys(seen[0].keys.by, tuple(values[place] for place in order))
    facts = (np.concatenate(each)[order] for each in zip(*(e.facts for e in seen), strict=True))
    columns = [_column(each, files) for each in zip(*(e.columns for e in seen), strict=True)]
    encoder = {
        "most_categories": TableEncoder().most_categories,
        "columns": [asdict(column) | {"values": [*column.values]} for column in columns],
    }
    return Panel(
        seen[0].layout,
        encoder,
        keys,
        SeriesFacts.of(keys, *facts),
        reader.costs,
    )


def _column(several: Sequence[Column], files: Sequence[Path]) -> Column:
    """One column as all files have it: the categories of all."""
    first = several[0]
    for file, each in zip(files, several, strict=True):
        if each.kind != first.kind:
            raise ValueError(
                f"Column {first.name!r} holds {each.treatment} in {shown(file)}, but "
                f"{first.treatment} in {shown(files[0])}; give it one type in all files."
            )
    if first.kind != CATEGORY:
        return first
    values, most = (
        sorted({v for each in several for v in each.values}),
        TableEncoder().most_categories,
    )
    if len(values) > most:
        raise ValueError(
            f"Column {first.name!r} holds text with {len(values)} different values in all files "
            f"(at most {most} can be one-hot encoded); leave it out or group its values."
        )
    return Column(first.name, CATEGORY, tuple(values))


def _whole_series(files: Sequence[Path], keys: Sequence[SeriesKeys]) -> dict[tuple[str, ...], Path]:
    """In which file each series stands, or a sentence about one that stands in two."""
    home: dict[tuple[str, ...], Path] = {}
    for file, own in zip(files, keys, strict=True):
        for key in own.values:
            if key in home:
                raise ValueError(
                    f"The series {own.words(key)} stands in two files, {shown(home[key])} and "
                    f"{shown(file)}: each series must be whole within one."
                )
            home[key] = file
    return home


def _pasts(panel: PanelPolicy, files: Sequence[Path], history: Folder) -> list[Path]:
    """The file with the history of each, or a sentence about one whose history is elsewhere."""
    by, pasts = tuple(panel.by), files_of(history)
    home = _whole_series(pasts, [_series(past, by) for past in pasts])
    there = {past.name: past for past in pasts}
    for file in files:
        if file.name not in there:
            raise FileNotFoundError(
                f"{shown(history)} holds no {shown(file.name)}: the history of a series stands in "
                "a file that is called like the one with its rows to decide for."
            )
        for key in (own := _series(file, by)).values:
            if home.get(key, there[file.name]) != there[file.name]:
                raise ValueError(
                    f"Rows of the series {own.words(key)} are in {shown(file)}, but its history is "
                    f"in {shown(home[key])}: it must be in {shown(there[file.name])}."
                )
    return [there[file.name] for file in files]


def _series(file: Path, by: Sequence[str]) -> SeriesKeys:
    """Series of a file, of which only the group columns are read."""
    try:
        table = require_pandas().read_parquet(file, columns=list(by))
    except Exception:  # whatever is wrong with it is said where whole files are read
        table = read_table(file)
    return SeriesKeys.of(table, by)


def _in_order(engine: Engine, function: Any, tasks: Sequence[tuple]) -> list[Any]:
    found = dict(engine.each(function, tasks))
    return [found[place] for place in range(len(tasks))]


# --------------------------------------------------------------------------- what is finished


class _unless_finished:
    """Say whether a file is yet to be made, and note what it was made of once it is."""

    def __init__(self, target: Path, made_of: str) -> None:
        self.target, self.made_of = target, made_of
        self.note = target.with_name(f".{target.name}.digest")

    def __enter__(self) -> bool:
        noted = self.note.read_text() if self.note.exists() else None
        self.wanted = not self.target.exists() or noted != self.made_of
        return self.wanted

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None and self.wanted:
            with whole_file(self.note) as temporary:
                temporary.write_text(self.made_of)


def _digest(*parts: Any) -> str:
    """A name for arrays, texts, numbers and the contents of files."""
    made = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            with part.open("rb") as file:
                made.update(hashlib.file_digest(file, "sha256").digest())
        elif isinstance(part, np.ndarray):
            made.update(np.ascontiguousarray(part).tobytes())
        else:
            made.update(part if isinstance(part, bytes) else str(part).encode())
    return made.hexdigest()
