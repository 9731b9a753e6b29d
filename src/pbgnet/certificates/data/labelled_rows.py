"""Rows with labels as the user has them, each hashed once, and their canonical order."""

import functools
import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.data.fingerprints import DataFingerprints, describe_data
from pbgnet.certificates.data.indicators import target_values
from pbgnet.certificates.data.labels import distinct_labels
from pbgnet.certificates.data.table_facts import TableFacts
from pbgnet.exceptions import ShapeError
from pbgnet.preprocessing import count_rows, kept_beside

# So many rows are hashed at a time.
BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """A table and its labels; everything derived from them is computed once, when first needed.

    Parameters
    ----------
    X : DataFrame, ndarray, scipy sparse matrix or source, shape (N, d)
        The whole table as the user has it.
    y : array_like, shape (N,) or (N, 1); or several labels, shape (N, L)
        The labels as the user has them.
    walked : TableFacts, optional
        What an earlier walk through the table has found.

    Raises
    ------
    ShapeError
        If there are not as many labels as rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data import LabelledRows
    >>> rows, turned = LabelledRows(np.eye(2), [0, 1]), LabelledRows(np.eye(2)[::-1], [1, 0])
    >>> rows.set_fingerprint == turned.set_fingerprint
    True
    """

    X: Any
    y: ArrayLike
    walked: TableFacts | None = None

    def __post_init__(self) -> None:
        n_rows = count_rows(self.X)
        if n_rows != self.n_rows:
            raise ShapeError(f"The table has {n_rows} rows, but there are {self.n_rows} labels.")

    @functools.cached_property
    def labels(self) -> NDArray[Any]:
        """The labels: one axis, of one type; or 0 and 1, shape (N, L), if a row may have several."""
        return target_values(self.y)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @functools.cached_property
    def facts(self) -> TableFacts:
        """What one walk through the table finds: the digest of its features, and a hash of each row."""
        return TableFacts.of(self.X) if self.walked is None else self.walked

    @functools.cached_property
    def data(self) -> DataFingerprints:
        """Fingerprints of features, labels and column names."""
        return describe_data(self.X, self.labels, self.facts)

    @property
    def fingerprints(self) -> NDArray[np.uint64]:
        """Of each row's features."""
        return self.facts.exact

    @property
    def single_fingerprints(self) -> NDArray[np.uint64]:
        """Of each row's features, rounded to float32."""
        return self.facts.single

    @property
    def near_fingerprints(self) -> NDArray[np.uint64]:
        """Of each row's features, rounded to six digits."""
        return self.facts.near

    @functools.cached_property
    def canonical_order(self) -> NDArray[np.int64]:
        """Indices of the rows, sorted by their content: the same for every order of the table.

        The fingerprint of the features comes first, then the label. Rows that are equal in both follow as
        they stand in the table; which of them is which makes no difference.
        """
        order = np.argsort(self.fingerprints).astype(np.int64, copy=False)
        ordered = self.fingerprints[order]
        repeats = np.append(False, ordered[1:] == ordered[:-1])
        alike = repeats | np.append(repeats[1:], False)  # few rows as a rule, which are sorted again
        rows = order[alike]
        order[alike] = rows[np.lexsort((rows, self._label_ranks[1][rows], ordered[alike]))]
        return kept_beside(self.X, order)

    @functools.cached_property
    def set_fingerprint(self) -> bytes:
        """SHA-256 of the rows with their labels, each as often as it occurs, regardless of order."""
        names, ranks = self._label_ranks
        order = self.canonical_order
        digest = hashlib.sha256(repr(names).encode())
        for values, as_type in ((self.fingerprints, "<u8"), (ranks, "<i8")):
            for start in range(0, self.n_rows, BLOCK):
                digest.update(values[order[start : start + BLOCK]].astype(as_type).data)
        return digest.digest()

    @functools.cached_property
    def _label_ranks(self) -> tuple[list[str], NDArray[np.integer[Any]]]:
        """The different labels, sorted as Python writes them, and the place of each row's among them."""
        labels, places = distinct_labels(self.labels)
        written = [ascii(label) for label in labels]
        names = sorted(written)
        rank_of = {name: k for k, name in enumerate(names)}
        ranks = np.array([rank_of[name] for name in written], dtype=np.min_scalar_type(len(names)))
        return names, ranks[places]
