"""The aggregated network G, the plain sign network f, and their first weights."""

from pbgnet.networks.aggregated import AggregatedNetwork
from pbgnet.networks.architecture import Architecture
from pbgnet.networks.initialisation import INITIALISATIONS, initial_weights
from pbgnet.networks.inputs import append_one, unit_rows
from pbgnet.networks.losses import linear_loss, zero_one_loss
from pbgnet.networks.sign import SignNetwork, sign
from pbgnet.networks.sparse import PreparedRows, SparseRows, first_product
from pbgnet.networks.tanh import TanhNetwork

__all__ = [
    "INITIALISATIONS",
    "AggregatedNetwork",
    "Architecture",
    "PreparedRows",
    "SignNetwork",
    "SparseRows",
    "TanhNetwork",
    "append_one",
    "first_product",
    "initial_weights",
    "linear_loss",
    "sign",
    "unit_rows",
    "zero_one_loss",
]
