"""The steps of an epoch, divided between CUDA graphs."""

import pytest

from pbgnet.training.steps.stepper import graph_sizes


@pytest.mark.parametrize(("n_steps", "sizes"), [(60, [20, 20, 20]), (59, [24, 24, 11]), (7, [7])])
def test_graphs_are_all_alike_if_that_can_be(n_steps, sizes):
    assert graph_sizes(n_steps) == sizes
