"""Nominal distributions as tables to compare."""

import numpy as np


def entries(nominal, k):
    """Outcome rows and conditional masses of context k."""
    piece = slice(nominal.start[k], nominal.start[k] + nominal.count[k])
    return nominal.entry_outcome[piece], nominal.entry_mass[piece]


def as_table(nominal):
    """{context: (mass, [(first outcome, conditional mass), …])}, outcomes in the stored order."""
    table = {}
    for k, context in enumerate(nominal.contexts):
        rows, mass = entries(nominal, k)
        pairs = list(zip(nominal.outcomes[rows, 0], mass, strict=True))
        table[tuple(context + 0.0)] = (nominal.context_mass[k], pairs)
    return table


def joint(nominal):
    """Contexts, outcomes and masses of all entries as one sorted array, equal points merged."""
    points = np.hstack(
        [nominal.contexts[nominal.entry_context], nominal.outcomes[nominal.entry_outcome]]
    )
    # centres of cells are means, whose last digits depend on the order of rows
    merged, place = np.unique(np.round(points, 9) + 0.0, axis=0, return_inverse=True)
    return np.column_stack([merged, np.bincount(place.ravel(), nominal.joint_mass())])


def check_shape(nominal):
    """What every nominal distribution promises."""
    np.testing.assert_allclose(nominal.context_mass.sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(np.add.reduceat(nominal.entry_mass, nominal.start), 1, rtol=1e-12)
    np.testing.assert_allclose(nominal.joint_mass().sum(), 1, rtol=1e-12)
    np.testing.assert_array_equal(
        nominal.start, np.concatenate([[0], np.cumsum(nominal.count)[:-1]])
    )
    assert len(nominal.entry_outcome) == len(nominal.entry_mass) == nominal.count.sum()
    assert nominal.most_outcomes == nominal.count.max()
    assert np.all(nominal.context_mass > 0)


def mean_outcome(nominal):
    return nominal.joint_mass() @ nominal.outcomes[nominal.entry_outcome]
