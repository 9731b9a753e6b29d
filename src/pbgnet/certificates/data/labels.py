"""Labels as the user writes them, and their classes: one codec for two classes and more."""

import functools
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.exceptions import DamagedFileError, LabelError, PBGNetError, ShapeError
from pbgnet.records import read_keys
from pbgnet.validation import check_readable

Label = str | int | bool | float

TYPES: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str}

# Labels are told apart so many at a time.
BLOCK = 1 << 20

KINDS = {"O": "text", "b": "true/false", "i": "whole numbers", "f": "numbers with decimals"}


def label_values(y: ArrayLike) -> NDArray[Any]:
    """Return labels as an array of bool, int64, float64 or (for texts) objects; one axis, none missing.

    A single column, shape (n, 1), is accepted too.
    """
    check_readable("y", y)
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.dtype.kind == "f" and not hasattr(y, "dtype") and (np.abs(values) >= 2.0**53).any():
        values = np.asarray(y, dtype=object)  # whole numbers that NumPy has rounded
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ShapeError(
            f"There must be one label per row, got shape {values.shape}. For several labels per row, pass a "
            "matrix of 0 and 1 to PBGNetMultilabelClassifier."
        )
    if values.dtype.kind in "OUT":
        values = values.astype(object, copy=False)
        kinds = set(map(type, values))
        if all(issubclass(kind, str) for kind in kinds):
            return values
        if all(issubclass(kind, bool | np.bool_) for kind in kinds):
            return values.astype(bool)
        if not all(issubclass(kind, Real) and not issubclass(kind, bool) for kind in kinds):
            names = sorted(kind.__name__ for kind in kinds)
            raise LabelError(
                "Labels must be all text, all numbers or all true/false, without missing values; got "
                f"{names}."
            )
        values = _number_labels(values.tolist())
    if values.dtype.kind == "b":
        return values
    if values.dtype.kind in "iu":
        if values.dtype.kind == "u" and values.size:
            _check_whole(int(values.max()))
        return values.astype(np.int64)
    if values.dtype.kind != "f":
        raise LabelError(f"Labels must be text, numbers or true/false, got {values.dtype}.")
    if not np.isfinite(values).all():
        raise LabelError("Labels contain missing values or infinity; drop those rows first.")
    whole = values.astype(np.int64) if (np.abs(values) < 2.0**53).all() else values
    return whole if (whole == values).all() and whole.dtype.kind == "i" else values.astype(np.float64)


def _number_labels(items: list[Any]) -> NDArray[Any]:
    """Return numbers as an array that distinguishes what Python does: whole ones as int64."""
    whole = [int(item) for item in items if isinstance(item, Integral)]
    if whole:
        _check_whole(min(whole))
        _check_whole(max(whole))
    if len(whole) == len(items):
        return np.array(whole, dtype=np.int64)
    if whole and max(map(abs, whole)) > 2**53:
        raise LabelError("Labels mix decimal numbers with whole numbers beyond 2**53; write them as text.")
    return np.array(items)


def _check_whole(label: int) -> None:
    if not -(2**63) <= label < 2**63:
        raise LabelError(
            f"The label {label!r:.40} does not fit into a signed 64-bit number and could be mistaken for "
            "another one. Write such labels as text."
        )


