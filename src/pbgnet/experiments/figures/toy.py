"""A network with three hidden neurons on data in the plane, divided into its eight representations.

References
----------
Letarte et al. (2019), Section 3, "Majority vote of learned representations", and its figures on the moons and
the circles.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import make_circles, make_moons

from pbgnet.aggregation import sign_probabilities, sign_vectors
from pbgnet.estimators import PBGNetClassifier
from pbgnet.exceptions import MajorityNotBeatenWarning
from pbgnet.networks import AggregatedNetwork
from pbgnet.validation import check_name

TOYS = ("moons", "circles")

N_ROWS = 400
N_HIDDEN = 3
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Toy:
    """A trained network with one hidden layer of 3, and its data: x of shape (n, 2), y of -1 and 1."""

    name: str
    x: Array
    y: Array
    network: AggregatedNetwork


@dataclass(frozen=True)
class Representations:
    """What each sign vector s of the hidden layer contributes to the output, at m points."""

    signs: Array  # shape (8, 3)
    votes: Array  # `F_{w2}(s)`, the output neuron's answer to s; shape (8,)
    parts: Array  # `F_{w2}(s) Psi_s(x, W1)`, shape (8, m)
    aggregate: Array  # the network's output, computed directly and not from the parts; shape (m,)
    plain: Array  # output of the plain sign network with the same weights, shape (m,)


def train_toy(name: str) -> Toy:
    """Train a network with one hidden layer of 3 on the moons or the circles, in a second or two."""
    check_name("toy", name, TOYS)
    x, y = (
        make_moons(N_ROWS, noise=0.12, random_state=0)
        if name == "moons"
        else make_circles(N_ROWS, noise=0.08, factor=0.45, random_state=0)
    )
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    classifier = PBGNetClassifier(
        (N_HIDDEN,), algorithm="pbgnet_l", solver="adam", weight_decay=0.0, random_state=0, device="cpu"
    )
    with warnings.catch_warnings():
        # Only the network matters for the picture: its bound may be large.
        warnings.simplefilter("ignore", MajorityNotBeatenWarning)
        network = classifier.fit(x, y).network_
    assert isinstance(network, AggregatedNetwork)
    return Toy(name, x, 2.0 * y - 1.0, network)


def representations(network: AggregatedNetwork, points: Array) -> Representations:
    """Divide the output of a network with one hidden layer, in float64, at points (m, d) (paper, Eq. 9).

    The constant input 1 of the output neuron counts as one more sign that never changes.
    """
    first, *above = network.layers
    (last,) = above
    x = torch.from_numpy(points)
    with torch.no_grad():
        mean = first.means(network.prepare(x))
        signs = sign_vectors(first.n_neurons, dtype=mean.dtype)
        votes = network.architecture.as_output(last.means_given(signs))
        parts = votes[:, None] * sign_probabilities(mean).mT
        aggregate, plain = network(x), network.sign_network()(x)
    return Representations(*(tensor.numpy() for tensor in (signs, votes, parts, aggregate, plain)))
