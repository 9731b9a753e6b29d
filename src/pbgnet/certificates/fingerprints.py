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
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pbgnet.exceptions import DtypeError, LabelError, ShapeError, UncertifiedError
from pbgnet.preprocessing.tables import Column, as_numbers, column_names, count_rows, is_frame, read_columns

if TYPE_CHECKING:
    from hashlib import _Hash

__all__ = [
    "DataFingerprints",
    "describe_data",
    "fingerprint_array",
    "fingerprint_columns",
    "fingerprint_data",
    "fingerprint_features",
    "fingerprint_json",
    "fingerprint_labels",
    "fingerprint_split",
    "fingerprint_table",
    "fingerprint_tensors",
    "label_values",
    "unchanged_data",
]

# Rows are hashed in blocks of about this many numbers, so that conversions need little memory.
BLOCK = 2**20


def fingerprint_array(array: Any) -> str:
    """Fingerprint an array of numbers or truth values, or a scipy sparse matrix.

    Precision and memory layout do not matter, values and shape do. Truth values are the numbers 0.0
    and 1.0. Whole numbers are distinguished from others, sparse matrices from dense ones; the order in
    which a sparse matrix stores its entries is not.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates import fingerprint_array
    >>> one = fingerprint_array(np.array([[1.0, 2.0]], dtype=np.float32))
    >>> one == fingerprint_array(np.array([[1.0, 2.0]])), one == fingerprint_array(np.array([[2.0, 1.0]]))
    (True, False)
    """
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
    y : array_like, shape (n,) or (n, 1), or None
        None for rows without labels.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates import describe_data
    >>> one, other = describe_data(np.eye(2), ["a", "b"]), describe_data(np.eye(2), ["b", "a"])
    >>> one.features == other.features, one.labels == other.labels
    (True, False)
    """
    n_rows, labels = (count_rows(X), "none") if y is None else (label_values(y).size, fingerprint_labels(y))
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
    >>> from pbgnet.certificates.fingerprints import unchanged_data
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

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.fingerprints import fingerprint_features
    >>> fingerprint_features(np.eye(2, dtype=bool)) == fingerprint_features([[1, 0], [0, 1.0]])
    True
    """
    if hasattr(X, "tocsr"):
        return fingerprint_array(X)
    if is_frame(X):
        return _hash_columns(X, None)
    array = np.asarray(X)
    numbers = array if array.dtype.kind in "biuf" else as_numbers(array)
    if numbers is None:
        return _hash_columns(array, None)
    digest = hashlib.sha256()
    _update(digest, numbers, "<f8")
    return digest.hexdigest()


def fingerprint_columns(X: Any) -> str | None:  # noqa: N803
    """Fingerprint the names of the columns, in order; None where they have none.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.fingerprints import fingerprint_columns
    >>> fingerprint_columns(np.eye(2)) is None
    True
    """
    names = column_names(X)
    return None if names is None else fingerprint_json(list(names))


def fingerprint_table(table: Any) -> str:
    """Fingerprint a frame, or an array of objects: column names and the values of each column.

    A column of numbers is hashed as float64 whatever its type, any other as text, with missing values
    told apart from all texts.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates import fingerprint_table
    >>> one = fingerprint_table(np.array([[1, "red"], [2, None]], dtype=object))
    >>> one == fingerprint_table(np.array([[1, "red"], [2, "None"]], dtype=object))
    False
    """
    return _hash_columns(table, column_names(table))


def fingerprint_labels(y: ArrayLike) -> str:
    """Fingerprint labels: texts, truth values or numbers, where 1 and 1.0 are the same.

    Examples
    --------
    >>> from pbgnet.certificates import fingerprint_labels
    >>> fingerprint_labels([0, 1]) == fingerprint_labels([0.0, 1.0])
    True
    >>> fingerprint_labels(["a", "b"]) == fingerprint_labels(["b", "a"])
    False
    """
    values = label_values(y)
    digest = hashlib.sha256()
    digest.update(f"labels:{values.dtype.kind}\n".encode())
    if values.dtype.kind == "O":
        _update_texts(digest, values.tolist())
    else:
        _update(digest, values)
    return digest.hexdigest()


def fingerprint_data(X: Any, y: ArrayLike) -> str:  # noqa: N803
    """Fingerprint a whole data set, features, labels and column names, as it was given to fit.

    Parameters
    ----------
    X, y
        As in `describe_data`, which fingerprints its parts.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates import fingerprint_data
    >>> len(fingerprint_data(np.eye(2), ["a", "b"]))
    64
    """
    return describe_data(X, y).data