def distinct_labels(values: NDArray[Any]) -> tuple[list[Any], NDArray[np.int32]]:
    """Return the distinct labels as Python values, and the index of each row's label.

    Parameters
    ----------
    values : ndarray, shape (n,), or (n, L) for several labels
        As `label_values` or `target_values` return them.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data.labels import distinct_labels
    >>> distinct_labels(np.array([3, 1, 3]))
    ([1, 3], array([1, 0, 1], dtype=int32))
    """
    if values.dtype.kind == "O":
        labels = values.tolist()
        known = {label: place for place, label in enumerate(dict.fromkeys(labels))}
        return list(known), np.fromiter(map(known.__getitem__, labels), dtype=np.int32, count=len(labels))
    if values.ndim == 2:
        rows = np.ascontiguousarray(values)
        whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]
        _, first, where = np.unique(whole, return_index=True, return_inverse=True)
        return rows[first].tolist(), where.astype(np.int32)
    # In blocks, for the places among so few need no sorting of all.
    blocks = np.array_split(values, max(1, len(values) // BLOCK))
    found = functools.reduce(np.union1d, map(np.unique, blocks))
    return found.tolist(), np.concatenate([np.searchsorted(found, block) for block in blocks], dtype=np.int32)


NAME_ALL = "If it is a class that no row here has, pass all possible classes as classes."
"""What to do about an unknown label if the classes come from the given rows."""


@dataclass(frozen=True)
class Classes:
    """The classes of a classifier, in the order of its codes: labels to indices, and back.

    Attributes
    ----------
    labels : tuple of str, int, bool or float
        All of one type, distinct and finite.

    Examples
    --------
    >>> from pbgnet.certificates.data import Classes
    >>> classes = Classes(("no", "yes"))
    >>> classes.places(["yes", "no"]), classes.named([1, 0])
    (array([1, 0]), array(['yes', 'no'], dtype='<U3'))
    """

    labels: tuple[Label, ...]

    def __post_init__(self) -> None:
        plain = [label.item() if isinstance(label, np.generic) else label for label in self.labels]
        kinds = {type(label) for label in plain}
        if not plain or len(kinds) != 1 or not kinds <= set(TYPES.values()):
            raise LabelError(f"classes must be all text, all numbers or all true/false, got {plain!r:.80}.")
        if len(set(plain)) != len(plain) or any(not -np.inf < x < np.inf for x in plain if type(x) is float):
            raise LabelError(f"classes must be finite and all different, got {plain!r:.80}.")
        for label in plain:
            if type(label) is int:
                _check_whole(label)
        object.__setattr__(self, "labels", tuple(plain))

    @classmethod
    def of(cls, *sources: Any) -> "Classes":
        """Return all labels of several lists, in ascending order; a source may be None.

        Raises
        ------
        LabelError
            If one list contains text and another numbers.
        """
        lists = [label_values(source) for source in sources if source is not None]
        kinds = {values.dtype.kind for values in lists}
        if len(kinds) > 1:
            raise LabelError(
                "Labels and classes are of different kinds: "
                f"{' and '.join(sorted(KINDS[kind] for kind in kinds))}."
            )
        return cls(tuple(sorted({label for values in lists for label in distinct_labels(values)[0]})))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """The classes as Python writes them."""
        return tuple(map(repr, self.labels))

    @property
    def array(self) -> NDArray[Any]:
        """The classes as scikit-learn's `classes_`."""
        return np.array(self.labels)

    def places(self, y: ArrayLike, who: str = "There is", advice: str = NAME_ALL) -> NDArray[np.int64]:
        """Return the class index of each label.

        `who` gave the labels, and `advice` says what to do about an unknown one, for the message.
        """
        values, kind = label_values(y), label_values(list(self.labels)).dtype.kind
        if values.dtype.kind == "f" and kind != "f":
            raise LabelError(
                f"{who} numbers with decimals, such as {float(values[0]):g}, but the labels are "
                f"{KINDS[kind]}. Probabilities and scores are not labels; convert them to the label of the "
                "chosen class."
            )
        same_kind = values.dtype.kind == kind or {values.dtype.kind, kind} == {"i", "f"}
        found = {label: k for k, label in enumerate(self.labels)} if same_kind else {}
        labels, places = distinct_labels(values)
        unknown = [label for label in labels if label not in found]
        if unknown:
            raise LabelError(
                f"{who} the unknown label {unknown[0]!r:.60}; known are "
                f"{', '.join(map(repr, self.labels[:5]))}{' ...' if len(self) > 5 else ''}. {advice}"
            )
        return np.array([found[label] for label in labels], dtype=np.int64)[places]

    def named(self, places: ArrayLike) -> NDArray[Any]:
        """Return the labels at class indices."""
        return self.array[np.asarray(places, dtype=np.int64)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; labels keep their type."""
        return {"type": type(self.labels[0]).__name__, "values": list(self.labels)}

    @classmethod
    def from_dict(cls, data: object) -> "Classes":
        """Read what `to_dict` returned; raise `DamagedFileError` for anything else."""
        content = read_keys(data, ["type", "values"], "classes")
        kind, values = TYPES.get(str(content["type"])), content["values"]
        if kind is None or not isinstance(values, list) or not all(type(value) is kind for value in values):
            raise DamagedFileError(f"classes must be values of one type, got {content!r:.80}.")
        try:
            return cls(tuple(values))
        except PBGNetError as error:
            raise DamagedFileError(f"classes: {error}") from error
