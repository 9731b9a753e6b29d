"""Looking methods up by name, and what is said when that fails."""

import pytest
import torch

from pbgnet.aggregation import METHODS, Enumeration, Fourier, expected_sign, make_aggregation
from pbgnet.exceptions import OptionError, PBGNetError, UnknownNameError, WidthLimitError
from pbgnet.kernels import use_backend


@pytest.fixture
def layer() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.zeros(1, 3), torch.ones(1, 3)


def test_fourier_is_the_default(layer):
    assert make_aggregation() == Fourier()
    assert torch.equal(expected_sign(*layer), Fourier()(*layer))


def test_unknown_method_lists_the_known_ones_and_the_nearest(layer):
    with pytest.raises(UnknownNameError, match=r"enumeration, fourier, .*Did you mean 'fourier'"):
        expected_sign(*layer, method="furier")
    with pytest.raises(UnknownNameError, match="Unknown aggregation method 3"):
        expected_sign(*layer, method=3)


def test_option_of_another_method_is_refused(layer):
    with pytest.raises(OptionError, match="'fourier' has no option n_samples; its options are tolerance"):
        expected_sign(*layer, n_samples=10)
    with pytest.raises(OptionError, match="already configured"):
        make_aggregation(Fourier(), tolerance=1e-3)


def test_enumeration_above_its_limit_names_the_alternative():
    with pytest.raises(WidthLimitError, match="method='fourier'"):
        expected_sign(torch.zeros(1, 17), torch.zeros(1, 17), method="enumeration")
    assert Enumeration(max_width=17)(torch.zeros(1, 17), torch.zeros(1, 17)).shape == (1, 1)


def test_every_method_is_known_by_its_own_name():
    assert {method.name for method in METHODS.values()} == set(METHODS)


def test_errors_can_be_caught_by_kind():
    for error in (OptionError, UnknownNameError, WidthLimitError):
        assert issubclass(error, PBGNetError)
        assert issubclass(error, TypeError if error is OptionError else ValueError)


@pytest.mark.parametrize("width", [0, -1, 2.5, "wide"])
def test_width_limit_must_be_a_count(width):
    with pytest.raises(PBGNetError, match="max_width"):
        Enumeration(max_width=width)


@pytest.mark.parametrize("backend", ["numba", "torch"])
def test_without_checks_nan_in_the_weights_is_still_seen_in_the_result(layer, backend):
    mean, weight = layer
    with use_backend(backend):
        value = expected_sign(mean, weight * torch.nan, validate_args=False)
    assert value.isnan().all()


@pytest.mark.parametrize("backend", ["numba", "torch"])
def test_without_checks_a_replica_that_diverged_leaves_the_others_alone(backend):
    mean = torch.full((2, 3), 0.5)
    weight = torch.ones(4, 1, 3)
    alone = expected_sign(mean, weight[0])
    weight[1] = torch.nan
    weight[2] = 1e30
    weight[3, 0, 0] = torch.inf
    with use_backend(backend):
        value = expected_sign(mean, weight, validate_args=False)
    torch.testing.assert_close(value[0], alone)
    assert value[1].isnan().all()
    assert value[3].isnan().all()
