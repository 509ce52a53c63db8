"""Costs read from columns of X: the same problem with numbers, and the formulas written anew.

Where costs are constant they are numbers; where they are multiples they are weights; values are
those of an independent computation in which every context pays its own costs.
"""

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, logsumexp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import hedgerow as hr
from hedgerow import fitting
from hedgerow._components import double
from hedgerow.data import TrainingTable
from hedgerow.kernels import Sobol
from hedgerow.losses import Loss
from hedgerow.solvers import Objective, Parameters
from tests.extending.parts import Quantile
from tests.problems import AUTO, QUICK, SMALL

pytestmark = pytest.mark.filterwarnings("ignore::hedgerow.HedgerowWarning")
COSTS = hr.Newsvendor(hr.Column("holding"), hr.Column("stockout"))


def table(rows=80, seed=0, holding=None, stockout=None):
    """Contexts with costs among them, and demands."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=rows)
    X = pd.DataFrame(
        {
            "signal": signal,
            "holding": rng.uniform(0.5, 2, rows) if holding is None else holding,
            "stockout": rng.uniform(1, 9, rows) if stockout is None else stockout,
        }
    )
    return X, np.maximum(20 + 5 * signal + rng.gamma(3, 2, rows), 0.1)


def policy(loss=COSTS, ambiguity=None, **parts):
    settings = {"rule": SMALL, "solver": QUICK, "nominal": hr.EmpiricalNominal()} | parts
    return hr.RobustPolicy(loss, ambiguity or hr.ERM(), random_state=0, **settings)


MODELS = {
    "erm": hr.ERM(),
    "causal": hr.CausalSinkhorn(5.0, 0.1, **AUTO),
    "sinkhorn": hr.Sinkhorn(5.0, 0.1, **AUTO),
    "kl": hr.KL(3.0, loss_scale="auto"),
    "wasserstein": hr.CausalWasserstein(5.0, **AUTO),
    "radius": hr.CausalSinkhorn(radius=2.0, epsilon=0.1, **AUTO),
}


class TestTheSameProblem:
    @pytest.mark.parametrize(
        "name",
        [
            pytest.param(name, marks=[] if name in ("erm", "kl") else pytest.mark.slow)
            for name in MODELS
        ],
    )
    def test_constant_columns_are_numbers(self, name):
        X, y = table(holding=1.5, stockout=4.0)
        model = MODELS[name]
        by_column, by_number = (
            policy(loss, model).fit(X, y) for loss in (COSTS, hr.Newsvendor(1.5, 4.0))
        )
        # the same sums, perhaps in another order, in float32
        np.testing.assert_allclose(by_column.predict(X), by_number.predict(X), rtol=1e-6)
        assert by_column.score(X, y) == pytest.approx(by_number.score(X, y), rel=1e-6)
        values = [hr.robust_value(each, X[:30], y[:30]).value for each in (by_column, by_number)]
        assert values[0] == pytest.approx(values[1], rel=1e-6)

    def test_nobody_is_warned_of_constant_costs(self):
        X, y = table(holding=1.5, stockout=4.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error", hr.ConstantFeatureWarning)
            policy().fit(X, y)
        with pytest.warns(hr.ConstantFeatureWarning, match="stockout never"):
            policy(hr.Newsvendor(hr.Column("holding"), 4.0)).fit(X, y)

    def test_multiples_of_costs_are_multiples_of_outcomes(self):
        X, y = table(holding=1.0, stockout=3.0)
        dear = X.assign(holding=2.5, stockout=7.5)
        model = hr.CausalSinkhorn(5.0, 0.1, **AUTO)
        by_costs = policy(COSTS, model).fit(dear, y).predict(dear)
        by_outcomes = policy(hr.Newsvendor(1.0, 3.0), model).fit(X, 2.5 * y).predict(X)
        np.testing.assert_allclose(2.5 * by_costs, by_outcomes, rtol=1e-6)

    def test_multiples_by_row_are_weights(self):
        """c_i·(h, b) is (h, b) with weight c_i: best constant and empirical value."""
        rng = np.random.default_rng(1)
        weight = rng.uniform(0.2, 3, 80)
        X, y = table(holding=1.0 * weight, stockout=3.0 * weight)
        settings = {"ambiguity": hr.ERM(), "nominal": hr.EmpiricalNominal()}

        def decide(x):
            return 20 + 5 * x[:1]

        by_costs = hr.RobustPolicy.from_function(decide, COSTS, X, y, **settings)
        weighted = hr.RobustPolicy.from_function(
            decide, hr.Newsvendor(1.0, 3.0), X, y, sample_weight=weight, **settings
        )
        assert by_costs.units_.constant == weighted.units_.constant
        mean = weight.mean()
        assert by_costs.robust_value_.value == pytest.approx(
            mean * weighted.robust_value_.value, rel=1e-9
        )
        assert by_costs.units_.constant_loss == pytest.approx(
            mean * weighted.units_.constant_loss, rel=1e-9
        )

    def test_weights_by_row_lead_to_weighted_least_squares(self):
        """A smooth loss, so that training ends at the minimum: numpy's, and with sample_weight."""
        rng = np.random.default_rng(2)
        weight = rng.uniform(0.2, 3, 60)
        x = rng.normal(size=60)
        y = 3 + x + 0.5 * rng.normal(size=60) * (1 + (x > 0))
        X = np.column_stack([x, weight])
        design = np.column_stack([x, weight, np.ones(60)]) * np.sqrt(weight)[:, None]
        expected = np.linalg.lstsq(design, y * np.sqrt(weight), rcond=None)[0]
        solver = hr.SAA(steps=400)
        by_column = policy(Squares(hr.Column(1)), rule=hr.Affine(), solver=solver).fit(X, y)
        weighted = policy(Squares(1.0), rule=hr.Affine(), solver=solver).fit(X, y, weight)
        decided = X @ expected[:2] + expected[2]
        # a quarter of float32's digits: the objective is flat around its minimum
        np.testing.assert_allclose(by_column.predict(X), decided, rtol=2e-4)
        np.testing.assert_allclose(by_column.predict(X), weighted.predict(X), rtol=2e-4)


