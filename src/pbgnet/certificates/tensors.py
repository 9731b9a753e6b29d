"""The tensors of a model in their file: weights, row numbers, fingerprints and margins."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from torch import Tensor

from pbgnet.certificates.format import Certificate, NetworkRecord
from pbgnet.exceptions import DamagedFileError
from pbgnet.files import check_size
from pbgnet.networks import AggregatedNetwork

ROW_FINGERPRINTS = "row_fingerprints"
LISTS = ("prior_rows", "certified_rows", ROW_FINGERPRINTS)
"""Tensors that are no weights, and are always there."""

LARGEST_WEIGHTS = 2**30
"""No honest model has more bytes of weights and rows; a larger file is refused before it is read."""

LARGEST_HEADER = 2**20
"""Bytes of the list of tensors in front of them: two per layer and three of rows, each in a hundred bytes."""


def largest_size(certificate: Certificate) -> int:
    """Return how many bytes the tensors of a model can take: two numbers per weight, a few per row."""
    numbers = 2 * sum(math.prod(shape) for shape in _shapes(certificate.network.network))
    # A place, a fingerprint, and a margin of each output at most.
    per_row = 2 + certificate.network.network.n_outputs
    return min(LARGEST_WEIGHTS, 8 * (numbers + per_row * certificate.n_rows_total) + LARGEST_HEADER)


def _shapes(record: NetworkRecord) -> list[tuple[int, ...]]:
    """Return the shapes of the weights, first layer first."""
    sizes = (record.n_features, *record.hidden_layer_sizes, record.n_outputs)
    members = () if record.n_members is None else (record.n_members,)
    shapes = [(m, d) for d, m in itertools.pairwise(sizes)]
    if record.patches is not None:
        shapes[0] = (shapes[0][0] // record.patches.n_positions, record.patches.n_inputs)
    return [(*members, m, d + record.intercept) for m, d in shapes]


def read_tensors(path: Path, largest: int) -> dict[str, Tensor]:
    """Read all tensors of a file of at most this many bytes; nothing in it is trusted yet."""
    check_size(path, largest)
    try:
        with path.open("rb") as file:
            header = int.from_bytes(file.read(8), "little")
        if header > LARGEST_HEADER:
            raise DamagedFileError(f"{path} is damaged: its header cannot be {header} bytes long.")
        with safe_open(path, framework="pt", device="cpu") as file:
            # Copies: a tensor may be a view of the file, and the file may be changed in place.
            return {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (not a dict)
    except DamagedFileError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, KeyError, RuntimeError) as error:
        raise DamagedFileError(f"{path} is damaged: {str(error)[:200]}") from error


def build_network(tensors: dict[str, Tensor], record: NetworkRecord) -> AggregatedNetwork:
    """Make the network from tensors of exactly the expected names, shapes and types."""
    shapes = _shapes(record)
    expected = {f"{part}_{k}": shape for part in ("posterior", "prior") for k, shape in enumerate(shapes)}
    if wrong := (set(tensors) - {"prior_margins"}) ^ {*expected, *LISTS}:
        raise DamagedFileError(f"the tensor {min(wrong)!r:.60} is missing or unexpected.")
    for name, shape in expected.items():
        tensor = tensors[name]
        if tensor.dtype != torch.float64 or tuple(tensor.shape) != shape:
            raise DamagedFileError(
                f"{name} must be float64 of shape {shape}, got {tensor.dtype} of shape {tuple(tensor.shape)}."
            )
        if not bool(torch.isfinite(tensor).all()):
            raise DamagedFileError(f"{name} contains NaN or infinity.")
    parts = [[tensors[f"{part}_{k}"] for k in range(len(shapes))] for part in ("posterior", "prior")]
    members = record.n_members is not None
    return AggregatedNetwork(*parts, intercept=record.intercept, members=members, patches=record.patches)


def list_of(tensors: dict[str, Tensor], name: str, dtype: torch.dtype) -> NDArray[Any]:
    """Return a tensor that must be one-dimensional and of this type."""
    tensor = tensors[name]
    if tensor.dtype != dtype or tensor.ndim != 1:
        raise DamagedFileError(
            f"{name} must be a one-dimensional list of {str(dtype).removeprefix('torch.')}, got "
            f"{tensor.dtype} of shape {tuple(tensor.shape)}."
        )
    return np.array(tensor.numpy())


def margins_of(tensors: dict[str, Tensor]) -> NDArray[np.float64] | None:
    """Return the margins on which something was chosen, if they are stored."""
    if "prior_margins" not in tensors:
        return None
    tensor = tensors["prior_margins"]
    if tensor.ndim == 2:  # one for each label
        tensor = tensor.reshape(-1)
    margins = list_of({"prior_margins": tensor}, "prior_margins", torch.float64)
    if not (margins.size and np.all(np.abs(margins) <= 1.0)):
        raise DamagedFileError("prior_margins must be numbers in [-1, 1], at least one.")
    return margins.reshape(tensors["prior_margins"].shape)
