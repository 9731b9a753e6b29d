"""The aggregated network G, the plain sign network f, and their first weights."""

from pbgnet.networks.aggregated import AggregatedNetwork
from pbgnet.networks.architecture import Architecture
from pbgnet.networks.initialisation import INITIALISATIONS, initial_weights
from pbgnet.networks.inputs import unit_rows
from pbgnet.networks.losses import linear_loss, zero_one_loss
from pbgnet.networks.sign import SignNetwork, sign

__all__ = [
    "INITIALISATIONS",
    "AggregatedNetwork",
    "Architecture",
    "SignNetwork",
    "initial_weights",
    "linear_loss",
    "sign",
    "unit_rows",
    "zero_one_loss",
]
