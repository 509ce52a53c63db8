"""Costs of rows and of groups, orders that can be placed, and series that cannot be read."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.panels.sound import unsound
from tests.panels.test_panel_policy import BY, _features, _sales

H, B = hr.Column("holding"), hr.Column("stockout")


def _policy(loss, steps=200):
    return hr.RobustPolicy(
        loss,
        hr.ERM(),
        rule=hr.SoftForest(trees=4),
        solver=hr.NestedSGD(steps=steps),
        random_state=0,
    )


@pytest.fixture(scope="module")
def sales():
    return _sales(days=90, stores=2)


@pytest.fixture(scope="module")
def costs():
    return pd.DataFrame({"store": [2, 1], "holding": [4.0, 1.0], "stockout": [1.0, 4.0]})


@pytest.fixture(scope="module", params=["pooled", "refined", "separate"])
def by_group(request, sales, costs):
    panel = hr.PanelPolicy(
        _policy(hr.Newsvendor(H, B)),
        BY,
        strategy=request.param,
        features=_features(),
        costs=costs,
        seeds=1,
    )
    return panel.fit(sales)


class TestCosts:
    def test_of_groups_are_those_of_columns(self, by_group, sales, costs):
        """The same table of costs, joined by hand: the same decisions."""
        joined = sales.merge(costs, on="store")
        features = _features(known=("promoted", "holding", "stockout"))
        panel = hr.PanelPolicy(
            _policy(hr.Newsvendor(H, B)), BY, strategy=by_group.strategy, features=features, seeds=1
        ).fit(joined)
        made, own = _features().training(sales), features.training(joined)
        # columns are in another order, so that training adds up in another order
        np.testing.assert_allclose(by_group.predict(made), panel.predict(own), rtol=0.1)
        np.testing.assert_allclose(
            by_group.loss_on(made)(np.ones((len(made), 1)), np.zeros((len(made), 1))),
            own["holding"].to_numpy(),
        )
        holding, stockout = by_group.unit_costs(made)
        np.testing.assert_array_equal(holding, own["holding"])
        np.testing.assert_array_equal(stockout, own["stockout"])

    def test_decide(self, by_group, sales):
        """Orders lie above demand where missing units are dear, and below it where they are not."""
        made = _features().training(sales)
        above = by_group.predict(made) > made["demand"]
        assert above[made["store"] == 1].mean() > 0.6
        assert above[made["store"] == 2].mean() < 0.4

    def test_are_counted_in_losses(self, by_group, sales):
        made = _features().training(sales)
        z, y = by_group.predict(made), made["demand"].to_numpy()
        h, b = np.where(made["store"] == 1, [[1.0], [4.0]], [[4.0], [1.0]])
        expected = h * np.maximum(z - y, 0) + b * np.maximum(y - z, 0)
        np.testing.assert_allclose(by_group.losses(made), expected)
        means = made.assign(paid=expected).groupby(list(BY))["paid"].mean()
        np.testing.assert_allclose(by_group.series_["loss"], means, rtol=1e-5)

    def test_survive_a_file(self, by_group, sales, tmp_path):
        by_group.save(tmp_path / "panel.hedgerow")
        again = hr.load(tmp_path / "panel.hedgerow")
        made, lots = _features().training(sales), hr.Lots(5)
        np.testing.assert_array_equal(again.predict(made), by_group.predict(made))
        np.testing.assert_array_equal(again.losses(made), by_group.losses(made))
        np.testing.assert_array_equal(
            again.place(made, lots).orders, by_group.place(made, lots).orders
        )

    def test_scaled_outcomes_are_the_same_problem(self, sales):
        """All costs doubled for everybody: nothing changes, but what it costs."""
        made = _features().training(sales)
        columns = [name for name in made.columns if name not in ("date",)]
        table = made[columns].assign(holding=2.0, stockout=6.0)
        warnings.simplefilter("ignore", hr.ConstantFeatureWarning)  # costs of nobody's own
        read, given = (
            hr.PanelPolicy(_policy(loss), BY, scaled=_features().outcome_features, seeds=1).fit(
                table, "demand"
            )
            for loss in (hr.Newsvendor(H, B), hr.Newsvendor(2.0, 6.0))
        )
        np.testing.assert_allclose(read.predict(table), given.predict(table), rtol=1e-6)

    @pytest.mark.parametrize(
        ("spoil", "words"),
        [
            (
                lambda c: c.assign(holding=[-1.0, 1.0]),
                "In the table of costs by group, holding must not be negative, got -1 in row 1 of",
            ),
            (lambda c: c[c["store"] == 2], "no costs of store 1: add a row to the table of costs"),
            (lambda c: pd.concat([c, c]), "more than one row of store 1"),
            (lambda c: c[["store"]], "costs must have one or more of the group columns"),
            (lambda c: c.rename(columns={"holding": "h"}), "'holding', which must be known when"),
            (lambda c: c.to_numpy(), "costs must be a pandas DataFrame"),
        ],
    )
    def test_that_make_no_sense(self, sales, costs, spoil, words):
        panel = hr.PanelPolicy(
            _policy(hr.Newsvendor(H, B)), BY, features=_features(), costs=spoil(costs)
        )
        with pytest.raises((ValueError, TypeError), match=words):
            panel.fit(sales)

    def test_the_row_is_named(self, sales):
        table = sales.assign(holding=1.0, stockout=3.0)
        table.loc[81, "holding"] = -2.0
        features = _features(known=("promoted", "holding", "stockout"))
        panel = hr.PanelPolicy(_policy(hr.Newsvendor(H, B)), BY, features=features)
        with pytest.raises(ValueError, match="holding must not be negative, got -2 in row 82 of"):
            panel.fit(table)

    def test_the_row_without_one_is_named(self, sales):
        table = sales.assign(holding=1.0, stockout=3.0)
        table.loc[81, "stockout"] = np.nan
        features = _features(known=("promoted", "holding", "stockout"))
        panel = hr.PanelPolicy(_policy(hr.Newsvendor(H, B)), BY, features=features)
        with pytest.raises(ValueError, match="'stockout' has 1 missing value, the first in row 82"):
            panel.fit(table)

    @pytest.mark.parametrize("ask", ["predict", "losses", "place", "unit_costs"])
    def test_are_looked_at_when_deciding(self, sales, ask):
        table = sales.assign(holding=1.0, stockout=3.0)
        features = _features(known=("promoted", "holding", "stockout"))
        policy = _policy(hr.Newsvendor(H, B), steps=2)
        panel = hr.PanelPolicy(policy, BY, features=features, seeds=1).fit(table)
        made = features.training(table)
        made.loc[4, "stockout"] = -2.0
        more = (hr.Lots(6),) if ask == "place" else ()
        with pytest.raises(ValueError, match="stockout must not be negative, got -2 in row 5 of"):
            getattr(panel, ask)(made, *more)

    def test_a_new_group_without_costs(self, by_group, sales):
        made = _features().training(sales).assign(store=7)
        with pytest.raises(ValueError, match=r"no costs of store 7|series without history"):
            by_group.predict(made)


class TestPlacing:
    def test_orders_are_those_of_the_cheapest_lots(self, by_group, sales):
        """Brute force over all lots, with the errors of each row's series."""
        made = _features().training(sales).iloc[::7]
        lots = hr.Lots(size=7, minimum=14, maximum=140)
        placed = by_group.place(made, lots, on_hand=np.arange(len(made)) % 5)
        z, places = by_group.predict(made), by_group.panel_.keys.places(made)
        scale = by_group._scale(made, places)
        h, b = by_group.unit_costs(made)
        for row, (order, wanted) in enumerate(zip(placed.orders, z, strict=True)):
            errors = by_group.scatter_[places[row]] * scale[row]
            level = np.quantile(errors, b[row] / (h[row] + b[row]), method="inverted_cdf")
            demand = np.maximum(max(wanted, 0) + errors - level, 0) - row % 5
            allowed = np.array([0.0, *range(14, 141, 7)])
            over = allowed[:, None] - demand
            cost = np.where(over > 0, h[row] * over, -b[row] * over).mean(axis=1)
            assert cost[allowed == order][0] <= cost.min() * (1 + 1e-9) + 1e-9
        assert placed.mean_rounding_cost >= 0

    def test_small_lots_give_decisions_back(self, by_group, sales):
        made = _features().training(sales)
        orders = by_group.place(made, hr.Lots(1e-6)).orders
        np.testing.assert_allclose(orders, by_group.predict(made), atol=1e-5)

    def test_of_one_policy(self, sales, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 2))
        y = 30 + 5 * X[:, 0] + rng.gamma(2, 2, 300)
        policy = _policy(hr.Newsvendor(1.0, 3.0)).fit(X, y)
        placed = policy.place(X, hr.Lots(12))
        assert set(placed.orders % 12) == {0}
        expected = hr.Lots(12).place(policy.predict(X), y - policy.predict(X), 1.0, 3.0).orders
        assert np.mean(placed.orders == expected) > 0.97  # 99 quantiles instead of 300 errors
        policy.save(tmp_path / "one.hedgerow")
        again = hr.load(tmp_path / "one.hedgerow").place(X, hr.Lots(12))
        np.testing.assert_array_equal(again.orders, placed.orders)
        zero = np.r_[np.ones(300), np.zeros(3)]
        weighted = _policy(hr.Newsvendor(1.0, 3.0)).fit(
            np.r_[X, X[:3]], np.r_[y, y[:3]], sample_weight=zero
        )
        np.testing.assert_allclose(weighted.errors_, policy.errors_, rtol=1e-6)

    def test_other_losses_are_refused(self, sales):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(60, 2)), rng.gamma(2, 2, (60, 2))
        policy = _policy(hr.Newsvendor(1.0, 3.0), steps=5).fit(X, y)
        with pytest.raises(ValueError, match=r"for one product: Newsvendor of 2 decision\(s\)"):
            policy.place(X, hr.Lots(12))


