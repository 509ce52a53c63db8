"""One rule for each series, many at a time."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.panels.many import learn_many, packed
from hedgerow.panels.separate import TOGETHER, OneSeries, batches_of, size_of

LOSS = hr.Newsvendor(1.0, 3.0)
QUICK = {"rule": hr.SoftForest(trees=4), "solver": hr.NestedSGD(steps=100)}


def _several(lengths, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for length in lengths:
        x = rng.normal(size=(length, 3))
        y = np.maximum(0, 50 + 10 * x[:, 0] + 5 * rng.normal(size=length)) * rng.uniform(0.1, 10)
        made.append(OneSeries(x, y[:, None], np.ones(length)))
    return made


def _policy(**parts):
    return hr.RobustPolicy(LOSS, hr.ERM(), random_state=0, **(QUICK | parts))


def test_batches_hold_every_series_once_and_one_size_each():
    lengths = np.random.default_rng(0).integers(1, 3000, 333)
    batches = batches_of(lengths)
    assert sorted(np.concatenate(batches)) == list(range(333))
    for batch in batches:
        assert len(batch) <= TOGETHER
        assert len({size_of(lengths[place]) for place in batch}) == 1


def test_each_rule_is_what_a_policy_learns_from_its_series_alone():
    several = _several([120, 250, 200])
    learned = learn_many(_policy(), several)
    for place, one in enumerate(several):
        alone = _policy(nominal=hr.EmpiricalNominal()).fit(one.contexts, one.outcomes[:, 0])
        expected = alone.predict(one.contexts)
        found = learned.decide(one.contexts, np.full(len(one.contexts), place))[:, 0]
        # batches are drawn from another padding; the forests learn the same to a few per cent
        assert np.mean(np.abs(found - expected)) < 0.03 * expected.mean()


def test_a_rule_does_not_depend_on_its_neighbours():
    several = _several([120, 250, 200, 90])
    all_of_them = learn_many(_policy(), several)
    some = learn_many(_policy(), several[1:3])
    x = several[1].contexts
    one = all_of_them.decide(x, np.full(len(x), 1))
    other = some.decide(x, np.full(len(x), 0))
    assert np.array_equal(one, other)


def test_rows_of_many_series_are_decided_in_any_order():
    several = _several([60, 90, 40])
    learned = learn_many(_policy(), several)
    rng = np.random.default_rng(0)
    places = rng.integers(0, 3, 1500)
    x = rng.normal(size=(1500, 3))
    together = learned.decide(x, places)
    for place in range(3):
        rows = places == place
        assert np.allclose(together[rows], learned.decide(x[rows], places[rows]), rtol=1e-6)


def test_what_was_learned_before_a_kill_is_read_again_and_equal(tmp_path):
    several = _several([60, 300, 90])
    whole = learn_many(_policy(), several)
    learn_many(_policy(), several[:1], store=tmp_path)
    learn_many(_policy(), several, store=tmp_path)
    files = sorted(tmp_path.glob("*.series"))
    before = {file: file.stat().st_mtime_ns for file in files}
    files[0].write_bytes(b"damaged")
    again = learn_many(_policy(), several, store=tmp_path)
    for name, values in packed(again).items():
        assert np.array_equal(values, packed(whole)[name]), name
    assert all(file.stat().st_mtime_ns == before[file] for file in files[1:])


def test_a_rule_that_loses_to_the_constant_is_replaced():
    rng = np.random.default_rng(0)
    noise = OneSeries(rng.normal(size=(60, 3)), rng.uniform(50, 51, (60, 1)), np.ones(60))
    learned = learn_many(_policy(solver=hr.NestedSGD(steps=3, learning_rate=9.0)), [noise])
    assert learned.constant[0]
    decided = learned.decide(noise.contexts, np.zeros(60, int))
    assert np.ptp(decided) == 0
    assert 50 <= decided[0, 0] <= 51


def test_an_unfit_solver_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="stochastic solver such as"):
        learn_many(_policy(solver=hr.SAA()), _several([60]))
