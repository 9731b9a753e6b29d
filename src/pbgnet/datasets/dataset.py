"""A data set for two classes, and the record of where it came from."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import DamagedFileError, DomainError, LabelError, ShapeError


@dataclass(frozen=True)
class FileRecord:
    """A file that was read; the checksum is that of its content, as docs/reference/datasets.md describes."""

    name: str
    sha256: str


@dataclass(frozen=True)
class SourceRecord:
    """Where the rows of a data set came from.

    Attributes
    ----------
    kind : {"files", "openml", "scikit-learn", "generated"}
    files : tuple of FileRecord
        The original files, if they were read.
    openml_id : int or None
        The OpenML data set, if it was downloaded.
    original_order : bool
        Whether the rows are known to be in the order of the original files. A seed draws the same rows only
        from the same order.
    same_rows : bool or None
        Whether the rows are those of the original files, in any order; None if there are no original files.
    note : str
        Anything else worth knowing.

    Examples
    --------
    >>> from pbgnet.datasets import load_dataset
    >>> load_dataset("breast").source.kind
    'scikit-learn'
    """

    kind: str
    files: tuple[FileRecord, ...] = ()
    openml_id: int | None = None
    original_order: bool = True
    same_rows: bool | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values for JSON."""
        return {**asdict(self), "files": [asdict(file) for file in self.files]}

    @classmethod
    def from_dict(cls, data: Any) -> "SourceRecord":
        """Read what `to_dict` returned; raise `DamagedFileError` for anything else."""
        try:
            files = tuple(FileRecord(**file) for file in data["files"])
            return cls(**{**data, "files": files})
        except (KeyError, TypeError) as error:
            raise DamagedFileError(f"The record of a data set's source cannot be read: {error!r}.") from error


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows and labels of two classes.

    Attributes
    ----------
    name : str
    X : ndarray of float32, shape (n, d)
        Unscaled, except that the pixels of MNIST are divided by 255.
    y : ndarray of int64, shape (n,)
        -1 or +1.
    label_names : tuple of two str
        What -1 and +1 stand for.
    feature_names : tuple of d str
    numeric : tuple of int
        Columns of X with scales of their own; the others are bits, pixels or coordinates and need no scaling.
    standardised_in_paper : bool
        Whether the paper's authors standardised all columns of this set.
    source : SourceRecord

    Examples
    --------
    >>> from pbgnet.datasets import load_dataset
    >>> dataset = load_dataset("breast")
    >>> dataset
    Dataset('breast', n=569, d=30, -1: malignant, +1: benign)
    >>> dataset.X.dtype, sorted(set(dataset.y.tolist()))
    (dtype('float32'), [-1, 1])
    """

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.int64]
    label_names: tuple[str, str]
    feature_names: tuple[str, ...]
    source: SourceRecord
    numeric: tuple[int, ...] = field(default=())
    standardised_in_paper: bool = False

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.y.shape != self.X.shape[:1]:
            raise ShapeError(
                f"X and y of {self.name!r} must have shapes (n, d) and (n,), got {self.X.shape} and "
                f"{self.y.shape}."
            )
        if len(self.feature_names) != self.X.shape[1]:
            raise ShapeError(
                f"{self.name!r} has {self.X.shape[1]} columns, but {len(self.feature_names)} names of them."
            )
        if self.X.dtype != np.float32 or not np.isfinite(np.sum(self.X, dtype=np.float64)):
            raise DomainError(f"X of {self.name!r} must hold finite numbers of float32.")
        if not np.all(np.abs(self.y) == 1):
            raise LabelError(f"The labels of {self.name!r} must be -1 and +1.")

    def __repr__(self) -> str:
        negative, positive = self.label_names
        return f"Dataset({self.name!r}, n={self.n_rows}, d={self.n_features}, -1: {negative}, +1: {positive})"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])
