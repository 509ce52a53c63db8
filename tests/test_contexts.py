"""Declaring what columns are: sentences, names, encoders, files and searches."""

import numpy as np
import pytest

import hedgerow as hr
from tests.problems import AUTO, QUICK

C = hr.contexts
RNG = np.random.default_rng(0)
DAY = RNG.integers(0, 3, 60)
X = np.column_stack([RNG.normal(size=60), RNG.gamma(1.0, size=60), np.eye(3)[DAY]])
Y = np.maximum(5 + X[:, 0] + DAY + RNG.normal(size=60), 0.1)
LOSS = hr.Newsvendor(0.6, 1.0)


def fitted(contexts, x=X, **more):
    model = hr.CausalSinkhorn(3.0, 0.1, contexts=contexts, **AUTO, **more)
    return hr.RobustPolicy(
        LOSS, model, hr.Affine(), hr.EmpiricalNominal(), QUICK, random_state=0
    ).fit(x, Y)


@pytest.mark.parametrize(
    ("contexts", "error", "words"),
    [
        (C.Bounded(1, low=0.5), ValueError, r"outside its bounds \[0.5, inf\]"),
        ([C.Fixed(1), C.Bounded((0, 1))], ValueError, "declares column 1 of X twice"),
        (C.Fixed(7), ValueError, r"names column 7, but X has 5 column"),
        (C.Fixed("rain"), ValueError, "the columns of X have no names"),
        (C.Categorical(0, 1.0, (0.0, 1.0)), ValueError, "none of the values of this variable"),
        ("fixed", TypeError, "contexts must be kinds of columns"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(contexts, error, words):
    with pytest.raises(error, match=words):
        fitted(contexts)


def test_kinds_check_themselves():
    with pytest.raises(ValueError, match="mismatch must not be negative"):
        C.Categorical((0, 1), mismatch=-1)
    with pytest.raises(ValueError, match="must be told its columns"):
        C.Categorical(None)
    with pytest.raises(ValueError, match="outcomes must be one of"):
        hr.CausalSinkhorn(1.0, outcomes="whole")
    with pytest.raises(ValueError, match="norm must be None, 1, 2 or inf"):
        hr.CausalSinkhorn(1.0, norm=3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Every context occurs once")
def test_names_and_files(tmp_path):
    import pandas as pd

    table = pd.DataFrame(X, columns=["heat", "rain", "mon", "tue", "wed"])
    kinds = [C.Bounded("rain", low=0), C.Categorical(["mon", "tue", "wed"], 0.2)]
    policy = fitted(kinds, table)
    policy.save(tmp_path / "x.hedgerow")
    again = hr.load(tmp_path / "x.hedgerow")
    assert np.isfinite(policy.robust_value_.value)
    values = [hr.robust_value(one, table, Y, tolerance=0.05).value for one in (policy, again)]
    assert values[0] == values[1]
    by_place = fitted([C.Bounded(1, low=0), C.Categorical((2, 3, 4), 0.2)])
    np.testing.assert_array_equal(policy.predict(table), by_place.predict(X))
    with pytest.raises(ValueError, match="which X does not have; it has heat, rain"):
        fitted(C.Fixed("snow"), table)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Every context occurs once")
def test_searches_over_declared_contexts():
    kinds = [C.Bounded(1, low=0), C.Categorical((2, 3, 4), 0.2)]
    search = hr.RobustPolicyCV(
        LOSS,
        hr.CausalSinkhorn(3.0, contexts=kinds, **AUTO),
        penalties=(1.0, 10.0),
        epsilons=(0.1,),
        rules=[hr.Affine()],
        nominals=[hr.EmpiricalNominal()],
        solver=QUICK,
        cv=3,
        random_state=0,
    ).fit(X, Y)
    assert search.best_estimator_.ambiguity_.contexts is not None


def test_an_encoder_knows_what_columns_are():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {
            "date": ["2015-11-06", "2015-11-07", "2015-11-08"],
            "sky": ["sun", "rain", "sun"],
            "open": [0, 1, 1],
            "rain": [0.0, 2.5, 0.0],
            "heat": [-1.0, 3.0, 2.0],
        }
    )
    encoder = hr.TableEncoder().fit(table)
    kinds = C.of(encoder, encoder.transform(table))
    names = list(encoder.get_feature_names_out())
    found = {tuple(names[i] for i in kind.columns): type(kind).__name__ for kind in kinds}
    assert found == {
        ("date_weekday", "date_month", "date_day_of_year"): "Fixed",
        ("sky_rain", "sky_sun"): "Categorical",
        ("open",): "Categorical",
        ("rain",): "Bounded",
    }


def test_what_columns_do_is_said_in_a_sentence():
    kinds = [
        C.Bounded("rain", 0),
        C.Bounded("share", 0, 1),
        C.Fixed(["weekday", "month"]),
        C.Categorical(["sun", "fog"], 0.5),
        C.Categorical(3, np.inf),
        C.Bounded("wind", low=0),
    ]
    said = hr.CausalSinkhorn(1.0, contexts=kinds, outcomes="integers").description().columns
    assert said == (
        "In a worst case rain, wind are moved, but never below 0; share is moved, but never below "
        "0 or above 1; weekday, month, column 3 are left alone; sun, fog are changed from one "
        "value to another at a cost of 0.5; other columns are moved by any amount; outcomes are "
        "whole numbers."
    )
    for kind in (hr.Sinkhorn, hr.Wasserstein, hr.CausalWasserstein):
        assert kind(1.0).description().columns == ""
        model = kind(1.0, contexts=C.Fixed())
        assert model.description().columns == "In a worst case all columns are left alone."
