"""The paper as published: data, losses and trainers are what the reading of them says."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from hedgerow.datasets import paper_inventory_costs
from hedgerow.losses import InventorySubstitution
from hedgerow_studies.paper import published
from hedgerow_studies.paper.as_published import histories, losses, oracles, rules, training
from hedgerow_studies.paper.as_published.differences import Differences
from hedgerow_studies.paper.as_published.portfolios import CMV, HEDGEROW, window
from hedgerow_studies.paper.as_published.portfolios import RELEASED as RELEASED_PORTFOLIO
from hedgerow_studies.paper.as_published.studies import (
    ALL_PAIRS,
    ERM,
    METHODS,
    RELEASED,
    AsPublished,
    recipe,
    scores,
    unmoved,
)
from hedgerow_studies.paper.as_published.studies import HEDGEROW as HEDGEROW_DEFAULTS
from hedgerow_studies.paper.as_published.training import Trainer, train
from hedgerow_studies.paper.catalogue import catalogue
from hedgerow_studies.paper.pages import as_published_pages as pages
from hedgerow_studies.paper.pages import page_of
from hedgerow_studies.portfolio import Market

RNG = np.random.default_rng(0)


# --------------------------------------------------------------------------- data


def test_pairs_without_demand_are_drawn_again_and_contexts_standardised():
    drawn = histories.draw("newsvendor", 300, 5, seed=1, test_rows=20_000)
    assert (drawn.outcomes > 0).all()
    assert (drawn.test_outcomes > 0).all()
    np.testing.assert_allclose(drawn.contexts.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(drawn.contexts.std(axis=0, ddof=1), 1)
    again = histories.draw("newsvendor", 300, 5, seed=1, test_rows=20_000)
    np.testing.assert_array_equal(drawn.test_contexts, again.test_contexts)


def test_contexts_that_lose_pairs_become_rarer():
    """P(y > 0 | x) = Φ(s(x)), and s falls to 1.7·(1 − sin …): a negative index loses some."""
    drawn = histories.draw("newsvendor", 10, 50, seed=3, test_rows=50_000)
    low, high = (np.mean(drawn.index * side > 0.3) for side in (-1, 1))
    assert high > 1.02 * low


def test_the_first_demand_falls_where_the_others_rise():
    drawn = histories.draw("inventory", 100, 10, seed=0, test_rows=40_000)
    signs = np.array([1, -1, -1])
    mean = [
        drawn.test_outcomes[part].mean(axis=0) * np.exp(signs * drawn.index[part].mean())
        for part in (drawn.index > 0.1, drawn.index < -0.1)
    ]
    # 12,000 draws each, and e^u is not linear
    np.testing.assert_allclose(mean, [[1, 2, 4]] * 2, rtol=0.06)


# --------------------------------------------------------------------------- losses, oracles


def test_the_inventory_in_closed_form_is_the_printed_program():
    costs = paper_inventory_costs()
    program = InventorySubstitution(costs.holding, costs.stockout, costs.substitution)
    z, y = RNG.exponential([1.2, 2.4, 4.4], (500, 3)), RNG.gamma([1, 2, 4], size=(500, 3))
    closed = np.asarray(losses.inventory(jnp.asarray(z), jnp.asarray(y)))
    np.testing.assert_allclose(closed, np.asarray(program(z, y)), atol=2e-5)


def test_stocks_below_zero_count_as_one_and_keep_their_slope():
    y = jnp.array([[3.0, 2.0, 4.0]])
    below, one = (jnp.array([[first, 2.0, 4.0]]) for first in (-0.5, 1.0))
    value, slope = (
        (losses.inventory(z, y)[0], jax.grad(lambda z: losses.inventory(z, y)[0])(z))
        for z in (below, one)
    )
    assert value[0] == slope[0]
    np.testing.assert_array_equal(value[1], slope[1])


def test_the_smooth_loss_is_above_the_exact_one_by_no_more_than_at_its_kink():
    z, y = RNG.normal(size=(2, 400, 1))
    gap = losses.smooth_newsvendor(z, y) - losses.exact_newsvendor(z, y)
    assert (gap >= 0).all()
    assert (gap > 1e-3).any()
    at_kink = losses.smooth_newsvendor(jnp.zeros((1, 1)), jnp.zeros((1, 1)))[0]
    assert at_kink == pytest.approx(1.6 * np.log(2) / 5, rel=1e-5)
    assert gap.max() <= at_kink + 1e-6


@pytest.mark.slow
def test_oracles_of_the_inventory():
    """No stocks cost less on average; the published 3.29 is the estimate at three features."""
    drawn = histories.draw("inventory", 100, 3, seed=2, test_rows=50_000)
    exact = oracles.oracle("inventory", drawn.index)
    constant = [1.17829, 2.37996, 4.39120] * np.ones((len(drawn.index), 1))
    stocks = constant * histories.scales(drawn.index)
    found = scores("inventory", drawn, lambda _: stocks)
    assert exact < found["loss"] + 0.02  # standard error of the mean over 50,000 outcomes: 0.01
    estimated = oracles.oracle_as_estimated("inventory", drawn.index)
    assert estimated == pytest.approx(3.29, abs=0.02)  # over draws of the truth it varies by 0.01
    assert exact - estimated > 0.1


def test_the_published_oracle_of_the_newsvendor_is_that_of_unit_noise():
    assert oracles.oracle_as_estimated("newsvendor", np.zeros(1)) == pytest.approx(0.6067, abs=5e-5)


# --------------------------------------------------------------------------- training


def test_the_released_trackers_telescope():
    """Compared with the last batch's mean, y follows t itself and c goes to 1."""
    beta, y, last = 0.05, 1.0, 0.0
    for step, t in enumerate(RNG.lognormal(1.0, 2.0, 200)):
        y = (1 - beta) * (y + t - last) + beta * t
        last = t
        assert y == pytest.approx(t + (1 - beta) ** (step + 1), rel=1e-9)
        log_mean = jnp.log(t)
        assert training.corrected(log_mean, jnp.asarray(step), jnp.asarray(beta)) == pytest.approx(
            t / y, rel=1e-4
        )
    assert t / y == pytest.approx(1, abs=1e-3)


