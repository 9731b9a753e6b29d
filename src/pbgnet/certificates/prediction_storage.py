"""The certificate of a classifier in a folder, with what it answered: two files of JSON, no pickle."""

import json
import os
from pathlib import Path

from pbgnet.certificates.certificate import Certificate
from pbgnet.certificates.folders import (
    CERTIFICATE,
    LARGEST_JSON,
    PREDICTIONS,
    read_json,
    save_folder,
    standing_folder,
)
from pbgnet.certificates.model import CertifiedModel
from pbgnet.certificates.predictions import CertifiedPredictions
from pbgnet.certificates.storage import load_model
from pbgnet.exceptions import DamagedFileError, DomainError

__all__ = ["holds_predictions", "load_certified", "load_predictions", "save_predictions"]


def save_predictions(
    certified: CertifiedPredictions, folder: str | os.PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write a certificate and the answers it counts into a folder of its own, all or nothing.

    Parameters
    ----------
    certified : CertifiedPredictions
    folder : path
    overwrite : bool, default=False
        As in `save_model`.

    Raises
    ------
    DomainError
        If there are millions of rows: a file of this size would be refused when it is read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from pbgnet.certificates import certify, load_predictions, save_predictions
    >>> certified = certify(lambda X: X[:, 0] > 0, np.array([[1.0], [-1.0]]), [True, False])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     folder = save_predictions(certified, pathlib.Path(parent) / "certified")
    ...     sorted(path.name for path in folder.iterdir()), load_predictions(folder).labels.tolist()
    (['certificate.json', 'predictions.json'], [True, False])
    """

    def write(fresh: Path) -> None:
        answers = json.dumps(certified.to_dict(), ensure_ascii=True, allow_nan=False) + "\n"
        if len(answers) > LARGEST_JSON:
            raise DomainError(
                f"The answers on {certified.predictions.size} rows take more than {LARGEST_JSON // 2**20} "
                "MiB, which is not read back; certify fewer rows, drawn at random beforehand."
            )
        (fresh / PREDICTIONS).write_text(answers, encoding="utf-8", newline="\n")
        text = certified.certificate.to_json()
        (fresh / CERTIFICATE).write_text(text, encoding="utf-8", newline="\n")

    return save_folder(folder, write, overwrite=overwrite)


def load_predictions(folder: str | os.PathLike[str]) -> CertifiedPredictions:
    """Read a certificate and the answers it counts from their folder.

    Raises
    ------
    DamagedFileError
        If a file is missing, damaged, or does not fit the other; the message names it.

    Examples
    --------
    >>> from pbgnet.certificates import load_predictions
    >>> load_predictions("no/such/folder")
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DamagedFileError: There is no model folder no/such/folder.
    """
    path = standing_folder(folder)
    certificate: Certificate = read_json(path / CERTIFICATE, Certificate.from_dict)
    if certificate.network is not None:
        raise DamagedFileError(f"{path} holds a network with its certificate; read it with load_model.")
    certified: CertifiedPredictions = read_json(
        path / PREDICTIONS, lambda data: CertifiedPredictions.from_dict(data, certificate)
    )
    if (certified.reference is None) != (certificate.reference is None):
        raise DamagedFileError(f"{path / PREDICTIONS} does not fit its certificate: reference is amiss.")
    claim = certificate.expected_loss
    stored, claimed = certified.losses and certified.losses.quantity, claim and claim.quantity
    if stored != claimed:
        raise DamagedFileError(
            f"{path / PREDICTIONS} does not fit its certificate: it holds {stored or 'no loss'}, where "
            f"{claimed or 'no loss'} is claimed."
        )
    return certified


def load_certified(folder: str | os.PathLike[str]) -> CertifiedModel | CertifiedPredictions:
    """Read whatever was certified and saved in a folder.

    Examples
    --------
    >>> from pbgnet.certificates import load_certified
    >>> load_certified("no/such/folder")
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DamagedFileError: There is no model folder no/such/folder.
    """
    return load_predictions(folder) if holds_predictions(folder) else load_model(folder)


def holds_predictions(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder is that of a classifier that is not stored; it need not be readable.

    Examples
    --------
    >>> from pbgnet.certificates.prediction_storage import holds_predictions
    >>> holds_predictions("no/such/folder")
    False
    """
    try:
        return (standing_folder(folder) / PREDICTIONS).is_file()
    except DamagedFileError:
        return False