class Squares(Loss):
    """weight·(z − y)²."""

    traced = ("weight",)
    weight: float

    def __call__(self, z, y):
        return self.weight * ((z - y) ** 2).sum(axis=-1)

    def decisions_for(self, n_outcomes):
        return hr.Free(n_outcomes)


class TestValuesAgainstTheFormulas:
    """One feature, which is the holding cost: contexts 0.5 … 2, three outcomes each."""

    STOCKOUT, SLOPE, START = 2.0, 1.5, 3.0
    PENALTY, EPSILON = 3.0, 0.2
    T = PENALTY * EPSILON

    @pytest.fixture
    def data(self):
        rng = np.random.default_rng(3)
        cost = np.repeat([0.5, 0.9, 1.4, 2.0], 3)
        return cost, 5 + cost + rng.normal(size=12)

    def asked(self, model, data, ask=hr.worst_case):
        cost, y = data
        loss = hr.Newsvendor(hr.Column(0), self.STOCKOUT, decision_set=hr.Free(1))
        given = hr.RobustPolicy.from_function(
            lambda x: self.START + self.SLOPE * x,
            loss,
            cost[:, None],
            y,
            ambiguity=model,
            nominal=hr.EmpiricalNominal(),
        )
        return ask(given, cost[:, None], y, tolerance=1e-7)

    def losses(self, cost, x, y):
        z = self.START + self.SLOPE * x
        return cost * np.maximum(z - y, 0) + self.STOCKOUT * np.maximum(y - z, 0)

    def moments(self, data, x):
        """log E exp(Ψ/T) of each observation when its context is at x: (12, …)."""
        cost, y = (part.reshape(12, *(1,) * (np.ndim(x) - 1)) for part in data)
        width, gap = np.sqrt(self.EPSILON / 2), self.START + self.SLOPE * x - y
        over, under = cost / self.T, self.STOCKOUT / self.T
        return np.logaddexp(
            over * gap + (over * width) ** 2 / 2 + log_ndtr(gap / width + over * width),
            -under * gap + (under * width) ** 2 / 2 + log_ndtr(-gap / width + under * width),
        )

    def summed(self, moments, causal):
        """The exponents of contexts: outcomes of one are averaged, if it is moved as one."""
        if not causal:
            return moments
        grouped = moments.reshape(4, 3, *moments.shape[1:]).mean(axis=1, keepdims=True)
        return np.broadcast_to(grouped, (4, 3, *moments.shape[1:])).reshape(moments.shape)

    @pytest.mark.slow
    @pytest.mark.parametrize("causal", [True, False], ids=["causal", "plain"])
    def test_sinkhorn(self, data, causal):
        points, weights = np.polynomial.hermite.hermgauss(120)
        around = data[0][:, None] + points * np.sqrt(self.EPSILON)
        exponents = self.summed(self.moments(data, around), causal)
        heights = logsumexp(exponents + np.log(weights / np.sqrt(np.pi)), axis=1)
        kind = hr.CausalSinkhorn if causal else hr.Sinkhorn
        found = self.asked(kind(self.PENALTY, self.EPSILON), data)
        assert found.robust.value == pytest.approx(self.T * heights.mean(), rel=1e-6)

        # the worst case: each context tilted by what its own costs make of it
        rng = np.random.default_rng(6)
        x, y = rng.uniform(0, 3, 40), rng.uniform(2, 10, 40)
        each = self.moments(data, np.broadcast_to(x, (12, 40)))
        cost, home = (part[:, None] for part in data)
        kernels = (-((x - cost) ** 2) - (y - home) ** 2) / self.EPSILON - np.log(np.pi * 0.2)
        log_density = (
            kernels
            + self.summed(each, causal)
            - heights[:, None]
            + self.losses(cost, x, y) / self.T
            - each
        )
        expected = np.exp(log_density).mean(axis=0)
        np.testing.assert_allclose(found.density(x, y), expected, rtol=1e-6)
        drawn = found.sample(20_000, seed=1)
        paid = self.losses(data[0][::3][drawn.source], drawn.x[:, 0], drawn.y[:, 0])
        assert abs(paid.mean() - found.expected_loss()) < 4 * paid.std() / np.sqrt(len(paid))
        grid = np.linspace(-3, 6, 4001)
        assert found.marginal_x(grid).sum() * 9 / 4000 == pytest.approx(1, abs=1e-6)
        over_x = [found.density(grid, np.full(4001, at)).sum() * 9 / 4000 for at in (3.0, 7.0)]
        # its nodes meet a kink in x, where the order is the demand
        np.testing.assert_allclose(found.marginal_y([3.0, 7.0]), over_x, rtol=1e-3)

    def test_kl(self, data):
        losses = self.losses(*data[:1], *data)
        expected = self.PENALTY * (logsumexp(losses / self.PENALTY) - np.log(12))
        found = self.asked(hr.KL(self.PENALTY), data)
        assert found.robust.value == pytest.approx(expected, rel=1e-9)
        worst = np.exp(losses / self.PENALTY)
        assert found.expected_loss() == pytest.approx(worst @ losses / worst.sum(), rel=1e-9)

    @pytest.mark.slow
    def test_causal_wasserstein(self, data):
        cost, y = (part.reshape(4, 3) for part in data)
        b, price = self.STOCKOUT, self.PENALTY

        def height(x, k):
            h, z = cost[k, 0], self.START + self.SLOPE * x
            over = h * (z - y[k]) + h**2 / (4 * price)
            under = b * (y[k] - z) + b**2 / (4 * price)
            return np.mean(np.maximum(over, under)) - price * (x - h) ** 2

        expected = []
        for k in range(4):
            near = max(np.linspace(-3, 6, 4001), key=lambda x: height(x, k))
            top = minimize_scalar(
                lambda x, k=k: -height(x, k), bounds=(near - 0.01, near + 0.01), method="bounded",
                options={"xatol": 1e-10},
            )  # fmt: skip
            expected.append(-top.fun)
        found = self.asked(hr.CausalWasserstein(self.PENALTY), data)
        assert found.robust.value == pytest.approx(np.mean(expected), rel=1e-6)
        paid = (found.x - found.from_x)[:, 0] ** 2 + (found.y - found.from_y)[:, 0] ** 2
        gained = self.losses(found.from_x[:, 0], found.x[:, 0], found.y[:, 0])
        assert found.weights @ (gained - self.PENALTY * paid) == pytest.approx(
            found.robust.value, rel=1e-6
        )

    @pytest.mark.slow
    def test_the_row_that_needs_most_decides_which_penalties_are_admissible(self, data):
        with pytest.raises(hr.InadmissiblePenaltyError, match=r"greater than 2[;,.]"):
            self.asked(hr.CausalSinkhorn(1.9, 0.2, order=1), data)
        # a rule that rises by 1.5 as x does: 1.5·2 is paid for moving x up, in the last context
        low, high = (
            self.asked(hr.CausalSinkhorn(price, 0.2, order=1), data, hr.robust_value).value
            for price in (2.99, 3.01)
        )
        assert low == np.inf
        assert np.isfinite(high)


