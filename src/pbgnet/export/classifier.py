"""A classifier that runs an exported file, and answers with the user's labels."""

import hashlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates import ExportedNetwork
from pbgnet.exceptions import DamagedFileError, DomainError
from pbgnet.export.dependency import check_runtime, import_onnxruntime
from pbgnet.export.metadata import Metadata, check_seal
from pbgnet.export.shipped import ShippedClassifier
from pbgnet.export.table import NUMBERS_DTYPE, read_table
from pbgnet.files import as_path
from pbgnet.validation import positive_int

# Rows are run so many at a time, fewer where a layer would hold more than WORKSPACE numbers for them: what
# stays in the cache of a processor is faster.
CHUNK = 4096
WORKSPACE = 2**20
MOST_THREADS = 1024


class OnnxClassifier(ShippedClassifier):
    """An exported network, run by onnxruntime.

    It works wherever pbgnet accepts a classifier, and you can also call it like a function.

    Parameters
    ----------
    path : path
        A file written by `export_onnx`.
    n_threads : int, default=1
        Number of threads for onnxruntime.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    n_features_in_ : int
        Number of columns it expects.
    metadata : Metadata
        What the file says about itself, such as `network`, `statement` and `covers`.
    fingerprint : str
        SHA-256 of the file.

    Raises
    ------
    MissingOnnxError
        If the optional extra ``pbgnet[onnx]`` is not installed, or too old to run the file.
    DamagedFileError
        If the file is missing, changed, or was not written by `export_onnx`.

    Examples
    --------
    See `export_onnx`.

    >>> from pbgnet.export import OnnxClassifier
    >>> OnnxClassifier("no/such/file.onnx")
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DamagedFileError: There is no file no/such/file.onnx.
    """

    def __init__(self, path: str | os.PathLike[str], *, n_threads: int = 1) -> None:
        runtime = import_onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = positive_int("n_threads", n_threads, MOST_THREADS)
        options.inter_op_num_threads = 1
        content = _read(path)
        try:
            check_seal(content)  # before the bytes are handed to the runtime
            self._session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
            self.metadata = Metadata.from_texts(self._session.get_modelmeta().custom_metadata_map)
            _check_inputs(self._session, self.metadata)
        except DamagedFileError as error:
            raise DamagedFileError(f"{path} cannot be used. {error}") from error
        except Exception as error:  # the runtime has its own kinds, without a common base
            check_runtime(runtime, path, error)  # the seal holds: it may be the runtime that is at fault
            raise DamagedFileError(f"{path} cannot be run by onnxruntime: {error!s:.200}") from error
        self.inputs = self.metadata.inputs
        columns = self._session.get_inputs()[0].shape[1]
        preprocessor = self.inputs.preprocessor
        self.n_features_in_ = int(columns if preprocessor is None else preprocessor.n_features_in_)
        self.fingerprint = hashlib.sha256(content).hexdigest()

    def output(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return G, or -1 and 1 (sign network), of each output; for members, their mean."""
        parts = [self._session.run(["decision"], feed)[0] for feed in self._feeds(X)]
        if not parts:
            n_outputs = self.inputs.code.n_outputs
            return np.zeros(0 if n_outputs == 1 else (0, n_outputs))
        output = np.concatenate(parts).astype(np.float64)
        if not np.isfinite(output).all():
            raise DomainError("A row of zeros has no direction without an intercept; use intercept=True.")
        return output

    def __repr__(self) -> str:
        record = self.metadata
        return f"OnnxClassifier({record.network}, {record.architecture}, {record.dtype})"

    @property
    def exported_network(self) -> ExportedNetwork:
        """Which network it is, for a certificate about exactly this one."""
        return self.metadata.exported_network

    def _feeds(self, X: Any) -> Iterator[dict[str, NDArray[Any]]]:  # noqa: N803
        """Give the inputs of the file, a few rows at a time."""
        step = max(1, min(CHUNK, WORKSPACE // self.metadata.workspace))
        preprocessor = self.inputs.preprocessor
        if preprocessor is None:
            rows = self.inputs.features(X, self.n_features_in_)
            for start in range(0, rows.shape[0], step):
                yield {"x": self._numbers(rows[start : start + step])}
            return
        numbers, texts = read_table(X, preprocessor)
        for start in range(0, len(numbers), step):
            feed = {"x": numbers[start : start + step], "text": texts[start : start + step]}
            yield {name: part for name, part in feed.items() if part.shape[1] > 0}

    def _numbers(self, rows: Any) -> NDArray[Any]:
        """Return dense rows in the precision of the file."""
        dense = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
        if not np.isfinite(dense).all():
            raise DomainError("The rows contain NaN or infinity. Impute or drop those rows.")
        with np.errstate(over="ignore"):
            numbers = np.ascontiguousarray(dense, dtype=self.metadata.dtype)
        if not np.isfinite(numbers).all():
            raise DomainError("A number is too large for a model in float32; export the model in float64.")
        return numbers


def _check_inputs(session: Any, metadata: Metadata) -> None:
    """Raise `DamagedFileError` unless the graph's input has the precision that the file states."""
    stated = metadata.dtype if metadata.inputs.preprocessor is None else NUMBERS_DTYPE.name
    for entry in session.get_inputs():
        found = {"tensor(float)": "float32", "tensor(double)": "float64"}.get(entry.type)
        if entry.name == "x" and found != stated:
            raise DamagedFileError(f"The file expects numbers in {found or entry.type}, but says {stated}.")


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return as_path(path).read_bytes()
    except (FileNotFoundError, IsADirectoryError) as error:
        raise DamagedFileError(f"There is no file {path}.") from error
