import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import hedgerow as hr
from hedgerow import demo
from hedgerow.demo import Line


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "made" / "here"
    screen = Console(file=io.StringIO(), width=80, highlight=False)
    return demo.run(folder, seed=1, steps=100, console=screen), screen.file.getvalue(), folder


@pytest.mark.slow
def test_files_are_written_and_agree_with_one_another(result):
    shown, _, folder = result
    names = ["decision.png", "decisions.csv", "policy.hedgerow", "training.png"]
    assert sorted(file.name for file in folder.iterdir()) == names
    assert sorted(shown.files) == [folder / name for name in names]
    decisions = pd.read_csv(folder / "decisions.csv")
    assert list(decisions.columns) == ["date", "decision", "demand", "loss"]
    assert len(decisions) == 192
    assert decisions.date.min() == "2015-04-30"
    spare = (decisions.decision - decisions.demand).clip(lower=0)
    short = (decisions.demand - decisions.decision).clip(lower=0)
    # both columns are rounded to cents, and a stock-out cent counts threefold
    np.testing.assert_allclose(decisions.loss, spare + 3 * short, atol=0.021)
    data = hr.datasets.load_restaurant(demo.DISH, as_frame=True)
    policy = hr.load(folder / "policy.hedgerow")
    assert policy.robust_value_ == shown.policy.robust_value_
    contexts = data.data[policy.feature_names_in_][573:]
    np.testing.assert_allclose(policy.predict(contexts), decisions.decision, atol=0.0051)


@pytest.mark.slow
def test_the_table_reports_losses_of_the_time_split(result):
    shown, text, _ = result
    demand = hr.datasets.load_restaurant(demo.DISH).target
    order = np.quantile(demand[:573], 0.75, method="inverted_cdf")
    fixed, trusting, hedged = shown.lines
    loss = hr.Newsvendor(demo.HOLDING, demo.STOCKOUT)
    np.testing.assert_allclose(fixed.in_sample, loss([order], demand[:573, None]).mean())
    np.testing.assert_allclose(fixed.test_losses, loss([order], demand[573:, None]))
    for line in (trusting, hedged):
        assert f"{line.in_sample:.2f}" in text
        assert f"{line.out_of_sample:.2f}" in text
        assert f"{line.robust_value:.2f}" in text
        assert line.in_sample < fixed.in_sample
    assert hedged.robust_value == shown.policy.robust_value_.value


@pytest.mark.slow
def test_robust_values_are_comparable(result):
    lines = result[0].lines
    # one model for all: the policy trained for it does best under it, and hedging costs something
    assert lines[2].robust_value == min(line.robust_value for line in lines)
    assert all(line.robust_value > line.in_sample for line in lines)


@pytest.mark.slow
def test_the_output_fits_eighty_columns_and_names_its_settings(result):
    _, text, folder = result
    assert max(len(line.rstrip()) for line in text.splitlines() if str(folder) not in line) <= 80
    words = " ".join(text.split())
    assert "default penalty 23.9 and epsilon 0.01" in words
    assert "€ a day" in words
    for name in ("policy.hedgerow", "decisions.csv", "decision.png", "training.png"):
        assert name in words


@pytest.mark.parametrize(
    ("hedged_losses", "robust_value", "expected", "unexpected"),
    [
        (np.full(50, 4.0), 5.0, ["1.00 ± 0.00 less than the trusting", "below"], ["pay", "chance"]),
        (
            np.full(50, 6.0),
            5.0,
            ["1.00 ± 0.00 more (here hedging did not pay)", "worse"],
            ["below"],
        ),
        (np.tile([3.0, 6.9], 25), 5.0, ["too little to tell from chance over 50 days"], ["pay"]),
    ],
    ids=["better", "worse", "no difference"],
)
def test_the_sentences_say_what_happened(hedged_losses, robust_value, expected, unexpected):
    lines = [
        Line("fixed", 7.0, np.full(50, 9.0), 9.0),
        Line("trusting", 2.0, np.full(50, 5.0), 6.0),
        Line("hedged", 4.0, hedged_losses, robust_value),
    ]
    text = " ".join(demo._sentences(lines))
    assert "seemed to cost 2.00 in training and cost 5.00 afterwards (+150\u00a0%)" in text
    assert all(words in text for words in expected)
    assert not any(words in text for words in unexpected)
