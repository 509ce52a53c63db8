"""The table on the device: batches have the masses of the nominal, and padding has none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import Ridge

import hedgerow as hr
from hedgerow.data import TrainingTable, Units

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(50, 2)), RNG.normal(size=(50, 1))
WEIGHTS = RNG.uniform(0.1, 5, 50)
LOSS = hr.Newsvendor(1, 1, decision_set=hr.Free(1))


def built(X=X, Y=Y, weights=WEIGHTS, most=8, dtype=np.float32):
    nominal = hr.EmpiricalNominal().build(X, Y, weights)
    units = Units.measure(nominal, LOSS)
    return nominal, units, TrainingTable.build(nominal, units, most, dtype)


def drawn(table, size, times, seed=0):
    """Many batches in one program."""
    keys = jax.random.split(jax.random.key(seed), times)
    draw = jax.jit(lambda keys: jax.lax.map(lambda key: table.draw(key, size), keys))
    return jax.tree.map(np.asarray, draw(keys))


class TestGather:
    def test_contexts_bring_all_their_outcomes_and_masses(self):
        tied = np.repeat([[0.0], [1.0], [2.0]], [3, 1, 2], axis=0)
        outcomes, weights = np.arange(6.0)[:, None], np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        nominal, units, table = built(tied, outcomes, weights)
        batch = table.gather(jnp.array([2, 0, 1]), jnp.array([0.5, 0.3, 0.2]))
        assert table.most_outcomes == 3
        np.testing.assert_array_equal(batch.mass, np.float32([0.5, 0.3, 0.2]))
        np.testing.assert_array_equal(batch.contexts, units.contexts(nominal.contexts)[[2, 0, 1]])
        shares = np.array([[5, 6, 0], [1, 2, 3], [4, 0, 0]])
        shares = shares / shares.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(batch.outcome_mass, shares, rtol=1e-6)
        values = np.asarray(batch.outcomes)[..., 0] * units.y_unit
        np.testing.assert_allclose(values[shares > 0], [4, 5, 0, 1, 2, 3], rtol=1e-6)
        np.testing.assert_array_equal(batch.context_slot, [2, 0, 1])
        np.testing.assert_array_equal(np.asarray(batch.entry_slot)[shares > 0], [4, 5, 0, 1, 2, 3])

    def test_a_large_context_brings_a_systematic_sample(self):
        """Every fourth of twelve outcomes in their order, from where the phase says."""
        _, units, table = built(np.zeros((12, 1)), np.arange(12.0)[:, None], np.ones(12), most=3)
        for phase, places in ((0.0, [0, 4, 8]), (0.5, [2, 6, 10]), (0.99, [3, 7, 11])):
            batch = table.gather(jnp.zeros(1, jnp.int32), jnp.ones(1), phase)
            found = np.asarray(batch.outcomes)[0, :, 0] * units.y_unit
            np.testing.assert_allclose(found, places, atol=1e-5)
            np.testing.assert_allclose(batch.outcome_mass, np.full((1, 3), 1 / 3), rtol=1e-6)


class TestDraw:
    def test_contexts_come_as_often_as_their_masses_say(self):
        nominal, _, table = built()
        batches = drawn(table, 10, 4000)
        frequency = np.bincount(batches.context_slot.ravel(), minlength=50) / 40_000
        # 40,000 stratified draws: standard error below 0.001
        np.testing.assert_allclose(frequency, nominal.context_mass, atol=4e-3)
        np.testing.assert_allclose(batches.mass, 0.1, rtol=1e-6)

    def test_each_place_draws_from_its_own_stratum(self):
        """Equal masses: ten places in a hundred contexts never meet."""
        _, _, table = built(np.arange(100.0)[:, None], np.arange(100.0)[:, None], np.ones(100))
        places = drawn(table, 10, 500).context_slot
        np.testing.assert_array_equal(places // 10, np.tile(np.arange(10), (500, 1)))
        assert len(np.unique(places)) == 100

    @pytest.mark.parametrize("weights", [np.ones(50), WEIGHTS])
    def test_a_batch_as_large_as_the_table_is_the_table(self, weights):
        """Every context once, with its mass; what fills the batch up has none."""
        nominal, _, table = built(weights=weights)
        batch = table.draw(jax.random.key(0), 64)
        np.testing.assert_array_equal(batch.context_slot, np.arange(64))
        np.testing.assert_allclose(batch.mass[:50], nominal.context_mass, rtol=1e-6)
        np.testing.assert_array_equal(batch.mass[50:], 0)

    def test_a_batch_has_no_more_places_than_the_table(self):
        _, _, table = built()
        assert len(table.contexts) == 64
        assert len(table.draw(jax.random.key(0), 1000).mass) == 64

    def test_large_contexts_are_sampled_without_bias(self):
        tied, outcomes = np.zeros((300, 1)), np.random.default_rng(0).normal(size=(300, 1))
        tied[:10] = 1.0
        nominal, units, table = built(tied, outcomes, np.ones(300), most=16)
        batches = drawn(table, 2, 2000)
        means = np.sum(batches.outcomes[..., 0] * batches.outcome_mass, axis=-1)
        np.testing.assert_allclose(batches.outcome_mass.sum(axis=-1), 1, rtol=1e-5)
        for label in (0, 1):
            first, many = nominal.start[label], nominal.count[label]
            rows = nominal.entry_outcome[first : first + many]
            chosen = batches.context_slot == label
            exact = nominal.outcomes[rows, 0].mean() / units.y_unit[0]
            # 16 systematic draws in order of y, 2000 times: standard error about 1e-3
            assert means[chosen].mean() == pytest.approx(exact, abs=5e-3)


def test_masses_are_kept_to_32_bits():
    """A million contexts, one of them a millionth of the rest: float32 sums would lose it."""
    weights = np.ones(10**6)
    weights[::2] = 3.0
    weights[12345] = 1e-3
    nominal, _, table = built(np.arange(1e6)[:, None], np.arange(1e6)[:, None], weights)
    np.testing.assert_allclose(table.masses(), nominal.context_mass, atol=2.0**-31)
    assert table.masses().sum() == pytest.approx(1, abs=1e-12)
    equal = built(weights=np.ones(50))[2]
    np.testing.assert_allclose(equal.masses(), np.full(50, 1 / 50), atol=2.0**-31)


class TestPadding:
    def test_lengths_are_on_the_ladder_and_change_together(self):
        """Contexts of any number up to the next size, each with some outcomes: one shape."""
        shapes = set()
        for n in (65, 100, 256):
            nominal = hr.ResidualNominal(regressor=Ridge(), outcomes=5).build(
                RNG.normal(size=(n, 2)), RNG.normal(size=(n, 1)), np.ones(n)
            )
            table = TrainingTable.build(nominal, Units.measure(nominal, LOSS), 8)
            shapes.add(str(jax.tree.map(np.shape, table)))
            assert int(table.total) == n
            assert len(table.contexts) == 256
            assert table.most_outcomes == 6
        assert len(shapes) == 1

    @pytest.mark.parametrize("size", [16, 64, 200])
    @pytest.mark.parametrize("weights", [np.ones(50), WEIGHTS])
    def test_draws_do_not_depend_on_it(self, size, weights):
        """Where there is more room than needed, a batch has more places, without mass."""
        table = built(weights=weights)[2]
        large = TrainingTable.alike(
            [table, built(RNG.normal(size=(300, 2)), np.ones((300, 1)), np.ones(300))[2]]
        )[0]
        assert len(large.contexts) == 4096
        few, many = drawn(table, size, 20), drawn(large, size, 20)
        places = few.mass.shape[1]
        for name in ("contexts", "outcomes", "outcome_mass", "mass", "context_slot"):
            found = getattr(many, name)
            np.testing.assert_array_equal(found[:, :places], getattr(few, name))
        np.testing.assert_array_equal(many.mass[:, places:], 0)

    def test_padding_is_finite_and_brings_outcomes(self):
        table = built()[2]
        batch = table.gather(jnp.arange(64), jnp.ones(64))
        np.testing.assert_allclose(batch.outcome_mass.sum(axis=1), 1, rtol=1e-6)
        assert np.all(np.isfinite(batch.outcomes))
        assert np.all(np.isfinite(batch.contexts))

    def test_there_is_room_for_a_tracker_of_every_context_and_entry(self):
        tied = np.repeat(X[:30], 3, axis=0)
        nominal, _, table = built(tied, np.arange(90.0)[:, None], np.ones(90))
        assert len(nominal.entry_outcome) == 90
        assert table.slots(30) == len(table.contexts) == 64
        assert table.slots(90) == len(table.entry_outcome) == 256
        assert table.slots(1) == 64


class TestAlike:
    def test_equal_shapes_stay_as_they_are(self):
        table = built()[2]
        for found in TrainingTable.alike([table, table]):
            np.testing.assert_array_equal(found.contexts, table.contexts)
            assert found.most_outcomes == table.most_outcomes

    def test_smaller_tables_are_padded_with_contexts_that_are_never_drawn(self):
        """Shapes become equal, draws stay those of the table's own masses."""
        tied = np.repeat(X[:7], 15, axis=0)
        few = built(X[:20], Y[:20], WEIGHTS[:20])
        many = built(tied, RNG.normal(size=(105, 1)), np.ones(105))
        more = built(RNG.normal(size=(70, 2)), RNG.normal(size=(70, 1)), np.ones(70))
        padded = TrainingTable.alike([table for *_, table in (few, many, more)])
        shapes = [[leaf.shape for leaf in jax.tree.leaves(table)] for table in padded]
        assert shapes[0] == shapes[1] == shapes[2]
        assert {table.most_outcomes for table in padded} == {8}
        for (nominal, *_), table in zip((few, many, more), padded, strict=True):
            mass, n = nominal.context_mass, len(nominal.contexts)
            np.testing.assert_allclose(table.masses(), mass, atol=2.0**-30)
            batches = drawn(table, 6, 2000)
            assert batches.context_slot.max() < n
            frequency = np.bincount(batches.context_slot.ravel(), minlength=n) / 12_000
            # 12,000 stratified draws: standard error below 0.002
            np.testing.assert_allclose(frequency, mass, atol=8e-3)
            np.testing.assert_allclose(batches.outcome_mass.sum(axis=-1), 1, rtol=1e-5)