@pytest.mark.slow
@pytest.mark.parametrize("nominal", [hr.EmpiricalNominal(), hr.NeighbourNominal(3)])
@pytest.mark.parametrize("loss", [COSTS, Quantile(hr.Column("level"))], ids=["closed", "sampled"])
def test_the_gradient_of_training_is_that_of_finite_differences(loss, nominal):
    X, y = table(30)
    X["level"] = np.random.default_rng(4).uniform(0.2, 0.8, 30)
    parts = fitting.Parts.of(
        policy(loss).fit(X, y).loss_, hr.CausalSinkhorn(5.0, 0.1, **AUTO), SMALL, nominal, QUICK
    )
    problem = fitting.pose(parts, X.to_numpy(), y[:, None], np.ones(30))
    rule = fitting.first_rule(parts, problem, jax.random.key(0))
    with jax.enable_x64(True):
        built = TrainingTable.build(
            problem.nominal, problem.units, 8, np.float64, problem.parameters()
        )
        nodes = Sobol(4), None if loss is COSTS else Sobol(4)
        learned, fixed = double(rule).split()
        objective = Objective(fixed, built, problem.setting(*nodes), double(problem.working), None)
        batch = built.gather(jnp.arange(30), jnp.full(30, 1 / 30))
        assert batch.parameters.shape[0] == 30

        def value(learned):
            at = Parameters(learned, None)
            return objective.value(at, objective.tilt(at, batch, jax.random.key(1)), batch)

        flat, unravel = jax.flatten_util.ravel_pytree(eqx.filter(learned, eqx.is_array))
        direction = np.random.default_rng(5).normal(size=flat.shape)
        of_flat = jax.jit(lambda theta: value(unravel(theta)))
        gradient = jax.jit(jax.grad(of_flat))(flat) @ direction
        step = 1e-6
        difference = of_flat(flat + step * direction) - of_flat(flat - step * direction)
    assert float(gradient) == pytest.approx(float(difference / (2 * step)), rel=1e-5)


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    return policy(COSTS, hr.CausalSinkhorn(5.0, 0.1, **AUTO)).fit(X, y)


