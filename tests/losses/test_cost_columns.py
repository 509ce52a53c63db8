"""Losses with parameters of each row's own: the same as asking row by row with numbers."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone

import hedgerow as hr
from hedgerow.kernels import Kernel
from hedgerow.losses import Loss, along, bound, by_row, located, parameters
from hedgerow.losses.by_row import RowLoss
from hedgerow.policy_file.parts import Known, describe
from tests.extending.parts import Quantile

RNG = np.random.default_rng(0)
ROWS, PRODUCTS = 6, 2
X = np.column_stack([RNG.normal(size=ROWS), RNG.uniform(0.5, 2, (ROWS, 3))])
LOSS = hr.Newsvendor(hr.Column(1), hr.Column(2, 3))
UNITS = np.array([2.0, 5.0]), np.array([2.0, 5.0]), 3.0


def each_row(loss=LOSS):
    """Newsvendors with the numbers of each row."""
    return [hr.Newsvendor(row[1], row[2:4]) for row in X]


def rows_of(loss=LOSS, contexts=X):
    return along(located(loss, None, contexts.shape[1]), contexts)


def working():
    """The loss in working units with the rows' parameters, and the same row by row."""
    loss = located(LOSS, None, 4)
    with jax.enable_x64(True):
        template = loss.in_units(*UNITS)
        return by_row(template, jnp.asarray(parameters(template, X))), [
            one.in_units(*UNITS) for one in each_row()
        ]


class TestARowLossIsEachRowsLoss:
    Z = RNG.uniform(0, 4, (ROWS, 5, 1, PRODUCTS))
    Y = RNG.uniform(0, 4, (ROWS, 1, 3, PRODUCTS))

    def compared(self, ask):
        """What is asked of all rows at once, against one at a time; arrays begin with rows."""
        rows, single = working()
        with jax.enable_x64(True):
            z, y = jnp.asarray(self.Z), jnp.asarray(self.Y)
            together = np.asarray(ask(rows)(z, y))
            apart = np.stack([np.asarray(ask(one)(z[k], y[k])) for k, one in enumerate(single)])
        np.testing.assert_allclose(together, apart, rtol=1e-12)

    @pytest.mark.parametrize("order", [1, 2])
    def test_values_moments_and_responses(self, order):
        with jax.enable_x64(True):
            kernel = Kernel(order, jnp.asarray(0.3), jnp.asarray([0.4, 0.2]))
        self.compared(lambda loss: loss)
        self.compared(
            lambda loss: lambda z, y: loss.closed_moments(kernel).log_moment(z, y, 1.7 + order)
        )
        self.compared(
            lambda loss: (
                lambda z, y: loss.best_response(kernel)(*jnp.broadcast_arrays(z, y), 1.3 + order)
            )
        )

    def test_tilted_outcomes(self):
        with jax.enable_x64(True):
            kernel = Kernel(2, jnp.asarray(0.3), jnp.asarray([0.4, 0.2]))
        u = RNG.uniform(size=(ROWS, PRODUCTS))
        rows, single = working()
        with jax.enable_x64(True):
            z, y = jnp.asarray(self.Z[:, 0, 0]), jnp.asarray(self.Y[:, 0, 0])
            together = rows.closed_moments(kernel).tilted_outcome(jnp.asarray(u), z, y, 0.7)
            apart = [
                one.closed_moments(kernel).tilted_outcome(jnp.asarray(u[k]), z[k], y[k], 0.7)
                for k, one in enumerate(single)
            ]
        np.testing.assert_allclose(together, np.stack(apart), rtol=1e-12)

    def test_tables_of_numpy(self):
        z, y = self.Z[:, 0, 0], self.Y[:, 0, 0]
        expected = [one(z[k], y[k]) for k, one in enumerate(each_row())]
        np.testing.assert_allclose(rows_of()(z, y), expected, rtol=1e-14)
        np.testing.assert_allclose(rows_of().by_outcome(z, y).sum(axis=1), expected, rtol=1e-14)
        loss = located(LOSS, None, 4)
        plain = RowLoss(loss, parameters(loss, X))  # in the general way
        np.testing.assert_allclose(plain(z, y), expected, rtol=1e-14)
        np.testing.assert_allclose(plain(z[0], y), rows_of()(z[0], y), rtol=1e-14)

    def test_other_rows_are_refused(self):
        with pytest.raises(ValueError, match="parameters of 6 rows, but is asked about 4"):
            rows_of(hr.Newsvendor(hr.Column(1), 2.0))(np.ones((4, 3, 1)), np.ones((4, 3, 1)))


