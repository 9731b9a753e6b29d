"""SHA-256 of data, splits and weights: one text per content, whatever container it came in.

Numbers are hashed as little-endian float64 (or int64) in row order behind their shape, texts as
UTF-8 behind their lengths, so that two contents have one fingerprint only if they are equal.
All kinds of NaN count as one: they all mean "missing".
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pbgnet.certificates.data.indicators import target_values
from pbgnet.exceptions import DtypeError, UncertifiedError
from pbgnet.preprocessing import Column, as_numbers, column_names, count_rows, is_frame, read_columns
from pbgnet.validation import check_readable

if TYPE_CHECKING:
    from hashlib import _Hash

# Rows are hashed in blocks of about this many numbers, so that conversions need little memory.
BLOCK = 2**20


def fingerprint_array(array: Any) -> str:
    """Fingerprint an array of numbers or truth values, or a scipy sparse matrix.

    Precision and memory layout do not matter, values and shape do. Truth values are the numbers 0.0
    and 1.0. Whole numbers are distinguished from others, sparse matrices from dense ones; the order in
    which a sparse matrix stores its entries is not.
    """
    check_readable("The array", array)
    digest = hashlib.sha256()
    if hasattr(array, "tocsr"):
        csr = array.tocsr(copy=True)
        csr.sum_duplicates()
        csr.eliminate_zeros()
        csr.sort_indices()
        digest.update(f"sparse:{tuple(csr.shape)}\n".encode())
        for part in (csr.indptr, csr.indices):
            _update(digest, np.asarray(part, dtype=np.int64))
        _update(digest, np.asarray(csr.data, dtype=np.float64))
    else:
        _update(digest, np.asarray(array))
    return digest.hexdigest()


@dataclass(frozen=True)
class DataFingerprints:
    """A data set as a certificate remembers it: each of its parts, so that a change can be named.

    Attributes
    ----------
    n_rows : int
    features, labels : str
    columns : str or None
        Of the names of the columns, in order; None where they have none.
    """

    n_rows: int
    features: str
    labels: str
    columns: str | None = None

    @property
    def data(self) -> str:
        """The fingerprint of all parts together."""
        return fingerprint_json(["data", self.n_rows, self.features, self.labels, self.columns])


def describe_data(X: Any, y: ArrayLike | None) -> DataFingerprints:  # noqa: N803
    """Fingerprint the parts of a data set as it was given to fit.

    Parameters
    ----------
    X : DataFrame, ndarray or scipy sparse matrix, shape (n, d)
    y : array_like, shape (n,), (n, 1) or, for several labels, (n, L), or None
        None for rows without labels.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data import describe_data
    >>> one, other = describe_data(np.eye(2), ["a", "b"]), describe_data(np.eye(2), ["b", "a"])
    >>> one.features == other.features, one.labels == other.labels
    (True, False)
    """
    n_rows, labels = (count_rows(X), "none") if y is None else (len(target_values(y)), fingerprint_labels(y))
    return DataFingerprints(int(n_rows), fingerprint_features(X), labels, fingerprint_columns(X))


@contextmanager
def unchanged_data(X: Any, y: ArrayLike | None) -> Iterator[DataFingerprints]:  # noqa: N803
    """Describe a data set as it is before a classifier or a loss works on it, and raise if that changes it.

    Raises
    ------
    UncertifiedError
        If the data are others at the end of the block.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data import unchanged_data
    >>> X = np.eye(2)
    >>> with unchanged_data(X, [0, 1]):
    ...     X -= X.mean()
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.UncertifiedError: The classifier or the loss changed the rows or their labels in place,
    so that its numbers are not those of the rows given; let it work on a copy.
    """
    before = describe_data(X, y)
    yield before
    if describe_data(X, y) != before:
        raise UncertifiedError(
            "The classifier or the loss changed the rows or their labels in place, so that its numbers are "
            "not those of the rows given; let it work on a copy."
        )


def fingerprint_features(X: Any) -> str:  # noqa: N803
    """Fingerprint the values of a table, whatever its columns are called.

    Numbers without names are hashed as the float64 they are used as, in whatever form they come: truth
    values, whole numbers, lists and arrays of objects.
    """
    check_readable("X", X)
    if hasattr(X, "tocsr"):
        return fingerprint_array(X)
    if is_frame(X):
        return _hash_columns(X)
    array = np.asarray(X)
    numbers = array if array.dtype.kind in "biuf" else as_numbers(array)
    if numbers is None:
        return _hash_columns(array)
    digest = hashlib.sha256()
    _update(digest, numbers, "<f8")
    return digest.hexdigest()


def fingerprint_columns(X: Any) -> str | None:  # noqa: N803
    """Fingerprint the names of the columns, in order; None where they have none."""
    names = column_names(X)
    return None if names is None else fingerprint_json(list(names))


def fingerprint_labels(y: ArrayLike) -> str:
    """Fingerprint labels: texts, truth values or numbers, 1 and 1.0 the same; or a matrix of 0 and 1."""
    values = target_values(y)
    digest = hashlib.sha256()
    digest.update(f"labels:{values.dtype.kind}\n".encode())
    if values.dtype.kind == "O":
        _update_texts(digest, values.tolist())
    else:
        _update(digest, values)
    return digest.hexdigest()


def fingerprint_split(prior_rows: NDArray[np.int64], certified_rows: NDArray[np.int64]) -> str:
    """Fingerprint which rows made the prior and which were certified, order included."""
    digest = hashlib.sha256(b"split\n")
    for rows in (prior_rows, certified_rows):
        _update(digest, np.asarray(rows, dtype=np.int64))
    return digest.hexdigest()


def fingerprint_tensors(tensors: Sequence[Tensor]) -> str:
    """Fingerprint weights in float64, on whatever device they are.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.certificates.data import fingerprint_tensors
    >>> fingerprint_tensors([torch.ones(2)]) == fingerprint_tensors([torch.ones(2).double()])
    True
    """
    digest = hashlib.sha256(f"tensors:{len(tensors)}\n".encode())
    for tensor in tensors:
        _update(digest, tensor.detach().cpu().double().numpy())
    return digest.hexdigest()


def fingerprint_rows(rows: NDArray[np.uint64]) -> str:
    """Fingerprint what `row_fingerprints` returned: each row's own, in the order of the table."""
    return fingerprint_array(np.asarray(rows, dtype=np.uint64).view(np.int64))