def test_every_row_of_a_batch_has_the_same_weight_and_those_above_the_clamp_none():
    history = histories.draw("newsvendor", 64, 5, seed=0, test_rows=10)
    start = rules.first("forest", 5, 1, np.random.default_rng(0))
    fixed = {"seen": start.pop("seen")}
    share = jnp.full(64, 1 / 64)
    x, y = jnp.asarray(history.contexts), jnp.asarray(history.outcomes)
    numbers = {"temperature": jnp.asarray(0.08), "beta": jnp.asarray(0.05)}
    kinds = {tilted: (losses.smooth_newsvendor, 25.0, tilted) for tilted in (False, True)}

    def gradient(kind):
        def of(start):
            return training.batch_objective(kind, fixed, start, x, y, share, 10_000, numbers)

        return jax.grad(of)(start)["leaves"]

    def mean(start):
        each = losses.smooth_newsvendor(rules.decide(start | fixed, x), y)
        return share @ jnp.where(each < 2.0, each, 0.0)  # 25 · 0.08

    plain = jax.grad(mean)(start)["leaves"]
    np.testing.assert_allclose(gradient(kinds[False]), plain, rtol=2e-4, atol=1e-7)
    gap = np.abs(gradient(kinds[True]) - plain).max()
    assert gap > 0.5 * np.abs(plain).max()


def test_hidden_features_say_nothing_and_a_fifth_is_hidden_from_later_trees():
    start = rules.first("forest", 10, 1, np.random.default_rng(0))
    hidden = (np.asarray(start["seen"])[:, 0] == 0).sum(axis=1)
    assert list(hidden) == [0] * 3 + [2] * 17
    assert start["weights"].shape == (20, 31, 10)
    last = {name: part[-1:] for name, part in start.items()}
    x = RNG.normal(size=(5, 10)).astype(np.float32)
    moved = np.where(np.asarray(last["seen"])[0, 0] == 0, x + 5, x)
    np.testing.assert_array_equal(rules.decide(last, x), rules.decide(last, moved))


