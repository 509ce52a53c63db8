"""Where Python meets tables and pipelines: every question takes what people have in hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hedgerow as hr
from tests.problems import QUICK, SMALL

LOSS = hr.Newsvendor(1, 3)
FEATURES = [
    *("day_weekday", "day_month", "day_day_of_year"),
    *("shop_North", "shop_South", "warmth"),
]


def table(rows=90):
    rng = np.random.default_rng(0)
    found = pd.DataFrame(
        {
            "day": pd.date_range("2026-01-05", periods=rows),
            "shop": rng.choice(["North", "South"], rows),
            "warmth": rng.normal(15, 5, rows).round(1),
        }
    )
    sold = 30 + found["warmth"] + 9 * (found["shop"] == "North") + rng.normal(0, 2, rows)
    return found, sold.rename("sold")


def learned(X, y, model=None):
    policy = hr.RobustPolicy(
        LOSS, model or hr.KL(radius=0.1), SMALL, hr.EmpiricalNominal(), QUICK, random_state=0
    )
    return policy.fit(X, y)


@pytest.fixture(scope="module")
def policy():
    return learned(*table())


@pytest.fixture(scope="module")
def pipeline():
    X, y = table()
    X = X[["warmth"]]
    scaler = StandardScaler().set_output(transform="pandas").fit(X)
    return make_pipeline(scaler, learned(scaler.transform(X), y))


class TestNames:
    def test_a_worst_case_has_the_names_of_its_features(self, policy):
        X, y = table()
        found = hr.worst_case(policy, X, y).to_frame()
        assert list(found.columns) == [*FEATURES, "sold", "weight"]
        assert found["weight"].sum() == pytest.approx(1)
        assert set(found["shop_North"]) == {0.0, 1.0}

    def test_names_of_a_table_are_not_those_of_what_is_made_of_it(self):
        X, y = table()
        X = X[["shop", "warmth"]]
        words = str(hr.radius_in_words(hr.RobustPolicy(LOSS, hr.Wasserstein(radius=0.5)), X, y))
        assert "shop_North misread by 0.5" in words
        assert "shop misread" not in words

    def test_shuffled_columns_are_those_of_the_table(self, policy):
        found = hr.explain.permutation_importance(policy, *table(), n_repeats=2)
        assert list(found.to_frame()["feature"][:2]) in (["warmth", "shop"], ["shop", "warmth"])
        assert set(found.names) == {"day", "shop", "warmth"}


class TestPipelines:
    def test_are_remembered_and_watched(self, pipeline):
        X, y = table()
        assert hr.remember(pipeline, X[["warmth"]], y, promise=100.0) is pipeline
        assert hr.watch(pipeline, X[["warmth"]], y).bound == 100.0

    def test_are_calibrated_on_rows_given(self, pipeline):
        X, y = table()
        X, known = X[["warmth"]], pipeline[:-1].transform(X[["warmth"]])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", hr.SeenRowsWarning)  # which matters to nobody here
            whole = hr.calibrate(pipeline, X, y, level=0.8, horizon=10)
            alone = hr.calibrate(pipeline[-1], known, y, level=0.8, horizon=10)
        assert (whole.promise, whole.radius) == pytest.approx((alone.promise, alone.radius))


class TestReport:
    def test_is_called_as_it_is_named(self, policy, tmp_path):
        import hedgerow.report.write

        path = hr.report(policy, *table(), tmp_path / "page.html", title="Tomorrow")
        assert "Tomorrow" in path.read_text(encoding="utf-8")
        assert hr.report.write_report is hedgerow.report.write.write_report

    @pytest.mark.slow
    def test_takes_a_pipeline(self, pipeline, tmp_path):
        X, y = table()
        assert hr.report(pipeline, X[["warmth"]], y, tmp_path / "page.html").stat().st_size > 50_000

    def test_needs_what_then_happened(self, policy):
        with pytest.raises(TypeError, match="Y is missing"):
            hr.report(policy, table()[0])

    def test_of_a_panel_takes_its_table_alone(self):
        with pytest.raises(TypeError, match="leave Y out"):
            hr.report(hr.PanelPolicy(hr.RobustPolicy(LOSS), "shop"), *table())


class TestColumns:
    def test_a_word_among_numbers_is_named_with_its_row(self):
        X, y = table()
        X["warmth"] = X["warmth"].astype(object)
        X.loc[6, "warmth"] = "k.A."
        with pytest.raises(ValueError, match=r"except for 1 row: 'k\.A\.' in row 7"):
            learned(X, y)

    def test_two_kinds_are_named_with_their_rows(self):
        X, y = table()
        X["warmth"] = pd.Series([pd.Timestamp(2026, 1, 1) if i % 3 else "x" for i in range(len(X))])
        with pytest.raises(ValueError, match=r"in row 1, but there is '.*' in row 2|in row 2"):
            learned(X, y)

    def test_dates_in_another_order_are_refused_with_what_to_do(self):
        X, y = table()
        X["day"] = X["day"].dt.strftime("%d.%m.%Y")
        with pytest.raises(ValueError, match="dayfirst=True"):
            learned(X, y)


class TestResults:
    """What a session shows: a few words, and a table on request."""

    def test_routes(self, policy):
        X, _ = table()
        found = hr.explain.routes(policy, X[:2])
        assert repr(found).startswith("Routes of 2 rows")
        frame = found.to_frame()
        mixed = (frame["probability"] * frame["decision"]).groupby(frame["row"]).sum()
        trees = frame["tree"].nunique()
        np.testing.assert_allclose(mixed / trees, policy.predict(X[:2]), rtol=1e-6)

    def test_certificates(self, policy):
        X, _ = table()
        found = hr.explain.certificate(policy, X[:1], 0.1)
        frame = found.to_frame()
        assert list(frame.columns) == ["decision", "low", "high"]
        assert frame["low"][0] <= policy.predict(X[:1])[0] <= frame["high"][0]
        assert "high" in repr(found)
        assert "<table>" in found._repr_html_()

    def test_orders(self, policy):
        X, _ = table()
        found = policy.place(X, hr.Lots(6))
        assert repr(found).startswith("90 orders")
        assert len(repr(found).splitlines()) < 15
        np.testing.assert_array_equal(found.to_frame()["order"], found.orders)

    def test_inventory_by_group(self):
        summary = hr.metrics.inventory_summary(
            [5, 5, 4], [3, 6, 4], holding=1, stockout=3, groups=["a", "b", "a"]
        )
        frame = summary.to_frame()
        assert list(frame["group"]) == ["a", "b"]
        assert list(frame["rows"]) == [2, 1]
        np.testing.assert_allclose(frame["mean_cost"], [1.0, 3.0])
