"""Rows kept as codes: prepared, taken and multiplied as dense ones are."""

import tracemalloc

import numpy as np
import pytest
import torch

from pbgnet.exceptions import ManyCategoriesWarning
from pbgnet.kernels import use_backend
from pbgnet.networks import AggregatedNetwork, BinnedRows, as_part_of, prepare_rows, with_strong_values
from pbgnet.networks.inputs import DENSE_NUMBERS, first_product, first_product_with_pullback
from pbgnet.preprocessing import BinnedTable, TablePreprocessor
from pbgnet.preprocessing.binned import CodeBook, ColumnBook

DTYPES = [torch.float32, torch.float64]
TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-13}


def make_table(numbers="both", scale=1.0, n=60):
    """Numbers, some of them far out, categories, and cells that are missing."""
    rng = np.random.default_rng(0)
    x = np.empty((n, 5), dtype=object)
    for j in range(3):
        x[:, j] = np.round(rng.normal(size=n), 1) * scale
    x[0, 0] = 1e5 * scale
    for j in range(3, 5):
        x[:, j] = rng.choice(list("abcde"), n)
    x[::9, 1], x[::7, 4] = None, None
    return TablePreprocessor(numbers).fit(x).encode(x)


def both(table, dtype, unit=True):
    """The same rows as codes and dense."""
    options = {"unit": unit, "intercept": True, "dtype": dtype, "device": "cpu"}
    binned = BinnedRows.of(table, unit=unit, dtype=dtype, device="cpu")
    dense = prepare_rows(table.toarray(), **options)
    return binned, dense