@pytest.mark.slow
def test_against_all_demands_of_a_batch_contexts_are_not_learned():
    history = histories.draw("newsvendor", 400, 5, seed=0, test_rows=500)
    spread = {}
    for kind in ("rows", "pairs"):
        start = rules.first("forest", 5, 1, np.random.default_rng(0))
        learned = train("newsvendor", Trainer(kind, passes=30), start, history, 0)
        spread[kind] = float(np.std(rules.decide(learned, jnp.asarray(history.test_contexts))))
    assert spread["pairs"] < 0.3 * spread["rows"]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["forest", "network"])
@pytest.mark.parametrize("order", [1, 2])
def test_the_released_trainer_learns_and_a_short_last_batch_is_a_mean_of_its_own(rule, order):
    history = histories.draw("newsvendor", 100, 3, seed=0, test_rows=2_000)
    start = rules.first(rule, 3, 1, np.random.default_rng(0))
    # λε large enough that no row is cut off: at the published ones most of the first losses are
    before, after = (
        scores("newsvendor", history, lambda x, p=p: rules.decide(p, jnp.asarray(x)))["loss"]
        for p in (
            start,
            train("newsvendor", Trainer("released", order, 2.0, 0.3, passes=40), start, history, 0),
        )
    )
    assert after < 0.8 * before
    taken, shares = training._batches(100, 64, 2, np.random.default_rng(0))
    assert taken.shape == shares.shape == (4, 64)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert list((shares > 0).sum(axis=1)) == [64, 36, 64, 36]
    for one in (slice(0, 2), slice(2, 4)):
        assert sorted(taken[one][shares[one] > 0]) == list(range(100))


def test_without_moves_the_clamp_is_kept():
    still, hedged = unmoved("newsvendor"), recipe("newsvendor", RELEASED[2])
    assert still.penalty * still.epsilon == pytest.approx(hedged.penalty * hedged.epsilon)
    shift = training.moved(jax.random.key(0), (1000,), jnp.asarray(still.epsilon), 2)
    assert np.abs(shift).max() < 1e-3


def test_a_portfolio_is_normalised_and_its_loss_is_the_printed_one():
    z = RNG.uniform(size=(7, 5))
    y = RNG.normal(size=(7, 4))
    gained = np.sum(y * z[:, :4] / z[:, :4].sum(axis=1, keepdims=True), axis=1)
    expected = (gained - z[:, 4]) ** 2 - 3.0 * gained
    found = losses.portfolio(jnp.asarray(z), jnp.asarray(y), 3.0)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def a_market(days=900, assets=60):
    dates = np.arange("2018-11-01", "2025-01-01", dtype="datetime64[D]")
    dates = dates[np.is_busday(dates)][:days]
    rng = np.random.default_rng(0)
    names = tuple(f"a{i}" for i in range(assets)), ("x", "y")
    return Market(dates, rng.normal(size=(days, assets)), rng.normal(size=(days, 2)), *names)


def test_a_trading_day_is_learned_from_and_held_a_sunday_is_not():
    market = a_market()
    day, sunday = (window(market, date, 0) for date in ("2021-10-01", "2021-10-03"))
    np.testing.assert_array_equal(day.outcomes[-1], day.held[0])
    assert sunday.date == np.datetime64("2021-10-04")
    assert not np.array_equal(sunday.outcomes[-1], sunday.held[0])
    assert len(day.outcomes) == 730
    assert len(day.held) == 60
    np.testing.assert_array_equal(day.assets, sunday.assets)
    assert not np.array_equal(day.assets, window(market, "2021-10-01", 1).assets)
    with pytest.raises(ValueError, match="needs 730"):
        window(a_market(700), "2021-10-01", 0)


# --------------------------------------------------------------------------- studies and pages


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["newsvendor", "inventory"])
def test_a_tiny_study_has_rows_and_a_page(problem):
    study = AsPublished(problem, problem)
    rows = [cell | row for cell in study.cells("tiny") for row in study.run(cell)]
    page = page_of(study, pd.DataFrame(rows))
    assert {row["method"] for row in rows} == {ERM, RELEASED[2]}
    assert "of 0" in page.headlines[0].ours  # one draw has no standard error
    assert "nan" not in page.text.lower()