class TestGoingEverywhere:
    @pytest.mark.slow
    def test_decisions_react_to_the_ratio_of_costs(self):
        X, y = table(200, stockout=np.tile([1.0, 20.0], 100), holding=2.0)
        fitted = policy(solver=None, rule=None).fit(X, y)
        cheap, dear = (fitted.predict(X.assign(stockout=cost)).mean() for cost in (1.0, 20.0))
        assert dear > cheap + 2

    def test_losses_are_each_rows_own(self, fitted):
        X, y = table(20, seed=9)
        z = fitted.predict(X)
        expected = X.holding * np.maximum(z - y, 0) + X.stockout * np.maximum(y - z, 0)
        np.testing.assert_allclose(fitted.losses(X, y), expected, rtol=1e-12)
        assert fitted.score(X, y) == pytest.approx(-expected.mean(), rel=1e-12)

    @pytest.mark.slow
    def test_saved_and_read(self, fitted, tmp_path):
        X, y = table(20, seed=9)
        value = fitted.robust_value_
        fitted.save(tmp_path / "p.hedgerow")
        again = hr.load(tmp_path / "p.hedgerow")
        assert again.loss.holding == hr.Column("holding")
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
        np.testing.assert_array_equal(again.losses(X, y), fitted.losses(X, y))
        assert again.robust_value_.value == value.value
        assert hr.robust_value(again, X, y) == hr.robust_value(fitted, X, y)

    def test_scikit_learns_tools(self):
        X, y = table()
        assert np.all(cross_val_score(clone(policy()), X, y, cv=2) < 0)
        search = GridSearchCV(
            policy(), {"loss__holding": [hr.Column("holding"), hr.Column("stockout")]}, cv=2
        ).fit(X, y)
        assert search.best_params_["loss__holding"] in (hr.Column("holding"), hr.Column("stockout"))

    @pytest.mark.slow
    def test_a_search(self):
        X, y = table()
        held = {}
        for name, loss in {"column": COSTS, "number": hr.Newsvendor(1.5, 4.0)}.items():
            contexts = X if name == "column" else X.assign(holding=1.5, stockout=4.0)
            search = hr.RobustPolicyCV(
                loss,
                penalties=[5.0, np.inf],
                epsilons=[0.1],
                rules=[SMALL],
                nominals=[hr.EmpiricalNominal()],
                solver=QUICK,
                cv=3,
                random_state=0,
            )
            held[name] = search.fit(contexts, y).cv_results_["mean_loss"]
            same = search.set_params(loss=COSTS).fit(contexts, y).cv_results_["mean_loss"]
            np.testing.assert_allclose(same, held[name], rtol=1e-5)  # float32 on the way
        assert not np.allclose(held["column"], held["number"])

    @pytest.mark.slow
    def test_censored_rows(self):
        X, y = table(holding=1.5, stockout=4.0)
        censored = np.arange(80) % 4 == 0
        model = hr.CausalSinkhorn(5.0, 0.1, **AUTO)
        each = [
            policy(loss, model).fit(X, y, censored=censored)
            for loss in (COSTS, hr.Newsvendor(1.5, 4.0))
        ]
        values = [one.robust_value_.value for one in each]
        assert values[0] == pytest.approx(values[1], rel=1e-6)

    @pytest.mark.slow
    def test_a_report(self, fitted, tmp_path):
        X, y = table(20, seed=9)
        text = hr.report.write_report(fitted, X, y, tmp_path / "r.html", loss_unit="€").read_text()
        assert "Each unit left over costs what column holding says, in €" in text
        assert "Perfect foresight" in text

    @pytest.mark.slow
    def test_several_products(self):
        X, y = table()
        Y = np.column_stack([y, 2 * y])
        both = hr.Newsvendor(hr.Column("holding"), hr.Column("stockout", "holding"))
        fitted = policy(both, hr.CausalSinkhorn(5.0, 0.1, **AUTO)).fit(X, Y)
        gap = fitted.predict(X) - Y
        h, b = X[["holding"]].to_numpy(), X[["stockout", "holding"]].to_numpy()
        expected = (h * np.maximum(gap, 0) + b * np.maximum(-gap, 0)).sum(axis=1)
        np.testing.assert_allclose(fitted.losses(X, Y), expected, rtol=1e-12)
        assert np.isfinite(fitted.robust_value_.value)
        with pytest.raises(ValueError, match="stockout has 2 entries, one per product"):
            policy(both).fit(X, y)


class TestTheDoor:
    def test_arrays_have_no_names(self):
        X, y = table()
        with pytest.raises(ValueError, match="columns of X have no names"):
            policy().fit(X.to_numpy(), y)

    def test_missing_values(self):
        X, y = table()
        X.loc[7, "holding"] = np.nan
        with pytest.raises(ValueError, match="X contains NaN"):
            policy().fit(X, y)

    @pytest.mark.parametrize("ask", ["fit", "score", "value", "search"])
    def test_negative_costs(self, ask):
        X, y = table()
        bad = X.copy()
        bad.loc[12, "stockout"] = -1.0
        asked = {
            "fit": lambda: policy().fit(bad, y),
            "score": lambda: policy().fit(X, y).score(bad, y),
            "value": lambda: hr.robust_value(policy().fit(X, y), bad, y),
            "search": lambda: hr.RobustPolicyCV(COSTS).fit(bad, y),
        }
        with pytest.raises(ValueError, match="stockout must not be negative, got -1 in row 12 of"):
            asked[ask]()