def fingerprint_split(prior_rows: NDArray[np.int64], certified_rows: NDArray[np.int64]) -> str:
    """Fingerprint which rows made the prior and which were certified, order included.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates import fingerprint_split
    >>> fingerprint_split(np.array([0]), np.array([1])) == fingerprint_split(np.array([1]), np.array([0]))
    False
    """
    digest = hashlib.sha256(b"split\n")
    for rows in (prior_rows, certified_rows):
        _update(digest, np.asarray(rows, dtype=np.int64))
    return digest.hexdigest()


def fingerprint_tensors(tensors: Sequence[Tensor]) -> str:
    """Fingerprint weights in float64, on whatever device they are.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.certificates import fingerprint_tensors
    >>> fingerprint_tensors([torch.ones(2)]) == fingerprint_tensors([torch.ones(2).double()])
    True
    """
    digest = hashlib.sha256(f"tensors:{len(tensors)}\n".encode())
    for tensor in tensors:
        _update(digest, tensor.detach().cpu().double().numpy())
    return digest.hexdigest()


def fingerprint_json(content: Any) -> str:
    """Fingerprint JSON-able values; the order of keys does not matter.

    Examples
    --------
    >>> from pbgnet.certificates import fingerprint_json
    >>> fingerprint_json({"a": 1, "b": 2}) == fingerprint_json({"b": 2, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def label_values(y: ArrayLike) -> NDArray[Any]:
    """Return labels as an array of bool, int64, float64 or (for texts) objects; one axis, no gaps.

    One column of them, shape (n, 1), is taken as well.
    """
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ShapeError(f"Labels must be one per row, got shape {values.shape}.")
    if values.dtype.kind in "OUT":
        items = values.tolist()
        if all(isinstance(item, str) for item in items):
            return np.array(items, dtype=object)
        if all(isinstance(item, bool | np.bool_) for item in items):
            return np.array(items, dtype=bool)
        if not all(isinstance(item, Real) and not isinstance(item, bool) for item in items):
            kinds = sorted({type(item).__name__ for item in items})
            raise LabelError(
                f"Labels must be all text, all numbers or all true/false, without gaps; got {kinds}."
            )
        values = np.array(items)
    if values.dtype.kind == "b":
        return values
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    if values.dtype.kind != "f":
        raise LabelError(f"Labels must be text, numbers or true/false, got {values.dtype}.")
    if not np.isfinite(values).all():
        raise LabelError("Labels hold missing values or infinity; drop those rows first.")
    whole = values.astype(np.int64) if (np.abs(values) < 2.0**53).all() else values
    return whole if (whole == values).all() and whole.dtype.kind == "i" else values.astype(np.float64)


def _update(digest: "_Hash", array: NDArray[Any], as_type: str | None = None) -> None:
    """Hash numbers behind their kind and shape, block by block; converted to `as_type` where given."""
    kinds = {"b": "<f8", "i": "<i8", "u": "<i8", "f": "<f8"}
    if array.dtype.kind not in kinds:
        raise DtypeError(f"Only numbers and truth values have a fingerprint as an array, got {array.dtype}.")
    target = np.dtype(as_type or kinds[array.dtype.kind])
    digest.update(f"array:{target.str}:{array.shape}\n".encode())
    rows = array.reshape(1) if array.ndim == 0 else array
    step = max(1, BLOCK // max(1, int(np.prod(rows.shape[1:], dtype=np.int64))))
    for start in range(0, rows.shape[0], step):
        block = np.ascontiguousarray(rows[start : start + step], dtype=target)
        if target.kind == "f" and np.isnan(block).any():
            block = np.where(np.isnan(block), np.nan, block)
        digest.update(block.data)


def _hash_columns(table: Any, names: Sequence[str] | None) -> str:
    digest = hashlib.sha256()
    columns = read_columns(table)
    digest.update(f"table:{names is not None}:{len(columns)}\n".encode())
    for column in columns:
        if names is not None:
            _update_texts(digest, [column.name])
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
    parts = [None if text is None else text.encode("utf-8", "surrogatepass") for text in texts]
    _update(digest, np.array([-1 if part is None else len(part) for part in parts], dtype=np.int64))
    digest.update(b"".join(part for part in parts if part is not None))