def test_the_whole_runs_what_is_published():
    for problem, draws in (("newsvendor", 10), ("inventory", 5)):
        cells = pd.DataFrame(catalogue()[problem].cells("full"))
        of_size = cells[(cells["method"] == RELEASED[2]) & (cells["rule"] == "forest")]
        assert len(of_size.groupby(["rows", "features"])) == 16
        assert of_size.groupby(["rows", "features"])["seed"].nunique().max() == draws
        assert set(METHODS) - set(cells["method"]) <= {ALL_PAIRS}  # of the newsvendor alone
    differences = pd.DataFrame(Differences("differences").cells("full"))
    assert set(differences["problem"]) == {"newsvendor", "inventory"}


def made_up(gap):
    """Two sizes, four draws each: reruns with a published mean, the second off by so much."""
    rows = []
    for features, off in ((5, 0.0), (10, gap)):
        for method, order in ((ERM, None), (RELEASED[2], 2)):
            mean = published.mean_loss("newsvendor", order, 400, features).value + off
            for seed in range(4):
                loss = mean + (-1) ** seed * 0.01
                rows.append(
                    {"rows": 400, "features": features, "seed": seed, "rule": "forest",
                     "method": method, "loss": loss, "loss_as_released": loss + 0.04,
                     "oracle": 0.6, "oracle_as_released": 0.6067}
                )  # fmt: skip
    return pd.DataFrame(rows)


def test_agreement_counts_sizes_within_two_standard_errors():
    """Ours ± 0.0058, published at 400 × 10 ± 0.0051 (0.016/√10): together 0.0077."""
    for gap, count in ((0.0, "2"), (0.015, "2"), (0.016, "1")):
        found = pages.agreement(made_up(gap), "newsvendor", RELEASED[2], "loss")
        assert found[:2] == (count, "2")


def test_prescriptiveness_is_against_the_rerun_baseline_of_the_draw_and_clipped():
    table = made_up(0.0)
    shares = pages.saved(table).set_index(["features", "seed"])["P"]
    hedged, base = 0.6649 - 0.01 - 0.6, (0.8253 + 0.8416) / 2 - 0.01 - 0.6
    assert shares[5, 1] == pytest.approx(100 * (1 - hedged / base))
    table.loc[table["method"] == RELEASED[2], "loss"] += 5
    assert (pages.saved(table)["P"] == -100).all()


def test_methods_are_set_beside_the_released_trainer_on_the_same_draws():
    table = made_up(0.0)
    released = table[table["method"] == RELEASED[2]]
    ours = released.assign(method=HEDGEROW_DEFAULTS, loss=released["loss"] - 0.02)
    page = pages.synthetic(pd.concat([table, ours.iloc[:4]]), "newsvendor", "newsvendor")
    share = 100 * (0.6649 - 0.02 - 0.6) / (0.6649 - 0.6)
    line = f"- {HEDGEROW_DEFAULTS}: −0.020 ± 0.000, lower in 4 of 4 draws, {share:.0f} % of"
    assert line in page.text


def test_portfolios_are_compared_date_by_date():
    rows = [
        {"method": method, "rule": rule, "omega": 1.0, "date": date, "pool": 0, "day": f"d{date}",
         "loss": loss, "sharpe": 1.0, "mean": 0.1, "std": 1.0, "cvar": 2.0}
        for date, hedged in ((0, 0.5), (1, 9.0))
        for method, rule, loss in (
            ("PT", "", 0.0), ("EW", "", 2.0), (CMV, "forest", 1.0),
            (RELEASED_PORTFOLIO[2], "forest", hedged), (HEDGEROW["2-Causal-SDRO"], "forest", 0.25),
        )
    ]  # fmt: skip
    page = pages.portfolios(pd.DataFrame(rows), "portfolio")
    assert page.headlines[0].ours == "−25.0 ± 75.0 %"  # of 50 and −100
    assert page.headlines[1].ours == "75.0 ± 0.0 %"
    assert "33.2 %" in page.text
