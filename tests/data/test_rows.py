"""Rows: equal contexts are known, without sorting what need not be sorted."""

import numpy as np
import pytest

from hedgerow.data.rows import in_order, labels_in_order, places_of, tie_labels


@pytest.mark.parametrize("labels", [[0, 0, 2], [1, 0, 1], [0, 2], []])
def test_labels_that_repeat_or_leave_some_out_have_no_places(labels):
    assert places_of(np.array(labels, dtype=np.int64)) is None


def test_places_are_the_order():
    labels = np.random.default_rng(0).permutation(50)
    assert np.array_equal(places_of(labels), np.argsort(labels))


@pytest.mark.parametrize("ties", [False, True])
def test_labels_are_those_of_a_plain_sort(ties):
    X = np.random.default_rng(1).normal(size=(300, 3))
    X = np.round(X) if ties else np.where(np.arange(3) == 0, np.round(X), X)
    assert np.array_equal(tie_labels(X), np.unique(X, axis=0, return_inverse=True)[1].ravel())


@pytest.mark.parametrize("decimals", [0, 8])
def test_rows_in_order_are_labelled_without_a_sort(decimals):
    X = np.round(np.random.default_rng(2).normal(size=(300, 2)), decimals)
    X, _, _ = in_order(X, np.arange(300.0)[:, None], np.ones(300))
    assert np.array_equal(labels_in_order(X), tie_labels(X))


def test_no_rows_have_no_labels():
    assert len(labels_in_order(np.empty((0, 2)))) == 0