class TestTheBestConstant:
    def costs(self, rows=50):
        return RNG.uniform(0.1, 3, rows), RNG.uniform(0.1, 3, rows), RNG.uniform(0, 2, rows)

    def test_is_exact(self):
        for _ in range(20):
            h, b, w = self.costs()
            y = RNG.gamma(2, 3, (50, 1))
            loss = rows_of(hr.Newsvendor(hr.Column(0), hr.Column(1)), np.column_stack([h, b]))
            found = loss.best_constant(y, w)

            def cost(z, h=h, b=b, w=w, y=y):
                return w @ (h * np.maximum(z - y[:, 0], 0) + b * np.maximum(y[:, 0] - z, 0))

            least = min(cost(z) for z in y[:, 0])  # piecewise linear: least at a kink
            np.testing.assert_allclose(cost(found[0]), least, rtol=1e-12)

    def test_in_a_box(self):
        h, b, w = self.costs()
        y = RNG.gamma(2, 3, (50, 1))
        loss = hr.Newsvendor(hr.Column(0), hr.Column(1), decision_set=hr.Box([0.0], [1.0]))
        assert rows_of(loss, np.column_stack([h, b])).best_constant(y, w) == [1.0]

    def test_of_any_loss(self):
        levels, y = RNG.uniform(0.2, 0.9, 300), RNG.normal(size=(300, 1))
        found = rows_of(Quantile(hr.Column(0)), levels[:, None]).best_constant(y, np.ones(300))
        gap = y[:, 0] - np.sort(y[:, 0])[:, None]
        means = np.where(gap > 0, levels * gap, (levels - 1) * gap).mean(axis=1)
        reached = y[:, 0] - found
        reached = np.where(reached > 0, levels * reached, (levels - 1) * reached).mean()
        assert reached <= means.min() * (1 + 1e-4)  # found by descent


def test_the_smallest_penalty_is_that_of_the_row_that_needs_most():
    cost = hr.Newsvendor(1, 1).outcome_cost(1, np.array([2.0]))
    contexts = np.array([[1.0, 2.0], [4.0, 3.0]])
    loss = rows_of(hr.Newsvendor(hr.Column(0), hr.Column(1)), contexts)
    constant, outcomes = np.ones(1), np.ones((2, 1))
    assert loss.smallest_penalty(cost, constant, outcomes) == 8.0
    probed = rows_of(Quantile(hr.Column(0)), np.array([[0.3], [0.9], [0.5]]))
    found = probed.smallest_penalty(cost, constant, outcomes)
    assert found == pytest.approx(1.8, rel=1e-3)  # a slope of 0.9 on a scale of 2


class TestTheDoor:
    @pytest.mark.parametrize(
        ("column", "names", "words"),
        [
            ("cost", None, r"holding is read from column 'cost', but the columns of X have no"),
            (
                "cost",
                ["a", "b"],
                r"holding is read from column 'cost', which X does not have; .* a, b",
            ),
            (7, ["a", "b"], r"holding is read from column 7, but X has 2 column"),
        ],
    )
    def test_columns_that_are_not_there(self, column, names, words):
        with pytest.raises(ValueError, match=words):
            located(hr.Newsvendor(hr.Column(column), 1.0), names, 2)

    @pytest.mark.parametrize(
        ("row", "words"),
        [
            ([-3.0, 1.0], "holding must not be negative, got -3 in row 812 of column 0"),
            ([1.0, np.nan], "stockout must be finite, got nan in row 812 of column 1"),
            ([0.0, 0.0], "holding and stockout are both 0 in row 812"),
        ],
    )
    def test_rows_that_make_no_sense(self, row, words):
        contexts = np.ones((900, 2))
        contexts[812] = row
        loss = rows_of(hr.Newsvendor(hr.Column(0), hr.Column(1)), contexts)
        with pytest.raises(ValueError, match=words):
            loss.check_rows()
        with pytest.raises(ValueError, match=words.replace("812", "813")):
            loss.check_rows(first=1)

    def test_rows_of_any_loss(self):
        with pytest.raises(ValueError, match=r"Row 2: level must lie between 0 and 1, got 1\.5"):
            rows_of(Quantile(hr.Column(0)), np.array([[0.5], [0.5], [1.5]])).check_rows()

    def test_numbers_beside_columns_are_checked(self):
        with pytest.raises(ValueError, match="stockout must not be negative"):
            rows_of(hr.Newsvendor(hr.Column(0), -1.0), np.ones((3, 1))).check_rows()

    @pytest.mark.parametrize(
        "make",
        [
            lambda column: hr.InventorySubstitution([1.0, 1.0], column, np.eye(2)),
            lambda column: hr.MeanVariance(column),
            lambda column: hr.Newsvendor(1.0, 1.0, decision_set=column),
        ],
    )
    def test_parameters_that_are_the_same_on_all_rows(self, make):
        with pytest.raises(ValueError, match=r"\w+ of \w+ cannot be read from a column"):
            make(hr.Column("cost"))

    def test_columns_in_a_list(self):
        with pytest.raises(ValueError, match="holding holds columns in a list"):
            hr.Newsvendor([hr.Column("a"), hr.Column("b")], 1.0)

    def test_a_column_has_no_values_by_itself(self):
        with pytest.raises(TypeError, match=r"Column\('a'\) has no values by itself"):
            hr.Newsvendor(hr.Column("a"), 1.0)(np.ones((2, 1)), np.ones((2, 1)))
        with pytest.raises(TypeError, match=r"feature's name or its position, got 1\.5"):
            hr.Column(1.5)
        with pytest.raises(ValueError, match="needs a name or a position"):
            hr.Column()


