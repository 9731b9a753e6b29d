"""The first layer on codes in Triton against that on dense rows: on a GPU, or interpreted on a CPU.

On a CPU run it with TRITON_INTERPRET=1.
"""

import os

import numpy as np
import pytest
import torch

pytest.importorskip("triton")
INTERPRETED = os.environ.get("TRITON_INTERPRET", "0") == "1"
if not INTERPRETED and not torch.cuda.is_available():
    pytest.skip("needs a GPU or TRITON_INTERPRET=1", allow_module_level=True)

from pbgnet.kernels.binned import binned_torch, binned_triton  # noqa: E402
from pbgnet.preprocessing.binned import ColumnBook  # noqa: E402

DEVICE = "cpu" if INTERPRETED else "cuda"
FLOATS = [torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shared", [True, False])
def test_value_and_gradient_are_those_of_dense_rows(make_case, columns, dtype, shared):
    make_case(columns, dtype=dtype, shared=shared, device=DEVICE).check(binned_triton)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("n", "m", "R"), [(1, 1, 1), (33, 33, 2), (5, 70, 1), (70, 3, 3)])
def test_any_shape(make_case, kinds, dtype, n, m, R):
    columns = [kinds["missing"], kinds["many steps"], kinds["categories"]]
    make_case(columns, n=n, m=m, R=R, dtype=dtype, device=DEVICE).check(binned_triton)


def test_more_codes_than_a_byte_counts(make_case):
    steps = ColumnBook(("s",) * 299, None, 299, np.arange(300), np.full(300, -1))
    case = make_case([steps, steps], n=40, held=np.uint16, device=DEVICE)
    assert int(case.codes.max()) > 255
    case.check(binned_triton)


@pytest.mark.parametrize(("n", "R", "m"), [(0, 2, 3), (2, 0, 3), (2, 2, 0)])
def test_empty_layers(make_case, kinds, n, R, m):
    case = make_case([kinds["both"]], n=n, R=R, m=m, shared=R == 0, device=DEVICE)
    value, gradient = case.run(binned_triton)
    assert value.shape == (R, n, m)
    assert torch.equal(gradient, torch.zeros_like(case.weight))


def test_the_same_in_every_run_whatever_is_beside(make_case, kinds):
    case = make_case([kinds["missing"], kinds["many steps"]], n=50, m=20, R=3, device=DEVICE)
    first, second = case.run(binned_triton), case.run(binned_triton)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    alone = case._replace(
        weight=case.weight[1:2],
        grad=case.grad[1:2],
        codes=case.codes[1:2],
        inverse_length=case.inverse_length[1:2],
    ).run(binned_triton)
    assert all(torch.equal(a[1:2], b) for a, b in zip(first, alone, strict=True))


@pytest.mark.gpu
@pytest.mark.skipif(INTERPRETED, reason="needs a GPU")
def test_a_graph_of_it_follows_its_inputs(make_case, kinds):
    columns = [kinds["missing"], kinds["many steps"]]
    case, other = (make_case(columns, n=50, m=20, R=3, seed=seed, device=DEVICE) for seed in (0, 1))
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        case.run(binned_triton)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = case.run(binned_triton)
    for mine, theirs in zip(case, other, strict=True):
        if isinstance(mine, torch.Tensor):
            mine.copy_(theirs)
    graph.replay()
    assert all(torch.equal(a, b) for a, b in zip(found, other.run(binned_triton), strict=True))


@pytest.mark.gpu
@pytest.mark.skipif(INTERPRETED, reason="needs a GPU")
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_reference_on_a_gpu(make_case, columns, dtype):
    make_case(columns, dtype=dtype, device=DEVICE).check(binned_torch)
