"""What parts say of themselves, and what is said of one that does not offer what is asked."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.data import Nominal
from hedgerow.describe.parts import Missing, settings_words

SUBSTITUTION = [[0, 1.7], [np.inf, 0]]
LOSSES = [
    (hr.Newsvendor(1, [3, 4]), "Each unit left over costs 1 €, each one missing costs 3 to 4 €"),
    (
        hr.InventorySubstitution([1, 2], 3, SUBSTITUTION),
        "Each unit left over costs 1 to 2 €, each one missing 3 €; one product may stand in",
    ),
    (hr.MeanVariance(0.5), "Variance of the return, less 0.5 times the return"),
    (hr.MeanCVaR(0.5, 0.1), "Mean loss in the worst 10\u00a0% of cases, less 0.5 times the mean"),
    (hr.CustomLoss(lambda z, y: z - y, hr.Free(1)), "CustomLoss, in €: lower is better"),
]


@pytest.mark.parametrize(("loss", "costs"), LOSSES, ids=lambda part: type(part).__name__)
def test_losses_say_what_decisions_cost(loss, costs):
    found = loss.description("€")
    assert found.costs.startswith(costs)
    assert found.short
    assert "€" not in loss.description().costs


@pytest.mark.parametrize(
    ("model", "name", "settings"),
    [
        (hr.ERM(), "Nothing", ""),
        (hr.KL(4.0), "KL divergence", "penalty 4"),
        (hr.Sinkhorn(5.0, 0.1), "Sinkhorn distance", "penalty 5, epsilon 0.1, order 2"),
        (
            hr.CausalSinkhorn(radius=0.5, epsilon=0.1),
            "Causal Sinkhorn distance",
            "radius 0.5, epsilon 0.1, order 2",
        ),
        (hr.CausalWasserstein(5.0), "Causal Wasserstein distance", "penalty 5, order 2"),
    ],
    ids=lambda part: type(part).__name__ if hasattr(part, "get_params") else "",
)
def test_models_say_what_they_hedge_against(model, name, settings):
    found = model.description()
    assert (found.name, found.hedges) == (name, name != "Nothing")
    assert found.idea
    assert settings_words(model) == settings


def test_nominals_say_what_becomes_of_rows():
    assert hr.EmpiricalNominal().description().rows == ""
    assert "its 7 nearest" in hr.NeighbourNominal(7).description().short
    assert hr.AdaptedNominal().description().rows == "similar rows taken together"


def test_parts_from_outside_go_by_their_names():
    class Last(Nominal):
        def build(self, X, Y, weights):
            raise NotImplementedError

    class Twice(hr.losses.Loss):
        def __call__(self, z, y):
            return (z - 2 * y).sum(-1)

        def decisions_for(self, n_outcomes):
            return hr.Free(n_outcomes)

    assert Last().description().short == "Last"
    loss, y = Twice(), np.ones((3, 2))
    assert loss.description("€").costs == "Twice, in €: lower is better"
    assert loss.decision_names(["a", "b"]) is None
    assert loss.by_outcome(y, y) is None
    assert loss.foresight(y) is None


def test_a_newsvendors_loss_is_a_sum_over_products_and_nothing_with_foresight():
    rng = np.random.default_rng(0)
    loss, z, y = hr.Newsvendor([1, 2], 3), rng.uniform(0, 9, (20, 2)), rng.uniform(0, 9, (20, 2))
    np.testing.assert_allclose(loss.by_outcome(z, y).sum(axis=1), loss(z, y))
    np.testing.assert_array_equal(loss.foresight(y), loss(y, y))
    boxed = hr.Newsvendor(1, 3, decision_set=hr.Box([0.0, 0.0], [5.0, 5.0]))
    assert boxed.foresight(y) is None


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (hr.Affine(), "This needs steps; an Affine offers none (write Affine.steps)."),
        (hr.TwoLayer(), "This needs steps; a TwoLayer offers none (write TwoLayer.steps)."),
    ],
)
def test_a_missing_capability_is_named(part, sentence):
    error = Missing(part, "steps", "This needs steps")
    assert isinstance(error, TypeError)
    assert str(error) == sentence
