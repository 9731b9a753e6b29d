"""How a user's table becomes the numbers a network reads, and its -1 and 1 the user's labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.fingerprints import fingerprint_json, label_values
from pbgnet.certificates.records import read_keys
from pbgnet.exceptions import DamagedFileError, DtypeError, LabelError, PBGNetError, ShapeError
from pbgnet.preprocessing import TablePreprocessor, column_names
from pbgnet.preprocessing.tables import as_numbers, check_columns, read_columns

__all__ = ["Inputs", "Label", "check_classes", "encode_labels"]

Label = str | int | bool | float

SCHEMA = "pbgnet-preprocessing"
SCHEMA_VERSION = 1
TYPES: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str}


@dataclass(frozen=True, eq=False)
class Inputs:
    """Classes, feature names and preprocessor: what stands between a user's table and the network.

    Attributes
    ----------
    classes : pair of labels
        What -1 and 1 stand for.
    feature_names : tuple of str or None
    preprocessor : TablePreprocessor or None

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.inputs import Inputs
    >>> Inputs(("no", "yes"), None, None).features(np.eye(2, dtype=int), 2)
    array([[1., 0.],
           [0., 1.]])
    """

    classes: tuple[Label, Label]
    feature_names: tuple[str, ...] | None
    preprocessor: TablePreprocessor | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", check_classes(self.classes))
        if self.feature_names is not None:
            object.__setattr__(self, "feature_names", tuple(str(name) for name in self.feature_names))

    @property
    def class_names(self) -> tuple[str, str]:
        """The classes as Python writes them."""
        first, second = self.classes
        return repr(first), repr(second)

    def check_size(self, n_features: int) -> None:
        """Raise `ShapeError` unless a network of so many features can read what comes out."""
        if self.preprocessor is not None:
            found: int = self.preprocessor.n_features_out_
            source = "the preprocessor makes"
        elif self.feature_names is not None:
            found, source = len(self.feature_names), "there are names for"
        else:
            return
        if found != n_features:
            raise ShapeError(f"The network takes {n_features} features, but {source} {found}.")

    def features(self, X: Any, n_features: int) -> Any:  # noqa: N803
        """Return a table as float64, shape (n, n_features); sparse matrices stay sparse."""
        if self.preprocessor is not None:
            return self.preprocessor.transform(X)
        found = column_names(X)
        if hasattr(X, "tocsr"):
            features = X.tocsr()
        elif found is not None:
            names = found if self.feature_names is None else self.feature_names
            check_columns(found, names)
            features = _numbers(X, names)
        else:
            array = np.asarray(X)
            numbers = as_numbers(array)
            features = array if numbers is None else numbers
        if len(features.shape) != 2 or features.shape[1] != n_features:
            raise ShapeError(f"The model takes rows of {n_features} features, got shape {features.shape}.")
        if features.dtype.kind not in "biuf":
            raise DtypeError(
                f"The model takes numbers, got {features.dtype}; it was fitted without preprocessing."
            )
        return features if hasattr(features, "tocsr") else features.astype(np.float64, copy=False)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON-able values; labels keep their type."""
        return {
            "schema": SCHEMA,
            "version": SCHEMA_VERSION,
            "classes": {"type": type(self.classes[0]).__name__, "values": list(self.classes)},
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "preprocessor": None if self.preprocessor is None else self.preprocessor.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read what `to_dict` returned; raises `DamagedFileError` for anything else."""
        content = read_keys(data, ["schema", "version", "classes", "feature_names", "preprocessor"])
        version = content["version"]
        if content["schema"] != SCHEMA or type(version) is not int or version != SCHEMA_VERSION:
            raise DamagedFileError(
                f"schema and version must be {SCHEMA!r} and {SCHEMA_VERSION}, got "
                f"{content['schema']!r:.60} and {version!r:.20}."
            )
        names = content["feature_names"]
        if names is not None and not (
            isinstance(names, list) and all(isinstance(name, str) for name in names)
        ):
            raise DamagedFileError(f"feature_names must be a list of texts or null, got {names!r:.60}.")
        if names is not None and len(set(names)) != len(names):
            raise DamagedFileError("feature_names has a name twice.")
        preprocessor = content["preprocessor"]
        return cls(
            _read_classes(content["classes"]),
            None if names is None else tuple(names),
            None if preprocessor is None else TablePreprocessor.from_dict(preprocessor),
        )

    def fingerprint(self) -> str:
        """Return the fingerprint of all of it."""
        return fingerprint_json(self.to_dict())


def check_classes(classes: Sequence[Any]) -> tuple[Label, Label]:
    """Return two labels of one plain type, or raise `LabelError`.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.inputs import check_classes
    >>> check_classes(np.array([0, 1]))
    (0, 1)
    """
    plain = [label.item() if isinstance(label, np.generic) else label for label in classes]
    if len(plain) != 2:
        raise LabelError(f"A certificate speaks of two classes, got {len(plain)}: {plain!r:.80}.")
    first, second = plain
    if type(first) is not type(second) or type(first) not in TYPES.values():
        raise LabelError(f"The classes must be two texts, two numbers or true and false, got {plain!r:.80}.")
    if (
        first == second
        or first != first
        or second != second
        or abs(_size(first)) + abs(_size(second)) == np.inf
    ):
        raise LabelError(f"The classes must be two different finite labels, got {plain!r:.80}.")
    return first, second


def encode_labels(y: ArrayLike, classes: tuple[Label, Label]) -> NDArray[np.float64]:
    """Return -1 for the first class and 1 for the second.

    Examples
    --------
    >>> from pbgnet.certificates.inputs import encode_labels
    >>> encode_labels(["no", "yes", "no"], ("no", "yes"))
    array([-1.,  1., -1.])
    """
    values = label_values(y).astype(object)
    first, second = (np.asarray(values == label, dtype=bool) for label in classes)
    unknown = ~(first | second)
    if unknown.any():
        found = sorted({repr(value) for value in values[unknown]})
        raise LabelError(
            f"The classes are {classes[0]!r} and {classes[1]!r}, but there are labels {found[:3]}."
        )
    return np.where(second, 1.0, -1.0)


def _size(label: Label) -> float:
    return label if isinstance(label, float) else 0.0


def _numbers(table: Any, names: Sequence[str]) -> NDArray[np.float64]:
    columns = read_columns(table, names)
    for column in columns:
        if column.numbers is None and set(column.texts or ()) - {"True", "False"}:
            raise DtypeError(f"Column {column.name!r} holds text, but the model was fitted on numbers only.")
    # True and false are 1 and 0, as scikit-learn reads them.
    return np.stack(
        [
            np.array([text == "True" for text in column.texts or ()], dtype=np.float64)
            if column.numbers is None
            else column.numbers
            for column in columns
        ],
        axis=1,
    )


def _read_classes(data: object) -> tuple[Label, Label]:
    content = read_keys(data, ["type", "values"], "classes")
    kind, values = TYPES.get(str(content["type"])), content["values"]
    if kind is None or not isinstance(values, list) or not all(type(value) is kind for value in values):
        raise DamagedFileError(f"classes must be two values of one type, got {content!r:.80}.")
    try:
        return check_classes(values)
    except PBGNetError as error:
        raise DamagedFileError(f"classes: {error}") from error
