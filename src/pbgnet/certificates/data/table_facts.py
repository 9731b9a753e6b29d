"""What is remembered of a table, in one walk through it: a hash of each row, and the digest of all cells.

The digest is a SHA-256 of the number of rows, the shape of a row and, for each column, its kind and the
SHA-256 of its cells in the order of the rows: numbers as little-endian float64. A column of texts has two:
that of the number of bytes of each text as UTF-8, little-endian int64, -1 for a missing one; and that of the
texts themselves, one behind the other. So it does not depend on where the walk is cut into parts.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.data.row_hashes import ROUNDINGS, hash_rows, label_hashes
from pbgnet.certificates.data.walk import SparsePart, TablePart, column_shape, table_parts
from pbgnet.exceptions import DtypeError
from pbgnet.kernels import take_turns
from pbgnet.preprocessing import Words, count_rows, zeros_beside

EMPTY, NUMBERS, TEXTS = "empty", "numbers", "texts"
"""Kinds of columns; one without any value is of the first, whatever the table says of it."""

# Columns of so many rows go side by side.
MANY_ROWS = 1 << 14

OPERATIONS_PER_CELL = 64
"""Elementary operations that a text takes, about."""

Part = TablePart | SparsePart


@dataclass(frozen=True, eq=False)
class TableFacts:
    """What a table holds, in a few bytes for each row.

    Attributes
    ----------
    features : str
        SHA-256 of all cells, in order.
    exact, single, near : ndarray of uint64, shape (n,)
        Hashes of the rows: as they are, rounded to float32, and to six digits.
    """

    features: str
    exact: NDArray[np.uint64]
    single: NDArray[np.uint64]
    near: NDArray[np.uint64]

    @classmethod
    def of(cls, X: Any, columns: Sequence[str] | None = None) -> "TableFacts":  # noqa: N803
        """Walk once through a table: DataFrame, ndarray, scipy sparse matrix or source.

        Of a frame that has all of `columns`, these count alone, and in this order.
        """
        digest = FeaturesDigest()
        roundings = [ROUNDINGS[name] for name in ("exact", "float32", "six digits")]
        zeros = zeros_beside(X, (len(roundings), count_rows(X)), np.uint64)
        hashes = hash_rows(digest.along(table_parts(X, columns)), roundings, zeros)
        hashes.setflags(write=False)  # so that whoever keeps them needs no copy
        exact, single, near = hashes
        return cls(digest.finish(column_shape(X, columns)), exact, single, near)

    def labelled(self, y: ArrayLike | None) -> "TableFacts":
        """Return the same with the labels of the rows counted in their hashes, where there are some."""
        if y is None:
            return self
        labels = label_hashes(y, len(self.exact))
        return TableFacts(self.features, self.exact + labels, self.single + labels, self.near + labels)


def fingerprint_features(X: Any) -> str:  # noqa: N803
    """Fingerprint the values of a table, whatever its columns are called.

    Numbers are hashed as the float64 they are used as, in whatever form they come: truth values, whole
    numbers, lists, frames and arrays of objects. Sparse matrices are distinguished from dense ones; the
    order in which one stores its entries is not.
    """
    digest = FeaturesDigest()
    for _ in digest.along(table_parts(X)):
        pass
    return digest.finish(column_shape(X))


class FeaturesDigest:
    """The digest of all cells of a table, taken while somebody walks through it."""

    def __init__(self) -> None:
        self._n_rows = 0
        self._streams: dict[int, _Stream] = {}
        self._sparse = False

    def along(self, parts: Iterator[Part]) -> Iterator[Part]:
        """Hand on the parts of a table, and take them in."""
        for part in parts:
            self._n_rows += part.n_rows
            if isinstance(part, SparsePart):
                self._take_sparse(part.matrix)
            else:
                self._take(part)
            yield part

    def finish(self, shape: tuple[int, ...]) -> str:
        """Return the digest of all parts of a table whose rows have this shape."""
        form = "sparse" if self._sparse else "table"
        digest = hashlib.sha256(f"{form}:{self._n_rows}:{shape}\n".encode())
        for _, stream in sorted(self._streams.items()):
            digest.update(stream.finish())
        return digest.hexdigest()

    def _stream(self, place: int, kind: str) -> "_Stream":
        stream = self._streams.setdefault(place, _Stream(kind))
        if stream.kind != kind:
            raise DtypeError(
                f"Column {place + 1} contains {stream.kind} in some parts of the table and {kind} in others; "
                "use one type throughout."
            )
        return stream

    def _take(self, part: TablePart) -> None:
        for place, values in zip(part.places.tolist(), part.numbers, strict=True):
            if place not in part.texts:
                self._stream(place, NUMBERS).take_numbers(values)
        streams = {place: self._stream(place, TEXTS) for place in part.texts}

        def take(places: Iterator[int]) -> None:
            for place in places:
                streams[place].take_texts(part.texts[place])
                if place in part.words:
                    part.words[place].prepare()

        if part.n_rows < MANY_ROWS:
            take(iter(streams))
        else:
            take_turns(take, [*streams], OPERATIONS_PER_CELL * part.n_rows * len(streams))

    def _take_sparse(self, matrix: Any) -> None:
        """Take in how many entries each row has, their columns and their values."""
        self._sparse = True
        lists = (np.diff(matrix.indptr), matrix.indices)
        for place, values in enumerate(lists):
            self._stream(place, NUMBERS).take_whole_numbers(values)
        self._stream(len(lists), NUMBERS).take_numbers(matrix.data)


class _Stream:
    """The digest of one column, from its first row on."""

    def __init__(self, kind: str) -> None:
        self.kind, self._empty = kind, True
        self._digest, self._content = hashlib.sha256(), hashlib.sha256()

    def take_numbers(self, values: NDArray[np.float64]) -> None:
        self._empty = self._empty and bool(np.isnan(values).all())
        self._digest.update(np.ascontiguousarray(values, dtype="<f8").data)

    def take_whole_numbers(self, values: NDArray[Any]) -> None:
        self._empty = self._empty and not values.size
        self._digest.update(np.ascontiguousarray(values, dtype="<i8").data)

    def take_texts(self, texts: Words) -> None:
        lengths, content = texts.encoded()
        self._empty = self._empty and bool((lengths < 0).all())
        self._digest.update(np.ascontiguousarray(lengths, dtype="<i8").data)
        self._content.update(content)

    def finish(self) -> bytes:
        """Return the kind and the digest; those of an empty column are all zeros."""
        if self._empty:
            return f"{EMPTY}:".encode() + bytes(self._digest.digest_size)
        content = self._content.digest() if self.kind == TEXTS else b""
        return f"{self.kind}:".encode() + self._digest.digest() + content
