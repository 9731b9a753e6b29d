"""The first layer on codes against that on dense rows: in PyTorch, and compiled for CPUs."""

import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pbgnet.kernels.binned import binned_torch
from pbgnet.preprocessing.binned import ColumnBook

binned_numba = pytest.importorskip("pbgnet.kernels.binned.binned_numba", exc_type=ImportError)
code_walk = pytest.importorskip("pbgnet.kernels.binned.code_walk")

DTYPES = [torch.float32, torch.float64]
KERNELS = {"torch": binned_torch, "numba": binned_numba}


@pytest.fixture(params=list(KERNELS), scope="module")
def kernel(request):
    return KERNELS[request.param]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shared", [True, False])
def test_value_and_gradient_are_those_of_dense_rows(make_case, columns, kernel, dtype, shared):
    make_case(columns, dtype=dtype, shared=shared).check(kernel)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 20, 21, 31, 32, 33, 50, 100])
def test_any_number_of_neurons(make_case, kinds, kernel, dtype, m):
    make_case([kinds["missing"], kinds["many steps"], kinds["categories"]], m=m, dtype=dtype).check(kernel)


@pytest.mark.parametrize(("n", "R"), [(1, 1), (1, 3), (300, 1), (64, 7)])
def test_any_number_of_rows_and_replicas(make_case, kinds, kernel, n, R):
    make_case([kinds["both"], kinds["missing"]], n=n, R=R).check(kernel)


@pytest.mark.parametrize(("n", "R", "m"), [(0, 2, 3), (2, 0, 3), (2, 2, 0)])
def test_empty_layers(make_case, kinds, kernel, n, R, m):
    case = make_case([kinds["both"]], n=n, R=R, m=m, shared=R == 0)
    value, gradient = case.run(kernel)
    assert value.shape == (R, n, m)
    assert torch.equal(gradient, torch.zeros_like(case.weight))


@pytest.mark.parametrize("held", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("n_codes", [2, 200, 256])
def test_codes_of_any_size(make_case, kernel, held, n_codes):
    steps = ColumnBook(("s",) * (n_codes - 1), None, n_codes - 1, np.arange(n_codes), np.full(n_codes, -1))
    case = make_case([steps, steps], n=40, held=held)
    assert int(case.codes.max()) >= n_codes - n_codes // 4 - 1
    case.check(kernel)


def test_more_codes_than_a_byte_counts(make_case, kernel):
    steps = ColumnBook(("s",) * 999, None, 999, np.arange(1000), np.full(1000, -1))
    case = make_case([steps, steps], n=40, held=np.uint16)
    assert int(case.codes.max()) > 255
    case.check(kernel)


@st.composite
def column_books(draw):
    size = draw(st.integers(1, 12))
    n_steps, n_others = draw(st.integers(0, 20)), draw(st.integers(0, 4))
    values = draw(st.none() | st.lists(st.floats(-30, 30), min_size=size, max_size=size))
    on = draw(st.lists(st.integers(0, n_steps), min_size=size, max_size=size))
    on = sorted(on) if draw(st.booleans()) else on
    others = draw(st.lists(st.integers(-1, n_others - 1), min_size=size, max_size=size))
    names = ("x",) * ((values is not None) + n_steps + n_others)
    values = None if values is None else np.array(values)
    return ColumnBook(names, values, n_steps, np.array(on), np.array(others))


@given(
    books=st.lists(column_books(), min_size=1, max_size=6),
    n=st.integers(1, 12),
    m=st.integers(1, 40),
    R=st.integers(1, 3),
    shared=st.booleans(),
    dtype=st.sampled_from(DTYPES),
    seed=st.integers(0, 2**31),
    name=st.sampled_from(list(KERNELS)),
)
@settings(max_examples=200)
def test_any_book_gives_what_its_dense_rows_give(make_case, books, n, m, R, shared, dtype, seed, name):
    make_case(books, n=n, m=m, R=R, shared=shared, dtype=dtype, seed=seed).check(KERNELS[name])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_number_of_threads_changes_no_digit(make_case, kinds, dtype, monkeypatch):
    case = make_case([kinds["missing"], kinds["many steps"]], n=50, m=53, R=3, dtype=dtype)
    expected = case.run(binned_numba)
    names = set()

    def spy(function):
        def wrapped(*arguments):
            names.add(threading.current_thread().name)
            return function(*arguments)

        return wrapped

    monkeypatch.setattr("pbgnet.kernels.threads.OPERATIONS_PER_THREAD", 1)
    for name in ("_first_product", "_pull_back"):
        monkeypatch.setattr(binned_numba, name, spy(getattr(binned_numba, name)))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        found = case.run(binned_numba)
    finally:
        torch.set_num_threads(before)
    assert len(names) > 1
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("m", [3, 20, 37])
def test_the_replicas_beside_change_no_digit(make_case, kinds, m, shared):
    case = make_case([kinds["missing"], kinds["many steps"]], n=20, m=m, R=4, shared=shared)
    together = case.run(binned_numba)
    for r in range(4):
        own = slice(0, 1) if shared else slice(r, r + 1)
        alone = case._replace(
            weight=case.weight[r : r + 1],
            grad=case.grad[r : r + 1],
            codes=case.codes[own],
            inverse_length=case.inverse_length[own],
        ).run(binned_numba)
        assert all(torch.equal(a[r : r + 1], b) for a, b in zip(together, alone, strict=True))


def test_tensors_that_are_not_contiguous(make_case, kinds, kernel):
    case = make_case([kinds["both"], kinds["missing"]], n=6, m=7)
    case._replace(
        weight=case.weight.mT.contiguous().mT,
        grad=case.grad.mT.contiguous().mT,
        codes=case.codes.mT.contiguous().mT,
    ).check(kernel)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_bad_weight_stays_with_its_neuron_and_rows(make_case, kinds, kernel, bad):
    """Rows in which its input is 0 are as they would be without it."""
    case = make_case([kinds["steps"], kinds["value"]], n=30, m=20, R=1)
    expected = case.run(kernel)[0]
    case.weight[0, 3, 4] = bad  # the last of five steps
    value = case.run(kernel)[0]
    touched = case.dense[0, :, 4] != 0
    assert touched.any()
    assert not touched.all()
    assert not value[0, touched, 3].isfinite().any()
    value[0, touched, 3] = expected[0, touched, 3]
    torch.testing.assert_close(value, expected, rtol=0, atol=1e-6)


def test_runs_of_codes_begin_and_end_as_they_should(kinds, make_case):
    case = make_case([kinds["missing"], kinds["steps"], kinds["categories"]])
    walk = code_walk.walk_of(case.book.book, np.dtype("float32")).codes.reshape(-1, 4)
    # The missing stand behind the bin of the median; runs have even lengths and end at a column's end.
    assert walk[:6, 0].tolist() == [0, 1, 2, 5, 3, 4]
    assert walk[:, 3].tolist() == [0, 2, 2, 0, 2, 2, 0, 4, 0, 0, 4, 0, 0, 0, 0, 0, 0]


def test_vectors_are_taken_from_contiguous_arrays_of_one_axis_only():
    numba = pytest.importorskip("numba")
    vectors = pytest.importorskip("pbgnet.kernels.binned.numba_vectors")

    @numba.njit
    def first(array):
        vectors.store(array, 0, vectors.load(array, 0, vectors.WIDE))

    with pytest.raises(numba.TypingError, match="contiguous arrays of one axis"):
        first(np.zeros((16, 16), dtype=np.float32))
    with pytest.raises(numba.TypingError, match="contiguous arrays of one axis"):
        first(np.zeros(32, dtype=np.float32)[::2])