def identity(rows):
    """The rows themselves: their product with every unit vector."""
    return rows.times(torch.eye(rows.shape[-1], dtype=rows.dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("numbers", ["both", "steps", "standard"])
@pytest.mark.parametrize("unit", [True, False])
def test_rows_are_the_dense_ones(numbers, dtype, unit):
    binned, dense = both(make_table(numbers), dtype, unit)
    assert (binned.shape, binned.dtype, len(binned)) == (dense.shape, dtype, len(dense))
    torch.testing.assert_close(identity(binned), dense, rtol=TOLERANCE[dtype], atol=0)
    if unit:
        lengths = torch.linalg.vector_norm(identity(binned).double(), dim=1)
        assert float((lengths - 1).abs().max()) < TOLERANCE[dtype]


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_of_any_scale(scale, dtype):
    binned, dense = both(make_table(scale=scale), dtype)
    torch.testing.assert_close(identity(binned), dense, rtol=TOLERANCE[dtype], atol=0)


def test_one_row_of_one_column_with_one_code():
    book = CodeBook([ColumnBook(("a",), None, 1, np.array([1]), np.array([-1]))])
    binned, dense = both(BinnedTable(np.zeros((1, 1), dtype=np.uint8), book), torch.float64)
    torch.testing.assert_close(dense, torch.full((1, 2), 0.5**0.5, dtype=torch.float64))
    torch.testing.assert_close(identity(binned), dense)


@pytest.mark.parametrize(
    "index",
    [
        torch.tensor([3]),
        torch.tensor([5, 5, 0]),
        torch.tensor([[1, 2, 3], [4, 5, 59]]),
        torch.arange(24).view(2, 3, 4),
        torch.zeros(2, 0, dtype=torch.int64),
        slice(4, 9),
        slice(None),
    ],
)
def test_any_rows_can_be_taken(index):
    binned, dense = both(make_table(), torch.float64)
    taken, expected = binned.take(index), dense[index]
    assert taken.shape == expected.shape
    generator = torch.Generator().manual_seed(0)
    replicas = expected.shape[:-2]
    weight = torch.randn(*replicas, 3, dense.shape[1], generator=generator, dtype=torch.float64)
    torch.testing.assert_close(
        first_product(taken, weight), first_product(expected, weight), rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("held", [np.uint8, np.uint16])
def test_codes_take_a_byte_where_they_can(held):
    table = make_table()
    binned, _ = both(BinnedTable(table.codes.astype(held), table.book), torch.float32)
    assert binned.codes.element_size() == {np.uint8: 1, np.uint16: 4}[held]


@pytest.mark.parametrize("backend", ["torch", "numba"])
@pytest.mark.parametrize("replicas", [(), (3,)])
def test_the_gradient_is_that_of_dense_rows(backend, replicas):
    if backend == "numba":
        pytest.importorskip("numba")
    binned, dense = both(make_table(), torch.float64)
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(*replicas, 4, dense.shape[1], generator=generator, dtype=torch.float64)
    found, expected = weight.clone().requires_grad_(), weight.clone().requires_grad_()
    with use_backend(backend):
        first_product(binned, found).square().sum().backward()
    first_product(dense, expected).square().sum().backward()
    torch.testing.assert_close(found.grad, expected.grad, rtol=1e-12, atol=1e-12)
    if replicas:
        with use_backend(backend):
            product, pull_back = first_product_with_pullback(binned, weight)
        torch.testing.assert_close(pull_back(2 * product), expected.grad, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
@pytest.mark.parametrize("hidden", [(6,), (5, 4)])
def test_networks_answer_alike(dtype, scale, hidden):
    binned, dense = both(make_table(scale=scale), dtype)
    network = AggregatedNetwork.initialise(
        dense.shape[1] - 1, hidden, generator=torch.Generator().manual_seed(0), replicas=(2,), dtype=dtype
    )
    with torch.no_grad():
        network.weights[0].mul_(30)  # far from 0, where the means are almost signs
        found, expected = network.output(binned), network.output(dense)
    torch.testing.assert_close(found, expected, rtol=0, atol=5e-5 if dtype == torch.float32 else 1e-9)
    assert float(expected.std()) > 0.01


@pytest.mark.parametrize("as_codes", [True, False])
def test_a_part_of_rows_has_the_entries_of_the_whole_times_a_factor(as_codes):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4)) * [1.0, 10.0, 0.1, 5.0]
    both, standard = (TablePreprocessor(numbers).fit(X).encode(X) for numbers in ("both", "standard"))
    given = {"unit": True, "dtype": torch.float64, "device": "cpu"}

    def prepared(table):
        if as_codes:
            return BinnedRows.of(table, **given)
        return prepare_rows(table.toarray(), intercept=True, **given)

    rows, factor = as_part_of(prepared(standard), prepared(both))
    whole = prepare_rows(both.toarray(), intercept=True, **given)
    entries = whole[:, np.append(both.book.outputs_without_steps, both.shape[1])]
    eye = torch.eye(standard.shape[1] + 1, dtype=torch.float64)
    torch.testing.assert_close(first_product(rows, eye), factor * entries)
    assert float((factor * entries).norm(dim=1).mean()) == pytest.approx(1.0)


def test_a_table_takes_a_byte_and_a_half_per_cell():
    n, rng = 4000, np.random.default_rng(0)
    x = rng.normal(size=(n, 14)).astype(object)
    x[:, 0] = [f"city {k}" for k in rng.integers(0, 300, n)]  # more categories than are kept
    x[::9, 0], x[::7, 1] = None, None
    with pytest.warns(ManyCategoriesWarning):
        preprocessor = TablePreprocessor("both").fit(x)
    tracemalloc.start()
    table = preprocessor.encode(x)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert table.codes.dtype == np.uint8
    assert taken <= 1.5 * x.size + 10_000
    rows = prepare_rows(table, unit=True, intercept=True, dtype=torch.float32, device="cpu")
    assert isinstance(rows, BinnedRows)
    assert rows.codes.nbytes + rows.inverse_length.nbytes <= 1.5 * x.size


def test_writing_out_a_table_takes_little_more_than_the_result():
    x = np.random.default_rng(0).normal(size=(40_000, 10))
    table = TablePreprocessor("standard").fit(x).encode(x)
    options = {"unit": True, "intercept": True, "dtype": torch.float32, "device": "cpu"}
    tracemalloc.start()
    rows = prepare_rows(table, **options)
    _, most = tracemalloc.get_traced_memory()  # of NumPy; PyTorch takes as much again for a block
    tracemalloc.stop()
    assert most < rows.nbytes / 2
    torch.testing.assert_close(rows, prepare_rows(table.toarray(), **options), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_strong_values_are_those_of_the_same_network(dtype):
    table = make_table()
    binned, dense = both(table, dtype)
    weight = torch.randn(2, 4, dense.shape[-1], generator=torch.Generator().manual_seed(0), dtype=dtype)
    expected = first_product(dense, weight)
    book = table.book
    for rows in (binned, dense):
        strong, factors = with_strong_values(rows, book)
        torch.testing.assert_close(
            first_product(strong, weight / factors), expected, rtol=0, atol=100 * TOLERANCE[dtype]
        )
    assert int((factors > 1).sum()) == 3, "the values of numbers alone, not categories and the constant"
    assert factors[int(book.value_output[1])] == torch.tensor(float(book.n_steps[1]), dtype=dtype).sqrt()


def test_many_numbers_stay_codes_however_few_each_column_has(monkeypatch):
    table, options = (
        make_table("standard"),
        {"unit": True, "intercept": True, "dtype": torch.float32, "device": "cpu"},
    )
    assert isinstance(prepare_rows(table, **options), torch.Tensor)
    monkeypatch.setitem(DENSE_NUMBERS, "cpu", 60)
    codes = prepare_rows(table, **options)
    assert isinstance(codes, BinnedRows)
    weight = torch.randn(1, 4, codes.shape[-1], generator=torch.Generator().manual_seed(0))
    dense = prepare_rows(table.toarray(), **options)
    torch.testing.assert_close(first_product(codes, weight), first_product(dense, weight), rtol=0, atol=1e-5)