def fingerprint_json(content: Any) -> str:
    """Fingerprint JSON-able values; the order of keys does not matter."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _update(digest: "_Hash", array: NDArray[Any], as_type: str | None = None) -> None:
    """Hash numbers behind their kind and shape, block by block; converted to `as_type` where given."""
    kinds = {"b": "<f8", "i": "<i8", "u": "<i8", "f": "<f8"}
    if array.dtype.kind not in kinds:
        raise DtypeError(f"Only numbers and truth values have a fingerprint as an array, got {array.dtype}.")
    target = np.dtype(as_type or kinds[array.dtype.kind])
    if array.dtype.kind == "u" and target.kind == "i" and array.size and int(array.max()) >= 2**63:
        raise DtypeError("Whole numbers from 2**63 on have no fingerprint as int64; convert them to float64.")
    digest.update(f"array:{target.str}:{array.shape}\n".encode())
    rows = array.reshape(1) if array.ndim == 0 else array
    step = max(1, BLOCK // max(1, int(np.prod(rows.shape[1:], dtype=np.int64))))
    for start in range(0, rows.shape[0], step):
        block = np.ascontiguousarray(rows[start : start + step], dtype=target)
        if target.kind == "f" and np.isnan(block).any():
            block = np.where(np.isnan(block), np.nan, block)
        digest.update(block.data)


def _hash_columns(table: Any) -> str:
    digest = hashlib.sha256()
    columns = read_columns(table)
    digest.update(f"table:False:{len(columns)}\n".encode())  # False: without their names
    for column in columns:
        _update_column(digest, column)
    return digest.hexdigest()


def _update_column(digest: "_Hash", column: Column) -> None:
    if column.numbers is not None:
        digest.update(b"numbers\n")
        _update(digest, column.numbers)
    else:
        digest.update(b"texts\n")
        _update_texts(digest, column.texts or [])


def _update_texts(digest: "_Hash", texts: Sequence[str | None]) -> None:
    """Hash texts behind all their lengths; a missing one has length -1."""
    present = [text for text in texts if text is not None]
    joined = "".join(present)
    if joined.isascii():  # one byte for each character
        sizes = np.fromiter(map(len, present), dtype=np.int64, count=len(present))
    else:
        of_text = {text: len(text.encode("utf-8", "surrogatepass")) for text in set(present)}
        sizes = np.array([of_text[text] for text in present], dtype=np.int64)
    lengths = sizes
    if len(present) < len(texts):
        lengths = np.full(len(texts), -1)
        lengths[[text is not None for text in texts]] = sizes
    _update(digest, lengths)
    digest.update(joined.encode("utf-8", "surrogatepass"))
