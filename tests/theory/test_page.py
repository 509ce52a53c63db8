"""The code and the numbers of docs/theory.md are right."""

import math
import re
from pathlib import Path

from hedgerow.theory import compositional_constants, saa_sample_sizes, scsc_step_sizes
from tests.problems import history
from tests.theory.problems import fit


def test_the_code_and_numbers_of_the_page_are_right(capsys):
    policy = fit(*history())
    page = (Path(__file__).parents[2] / "docs" / "theory.md").read_text()
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "theory.md", "exec"), {"policy": policy})
    assert capsys.readouterr().out
    rows = re.findall(
        r"^\| ([\d.]+) \| 10\^(\d+) \| 10\^(\d+) \| 10\^(\d+) \| 10\^(\d+) \|", page, re.M
    )
    assert len(rows) == 4
    for temperature, *powers in rows:
        constants = compositional_constants(1.0, float(temperature), 1.0, 5)
        sizes = saa_sample_sizes(constants, 0.05, 0.05, 1000, 10.0)
        logs = (*sizes.log_sizes, scsc_step_sizes(constants, 500).log_fewest_steps)
        assert [round(log / math.log(10)) for log in logs] == [int(power) for power in powers]
