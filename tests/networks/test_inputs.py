"""Examples become rows of length 1 in one way, dense or sparse, over the whole range of doubles."""

import numpy as np
import pytest
import torch
from scipy import sparse

from pbgnet.exceptions import DomainError
from pbgnet.networks import prepare_rows

TINY, HUGE = np.nextafter(0, 1), np.finfo(np.float64).max
SCALES = [TINY, 1e-310, 1e-300, 1e-160, 1e-154, 1.0, 1e154, 1e155, 1e200, 1e300, HUGE]


def make_rows(scale, seed=0):
    """Rows with zeros whose largest entry is the scale."""
    rows = np.random.default_rng(seed).uniform(-1, 1, (12, 7))
    rows[np.random.default_rng(seed + 1).random((12, 7)) < 0.4] = 0
    rows[:, 0] = np.where(np.arange(12) % 2, 1, -1)
    return rows * scale


def prepared(rows, intercept):
    found = prepare_rows(rows, unit=True, intercept=intercept, dtype=torch.float64, device="cpu")
    return found if isinstance(found, torch.Tensor) else found.dense(torch.arange(len(found)))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", SCALES)
def test_dense_and_sparse_rows_are_the_same_directions(scale, intercept):
    rows = make_rows(scale)
    dense, thin = prepared(rows, intercept), prepared(sparse.csr_array(rows), intercept)
    torch.testing.assert_close(thin, dense, rtol=1e-15, atol=1e-300)
    assert (torch.linalg.vector_norm(thin, dim=1) - 1).abs().max() < 1e-15


@pytest.mark.parametrize("intercept", [True, False])
def test_a_row_may_hold_both_ends_of_the_range(intercept):
    rows = np.array([[HUGE, TINY, 0, -HUGE], [0, 1e154, 1.0, 1e-154], [0, 0, 1e300, -1e-300]])
    dense, thin = prepared(rows, intercept), prepared(sparse.csr_array(rows), intercept)
    torch.testing.assert_close(thin, dense, rtol=1e-15, atol=0)


def test_entries_stored_in_parts_count_as_their_sum():
    parts = sparse.csr_array(([1e300, 2e300, 4e300], ([0, 0, 0], [0, 0, 1])), shape=(1, 2))
    torch.testing.assert_close(prepared(parts, False), torch.tensor([[0.6, 0.8]]).double())
    overflowing = sparse.coo_array(([HUGE, HUGE], ([0, 0], [0, 0])), shape=(1, 2)).tocsr()
    with pytest.raises(DomainError, match="infinity"), np.errstate(over="ignore"):
        prepared(overflowing, True)


def test_a_sparse_row_of_zeros_has_no_direction():
    stored = sparse.csr_array(([0.0, 1.0], ([0, 1], [0, 0])), shape=(2, 2))
    with pytest.raises(DomainError, match="intercept=True"):
        prepared(stored, False)
