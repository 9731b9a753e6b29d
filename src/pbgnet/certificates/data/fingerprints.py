"""SHA-256 of data, splits and weights: one text per content, whatever container it came in.

Numbers are hashed as little-endian float64 (or int64) in row order behind their shape, texts as UTF-8 one
behind the other, after the length of each of them. So two contents have one fingerprint only if they are
equal. All kinds of NaN count as one: they all mean "missing". A table has a fingerprint of its features
(`table_facts`), of its labels and of the names of its columns.
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
from pbgnet.certificates.data.labels import distinct_labels
from pbgnet.certificates.data.table_facts import TableFacts, fingerprint_features
from pbgnet.exceptions import DtypeError, UncertifiedError
from pbgnet.preprocessing import Words, column_names, count_rows, is_source
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
    """A data set as a certificate records it: each part separately, so that a change can be named.

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


def describe_data(
    X: Any,  # noqa: N803
    y: ArrayLike | None,
    facts: TableFacts | None = None,
) -> DataFingerprints:
    """Fingerprint the parts of a data set as it was given to fit.

    Parameters
    ----------
    X : DataFrame, ndarray, scipy sparse matrix or source, shape (n, d)
    y : array_like, shape (n,), (n, 1) or, for several labels, (n, L), or None
        None for rows without labels.
    facts : TableFacts, optional
        What a walk through X has found already.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data import describe_data
    >>> one, other = describe_data(np.eye(2), ["a", "b"]), describe_data(np.eye(2), ["b", "a"])
    >>> one.features == other.features, one.labels == other.labels
    (True, False)
    """
    n_rows, labels = count_rows(X), "none"
    if y is not None:
        values = target_values(y)
        n_rows, labels = len(values), _fingerprint_values(values)
    features = fingerprint_features(X) if facts is None else facts.features
    return DataFingerprints(n_rows, features, labels, fingerprint_columns(X))


@contextmanager
def unchanged_data(
    X: Any,  # noqa: N803
    y: ArrayLike | None,
    facts: TableFacts | None = None,
) -> Iterator[DataFingerprints]:
    """Describe a data set before a classifier or a loss works on it, and raise an error if that changes it.

    Raises
    ------
    UncertifiedError
        If the data differ at the end of the block.

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
    so its results are not for the rows you passed. Make it work on a copy.
    """
    before = describe_data(X, y, facts)
    yield before
    if is_source(X):  # nobody has it in memory, and it notices itself that a file was changed
        changed = y is not None and fingerprint_labels(y) != before.labels
    else:
        changed = describe_data(X, y) != before
    if changed:
        raise UncertifiedError(
            "The classifier or the loss changed the rows or their labels in place, so its results are not "
            "for the rows you passed. Make it work on a copy."
        )


def fingerprint_columns(X: Any) -> str | None:  # noqa: N803
    """Compute the fingerprint of the column names, in order; None if there are none."""
    names = column_names(X)
    return None if names is None else fingerprint_json(list(names))


def fingerprint_labels(y: ArrayLike) -> str:
    """Fingerprint labels: texts, truth values or numbers, 1 and 1.0 the same; or a matrix of 0 and 1."""
    return _fingerprint_values(target_values(y))


def _fingerprint_values(values: NDArray[Any]) -> str:
    digest = hashlib.sha256()
    digest.update(f"labels:{values.dtype.kind}:{values.shape}\n".encode())
    if values.dtype.kind == "O":
        lengths, content = Words(*distinct_labels(values)).encoded()
        _update(digest, lengths)
        digest.update(content)
    else:
        _update(digest, values)
    return digest.hexdigest()


def fingerprint_split(prior_rows: NDArray[np.int64], certified_rows: NDArray[np.int64]) -> str:
    """Compute the fingerprint of which rows are prior rows and which are certified, order included."""
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


@dataclass(frozen=True, eq=False)
class KeptRows:
    """What is kept of a table beside its certificate, so that a row or column that was changed can be named.

    Attributes
    ----------
    fingerprints : ndarray of uint64, shape (N,)
        Of each row; see `row_fingerprints`.
    columns : tuple of str or None
        Names of the columns, where they have names.
    """

    fingerprints: NDArray[np.uint64]
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        rows = np.array(self.fingerprints, dtype=np.uint64)
        rows.setflags(write=False)
        object.__setattr__(self, "fingerprints", rows)

    @classmethod
    def of(cls, X: Any, facts: TableFacts) -> "KeptRows":  # noqa: N803
        """Return what is kept of a table, through which a walk was made."""
        return cls(facts.exact, column_names(X))

    def fingerprint(self) -> str:
        """Return the fingerprint of all rows."""
        return fingerprint_rows(self.fingerprints)

    @property
    def column_fingerprint(self) -> str | None:
        """The fingerprint of the names of the columns; None where they have none."""
        return None if self.columns is None else fingerprint_json(list(self.columns))


def fingerprint_json(content: Any) -> str:
    """Fingerprint JSON-able values; the order of keys does not matter."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _update(digest: "_Hash", array: NDArray[Any]) -> None:
    """Hash numbers behind their kind and shape, block by block."""
    kinds = {"b": "<f8", "i": "<i8", "u": "<i8", "f": "<f8"}
    if array.dtype.kind not in kinds:
        raise DtypeError(
            f"Only arrays of numbers or of true and false have a fingerprint, got {array.dtype}."
        )
    target = np.dtype(kinds[array.dtype.kind])
    if array.dtype.kind == "u" and target.kind == "i" and array.size and int(array.max()) >= 2**63:
        raise DtypeError(
            "Whole numbers of 2**63 or more do not fit into int64 and have no fingerprint; convert them to "
            "float64."
        )
    digest.update(f"array:{target.str}:{array.shape}\n".encode())
    rows = array.reshape(1) if array.ndim == 0 else array
    step = max(1, BLOCK // max(1, int(np.prod(rows.shape[1:], dtype=np.int64))))
    for start in range(0, rows.shape[0], step):
        block = np.ascontiguousarray(rows[start : start + step], dtype=target)
        if target.kind == "f" and np.isnan(block).any():
            block = np.where(np.isnan(block), np.nan, block)
        digest.update(block.data)
