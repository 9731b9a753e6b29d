"""The aggregated network G and its layers, the plain sign network f, and their initial weights."""

from pbgnet.networks.aggregated import AggregatedNetwork
from pbgnet.networks.architecture import Architecture
from pbgnet.networks.binned import BinnedRows
from pbgnet.networks.codes import (
    CODES,
    TWO_CLASSES,
    AnyCode,
    Code,
    LabelCode,
    make_code,
    read_code,
)
from pbgnet.networks.initialisation import INITIALISATIONS, initial_weights
from pbgnet.networks.inputs import PreparedRows, append_one, as_part_of, prepare_rows, with_strong_values
from pbgnet.networks.layers import Layer, draw_signs
from pbgnet.networks.losses import linear_loss, zero_one_loss
from pbgnet.networks.patches import PatchRows, PatchShape
from pbgnet.networks.row_parts import compute_rows
from pbgnet.networks.sign_network import SignNetwork, sign
from pbgnet.networks.sparse import SparseRows
from pbgnet.networks.tanh import TanhNetwork

__all__ = [
    "CODES",
    "INITIALISATIONS",
    "TWO_CLASSES",
    "AggregatedNetwork",
    "AnyCode",
    "Architecture",
    "BinnedRows",
    "Code",
    "LabelCode",
    "Layer",
    "PatchRows",
    "PatchShape",
    "PreparedRows",
    "SignNetwork",
    "SparseRows",
    "TanhNetwork",
    "append_one",
    "as_part_of",
    "compute_rows",
    "draw_signs",
    "initial_weights",
    "linear_loss",
    "make_code",
    "prepare_rows",
    "read_code",
    "sign",
    "with_strong_values",
    "zero_one_loss",
]
