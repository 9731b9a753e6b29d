"""A keyed bijection: one to one for every count, the same from every backend, and as good as random."""

import pytest
import torch

from pbgnet.kernels.orders import permute_torch

permute_numba = pytest.importorskip("pbgnet.kernels.orders.permute_numba", exc_type=ImportError)

KERNELS = [permute_numba, permute_torch]


def permutation(kernel, n, key, most=None):
    return kernel.permuted(torch.arange(n), torch.tensor(key), torch.tensor(n), most or n)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [*range(1, 40), 255, 256, 257, 1000, 4097, 70_001])
def test_every_number_occurs_once(kernel, n):
    for key in (0, -1, 2**63 - 1, 12345):
        assert torch.equal(permutation(kernel, n, key).sort().values, torch.arange(n))
        assert torch.equal(permutation(kernel, n, key, most=n + 7).sort().values, torch.arange(n))


def test_backends_agree_and_shapes_are_broadcast():
    places, keys = torch.arange(1000), torch.tensor([[3], [-8], [2**62]])
    counts = torch.tensor([[1000], [1001], [5000]])
    one, two = (kernel.permuted(places, keys, counts, 5000) for kernel in KERNELS)
    assert one.shape == (3, 1000)
    assert torch.equal(one, two)
    assert len(set(one[2].tolist())) == 1000


def test_numbers_of_forty_bits_stay_in_range_and_apart():
    n = 2**40 - 3
    places = torch.cat([torch.arange(1000), torch.arange(n - 1000, n)])
    found = [kernel.permuted(places, torch.tensor(5), torch.tensor(n), n) for kernel in KERNELS]
    assert torch.equal(*found)
    assert len(set(found[0].tolist())) == 2000
    assert 0 <= int(found[0].min()) <= int(found[0].max()) < n
    assert found[0].double().mean() / n == pytest.approx(0.5, abs=0.03)


def random_keys(count):
    return torch.randint(-(2**62), 2**62, (count, 1), generator=torch.Generator().manual_seed(0))


def chi_squared(counts):
    expected = counts.sum() / counts.numel()
    return float(((counts - expected).square() / expected).sum())


@pytest.mark.parametrize("n", [20, 97])
def test_every_place_is_as_likely_for_every_number(n):
    found = permute_numba.permuted(torch.arange(n), random_keys(20_000), torch.tensor(n), n)
    counts = torch.zeros(n, n).index_put((torch.arange(n).expand(20_000, n), found), torch.tensor(1.0), True)
    freedom = (n - 1) ** 2  # rows and columns of the table add up to the same
    assert chi_squared(counts) < freedom + 5 * (2 * freedom) ** 0.5


def test_neighbours_do_not_stay_neighbours():
    n = 10_000
    found = permute_numba.permuted(torch.arange(n), random_keys(50), torch.tensor(n), n)
    gaps = (found[:, 1:] - found[:, :-1]) % n
    counts = torch.bincount(gaps.flatten() * 100 // n, minlength=100).double()
    assert chi_squared(counts) < 99 + 5 * (2 * 99) ** 0.5
    # Orders by different keys have nothing to do with each other.
    assert (
        abs(float(torch.corrcoef(torch.stack([found[:-1].flatten(), found[1:].flatten()]).double())[0, 1]))
        < 0.01
    )
