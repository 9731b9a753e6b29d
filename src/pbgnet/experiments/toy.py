"""A network with three hidden neurons on data in the plane, taken apart into its eight representations.

References
----------
Letarte et al. (2019), Section 3, "Majority vote of learned representations", and its figures on the moons and
the circles.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import make_circles, make_moons

from pbgnet.aggregation import sign_probabilities, sign_vectors
from pbgnet.estimators import PBGNetClassifier
from pbgnet.networks import AggregatedNetwork
from pbgnet.validation import check_name

__all__ = ["TOYS", "Representations", "Toy", "representations", "train_toy"]

TOYS = ("moons", "circles")

N_ROWS = 400
N_HIDDEN = 3
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Toy:
    """A trained network and its data in the plane.

    Attributes
    ----------
    name : str
    x : ndarray of shape (n, 2)
    y : ndarray of shape (n,)
        Labels -1 and 1.
    network : AggregatedNetwork
        One hidden layer of 3.
    """

    name: str
    x: Array
    y: Array
    network: AggregatedNetwork


@dataclass(frozen=True)
class Representations:
    """What each sign vector s of the hidden layer adds to the output, at m points.

    Attributes
    ----------
    signs : ndarray of shape (8, 3)
    votes : ndarray of shape (8,)
        `F_{w2}(s)`, the output neuron's answer to s.
    parts : ndarray of shape (8, m)
        `F_{w2}(s) Psi_s(x, W1)`.
    aggregate : ndarray of shape (m,)
        The network's output, computed by itself and not from the parts.
    plain : ndarray of shape (m,)
        Output of the plain sign network with the same weights.
    """

    signs: Array
    votes: Array
    parts: Array
    aggregate: Array
    plain: Array


def train_toy(name: str, random_state: int = 0) -> Toy:
    """Train a network with one hidden layer of 3 on the moons or the circles, in a second or two.

    Parameters
    ----------
    name : {"moons", "circles"}
    random_state : int
        Of the data and the training.
    """
    check_name("toy", name, TOYS)
    x, y = (
        make_moons(N_ROWS, noise=0.12, random_state=random_state)
        if name == "moons"
        else make_circles(N_ROWS, noise=0.08, factor=0.45, random_state=random_state)
    )
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    classifier = PBGNetClassifier(
        (N_HIDDEN,),
        algorithm="pbgnet_l",
        solver="adam",
        weight_decay=0.0,
        random_state=random_state,
        device="cpu",
    )
    network = classifier.fit(x, y).network_
    assert isinstance(network, AggregatedNetwork)
    return Toy(name, x, 2.0 * y - 1.0, network)


def representations(network: AggregatedNetwork, points: Array) -> Representations:
    """Take the output of a network with one hidden layer apart (paper, Eq. 9).

    The constant input 1 of the output neuron counts as one more sign that never changes.

    Parameters
    ----------
    network : AggregatedNetwork
        With one hidden layer, in float64.
    points : ndarray of shape (m, d)

    Examples
    --------
    >>> import numpy as np, torch
    >>> from pbgnet.experiments.toy import representations
    >>> from pbgnet.networks import AggregatedNetwork
    >>> generator = torch.Generator().manual_seed(0)
    >>> network = AggregatedNetwork.initialise(2, (3,), generator=generator, dtype=torch.float64)
    >>> found = representations(network, np.array([[0.5, -1.0]]))
    >>> found.parts.shape, bool(abs(found.parts.sum() - found.aggregate).max() < 1e-6)
    ((8, 1), True)
    """
    first, last = (weight.detach() for weight in network.weights)
    x = torch.from_numpy(points)
    mean = torch.erf(network.prepare(x) @ first.mT / math.sqrt(2))
    signs = sign_vectors(first.shape[0], dtype=mean.dtype)
    inputs = (
        torch.cat([signs, torch.ones_like(signs[:, :1])], dim=1) if network.architecture.intercept else signs
    )
    votes = torch.erf(inputs @ last[0] / math.sqrt(2 * inputs.shape[1]))
    parts = votes[:, None] * sign_probabilities(mean).mT
    with torch.no_grad():
        aggregate, plain = network(x), network.sign_network()(x)
    return Representations(*(tensor.numpy() for tensor in (signs, votes, parts, aggregate, plain)))
