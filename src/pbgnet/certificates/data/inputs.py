"""How a user's table becomes the numbers that a network reads, and its answers the user's labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from pbgnet.certificates.data.fingerprints import fingerprint_json
from pbgnet.certificates.data.indicators import indicator_values
from pbgnet.certificates.data.labels import Classes
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    DtypeError,
    LabelError,
    OptionError,
    ShapeError,
)
from pbgnet.networks import AnyCode, Code, LabelCode, make_code, read_code
from pbgnet.preprocessing import TablePreprocessor, as_numbers, check_columns, column_names, read_columns
from pbgnet.records import read_keys
from pbgnet.validation import check_readable, positive_real

SCHEMA = "pbgnet-preprocessing"
SCHEMA_VERSION = 1
KEYS = ["schema", "version", "classes", "feature_names", "preprocessor", "code", "temperature"]


@dataclass(frozen=True, eq=False)
class Inputs:
    """Classes, their code, feature names and preprocessor: what connects a user's table to the network.

    Attributes
    ----------
    classes : Classes
        Two or more; or the names of several labels.
    feature_names : tuple of str or None
    preprocessor : TablePreprocessor or None
    code : Code or LabelCode
        Which signs of the network's outputs mean which class; by default the default code. A `LabelCode` if a
        row may have several labels.
    temperature : float or None
        The factor of the scores of classes before softmax turns them into shares; by default 1. None for a
        network with one output, or one for each label, where shares are those of the vote.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data import Classes, Inputs
    >>> Inputs(Classes(("no", "yes"))).features(np.eye(2, dtype=int))
    array([[1., 0.],
           [0., 1.]])
    """

    classes: Classes
    feature_names: tuple[str, ...] | None = None
    preprocessor: TablePreprocessor | None = None
    code: AnyCode = None  # type: ignore[assignment]  # set below
    temperature: float | None = None

    def __post_init__(self) -> None:
        if len(self.classes) < 2:
            raise LabelError(f"A classifier needs at least two classes, got {self.classes.labels!r:.80}.")
        if isinstance(self.code, LabelCode):
            self._check_labels()
        else:
            object.__setattr__(self, "code", make_code(self.code or "auto", len(self.classes)))
        object.__setattr__(self, "temperature", self._temperature())
        if self.feature_names is not None:
            object.__setattr__(self, "feature_names", tuple(str(name) for name in self.feature_names))

    @property
    def has_several_labels(self) -> bool:
        """Whether a row may have several labels, rather than one class."""
        return isinstance(self.code, LabelCode)

    @property
    def margin_shape(self) -> tuple[int, ...]:
        """The shape of the margins of one row: a number, or one for each of several labels."""
        return (self.code.n_outputs,) if self.has_several_labels else ()

    def _check_labels(self) -> None:
        if len(self.classes) != self.code.n_outputs:
            raise ShapeError(
                f"There are {self.code.n_outputs} labels but {len(self.classes)} names for them."
            )

    def _temperature(self) -> float | None:
        if self.code.separate:
            if self.temperature is not None:
                raise OptionError(
                    "A network with one output, or one output per label, does not need a temperature."
                )
            return None
        return 1.0 if self.temperature is None else positive_real("temperature", self.temperature)

    def answers(self, output: NDArray[np.float64]) -> NDArray[Any]:
        """Return the labels that outputs of the network, of shape (n,) or (n, r), mean.

        Several labels are 0 and 1, shape (n, L).
        """
        answered = self.code.decode(output)
        return answered if self.has_several_labels else self.classes.named(answered)

    def sure_answers(self, output: NDArray[np.float64], threshold: float | None) -> NDArray[Any]:
        """Return the labels of rows that are at least as sure as a threshold, and None for the others.

        An array of objects, shape (n,). Without a threshold, no row is answered.
        """
        assert isinstance(self.code, Code)
        answers = np.full(len(output), None, dtype=object)
        if threshold is not None:
            sure = self.code.sureness(output) >= threshold
            answers[sure] = self.answers(output)[sure].tolist()
        return answers

    def truth(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Return the class indices of labels; for several labels 0 and 1, shape (n, L)."""
        if not self.has_several_labels:
            return self.classes.places(labels, "y contains")
        values = indicator_values(labels)
        self.code.check_truth(values, len(values))
        return values.astype(np.int64)

    def decisions(self, output: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one number per row, G, for two classes; the scores, shape (n, c), for more.

        For several labels, the output of each.
        """
        return self.code.decisions(output)

    def shares(self, output: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a share for each class, or label, shape (n, c): of the vote, or softmax of scores."""
        if isinstance(self.code, LabelCode):
            return (1.0 + output) / 2.0
        scores = self.code.scores(output)
        if self.temperature is None:
            return (1.0 + scores) / 2.0
        return np.asarray(softmax(self.temperature * scores, axis=1))

    def check_size(self, n_features: int, n_outputs: int) -> None:
        """Raise `ShapeError` unless a network with this many features and outputs matches."""
        if n_outputs != self.code.n_outputs:
            raise ShapeError(
                f"The network has {n_outputs} outputs, but the code {self.code.name!r} for "
                f"{len(self.classes)} classes needs {self.code.n_outputs}."
            )
        if self.preprocessor is not None:
            found: int = self.preprocessor.n_features_out_
            source = "the preprocessor makes"
        elif self.feature_names is not None:
            found, source = len(self.feature_names), "there are names for"
        else:
            return
        if found != n_features:
            raise ShapeError(f"The network takes {n_features} features, but {source} {found}.")

    def features(self, X: Any, n_features: int | None = None) -> Any:  # noqa: N803
        """Return a table as float64, shape (n, n_features); sparse matrices stay sparse.

        With a preprocessor, it becomes a `BinnedTable`.
        """
        check_readable("X", X)
        if self.preprocessor is not None:
            return self.preprocessor.encode(X)
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
        if len(features.shape) != 2 or features.shape[1] != (n_features or features.shape[1]):
            raise ShapeError(
                f"The model expects rows with {n_features} features, got shape {features.shape}."
            )
        if features.dtype.kind not in "biuf":
            raise DtypeError(
                f"The model expects numbers, got {features.dtype}; it was fitted without preprocessing."
            )
        return features if hasattr(features, "tocsr") else features.astype(np.float64, copy=False)

    def with_numbers(self, numbers: str) -> "Inputs":
        """Return the same with another choice of what the preprocessor turns numbers into."""
        if self.preprocessor is None:
            raise OptionError("There is no preprocessor: numbers are used as they are.")
        return replace(self, preprocessor=self.preprocessor.with_numbers(numbers))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON; labels keep their type."""
        return {
            "schema": SCHEMA,
            "version": SCHEMA_VERSION,
            "classes": self.classes.to_dict(),
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "preprocessor": None if self.preprocessor is None else self.preprocessor.to_dict(),
            "code": self.code.to_dict(),
            "temperature": self.temperature,
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read what `to_dict` returned; raise `DamagedFileError` for anything else."""
        content = read_keys(data, KEYS)
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
            raise DamagedFileError(f"feature_names must be a list of strings or null, got {names!r:.60}.")
        if names is not None and len(set(names)) != len(names):
            raise DamagedFileError("feature_names contains a name twice.")
        preprocessor = content["preprocessor"]
        temperature = content["temperature"]
        if temperature is not None and not isinstance(temperature, float):
            raise DamagedFileError(f"temperature must be a number or null, got {temperature!r:.60}.")
        try:
            return cls(
                Classes.from_dict(content["classes"]),
                None if names is None else tuple(names),
                None if preprocessor is None else TablePreprocessor.from_dict(preprocessor),
                read_code(content["code"]),
                temperature,
            )
        except (LabelError, ShapeError, DomainError, OptionError) as error:
            raise DamagedFileError(str(error)) from error

    def fingerprint(self) -> str:
        """Return the fingerprint of everything."""
        return fingerprint_json(self.to_dict())


def _numbers(table: Any, names: Sequence[str]) -> NDArray[np.float64]:
    columns = read_columns(table, names)
    for column in columns:
        if column.numbers is None and set(column.texts or ()) - {"True", "False"}:
            raise DtypeError(
                f"Column {column.name!r} contains text, but the model was fitted on numbers only."
            )
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
