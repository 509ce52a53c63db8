"""A panel that was read decides without anything that learns, and is a panel for whoever asks."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow import stored
from hedgerow.data.table_writing import write_table
from hedgerow.policy_file import describe, storage
from hedgerow.policy_file.row_costs import fair_costs, reads_columns
from hedgerow.stored.panel import StoredPanel
from tests.fuzz import mutations
from tests.panels.test_panel_policy import BY, _features, _sales

H, B = hr.Column("holding"), hr.Column("stockout")
COSTS = pd.DataFrame({"store": [2, 1, 9], "holding": [4.0, 1.0, 1.0], "stockout": [1.0, 4.0, 2.0]})
KNOWN = ("promoted", "holding", "stockout")
pytestmark = pytest.mark.filterwarnings("ignore::hedgerow.OutsideWarning")
HEAVY = {"jax", "jaxlib", "equinox", "optax", "sklearn", "scipy", "matplotlib", "jaxtyping"}


def _panel(strategy="pooled", loss=None, rule=None, **settings):
    policy = hr.RobustPolicy(
        loss or hr.Newsvendor(1.0, 3.0),
        hr.ERM(),
        rule or hr.SoftForest(trees=3),
        solver=hr.NestedSGD(steps=20),
        random_state=0,
    )
    settings = {"features": _features()} | settings
    return hr.PanelPolicy(policy, BY, strategy=strategy, seeds=2, **settings)


PANELS = {
    "pooled": lambda: _panel(),
    "refined": lambda: _panel("refined"),
    "separate": lambda: _panel("separate"),
    "separate in a box": lambda: _panel(
        "separate", hr.Newsvendor(1.0, 3.0, decision_set=hr.Box([0.0], [5000.0])), hr.Affine()
    ),
    "costs of groups": lambda: _panel(loss=hr.Newsvendor(H, 2.0 * B - 0.5), costs=COSTS),
    "costs of rows": lambda: _panel(loss=hr.Newsvendor(H, B), features=_features(known=KNOWN)),
    "without time": lambda: _panel(features=None, scaled=("demand_lag_7",)),
}


SLOW = ("separate in a box", "without time")


def _tables(panel, sales):
    """A day to decide on, with the history before it, as the panel wants them."""
    if panel.features is None:
        made = _features().training(sales).drop(columns="date")
        return made.drop(columns="demand").iloc[::20], None
    day = sales["date"] == "2024-02-20"
    return sales[day].drop(columns="demand"), sales[sales["date"] < "2024-02-20"]


@pytest.fixture(scope="module")
def sales():
    table = _sales(days=60, stores=2).assign(holding=1.0, stockout=3.0)
    constant = (table["store"] == 2) & (table["item"] == "b")
    return table.assign(demand=table["demand"].where(~constant, 0.0))


class _Fitted(dict):
    """Panels with their files, by name, fitted when they are first asked for."""

    def __init__(self, sales, folder):
        self.sales, self.folder = sales, folder

    def __missing__(self, name):
        panel, table = PANELS[name](), self.sales
        if name in ("costs of groups", "without time"):
            table = table.drop(columns=["holding", "stockout"])
        if panel.features is None:
            panel.fit(_features().training(table).drop(columns="date"), "demand")
        else:
            panel.fit(table)
        path = self.folder / f"{name}.hedgerow"
        panel.save(path)
        self[name] = panel, path
        return self[name]


@pytest.fixture(scope="module")
def panels(sales, tmp_path_factory):
    return _Fitted(sales, tmp_path_factory.mktemp("panels"))


@pytest.fixture
def unlearned(monkeypatch):
    """As in a process that has not imported JAX."""
    monkeypatch.setattr(stored, "_learns", lambda: False)


NAMES = [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in PANELS]


@pytest.mark.parametrize("name", NAMES)
class TestDecisions:
    def test_read_it_decides_the_same_bit_for_bit(self, panels, name, sales, unlearned):
        panel, path = panels[name]
        table, history = _tables(panel, sales)
        again = hr.load(path)
        found = again.predict(table, history)
        outside = again.outside(table, history)
        assert type(again) is StoredPanel
        np.testing.assert_array_equal(found, panel.predict(table, history))
        assert outside == panel.outside(table, history)
        pd.testing.assert_frame_equal(again.series_, panel.series_)
        assert type(again) is StoredPanel
        assert again.losses is not None
        assert type(again) is hr.PanelPolicy
        np.testing.assert_array_equal(again.predict(table, history), found)

    def test_new_series_are_decided_or_refused_alike(self, panels, name, sales, unlearned):
        panel, path = panels[name]
        table, history = _tables(panel, sales)
        table = table.assign(store=table["store"] + 7)[table["store"] == 2]
        again, told = hr.load(path), []
        for one in (panel, again):
            try:
                told.append(one.predict(table, history))
            except ValueError as error:
                told.append(str(error))
        assert type(again) is StoredPanel
        np.testing.assert_array_equal(*told)
        refused = isinstance(told[0], str)
        assert refused == name.startswith("separate")
        assert not refused or "rows of series without history, the first one store 9" in told[0]

    def test_spoilt_files_are_refused_or_decide(self, panels, name, sales, unlearned):
        panel, path = panels[name]
        table, history = _tables(panel, sales)
        arrays, about = mutations.opened(path)
        for i in range(40):
            rng = np.random.default_rng([i, len(name)])
            way = mutations.spoil_arrays if i % 2 else mutations.spoil_description
            spoilt = path.with_name("spoilt")
            spoilt.write_bytes(way(rng, arrays, about))
            try:
                again = hr.load(spoilt)
                decisions = again.predict(table, history)
            except (hr.PolicyFileError, ValueError):
                continue
            assert not np.any(np.isnan(decisions))


class TestBecoming:
    @pytest.mark.parametrize(
        "ask",
        [
            lambda panel: isinstance(panel, hr.PanelPolicy),
            lambda panel: stored.is_panel(panel),
            lambda panel: panel.policy_.n_features_in_ > 3,
            lambda panel: clone(panel).strategy == "pooled",
            lambda panel: pickle.loads(pickle.dumps(panel)).strategy == "pooled",
            lambda panel: panel.policy_for((1, "a")).n_outcomes_ == 1,
            lambda panel: panel.get_params()["seeds"] == 2,
            lambda panel: panel.set_params(seeds=3).seeds == 3,
        ],
    )
    def test_questions(self, panels, unlearned, ask):
        assert ask(hr.load(panels["pooled"][1]))

    def test_orders_are_those_of_a_panel(self, panels, sales, unlearned):
        panel, path = panels["pooled"]
        table, history = _tables(panel, sales)
        found = hr.load(path).place(table, hr.Lots(6), history)
        np.testing.assert_array_equal(found.orders, panel.place(table, hr.Lots(6), history).orders)

    def test_saved_again_the_file_is_the_same(self, panels, unlearned, tmp_path):
        path = panels["refined"][1]
        hr.load(path).save(tmp_path / "again.hedgerow")
        assert (tmp_path / "again.hedgerow").read_bytes() == path.read_bytes()

    @pytest.mark.parametrize("cost", [-2.0, np.nan, np.inf])
    def test_costs_that_make_no_sense_get_the_sentence_of_a_panel(
        self, panels, sales, unlearned, cost
    ):
        panel, path = panels["costs of rows"]
        table, history = _tables(panel, sales)
        table = table.reset_index(drop=True)
        table.loc[2, "stockout"] = cost
        again = hr.load(path)
        with pytest.raises(ValueError, match="stockout") as expected:
            panel.predict(table, history)
        with pytest.raises(ValueError, match="stockout") as found:
            again.predict(table, history)
        assert str(found.value) == str(expected.value)

    def test_rules_of_others_are_asked_for_at_once(self, panels, unlearned, tmp_path):
        arrays, about = storage.read(panels["pooled"][1])
        about["policy"]["rule"] = {"component": "other.Rule", "parameters": {}}
        storage.write(tmp_path / "p", arrays, about)
        with pytest.raises(hr.PolicyFileError, match=r"parts=\[Rule\]"):
            hr.load(tmp_path / "p")


COLUMNS = {"h": np.array([1.0, 0.0]), "b": np.array([2.0, 3.0]), "n": np.array([1.0, np.nan])}


class TestCostsFromTheirDescription:
    @pytest.mark.parametrize(
        ("loss", "fair"),
        [
            (hr.Newsvendor(1.0, 3.0), True),
            (hr.Newsvendor(hr.Column("h"), 3.0), True),
            (hr.Newsvendor(hr.Column("h"), 2 * hr.Column("b") - 1), True),
            (hr.Newsvendor(hr.Column("h"), hr.Column("b") - 2.5), False),
            (hr.Newsvendor(hr.Column("h"), hr.Column("h")), False),  # both 0 in a row
            (hr.Newsvendor(hr.Column("n"), 1.0), False),
            (hr.Newsvendor.from_prices(hr.Column("b"), hr.Column("h"), salvage=-0.5), True),
            (hr.Newsvendor.from_prices(hr.Column("h"), hr.Column("b")), False),
            (hr.Newsvendor(hr.Column("h", "b"), 1.0), False),  # of several products
            (hr.CVaR(hr.Newsvendor(hr.Column("h"), 1.0), 0.5), False),
        ],
    )  # fmt: skip
    def test_are_judged_as_the_loss_judges_them(self, loss, fair):
        told = describe(loss)
        assert reads_columns(told) == ("Column" in repr(loss))
        assert fair_costs(told, COLUMNS.__getitem__) == fair


def test_no_jax_to_decide(panels, sales, tmp_path):
    """In processes of their own: loading and predicting, and the command."""
    asked = {}
    for name in ("pooled", "refined", "separate", "costs of groups", "costs of rows"):
        panel, path = panels[name]
        table, history = _tables(panel, sales)
        asked[name] = str(path), tmp_path / f"{name}.pkl"
        pd.to_pickle((table, history, panel.predict(table, history)), asked[name][1])
    files = [(path, str(pickled)) for path, pickled in asked.values()]
    python = f"""if True:
        import sys
        import hedgerow as hr, numpy as np, pandas as pd
        for path, pickled in {files!r}:
            table, history, expected = pd.read_pickle(pickled)
            found = hr.load(path).predict(table, history)
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            np.testing.assert_array_equal(found, expected)
        assert "jax" not in sys.modules
        assert not {HEAVY} & set(sys.modules), {HEAVY} & set(sys.modules)
    """
    panel, path = panels["costs of rows"]
    table, history = _tables(panel, sales)
    write_table(table, tmp_path / "new.csv")
    write_table(history, tmp_path / "history.csv")
    command = f"""if True:
        import sys
        from hedgerow.cli import main
        sys.argv = ["hedgerow", "decide", {str(path)!r}, {str(tmp_path / "new.csv")!r},
                    "--history", {str(tmp_path / "history.csv")!r},
                    "--out", {str(tmp_path / "z.csv")!r}]
        try:
            main()
        except SystemExit as stop:
            assert not stop.code
        assert "jax" not in sys.modules
        assert not {HEAVY} & set(sys.modules), {HEAVY} & set(sys.modules)
    """
    for code in (python, command):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    expected = panel.predict(table, history)
    np.testing.assert_allclose(pd.read_csv(tmp_path / "z.csv")["decision"], expected, rtol=1e-12)
