"""Saved certificates and models in folders, without pickle: weights in safetensors, the rest in JSON."""

import errno
import json
import os
import re
import stat
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save_file

from pbgnet.certificates.classifier import CertifiedPredictions
from pbgnet.certificates.data import Inputs, Split
from pbgnet.certificates.format import Certificate, DisagreementSubject
from pbgnet.certificates.network import CertifiedModel
from pbgnet.certificates.tensors import (
    LARGEST_HEADER,
    LARGEST_WEIGHTS,
    ROW_FINGERPRINTS,
    build_network,
    largest_size,
    list_of,
    margins_of,
    read_tensors,
)
from pbgnet.exceptions import DamagedFileError, DomainError, PBGNetError
from pbgnet.files import (
    LARGEST_JSON,
    final_place,
    locked,
    read_json,
    replace_folder,
    standing_folder,
)
from pbgnet.validation import check_kind

CERTIFICATE = "certificate.json"
WEIGHTS = "model.safetensors"
PREPROCESSING = "preprocessing.json"
PREDICTIONS = "predictions.json"
ROWS = "rows.safetensors"

MOST_READINGS = 5
"""How often a folder is read again if it is being replaced at that moment."""

Certified = TypeVar("Certified", bound=CertifiedModel | CertifiedPredictions)
BESIDE = ("report.html", "about.json", "table.json", "test.json", "compared.json", "history.json")
FOLDER_FILES = (CERTIFICATE, WEIGHTS, PREPROCESSING, PREDICTIONS, ROWS, *BESIDE)
"""Everything that is written for a model, by the command line as well: stale when the model is replaced."""


