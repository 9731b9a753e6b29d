"""A model in a folder, without pickle: weights in safetensors, everything else in JSON."""

import itertools
import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from pbgnet.certificates.certificate import Certificate
from pbgnet.certificates.folders import (
    CERTIFICATE,
    PREPROCESSING,
    REPORT,
    WEIGHTS,
    read_json,
    save_folder,
    set_aside_path,
    standing_folder,
)
from pbgnet.certificates.inputs import Inputs
from pbgnet.certificates.model import CertifiedModel
from pbgnet.certificates.parts import NetworkRecord
from pbgnet.exceptions import DamagedFileError, PBGNetError
from pbgnet.networks import AggregatedNetwork

__all__ = ["CERTIFICATE", "PREPROCESSING", "REPORT", "WEIGHTS", "load_model", "save_model", "set_aside_path"]


def save_model(model: CertifiedModel, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a model into a folder of its own, all or nothing.

    Parameters
    ----------
    model : CertifiedModel
    folder : path
        Made if need be, parents included.
    overwrite : bool, default=False
        Replace a model that stands there. Files of the old folder that are not part of a model are
        kept; a folder that holds no model is never replaced, unless it is empty.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    OutputExistsError
        If something stands there already.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, torch
    >>> from pbgnet.certificates import PriorRecord, certify_network, load_model, save_model
    >>> from pbgnet.networks import AggregatedNetwork
    >>> network = AggregatedNetwork([torch.tensor([[3.0]])], [torch.tensor([[0.0]])], intercept=False)
    >>> model = certify_network(network, np.array([[1.0], [-1.0]]), ["yes", "no"], classes=("no", "yes"),
    ...                         prior=PriorRecord("zero"), prior_rows=[], certified_rows=[0, 1])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     folder = save_model(model, pathlib.Path(parent) / "model")
    ...     sorted(path.name for path in folder.iterdir()), load_model(folder).classes
    (['certificate.json', 'model.safetensors', 'preprocessing.json'], ('no', 'yes'))
    """
    return save_folder(folder, lambda fresh: _write(model, fresh), overwrite=overwrite)


def load_model(folder: str | os.PathLike[str]) -> CertifiedModel:
    """Read a model from its folder; nothing in it is executed, and no GPU is needed.

    Parameters
    ----------
    folder : path

    Raises
    ------
    DamagedFileError
        If a file is missing, damaged, or does not fit the others; the message names it.

    Examples
    --------
    >>> from pbgnet.certificates import load_model
    >>> load_model("no/such/folder")
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DamagedFileError: There is no model folder no/such/folder.
    """
    path = standing_folder(folder)
    certificate: Certificate = read_json(path / CERTIFICATE, Certificate.from_dict)
    if certificate.network is None:
        raise DamagedFileError(
            f"{path} holds the certificate of a classifier that is not stored; read it with load_predictions."
        )
    inputs: Inputs = read_json(path / PREPROCESSING, Inputs.from_dict)
    tensors = _read_tensors(path / WEIGHTS)
    try:
        network = _build_network(tensors, certificate.network)
        return CertifiedModel(
            network,
            certificate,
            inputs.classes,
            inputs.feature_names,
            inputs.preprocessor,
            _rows(tensors, "prior_rows"),
            _rows(tensors, "certified_rows"),
            _margins(tensors),
        )
    except PBGNetError as error:
        raise DamagedFileError(f"{path / WEIGHTS} does not fit the rest of the model: {error}") from error


def _write(model: CertifiedModel, folder: Path) -> None:
    weights = {f"posterior_{k}": weight.detach() for k, weight in enumerate(model.network.weights)}
    prior = {f"prior_{k}": weight for k, weight in enumerate(model.network.prior_weights)}
    rows = {
        name: torch.tensor(getattr(model, name), dtype=torch.int64)
        for name in ("prior_rows", "certified_rows")
    }
    tensors = {name: tensor.contiguous().clone() for name, tensor in {**weights, **prior, **rows}.items()}
    if model.prior_margins is not None:
        tensors["prior_margins"] = torch.tensor(model.prior_margins, dtype=torch.float64)
    save_file(tensors, folder / WEIGHTS)
    preprocessing = json.dumps(model.inputs.to_dict(), indent=2, ensure_ascii=True, allow_nan=False) + "\n"
    (folder / PREPROCESSING).write_text(preprocessing, encoding="utf-8", newline="\n")
    (folder / CERTIFICATE).write_text(model.certificate.to_json(), encoding="utf-8", newline="\n")
    # safetensors lets nobody else read its file; it gets the mode that the umask gave the others.
    os.chmod(folder / WEIGHTS, stat.S_IMODE((folder / CERTIFICATE).stat().st_mode))


def _read_tensors(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise DamagedFileError(f"{path} is missing.")
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, KeyError, RuntimeError) as error:
        raise DamagedFileError(f"{path} is damaged: {str(error)[:200]}") from error


def _build_network(tensors: dict[str, Tensor], record: NetworkRecord) -> AggregatedNetwork:
    """Make the network from tensors of exactly the expected names, shapes and types."""
    sizes = (record.n_features, *record.hidden_layer_sizes, 1)
    shapes = [(m, d + record.intercept) for d, m in itertools.pairwise(sizes)]
    expected = {f"{part}_{k}": shape for part in ("posterior", "prior") for k, shape in enumerate(shapes)}
    if wrong := (set(tensors) - {"prior_margins"}) ^ {*expected, "prior_rows", "certified_rows"}:
        raise DamagedFileError(f"the tensor {min(wrong)!r:.60} is missing or unexpected.")
    for name, shape in expected.items():
        tensor = tensors[name]
        if tensor.dtype != torch.float64 or tuple(tensor.shape) != shape:
            raise DamagedFileError(
                f"{name} must be float64 of shape {shape}, got {tensor.dtype} of shape {tuple(tensor.shape)}."
            )
        if not bool(torch.isfinite(tensor).all()):
            raise DamagedFileError(f"{name} holds NaN or infinity.")
    parts = [[tensors[f"{part}_{k}"] for k in range(len(shapes))] for part in ("posterior", "prior")]
    return AggregatedNetwork(parts[0], parts[1], intercept=record.intercept)


def _rows(tensors: dict[str, Tensor], name: str) -> Any:
    tensor = tensors[name]
    if tensor.dtype != torch.int64 or tensor.ndim != 1:
        raise DamagedFileError(
            f"{name} must be one list of int64, got {tensor.dtype} of shape {tuple(tensor.shape)}."
        )
    return np.array(tensor.numpy())


def _margins(tensors: dict[str, Tensor]) -> Any:
    """Return the margins that something was chosen by, where they are stored; the model checks the values."""
    tensor = tensors.get("prior_margins")
    if tensor is not None and (tensor.dtype != torch.float64 or tensor.ndim != 1 or not tensor.numel()):
        raise DamagedFileError(
            f"prior_margins must be one list of float64, got {tensor.dtype} of shape {tuple(tensor.shape)}."
        )
    return None if tensor is None else np.array(tensor.numpy())
