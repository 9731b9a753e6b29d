"""The aggregated network G and its layers, the plain sign network f, their first weights and answers."""

from pbgnet.networks.aggregated import AggregatedNetwork
from pbgnet.networks.architecture import Architecture
from pbgnet.networks.binned import BinnedRows
from pbgnet.networks.decoding import class_indices, vote_shares
from pbgnet.networks.initialisation import INITIALISATIONS, initial_weights
from pbgnet.networks.inputs import PreparedRows, append_one, as_part_of, prepare_rows
from pbgnet.networks.layers import Layer, draw_signs
from pbgnet.networks.losses import linear_loss, zero_one_loss
from pbgnet.networks.sign_network import SignNetwork, sign
from pbgnet.networks.sparse import SparseRows
from pbgnet.networks.tanh import TanhNetwork

__all__ = [
    "INITIALISATIONS",
    "AggregatedNetwork",
    "Architecture",
    "BinnedRows",
    "Layer",
    "PreparedRows",
    "SignNetwork",
    "SparseRows",
    "TanhNetwork",
    "append_one",
    "as_part_of",
    "class_indices",
    "draw_signs",
    "initial_weights",
    "linear_loss",
    "prepare_rows",
    "sign",
    "vote_shares",
    "zero_one_loss",
]