def save_model(model: CertifiedModel, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Save a model in a folder of its own, completely or not at all.

    Parameters
    ----------
    model : CertifiedModel
    folder : path
        Created if necessary, including its parents.
    overwrite : bool, default=False
        Replace an existing model. Other files in the folder are kept. A folder that does not contain a model
        is never replaced, unless it is empty.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    OutputExistsError
        If something already exists there.

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
    with replace_folder(folder, overwrite=overwrite, marker=CERTIFICATE, ours=FOLDER_FILES) as fresh:
        write_model(model, fresh)
    return Path(folder).absolute()


def load_model(folder: str | os.PathLike[str], *, check: bool = True) -> CertifiedModel:
    """Load a saved network with its certificate; never runs code from the folder, and needs no GPU.

    Use it for folders written by `save` of an estimator that trains a network, or by ``pbgnet train``. The
    result predicts from the raw table, because its preprocessing is part of it. It cannot be fitted again.

    If another process replaces the folder meanwhile, you get the old version or the new one, never a mixture.

    Parameters
    ----------
    folder : path
    check : bool, default=True
        Compare every file with its fingerprint in the certificate.

    Returns
    -------
    CertifiedModel
        With `predict`, `predict_proba` and `certificate`.

    Raises
    ------
    DamagedFileError
        If a file is missing, damaged, or does not match the certificate; the message names it. Also if the
        folder contains the certificate of a classifier that is not stored, such as a random forest.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pbgnet import PBGDClassifier, load_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     folder = pathlib.Path(parent) / "model"
    ...     PBGDClassifier(random_state=0).fit(X, y).save(folder)
    ...     model = load_model(folder)
    >>> model.predict(X[:3]).shape
    (3,)
    >>> load_model("no/such/folder")
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DamagedFileError: There is no model folder no/such/folder.
    """
    return _read_one_version(folder, _read_model, check)


def save_predictions(
    certified: CertifiedPredictions, folder: str | os.PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write a certificate and the answers it counts into a folder of its own, all or nothing.

    The fingerprints of the rows take 8 bytes for each row of the table, in a file of their own.

    Parameters
    ----------
    certified : CertifiedPredictions
    folder : path
    overwrite : bool, default=False
        As in `save_model`.

    Raises
    ------
    DomainError
        If there are millions of rows: a file of this size could not be read back.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from pbgnet.certificates import certify, load_predictions, save_predictions
    >>> certified = certify(lambda X: X[:, 0] > 0, np.array([[1.0], [-1.0]]), [True, False])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     folder = save_predictions(certified, pathlib.Path(parent) / "certified")
    ...     sorted(path.name for path in folder.iterdir()), load_predictions(folder).labels.tolist()
    (['certificate.json', 'predictions.json', 'rows.safetensors'], [True, False])
    """
    with replace_folder(folder, overwrite=overwrite, marker=CERTIFICATE, ours=FOLDER_FILES) as fresh:
        write_predictions(certified, fresh)
    return Path(folder).absolute()


def write_predictions(certified: CertifiedPredictions, folder: Path) -> None:
    """Write certificate and answers into an existing folder; see `save_predictions`."""
    check_kind("certified", certified, CertifiedPredictions)
    answers = json.dumps(certified.to_dict(), ensure_ascii=True, allow_nan=False) + "\n"
    if len(answers) > LARGEST_JSON:
        raise DomainError(
            f"The answers on {len(certified.predictions)} rows need more than {LARGEST_JSON // 2**20} MiB, "
            "the largest file that can be read back. Certify fewer rows, drawn at random beforehand."
        )
    for name, text in ((PREDICTIONS, answers), (CERTIFICATE, certified.certificate.to_json())):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    _write_tensors({ROW_FINGERPRINTS: _as_signed(certified.rows.fingerprints)}, folder / ROWS)
    _let_others_read(folder / ROWS)


def write_certified(certified: CertifiedModel | CertifiedPredictions, folder: Path) -> None:
    """Write whatever was certified into a folder that is there."""
    if isinstance(certified, CertifiedModel):
        write_model(certified, folder)
    else:
        write_predictions(certified, folder)


def load_predictions(folder: str | os.PathLike[str], *, check: bool = True) -> CertifiedPredictions:
    """Read a certificate and the answers it counts from their folder.

    Parameters
    ----------
    folder : path
    check : bool, default=True
        As in `load_model`.

    Raises
    ------
    DamagedFileError
        If a file is missing, damaged, or does not match the other; the message names it.
    """
    return _read_one_version(folder, _read_predictions, check)


def load_certified(
    folder: str | os.PathLike[str], *, check: bool = True
) -> CertifiedModel | CertifiedPredictions:
    """Read whatever was certified and saved in a folder; `check` is that of `load_model`."""
    return _read_one_version(folder, _read_certified, check)


def holds_predictions(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder is that of a classifier that is not stored; it need not be readable."""
    return (standing_folder(folder) / PREDICTIONS).is_file()


def _read_one_version(
    folder: str | os.PathLike[str], read: Callable[[Path], Certified], check: bool
) -> Certified:
    """Read a folder with a function; again if it was replaced meanwhile, so that versions never mix.

    A folder is replaced by renaming, so the files are then different ones, or in another place; files that
    were changed in place do not match the certificate.
    """
    for reading in range(MOST_READINGS):
        # After one disturbance, others have to wait, if the file system supports locks.
        with locked(final_place(folder).parent) if reading else nullcontext():
            path, files = standing = _standing(folder)
            try:
                if not path.is_dir():
                    raise DamagedFileError(f"There is no model folder {folder}.")
                certified = read(path)
                problem = certified.mismatch() if check else ""
                if problem:
                    raise DamagedFileError(f"{path} does not match its certificate: {problem}.")
            except (DamagedFileError, OSError):
                # Without the lock, each look may have met another replacement: nothing is not surely nothing.
                if (reading or any(files)) and _standing(folder) == standing:
                    raise
            else:
                if _standing(folder) == standing:
                    return certified
    raise DamagedFileError(
        f"{folder} was replaced {MOST_READINGS} times while it was being read; try again later."
    )


def _standing(folder: str | os.PathLike[str]) -> tuple[Path, list[tuple[int, ...] | None]]:
    """Return where a folder is, and what tells its files from those of another that takes its place."""
    path = standing_folder(folder)
    found: list[tuple[int, ...] | None] = []
    for name in (".", CERTIFICATE, WEIGHTS, PREPROCESSING, PREDICTIONS, ROWS):
        try:
            status = os.stat(path / name)
        except OSError:
            found.append(None)
        else:
            content = () if name == "." else (status.st_size, status.st_mtime_ns)  # others may come into it
            found.append((status.st_dev, status.st_ino, *content))
    return path, found


def _read_certified(path: Path) -> CertifiedModel | CertifiedPredictions:
    return _read_predictions(path) if (path / PREDICTIONS).is_file() else _read_model(path)


def _read_model(path: Path) -> CertifiedModel:
    certificate: Certificate = read_json(path / CERTIFICATE, Certificate.from_dict)
    if not certificate.of_network:
        raise DamagedFileError(
            f"{path} contains a certificate and the answers it counts, but not the classifier itself. Read "
            "it with pbgnet.certificates.load_predictions, and load the classifier from where you saved it; "
            "pbgnet train --keep FILE saves one."
        )
    inputs: Inputs = read_json(path / PREPROCESSING, Inputs.from_dict)
    tensors = read_tensors(path / WEIGHTS, largest_size(certificate))
    try:
        network = build_network(tensors, certificate.network.network)
        split = Split(
            list_of(tensors, "prior_rows", torch.int64),
            list_of(tensors, "certified_rows", torch.int64),
            certificate.network.split,
        )
        rows = list_of(tensors, ROW_FINGERPRINTS, torch.int64).view(np.uint64)
        return CertifiedModel(network, certificate, inputs, split, rows, margins_of(tensors))
    except PBGNetError as error:
        raise DamagedFileError(f"{path / WEIGHTS} does not fit the rest of the model: {error}") from error


def _read_predictions(path: Path) -> CertifiedPredictions:
    certificate: Certificate = read_json(path / CERTIFICATE, Certificate.from_dict)
    if certificate.of_network:
        raise DamagedFileError(
            f"{path} contains a network with its certificate; read it with pbgnet.load_model."
        )
    tensors = read_tensors(path / ROWS, 8 * certificate.n_rows_total + LARGEST_HEADER)
    if set(tensors) != {ROW_FINGERPRINTS}:
        raise DamagedFileError(f"{path / ROWS} must contain {ROW_FINGERPRINTS} and nothing else.")
    try:
        rows = list_of(tensors, ROW_FINGERPRINTS, torch.int64).view(np.uint64)
    except DamagedFileError as error:
        raise DamagedFileError(f"{path / ROWS} is damaged: {error}") from error
    if len(rows) != certificate.n_rows_total:
        raise DamagedFileError(
            f"{path / ROWS} does not match its certificate: it has {len(rows)} rows, but the table has "
            f"{certificate.n_rows_total}."
        )
    certified: CertifiedPredictions = read_json(
        path / PREDICTIONS, lambda data: CertifiedPredictions.from_dict(data, certificate, rows)
    )
    if (certified.reference is not None) != isinstance(certificate.subject, DisagreementSubject):
        raise DamagedFileError(
            f"{path / PREDICTIONS} does not match its certificate: the reference is wrong."
        )
    claim = certificate.expected_loss
    stored, claimed = certified.losses and certified.losses.quantity, claim and claim.quantity
    if stored != claimed:
        raise DamagedFileError(
            f"{path / PREDICTIONS} does not match its certificate: it contains {stored or 'no loss'}, but "
            f"the certificate is about {claimed or 'no loss'}."
        )
    return certified


def write_model(model: CertifiedModel, folder: Path) -> None:
    """Write the files of a model into an existing folder; `save_model` does it all or nothing."""
    check_kind("model", model, CertifiedModel, advice="Of a fitted estimator, pass its certified_model_.")
    weights = {f"posterior_{k}": weight.detach() for k, weight in enumerate(model.network.weights)}
    prior = {f"prior_{k}": weight for k, weight in enumerate(model.network.prior_weights)}
    arrays = {name: tensor.numpy() for name, tensor in {**weights, **prior}.items()}
    arrays |= {"prior_rows": model.prior_rows, "certified_rows": model.certified_rows}
    arrays[ROW_FINGERPRINTS] = _as_signed(model.row_fingerprints)
    if model.prior_margins is not None:
        arrays["prior_margins"] = model.prior_margins
    # They are written from where they are, so that their numbers must follow each other there.
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    size = sum(tensor.nbytes for tensor in tensors.values())
    if size > LARGEST_WEIGHTS - LARGEST_HEADER:
        raise DomainError(
            f"The weights and row numbers need {size / 2**20:.0f} MiB, and files above "
            f"{LARGEST_WEIGHTS / 2**20:.0f} MiB cannot be read back; train a smaller network."
        )
    _write_tensors(tensors, folder / WEIGHTS)
    preprocessing = json.dumps(model.inputs.to_dict(), indent=2, ensure_ascii=True, allow_nan=False) + "\n"
    (folder / PREPROCESSING).write_text(preprocessing, encoding="utf-8", newline="\n")
    (folder / CERTIFICATE).write_text(model.certificate.to_json(), encoding="utf-8", newline="\n")
    _let_others_read(folder / WEIGHTS)


def _as_signed(rows: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return fingerprints as int64, bit by bit: not all readers know whole numbers without a sign."""
    return np.ascontiguousarray(rows).view(np.int64)


def _write_tensors(tensors: dict[str, NDArray[Any]], path: Path) -> None:
    """Write arrays into a file; what the disk has against it is an error of the system."""
    try:
        save_file(tensors, path)
    except SafetensorError as error:  # a full disk, say, is told in words alone
        found = re.search(r"os error (\d+)", str(error))
        code = int(found[1]) if found else errno.EIO
        raise OSError(code, os.strerror(code) if found else str(error), str(path)) from error


def _let_others_read(path: Path) -> None:
    """Give a file the mode that the umask gave the certificate beside it; safetensors lets nobody read it."""
    os.chmod(path, stat.S_IMODE((path.parent / CERTIFICATE).stat().st_mode))
