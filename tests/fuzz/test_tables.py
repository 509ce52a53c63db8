"""Tables in many spellings: the right answer or one sentence, soon and in little memory."""

import re
import resource
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hedgerow.cli.commands import app
from hedgerow.data.encoder import TableEncoder
from hedgerow.data.table_files import read_table
from tests.fuzz import FACTOR
from tests.fuzz.table_variants import NAMES, ROWS, Variant, damaged, lossless, reference, spoilt

LOSSLESS, SPOILT, DAMAGED, COMMANDS = (FACTOR * count for count in (240, 240, 240, 36))
SECONDS = 10.0
"""Most that one table may take of a processor; usual are milliseconds."""
MEGABYTES = 400
"""That all of them together may add to the memory of the process."""
SENTENCE = (ValueError, TypeError, OSError)
ACTING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def encode(path):
    """A table with its features, or None if one sentence said why there are none."""
    try:
        table = read_table(path)
        encoder = TableEncoder()
        return table, encoder, encoder.fit_transform(table)
    except SENTENCE as error:
        said = str(error)
    assert is_sentence(said), said
    return None


def written(variant, folder):
    path = folder / variant.name
    path.write_bytes(variant.content)
    return path


def is_sentence(text):
    return bool(text) and len(text) < 700 and not ACTING.search(text) and "Traceback" not in text


@pytest.fixture
def bounded():
    """Each step is quick, and memory does not grow."""
    before, slowest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []

    def timed(work, *given):
        started = time.process_time()
        try:
            return work(*given)
        finally:
            slowest.append(time.process_time() - started)

    yield timed
    assert max(slowest) < SECONDS
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < MEGABYTES


@pytest.mark.slow
def test_lossless_spellings_say_the_same(tmp_path, bounded):
    seen = Counter()
    for seed in range(LOSSLESS):
        rng = np.random.default_rng([0, seed])
        table = reference(rng)
        variant = lossless(rng, table)
        encoder = TableEncoder().fit(table)
        found = bounded(read_table, written(variant, tmp_path))
        pd.testing.assert_frame_equal(
            encoder.transform(found).reset_index(drop=True),
            encoder.transform(table),
            rtol=1e-15,
            obj=f"{seed}, {variant.how}",
        )
        known = found[list(table.columns)]
        again = bounded(TableEncoder().fit_transform, known).reset_index(drop=True)
        pd.testing.assert_frame_equal(again, encoder.transform(table), rtol=1e-15)
        seen[variant.how] += 1
    assert len(seen) >= 25


def test_spoilt_tables_get_one_sentence(tmp_path, bounded):
    seen = Counter()
    for seed in range(SPOILT):
        rng = np.random.default_rng([1, seed])
        variant = spoilt(rng, reference(rng))
        assert bounded(encode, written(variant, tmp_path)) is None, (seed, variant.how)
        seen[variant.how] += 1
    assert len(seen) >= 40


def test_damaged_files_give_numbers_or_one_sentence(tmp_path, bounded):
    seen = Counter()
    for seed in range(DAMAGED):
        rng = np.random.default_rng([2, seed])
        variant = damaged(rng, reference(rng))
        found = bounded(encode, written(variant, tmp_path))
        seen["refused" if found is None else "read"] += 1
        if found is None:
            continue
        table, encoder, features = found
        assert features.shape == (len(table), len(encoder.get_feature_names_out()))
        assert np.isfinite(features.to_numpy()).all()
        assert TableEncoder.from_json(encoder.to_json()).transform(table).equals(features)
    assert min(seen["read"], seen["refused"]) > DAMAGED // 20


LONG = (
    "a\n" + "x" * 3_000_000 + "\n1\n",
    ",".join(f"c{i}" for i in range(2_000)) + "\n" + ",".join("1" * 2_000) + "\n",
    "a\n" + "\n" * 3_000_000 + "1\n",
    "a" + "," * 500_000 + "\n",
    '"' * 999_999 + "\n1\n",
    "a,b\n" + "1,2\n" * 300_000 + "1,x\n",
)


@pytest.mark.parametrize("content", LONG, ids=range(len(LONG)))
def test_wide_and_long_texts_stay_small(tmp_path, bounded, content):
    variant = Variant("long", "a.csv", content.encode())
    bounded(encode, written(variant, tmp_path))


@pytest.mark.slow
def test_commands_decide_or_say_one_sentence(tmp_path, bounded):
    """All of it through the command: a tiny policy is learned, and asked about the table."""
    runner = CliRunner(env={"COLUMNS": "100", "TERM": "dumb"})
    quick = ["--rule", "constant", "--model", "erm", "--steps", "2"]
    costs = ["--outcome", "demand", "--holding", "1", "--stockout", "2"]
    seen = Counter()
    for seed in range(COMMANDS):
        rng = np.random.default_rng([4, seed])
        table = reference(rng)
        make = (lossless, spoilt, damaged)[seed % 3]
        variant = make(rng, table)
        policy, clean = tmp_path / f"{seed}.hedgerow", tmp_path / "clean.csv"
        table.assign(demand=np.arange(ROWS) % 7 + 1.0).to_csv(clean, index=False)
        strange = written(variant, tmp_path)
        for arguments, fine in (
            (["fit", clean, *costs, *quick, "-o", policy], True),
            (["fit", strange, *costs, *quick, "-o", tmp_path / "q.hedgerow"], False),
            (["decide", policy, strange], make is lossless),
        ):
            result = bounded(runner.invoke, app, [str(argument) for argument in arguments])
            where = (seed, variant, arguments, result.output)
            assert result.exit_code in ((0,) if fine else (0, 1)), where
            assert "unexpectedly" not in result.output, where
            if result.exit_code:
                said = result.stderr.splitlines()  # how the table was read, and what is wrong
                assert 1 <= len(said) <= 2, where
                assert all(map(is_sentence, said)), where
                assert result.stdout == "", where
            elif arguments[0] == "fit":
                assert not ACTING.search(result.output.replace("\n", "")), where
            seen[arguments[0], result.exit_code] += 1
    assert seen["decide", 0] >= COMMANDS // 3
    assert seen["fit", 1] >= COMMANDS // 3


def test_every_name_is_among_the_variants():
    seen = {
        name for seed in range(LOSSLESS) for name in reference(np.random.default_rng([0, seed]))
    }
    assert seen == set(NAMES)
