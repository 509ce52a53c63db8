"""What the paper prints and what its authors' result tables hold, as plain data.

Sources: the paper's Section 6 (tab:porfolio-results, averages and correlations quoted in the text),
and means over draws of the released tables, size by size: losses of the oracle, of the empirical
risk (ERM) and of Causal-SDRO, prescriptiveness in percent, and the parameters that were tuned.

The paper's SRF is called forest here, its 2NN network. Sixteen numbers are sizes in the order of
``trials.SIZES``: rows first, and for each number of rows the numbers of features. Five numbers are
ω = 1, 3, 5, 7, 9. Where tables and text differ, both are as they were found: for inventory forests
the tables' means are 52.0 and 53.4 %, the text says 48.5 and 49.4 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from hedgerow_studies.paper.synthetic_problems import SIZES

OMEGAS = (1.0, 3.0, 5.0, 7.0, 9.0)
INSTANCES = {"newsvendor": 10, "inventory": 5}
"""Draws of a size in the released tables."""
MODELS = (
    "1-Causal-SDRO", "2-Causal-SDRO", "1-SDRO", "2-SDRO", "1-Causal-WDRO", "2-Causal-WDRO",
    "KL-DRO",
)  # fmt: skip
ORACLE = {"newsvendor": 0.6067, "inventory": 3.29}

# fmt: off
ERM_LOSSES: dict[str, dict[tuple[int, str], tuple[float, ...]]] = {
    "newsvendor": {
        (1, "forest"): (0.8035, 0.8417, 0.9772, 1.1164, 0.8253, 0.8357, 0.8813, 1.0712,
                        0.8303, 0.8264, 0.8351, 1.0064, 0.8203, 0.8546, 0.8232, 0.9937),
        (1, "network"): (0.7361, 0.9042, 1.0088, 1.1816, 0.7309, 0.8924, 0.9611, 1.1282,
                         0.6536, 0.7937, 0.8992, 1.0376, 0.6552, 0.7620, 0.8887, 1.0065),
        (2, "forest"): (0.8185, 0.8534, 0.9666, 1.1173, 0.8416, 0.8237, 0.8884, 1.0677,
                        0.8271, 0.8418, 0.8297, 1.0284, 0.8225, 0.8436, 0.8187, 0.9983),
        (2, "network"): (0.7641, 0.8963, 1.0348, 1.2535, 0.7104, 0.8734, 0.9810, 1.1479,
                         0.6608, 0.8079, 0.9165, 1.0420, 0.6467, 0.7631, 0.8869, 1.0511),
    },
    "inventory": {
        (1, "forest"): (3.7088, 4.0219, 4.1549, 4.3734, 3.7546, 3.9906, 4.1570, 4.3599,
                        3.6596, 4.0942, 4.2011, 4.4590, 3.6085, 4.0779, 4.2552, 4.6664),
        (1, "network"): (4.4511, 5.1354, 5.3800, 5.5545, 4.0716, 4.5888, 5.4016, 5.4519,
                         3.7078, 4.3370, 5.3974, 5.3286, 3.4791, 3.7441, 4.5131, 4.8888),
        (2, "forest"): (3.8038, 4.0025, 4.2326, 4.3044, 3.8028, 4.0673, 4.1440, 4.3599,
                        3.7829, 4.0254, 4.1976, 4.4590, 3.6864, 3.9457, 4.2170, 4.6664),
        (2, "network"): (4.6735, 4.9145, 5.5400, 6.4695, 4.1310, 4.6146, 5.3365, 5.8588,
                         3.7626, 4.1121, 5.2758, 5.1885, 3.5619, 3.6319, 4.7286, 4.9114),
    },
}
"""Of the empirical risk, by order and rule."""

HEDGED_LOSSES: dict[str, dict[tuple[int, str], tuple[float, ...]]] = {
    "newsvendor": {
        (1, "forest"): (0.7363, 0.8159, 0.9094, 1.0152, 0.6576, 0.6891, 0.7140, 0.9105,
                        0.6486, 0.6661, 0.7131, 0.8379, 0.6476, 0.6745, 0.7293, 0.8374),
        (1, "network"): (0.7725, 0.8404, 0.9484, 1.1290, 0.7242, 0.8139, 0.8960, 1.1180,
                         0.6824, 0.7720, 0.8231, 1.0383, 0.6767, 0.7699, 0.8015, 1.0204),
        (2, "forest"): (0.6906, 0.7413, 0.8523, 1.0178, 0.6649, 0.6823, 0.7218, 0.9350,
                        0.6558, 0.6711, 0.7221, 0.8893, 0.6464, 0.6720, 0.7357, 0.9050),
        (2, "network"): (0.7552, 0.8143, 0.9253, 1.0663, 0.6977, 0.7612, 0.8865, 1.0345,
                         0.6988, 0.7137, 0.8531, 1.0011, 0.7037, 0.7185, 0.8161, 0.9977),
    },
    "inventory": {
        (1, "forest"): (3.5351, 3.5868, 3.7946, 3.9232, 3.5758, 3.5751, 3.6495, 3.7782,
                        3.4932, 3.5898, 3.6978, 3.7640, 3.5020, 3.6358, 3.6972, 3.8979),
        (1, "network"): (4.0207, 4.5010, 4.6049, 4.4731, 3.8045, 4.1714, 4.2853, 4.4375,
                         3.5289, 4.0294, 4.1749, 4.3147, 3.5001, 3.8530, 4.0250, 4.1262),
        (2, "forest"): (3.5865, 3.5970, 3.8346, 3.7751, 3.5522, 3.6300, 3.6446, 3.7731,
                        3.5798, 3.5331, 3.6407, 3.7680, 3.5617, 3.5345, 3.6366, 3.8817),
        (2, "network"): (4.0167, 4.3560, 4.5707, 4.4987, 3.7903, 4.1707, 4.1450, 4.4211,
                         3.6386, 3.9089, 4.0892, 4.2435, 3.5639, 3.7613, 3.9656, 4.1279),
    },
}
"""Of Causal-SDRO, by order and rule."""

ERM_SPREADS: dict[str, dict[tuple[int, str], tuple[float, ...]]] = {
    "newsvendor": {
        (1, "forest"): (0.039, 0.043, 0.036, 0.033, 0.034, 0.022, 0.038, 0.029,
                        0.019, 0.017, 0.021, 0.035, 0.017, 0.021, 0.015, 0.033),
        (1, "network"): (0.024, 0.079, 0.053, 0.052, 0.032, 0.052, 0.063, 0.075,
                         0.011, 0.020, 0.019, 0.024, 0.023, 0.011, 0.038, 0.018),
        (2, "forest"): (0.018, 0.035, 0.057, 0.049, 0.034, 0.015, 0.020, 0.034,
                        0.021, 0.022, 0.019, 0.024, 0.016, 0.018, 0.016, 0.021),
        (2, "network"): (0.049, 0.062, 0.069, 0.048, 0.023, 0.045, 0.040, 0.039,
                         0.016, 0.040, 0.031, 0.043, 0.010, 0.029, 0.024, 0.040),
    },
    "inventory": {
        (1, "forest"): (0.121, 0.056, 0.087, 0.113, 0.067, 0.051, 0.171, 0.051,
                        0.095, 0.089, 0.070, 0.076, 0.084, 0.077, 0.072, 0.135),
        (1, "network"): (0.246, 0.170, 0.227, 0.658, 0.069, 0.136, 0.313, 1.004,
                         0.116, 0.104, 0.231, 0.228, 0.082, 0.072, 0.340, 0.159),
        (2, "forest"): (0.068, 0.092, 0.086, 0.069, 0.079, 0.060, 0.086, 0.051,
                        0.122, 0.083, 0.092, 0.076, 0.038, 0.058, 0.110, 0.135),
        (2, "network"): (0.204, 0.168, 0.323, 1.163, 0.155, 0.117, 0.476, 1.308,
                         0.090, 0.093, 0.676, 0.224, 0.026, 0.080, 0.535, 0.128),
    },
}
"""Standard deviations over draws of the same losses of the empirical risk."""

HEDGED_SPREADS: dict[str, dict[tuple[int, str], tuple[float, ...]]] = {
    "newsvendor": {
        (1, "forest"): (0.046, 0.065, 0.053, 0.019, 0.016, 0.023, 0.022, 0.038,
                        0.018, 0.014, 0.012, 0.027, 0.011, 0.012, 0.008, 0.027),
        (1, "network"): (0.044, 0.060, 0.038, 0.047, 0.050, 0.023, 0.052, 0.083,
                         0.026, 0.022, 0.023, 0.042, 0.038, 0.030, 0.025, 0.028),
        (2, "forest"): (0.030, 0.036, 0.040, 0.037, 0.014, 0.016, 0.019, 0.035,
                        0.019, 0.016, 0.012, 0.022, 0.015, 0.016, 0.015, 0.017),
        (2, "network"): (0.045, 0.025, 0.038, 0.037, 0.034, 0.025, 0.020, 0.024,
                         0.035, 0.040, 0.026, 0.031, 0.024, 0.032, 0.023, 0.026),
    },
    "inventory": {
        (1, "forest"): (0.190, 0.124, 0.140, 0.170, 0.049, 0.014, 0.094, 0.046,
                        0.090, 0.075, 0.083, 0.072, 0.097, 0.049, 0.058, 0.105),
        (1, "network"): (0.160, 0.216, 0.117, 0.075, 0.173, 0.086, 0.134, 0.100,
                         0.066, 0.078, 0.078, 0.154, 0.102, 0.067, 0.053, 0.129),
        (2, "forest"): (0.040, 0.095, 0.074, 0.102, 0.058, 0.022, 0.059, 0.053,
                        0.105, 0.110, 0.074, 0.070, 0.039, 0.079, 0.139, 0.099),
        (2, "network"): (0.202, 0.277, 0.100, 0.247, 0.132, 0.084, 0.117, 0.047,
                         0.092, 0.111, 0.083, 0.133, 0.082, 0.063, 0.125, 0.101),
    },
}
"""The same of Causal-SDRO."""

SAVED: dict[str, dict[tuple[int, str], tuple[float, ...]]] = {
    "newsvendor": {
        (1, "forest"): (32.04, 11.81, 18.34, 19.61, 76.03, 64.08, 60.92, 34.69,
                        81.62, 72.82, 52.87, 42.09, 80.73, 72.67, 43.21, 40.17),
        (1, "network"): (-33.06, 18.68, 14.45, 8.36, -1.56, 26.14, 17.72, 0.73,
                         -49.92, 11.40, 25.57, -0.23, -35.95, -5.25, 29.68, -3.72),
        (2, "forest"): (59.64, 44.47, 31.60, 19.38, 74.79, 65.11, 59.30, 28.66,
                        78.12, 72.36, 48.12, 32.95, 81.72, 72.61, 39.09, 23.82),
        (2, "network"): (-1.33, 25.79, 24.53, 28.89, 8.75, 41.67, 24.14, 20.68,
                         -57.46, 44.61, 19.92, 8.97, -89.08, 27.76, 25.05, 11.60),
    },
    "inventory": {
        (1, "forest"): (45.65, 59.86, 42.46, 42.21, 38.00, 59.03, 58.77, 54.32,
                        47.52, 63.11, 55.44, 59.33, 36.48, 56.24, 57.91, 56.07),
        (1, "network"): (36.93, 34.74, 36.44, 44.95, 34.77, 32.06, 52.45, 40.42,
                         41.58, 29.22, 57.69, 49.02, -8.77, -25.88, 37.21, 47.66),
        (2, "forest"): (42.09, 55.66, 41.74, 52.21, 49.14, 56.15, 58.08, 54.79,
                        40.93, 68.03, 61.51, 58.95, 31.51, 63.25, 63.40, 57.23),
        (2, "network"): (45.39, 34.99, 42.35, 57.11, 40.88, 33.21, 56.56, 49.70,
                         25.61, 24.99, 57.32, 49.70, -1.50, -40.02, 47.53, 48.09),
    },
}
"""Prescriptiveness in percent, by order and rule."""
# fmt: on

AVERAGES: dict[str, dict[str, tuple[float, float]]] = {
    "newsvendor": {"forest": (50.2, 52.0), "network": (1.4, 10.3)},
    "inventory": {"forest": (48.5, 49.4), "network": (33.8, 35.7)},
}
"""Prescriptiveness averaged over sizes, as the text quotes it, for orders 1 and 2."""
PORTFOLIO_AVERAGES = {"forest": 33.2, "network": 22.6}
"""Prescriptiveness averaged over orders and ω, as the text quotes it."""

# fmt: off
MODEL_SAVED: dict[str, dict[Any, tuple[float, ...]]] = {
    "newsvendor": {
        (200, 10): (10.14, 30.82, 27.54, 9.88, -10.42, -7.21, 35.42),
        (200, 20): (5.23, 9.06, 8.16, -30.13, -27.86, -24.97, -7.60),
        (400, 5): (15.42, 17.49, -12.03, 12.40, -9.67, -17.30, 14.38),
        (400, 10): (46.26, 48.92, 14.44, 36.80, -15.28, -33.27, 25.93),
        (400, 20): (51.51, 50.04, 19.25, 25.12, -16.69, -22.80, 22.10),
        (400, 50): (13.07, 11.74, -1.95, -4.07, -19.37, -25.87, -20.24),
        (800, 10): (55.20, 53.48, 26.34, 42.73, -4.34, -18.68, 15.67),
        (800, 20): (58.43, 57.40, 19.59, 47.43, -3.42, -23.48, 34.10),
        (1000, 10): (56.05, 55.57, 25.32, 44.63, -2.24, -3.33, 9.85),
        (1000, 20): (55.61, 53.60, 15.10, 46.41, -3.28, -20.75, 32.47),
    },
    "inventory": {
        (100, 20): (49.49, 46.84, 37.06, 43.10, 28.86, 35.65, -1.57),
        (200, 20): (52.32, 51.77, 38.41, 37.37, 33.88, 35.23, 24.01),
        (400, 3): (62.41, 61.11, 32.80, 42.72, 65.58, 58.42, -58.85),
        (400, 5): (70.77, 70.37, 56.44, 66.01, 66.71, 70.33, 15.60),
        (400, 10): (67.45, 68.03, 51.55, 58.78, 63.19, 62.05, 43.47),
        (400, 20): (58.57, 58.51, 50.22, 54.41, 42.32, 42.72, 33.58),
        (800, 20): (55.74, 56.20, 51.95, 55.30, 45.35, 50.68, 38.18),
    },
    "portfolio": {
        1.0: (26.19, 28.46, 7.48, 1.65, 14.57, 4.08, -38.57),
        3.0: (42.97, 32.43, -1.96, -38.14, 15.36, 18.92, -36.81),
        5.0: (34.79, 38.19, -1.52, -58.99, 0.06, 16.13, -20.30),
        7.0: (32.19, 31.45, -13.88, -70.52, -10.20, -16.49, -50.18),
        9.0: (40.26, 25.35, -33.79, -77.93, -5.22, -4.21, -67.09),
    },
}
"""Prescriptiveness of forests in percent, by (rows, features) or ω, in the order of ``MODELS``."""
# fmt: on

PORTFOLIO_SAVED: dict[tuple[int, str], tuple[float, ...]] = {
    (1, "forest"): (26.19, 42.97, 34.79, 32.19, 40.26),
    (1, "network"): (13.98, 23.34, 13.80, 23.94, 23.66),
    (2, "forest"): (28.51, 32.43, 38.19, 31.45, 25.35),
    (2, "network"): (42.86, 36.05, 7.07, 23.24, 17.63),
}
"""Prescriptiveness in percent, by order and rule."""

TUNED: dict[str, dict[str, tuple[float, float | None]]] = {
    "newsvendor": {
        "1-Causal-SDRO": (0.6, 0.1),
        "2-Causal-SDRO": (0.4, 0.2),
        "1-SDRO": (1, 0.4),
        "2-SDRO": (1, 0.1),
        "1-Causal-WDRO": (9.5, None),
        "2-Causal-WDRO": (5, None),
        "KL-DRO": (0.1, None),
    },
    "inventory": {
        "1-Causal-SDRO": (0.5, 0.2),
        "2-Causal-SDRO": (0.5, 0.2),
        "1-SDRO": (0.6, 0.4),
        "2-SDRO": (0.6, 0.4),
        "1-Causal-WDRO": (0.8, None),
        "2-Causal-WDRO": (1, None),
        "KL-DRO": (0.6, None),
    },
}
"""Penalty and epsilon, in raw units."""
# fmt: off
PORTFOLIO_TUNED: dict[str, tuple[tuple[float, float | None], ...]] = {
    "1-Causal-SDRO": ((1.1, 0.3), (0.9, 0.7), (0.7, 0.7), (0.7, 0.7), (1.1, 0.7)),
    "2-Causal-SDRO": ((0.7, 0.9), (0.9, 1.1), (0.9, 0.5), (0.7, 0.9), (1.1, 0.7)),
    "1-SDRO": ((0.5, 1.1),) * 5,
    "2-SDRO": ((1.1, 0.9),) * 5,
    "1-Causal-WDRO": ((0.7, None),) * 5,
    "2-Causal-WDRO": ((0.9, None),) * 5,
    "KL-DRO": ((0.5, None),) * 5,
}
"""The same for portfolios, by model."""
# fmt: on

PORTFOLIO: dict[float, dict[str, tuple[float, ...]]] = {
    1.0: {
        "PT": (0.468, 4.125, 0.176, 0.784, 1.971),
        "EW": (1.425, 1.163, 0.068, 1.195, 2.450),
        "MV": (1.009, 1.578, 0.072, 1.008, 1.971),
        "CMV": (0.984, 1.156, 0.061, 1.003, 2.108),
        "1-Causal-SDRO": (0.950, 1.352, 0.067, 0.985, 2.004),
        "2-Causal-SDRO": (0.925, 1.559, 0.081, 0.978, 1.965),
    },
    3.0: {
        "PT": (0.016, 5.189, 0.263, 0.883, 1.543),
        "EW": (1.288, 1.163, 0.068, 1.195, 2.450),
        "MV": (0.936, 1.512, 0.069, 1.037, 2.033),
        "CMV": (0.865, 1.367, 0.069, 1.016, 2.089),
        "1-Causal-SDRO": (0.929, 1.387, 0.072, 1.044, 2.109),
        "2-Causal-SDRO": (0.895, 1.260, 0.065, 1.022, 2.058),
    },
    5.0: {
        "PT": (-0.569, 5.383, 0.315, 0.991, 1.705),
        "EW": (1.152, 1.163, 0.068, 1.195, 2.450),
        "MV": (0.890, 1.445, 0.066, 1.073, 2.103),
        "CMV": (0.836, 1.293, 0.063, 1.045, 2.132),
        "1-Causal-SDRO": (0.800, 1.353, 0.074, 1.060, 2.127),
        "2-Causal-SDRO": (0.851, 1.107, 0.059, 1.053, 2.147),
    },
    7.0: {
        "PT": (-1.234, 5.360, 0.345, 1.075, 1.818),
        "EW": (1.016, 1.163, 0.068, 1.195, 2.450),
        "MV": (0.874, 1.367, 0.061, 1.111, 2.176),
        "CMV": (0.895, 0.917, 0.046, 1.087, 2.258),
        "1-Causal-SDRO": (0.775, 1.192, 0.062, 1.085, 2.222),
        "2-Causal-SDRO": (0.823, 1.203, 0.058, 1.084, 2.310),
    },
    9.0: {
        "PT": (-1.943, 5.261, 0.361, 1.135, 1.897),
        "EW": (0.879, 1.163, 0.068, 1.195, 2.450),
        "MV": (0.861, 1.317, 0.058, 1.147, 2.236),
        "CMV": (0.752, 1.141, 0.052, 1.081, 2.265),
        "1-Causal-SDRO": (0.698, 1.115, 0.062, 1.102, 2.337),
        "2-Causal-SDRO": (0.618, 1.253, 0.074, 1.113, 2.330),
    },
}
"""By ω and method: loss, Sharpe ratio, mean, standard deviation and CVaR."""

TREE = {"importance": 0.820, "attribution": 0.987}
"""Correlations of one tree's own measures with permutation importance and with SHAP values."""
ROUTES = ({8: 1.0}, {7: 0.996, 4: 0.004})
"""Leaves, counted from 1, and their probabilities for two inputs."""


