"""Programs kept on disk: found again, bounded, and never in anybody's way."""

import os
import subprocess
import sys
import threading
import warnings

import pytest

from hedgerow import program_cache
from hedgerow.program_cache import DIGEST, SUFFIX, UNFINISHED, ProgramCache, compilation_cache


@pytest.fixture(name="kept")
def _kept(tmp_path):
    return ProgramCache(tmp_path, 10_000)


def _entries(kept):
    return sorted(kept.path.glob(f"*{SUFFIX}"))


def test_what_is_put_is_got(kept):
    assert kept.get("name") is None
    kept.put("name", b"program")
    assert kept.get("name") == b"program"
    assert ProgramCache(kept.path, 10_000).get("name") == b"program"


@pytest.mark.parametrize("spoil", ["cut", "flipped", "empty"])
def test_a_spoilt_entry_is_removed(kept, spoil):
    kept.put("name", bytes(range(200)))
    (entry,) = _entries(kept)
    whole = entry.read_bytes()
    flipped = bytearray(whole)
    flipped[DIGEST + 7] ^= 1
    entry.write_bytes({"cut": whole[:-1], "flipped": bytes(flipped), "empty": b""}[spoil])
    assert kept.get("name") is None
    assert not _entries(kept)
    kept.put("name", b"again")
    assert kept.get("name") == b"again"


def test_the_longest_unused_go_first(kept):
    for i in range(6):
        kept.put(f"name {i}", bytes(1000))
        os.utime(_entries(kept)[0].parent / kept._place(f"name {i}").name, (i, i))
    kept.get("name 0")  # used just now
    ProgramCache(kept.path, 3 * (1000 + DIGEST))
    assert [i for i in range(6) if kept.get(f"name {i}") is not None] == [0, 4, 5]


def test_what_was_written_in_this_process_is_bounded_too(kept):
    for i in range(100):
        kept.put(f"name {i}", bytes(1000))
    total = sum(entry.stat().st_size for entry in _entries(kept))
    assert total <= 10_000 + 10_000 // 8 + 2000


def test_writers_and_readers_at_once_see_whole_entries(kept):
    wrong = []

    def work(seed):
        for i in range(60):
            name = f"name {(seed + i) % 7}"
            kept.put(name, name.encode() * 50)
            found = kept.get(name)
            if found is not None and found != name.encode() * 50:
                wrong.append(name)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert not list(kept.path.glob(f"*{UNFINISHED}"))


def test_a_folder_that_went_away_costs_nothing_but_the_cache(kept):
    kept.put("name", b"program")
    _entries(kept)[0].unlink()
    kept.path.rmdir()
    kept.put("other", b"program")
    assert kept.get("name") is None
    kept.sweep()


def test_where_nothing_can_be_written_one_sentence_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="not kept between runs: Not a directory"):
        assert compilation_cache(tmp_path / "file") is None


@pytest.mark.parametrize("word", ["off", "0", "", "None"])
def test_the_variable_switches_it_off(monkeypatch, word):
    monkeypatch.setenv(program_cache.VARIABLE, word)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compilation_cache() is None


def test_a_limit_is_positive(tmp_path):
    with pytest.raises(ValueError, match="megabytes must be positive, got 0"):
        compilation_cache(tmp_path, megabytes=0)


@pytest.mark.slow
def test_another_process_finds_what_one_has_compiled_and_computes_the_same(tmp_path):
    script = (
        "import jax, sys\n"
        "seen = []\n"
        "jax.monitoring.register_event_listener(lambda e, **_: seen.append(e))\n"
        "import numpy as np, hedgerow as hr\n"
        "print(hr.compilation_cache(sys.argv[1]))\n"
        "rng = np.random.default_rng(0); X = rng.normal(size=(40, 2))\n"
        "policy = hr.RobustPolicy(hr.Newsvendor(1, 2), hr.ERM(), hr.SoftForest(2, 1),\n"
        "    solver=hr.NestedSGD(steps=5), random_state=0).fit(X, 5 + X[:, 0])\n"
        "print(policy.predict(X)[:3].tolist())\n"
        "print(sum('cache_hits' in e for e in seen) > 3)\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-W", "error::UserWarning:hedgerow", "-c", script, str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for _ in range(2)
    ]
    assert said[0][:2] == said[1][:2]
    assert [lines[2] for lines in said] == ["False", "True"]
    for entry in tmp_path.rglob(f"*{SUFFIX}"):  # spoilt: compiled again, without a word
        entry.write_bytes(entry.read_bytes()[:-100])
    again = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert again.stdout.splitlines()[1] == said[0][1]
