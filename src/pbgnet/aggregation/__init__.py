"""The aggregated layer, three ways: a Fourier sum, the full sum over signs, and sampling.

`expected_sign` computes it by the method's name; `propagate_error` says what the proved errors of the layers
mean for a network's output.
"""

from pbgnet.aggregation.base import Aggregation, product_unit
from pbgnet.aggregation.enumeration import Enumeration, sign_probabilities, sign_vectors
from pbgnet.aggregation.error_propagation import propagate_error
from pbgnet.aggregation.fourier import DEFAULT_TOLERANCE, Fourier
from pbgnet.aggregation.fourier_error import (
    choose_nodes,
    fourier_error_bound,
    fourier_rounding_bound,
)
from pbgnet.aggregation.monte_carlo import MonteCarlo
from pbgnet.aggregation.registry import METHODS, expected_sign, make_aggregation
from pbgnet.kernels import FourierNodes

__all__ = [
    "DEFAULT_TOLERANCE",
    "METHODS",
    "Aggregation",
    "Enumeration",
    "Fourier",
    "FourierNodes",
    "MonteCarlo",
    "choose_nodes",
    "expected_sign",
    "fourier_error_bound",
    "fourier_rounding_bound",
    "make_aggregation",
    "product_unit",
    "propagate_error",
    "sign_probabilities",
    "sign_vectors",
]