class RuleLosses(NamedTuple):
    """One size: losses, and the prescriptiveness reported for them, in percent.

    The latter is a mean over draws, which is not that of the mean losses.
    """

    oracle: float
    erm: float
    hedged: float
    saved: float


def rule_losses(problem: str, order: int, rows: int, features: int, rule: str) -> RuleLosses:
    """What is published of one size, order and rule of a synthetic problem."""
    at = SIZES[problem].index((rows, features))
    found = (part[problem][order, rule][at] for part in (ERM_LOSSES, HEDGED_LOSSES, SAVED))
    return RuleLosses(ORACLE[problem], *found)


class Mean(NamedTuple):
    """A mean over draws, and its standard error."""

    value: float
    error: float


def mean_loss(
    problem: str, order: int | None, rows: int, features: int, rule: str = "forest"
) -> Mean:
    """The published loss of Causal-SDRO of an order; None: of the empirical risk, of both orders.

    Some draws of the risk stand in the tables of both orders, so its error is that of one of them.
    """
    at, draws = SIZES[problem].index((rows, features)), INSTANCES[problem]
    if order is not None:
        key = order, rule
        spread = HEDGED_SPREADS[problem][key][at]
        return Mean(HEDGED_LOSSES[problem][key][at], spread / math.sqrt(draws))
    both = [(1, rule), (2, rule)]
    value = sum(ERM_LOSSES[problem][key][at] for key in both) / 2
    spread = sum(ERM_SPREADS[problem][key][at] for key in both) / 2
    return Mean(value, spread / math.sqrt(draws))


def average(problem: str, method: str, rule: str) -> float:
    """Prescriptiveness in percent over all sizes, as the text quotes it, of an order's method."""
    return AVERAGES[problem][rule][int(method[0]) - 1]


def tables_average(problem: str, method: str, rule: str) -> float:
    """The same by the released tables, which do not always agree with the text."""
    found = SAVED[problem][int(method[0]), rule]
    return sum(found) / len(found)


def model_average(problem: str, method: str, sizes: Iterable[Any]) -> float:
    """Prescriptiveness in percent of a model over some sizes, those that are published of them."""
    rows = MODEL_SAVED[problem]
    found = [rows[size][MODELS.index(method)] for size in sizes if size in rows]
    return sum(found) / len(found) if found else math.nan