class TestBadSeries:
    def _spoilt(self, sales):
        bad = sales.copy()
        bad.loc[
            (bad["store"] == 1) & (bad["item"] == "b") & (bad["date"] == "2024-02-01"), "demand"
        ] = np.nan
        again = bad[(bad["store"] == 2) & (bad["item"] == "a")].iloc[[5]]
        return pd.concat([bad, again], ignore_index=True)

    def test_are_refused_or_left_out(self, sales):
        bad, policy = self._spoilt(sales), _policy(hr.Newsvendor(1.0, 3.0))
        with pytest.raises(ValueError, match="demand"):
            hr.PanelPolicy(policy, BY, features=_features(), seeds=1).fit(bad)
        panel = hr.PanelPolicy(policy, BY, features=_features(), seeds=1, bad_series="leave out")
        with pytest.warns(hr.UnreadableSeriesWarning, match="2 of 4 series .* store 1, item b: "):
            panel.fit(bad)
        assert list(panel.left_out_) == ["store 1, item b", "store 2, item a"]
        kept = sales[((sales["store"] == 1) & (sales["item"] == "a")) | (
            (sales["store"] == 2) & (sales["item"] == "b"))]  # fmt: skip
        only = hr.PanelPolicy(policy, BY, features=_features(), seeds=1).fit(kept)
        made = _features().training(kept)
        np.testing.assert_array_equal(panel.predict(made), only.predict(made))

    def test_a_column_known_ahead_that_is_not_known_names_its_series(self, sales):
        bad = sales.assign(promoted=sales["promoted"].astype(float))
        bad.loc[0, "promoted"] = np.nan  # too early to be learned from
        bad.loc[(bad["store"] == 2) & (bad["date"] == "2024-03-01"), "promoted"] = np.nan
        panel = hr.PanelPolicy(_policy(hr.Newsvendor(1.0, 3.0)), BY, features=_features(), seeds=1)
        words = r"'promoted' has 2 missing values, the first in the row of 2024-03-01 \(store 2"
        with pytest.raises(ValueError, match=words):
            panel.fit(bad)
        with pytest.warns(hr.UnreadableSeriesWarning, match="2 of 4 series"):
            panel.set_params(bad_series="leave out").fit(bad)
        assert list(panel.left_out_) == ["store 2, item a", "store 2, item b"]

    def test_a_missing_value_of_a_plain_table_names_row_and_series(self, sales):
        made = _features().training(sales).drop(columns="date")
        made.loc[3, "demand"] = np.nan
        panel = hr.PanelPolicy(_policy(hr.Newsvendor(1.0, 3.0)), BY, seeds=1)
        with pytest.raises(ValueError, match=r"the first in row 4 \(store 1, item a\)"):
            panel.fit(made, "demand")

    def test_without_features(self, sales):
        made = _features().training(sales).drop(columns="date")
        y = made.pop("demand").to_numpy().copy()
        y[3] = np.nan
        panel = hr.PanelPolicy(
            _policy(hr.Newsvendor(1.0, 3.0)), BY, seeds=1, bad_series="leave out"
        )
        with pytest.warns(hr.UnreadableSeriesWarning, match="1 of 4 series"):
            panel.fit(made, y)
        assert len(panel.series_) == 3

    def test_a_wrong_table_is_refused_whole(self, sales):
        panel = hr.PanelPolicy(
            _policy(hr.Newsvendor(1.0, 3.0)), BY, features=_features(), bad_series="leave out"
        )
        with pytest.raises(ValueError, match="promoted"):
            panel.fit(sales.drop(columns="promoted"))

    def test_halving_finds_exactly_the_bad_ones(self):
        rng = np.random.default_rng(1)
        for bad in itertools.chain([(0,), (0, 99)], rng.choice(100, (5, 7), replace=False)):
            places, asked = np.repeat(np.arange(100), 3), []

            def read(rows, bad=bad, places=places, asked=asked):
                asked.append(len(rows))
                if np.isin(places[rows], bad).any():
                    raise ValueError(f"{len(rows)} rows")

            found = unsound(places, read)
            assert sorted(found) == sorted(bad)
            assert set(found.values()) == {"3 rows"}
            assert len(asked) <= 2 * len(bad) * 8