def test_a_column_is_a_parameter_like_any_other():
    loss = hr.Newsvendor(hr.Column("h"), 2.0)
    assert clone(loss).holding == hr.Column("h")
    assert hr.Column("h") != hr.Column("b")
    assert repr(loss) == "Newsvendor(holding=Column('h'), stockout=2.0)"
    assert loss.description("€").short == "newsvendor, holding from column h, stockout 2"
    assert "costs what column h says, in €, each one missing costs 2 €" in (
        loss.description("€").costs
    )


def test_one_row_is_a_loss_with_numbers():
    one: Loss = bound(located(LOSS, None, 4), parameters(located(LOSS, None, 4), X)[0])
    one.check()
    assert one.holding == X[0, 1]
    np.testing.assert_array_equal(one.stockout, X[0, 2:])


class TestPrices:
    def test_margins(self):
        loss = hr.Newsvendor.from_prices(price=5.0, cost=2.0, salvage=0.5, shortage=1.0)
        assert (loss.holding, loss.stockout) == (1.5, 4.0)
        profit = minimize_scalar(
            lambda z: -np.mean([5 * min(z, y) + 0.5 * max(z - y, 0) - 2 * z - max(y - z, 0) for y in
                                np.linspace(0, 10, 2001)]), bounds=(0, 10), method="bounded"
        )  # fmt: skip
        best = loss.best_constant(np.linspace(0, 10, 2001)[:, None], np.ones(2001))
        assert profit.x == pytest.approx(best[0], abs=1e-2)  # a grid of demands

    @pytest.mark.parametrize(
        ("prices", "words"),
        [
            ({"price": 5, "cost": 2, "salvage": 3}, "salvage must not exceed cost"),
            ({"price": 1, "cost": 2}, "cost must not exceed price"),
        ],
    )
    def test_prices_that_make_no_sense(self, prices, words):
        with pytest.raises(ValueError, match=words):
            hr.Newsvendor.from_prices(**prices)

    def test_columns_of_prices(self):
        """The same as margins that were worked out before."""
        prices = np.column_stack([RNG.uniform(4, 6, ROWS), RNG.uniform(2, 3, ROWS)])
        loss = hr.Newsvendor.from_prices(hr.Column(0), hr.Column(1), salvage=0.5)
        z, y = RNG.uniform(0, 4, (2, ROWS, 1))
        known = hr.Newsvendor(hr.Column(0), hr.Column(1))
        margins = np.column_stack([prices[:, 1] - 0.5, prices[:, 0] - prices[:, 1]])
        expected = rows_of(known, margins)(z, y)
        np.testing.assert_allclose(rows_of(loss, prices)(z, y), expected, rtol=1e-14)
        prices[3, 1] = 0.2
        with pytest.raises(ValueError, match=r"holding must not be negative, got -0.3 in row 3"):
            rows_of(loss, prices).check_rows()


class TestArithmetic:
    PRICE, COST = hr.Column("price"), hr.Column("cost")

    @pytest.mark.parametrize(
        ("made", "by_hand", "words"),
        [
            (PRICE - COST, lambda p, c: p - c, "Column('price') - Column('cost')"),
            (2 - 0.5 * PRICE, lambda p, c: 2 - p / 2, "-0.5 * Column('price') + 2.0"),
            ((PRICE - 1) / 4 + COST, lambda p, c: (p - 1) / 4 + c, None),
            (-(COST - PRICE) * 3, lambda p, c: 3 * (p - c), None),
            (np.array([1.0, 2.0]) * PRICE, lambda p, c: np.stack([p, 2 * p], 1), None),
            (
                hr.Column("price", "cost") - COST,
                lambda p, c: np.stack([p - c, 0 * c], 1),
                "Column('price', 'cost') - Column('cost')",
            ),
        ],
    )
    def test_is_that_of_the_values(self, made, by_hand, words):
        found = made.located("holding", ["a", "cost", "price"], 3)
        np.testing.assert_allclose(found.values(X[:, :3]), by_hand(X[:, 2], X[:, 1]), rtol=1e-14)
        if words is not None:
            assert repr(made) == words
        assert set(made.columns) <= {"price", "cost"}

    def test_survives_a_file(self):
        made = (self.PRICE - 0.5 * self.COST) * 2 + 1
        again = Known().revive(json.loads(json.dumps(describe(made))))
        assert again == made

    def test_products_of_columns_are_refused(self):
        with pytest.raises(TypeError, match="has no values by itself"):
            _ = self.PRICE * self.COST
