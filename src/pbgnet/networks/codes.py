"""Codes: how the outputs of one network represent classes (docs/theory/outputs.md).

A code gives each class a row of signs, one per output. A voter, one randomly drawn output of a drawn network,
is right if it has the sign of the true class. The score of a class is the mean agreement of all outputs with
its row, and the answer is the class with the largest score. Two classes need one output; that is the case in
the paper.

If a row can have several labels, each label has an output (`LabelCode`): every sign vector is a possible
answer, and outputs are read one by one.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import hadamard

from pbgnet.exceptions import DamagedFileError, DomainError, LabelError, PBGNetError, ShapeError
from pbgnet.records import read_keys
from pbgnet.validation import check_name, check_readable, positive_int

OWN = "own"
"""The name of a code given as a matrix."""

LABELS = "labels"
"""The name used instead of a code's if rows have several labels."""

MOST_CLASSES = 8192
"""Most classes, and most outputs, of a code: it has as many numbers as the square of this."""

LARGEST_EXHAUSTIVE = 13
"""Most classes of an exhaustive code, which then has 4095 outputs."""


def _exhaustive(n_classes: int) -> NDArray[Any]:
    """Every division of the classes in two, with -1 for the first class."""
    if n_classes > LARGEST_EXHAUSTIVE:
        raise DomainError(
            f"An exhaustive code of {n_classes} classes has 2^{n_classes - 1} - 1 outputs; use 'hadamard'."
        )
    divisions = np.arange(1, 2 ** (n_classes - 1))
    others = [2 * (divisions >> k & 1) - 1 for k in range(n_classes - 1)]
    return np.stack([np.full_like(divisions, -1), *others])


def _hadamard(n_classes: int) -> NDArray[Any]:
    """Rows of a Hadamard matrix without its constant column: any two differ in half of its columns."""
    order = 1 << (n_classes - 1).bit_length()
    return np.asarray(-hadamard(order, dtype=np.int8)[:n_classes, 1:])


def _one_against_rest(n_classes: int) -> NDArray[Any]:
    """One output per class, which is 1 only for that class; two classes share one."""
    return np.where(np.eye(n_classes) > 0, 1, -1)[:, n_classes == 2 :]


CODES: dict[str, Callable[[int], NDArray[Any]]] = {
    "exhaustive": _exhaustive,
    "hadamard": _hadamard,
    "one-against-rest": _one_against_rest,
}
"""Codes by name; for two classes all are the same, -1 and 1 of a single output."""


@dataclass(frozen=True, eq=False)
class Code:
    """The signs of each output that stand for each class.

    Attributes
    ----------
    matrix : ndarray of int8, shape (c, r)
        Signs -1 and 1, a row for each class and a column for each output; no two rows are equal.
    name : str
        In `CODES`, or "own".

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.networks import make_code
    >>> code = make_code("one-against-rest", 3)
    >>> code.scores(np.array([[0.9, -0.8, -0.7]])).round(2)
    array([[ 0.8 , -0.33, -0.27]])
    >>> code.decode(np.array([[0.9, -0.8, -0.7]])), code.nearest
    (array([0]), array([2, 2, 2]))
    """

    matrix: NDArray[np.int8]
    name: str = OWN

    def __post_init__(self) -> None:
        check_readable("code", self.matrix)
        signs = np.array(self.matrix)
        if signs.ndim != 2 or not 2 <= len(signs) <= MOST_CLASSES or not 1 <= signs.shape[1] <= MOST_CLASSES:
            raise ShapeError(
                "A code needs a row for each of at least 2 classes and a column for each output, at "
                f"most {MOST_CLASSES} of either; got shape {signs.shape}."
            )
        if signs.dtype.kind not in "iuf" or bool((np.abs(signs) != 1).any()):
            raise DomainError("A code may only contain the signs -1 and 1.")
        if len(np.unique(signs, axis=0)) < len(signs):
            raise DomainError("Two classes have the same signs in all outputs, so they cannot be told apart.")
        signs = signs.astype(np.int8)
        signs.setflags(write=False)
        object.__setattr__(self, "matrix", signs)

    @property
    def n_classes(self) -> int:
        """The number c of classes."""
        return len(self.matrix)

    @property
    def n_outputs(self) -> int:
        """The number r of outputs."""
        return int(self.matrix.shape[1])

    @property
    def separate(self) -> bool:
        """Whether every output answers on its own, as a single one does."""
        return self.n_outputs == 1

    @property
    def distance(self) -> Fraction:
        """The smallest share D of outputs in which two classes differ."""
        return Fraction(int(self.nearest.min()), self.n_outputs)

    @functools.cached_property
    def nearest(self) -> NDArray[np.int64]:
        """The number of outputs in which each class differs from the nearest other class: shape (c,)."""
        signs = self.matrix.astype(np.float32)  # exact for whole numbers below 2^24
        differing = (self.n_outputs - signs @ signs.T) / 2
        np.fill_diagonal(differing, self.n_outputs + 1)
        return np.asarray(differing.min(axis=1).astype(np.int64))

    def targets(self, places: ArrayLike) -> NDArray[np.float64]:
        """Return the signs that outputs should have for classes: shape (n,) to (n,) or, for r > 1, (n, r)."""
        signs = self.matrix[np.asarray(places, dtype=np.int64)].astype(np.float64)
        return signs[:, 0] if self.n_outputs == 1 else signs

    def scores(self, output: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `s_k = mean_j C_kj F_j` of each class, in [-1, 1]: shape (n,) or (n, r) to (n, c)."""
        columns = output[:, None] if self.n_outputs == 1 else output
        return np.asarray(columns @ self.matrix.T.astype(np.float64) / self.n_outputs)

    def decisions(self, output: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one number per row, G, for two classes, or the scores, shape (n, c), for more."""
        scores = self.scores(output)
        return scores if self.n_classes > 2 else np.asarray((scores[:, 1] - scores[:, 0]) / 2.0)

    def check_truth(self, truth: NDArray[Any], n_rows: int) -> None:
        """Raise an error unless these are class indices for this many rows."""
        if truth.shape != (n_rows,):
            raise ShapeError(f"There are {n_rows} rows but labels of shape {truth.shape}.")
        if truth.size and (
            truth.dtype.kind not in "iu" or not 0 <= truth.min() <= truth.max() < self.n_classes
        ):
            raise LabelError(f"Labels must be class numbers: whole numbers from 0 to {self.n_classes - 1}.")

    def decode(self, output: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the index of the class with the largest score, the first one if tied: shape (n,)."""
        return np.asarray(self.scores(output).argmax(axis=1), dtype=np.int64)

    def leads(self, output: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return by how much the score of the true class exceeds the largest of the others: shape (n,)."""
        scores, rows = self.scores(output), np.arange(len(places))
        true = scores[rows, places]
        scores[rows, places] = -np.inf
        return np.asarray(true - scores.max(axis=1))

    def gaps(self, output: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much the largest score exceeds the next, 0 for a tie: shape (n,)."""
        scores = np.sort(self.scores(output), axis=1)
        return np.asarray(scores[:, -1] - scores[:, -2])

    def sureness(self, output: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how sure the answer is: `|G|` for two classes, the lead over the next class for more."""
        gaps = self.gaps(output)
        return gaps / 2.0 if self.n_classes == 2 else gaps

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; a code with a name is made again from its name."""
        matrix = self.matrix.tolist() if self.name == OWN else None
        return {"name": self.name, "n_classes": self.n_classes, "matrix": matrix}


@dataclass(frozen=True)
class LabelCode:
    """Several labels, each of which a row may have: one output per label, above 0 if the row has it.

    It replaces a `Code`, as the code of all sign vectors: a voter, one output of a drawn network, is right if
    its label is. The answer is a row of 0 and 1, and it is wrong if any of them is wrong.

    Attributes
    ----------
    n_labels : int
        Two or more.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.networks import LabelCode
    >>> code = LabelCode(3)
    >>> code.decode(np.array([[0.9, -0.8, 0.1]]))
    array([[1, 0, 1]])
    >>> code.leads(np.array([[0.9, -0.8, 0.1]]), np.array([[1, 0, 0]]))
    array([-0.2])
    """

    n_labels: int

    def __post_init__(self) -> None:
        count = positive_int("n_labels", self.n_labels)
        if not 2 <= count <= MOST_CLASSES:
            raise DomainError(f"The number of labels must be 2 to {MOST_CLASSES}, got {count}.")

    @property
    def name(self) -> str:
        """The name used among those of codes."""
        return LABELS

    @property
    def n_classes(self) -> int:
        """The number of labels."""
        return self.n_labels

    @property
    def n_outputs(self) -> int:
        """One output for each label."""
        return self.n_labels

    @property
    def separate(self) -> bool:
        """Whether every output answers on its own: for its label."""
        return True

    def targets(self, truth: ArrayLike) -> NDArray[np.float64]:
        """Return the signs that outputs should have for rows of 0 and 1, shape (n, L)."""
        return 2.0 * np.asarray(truth, dtype=np.float64) - 1.0

    def decisions(self, output: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the outputs themselves; a label is answered if its output is above 0."""
        return output

    def check_truth(self, truth: NDArray[Any], n_rows: int) -> None:
        """Raise an error unless these are 0 and 1 for each label of this many rows."""
        if truth.shape != (n_rows, self.n_labels):
            raise ShapeError(
                f"There are {n_rows} rows of {self.n_labels} labels, but a matrix of shape {truth.shape}."
            )
        if truth.dtype.kind not in "iub" or not np.isin(truth, (0, 1)).all():
            raise LabelError("A matrix of labels may only contain 0 and 1.")

    def decode(self, output: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return 1 for labels whose output is above 0, and 0 for the others: shape (n, L)."""
        return np.asarray(output > 0, dtype=np.int64)

    def leads(self, output: NDArray[np.float64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return twice the smallest agreement of an output with its label, in the unit of `Code.leads`."""
        return np.asarray(2.0 * (self.targets(truth) * output).min(axis=1))

    def gaps(self, output: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return twice the smallest distance of an output from 0: shape (n,)."""
        return np.asarray(2.0 * np.abs(output).min(axis=1))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, in the same form as those of a `Code`."""
        return {"name": LABELS, "n_classes": self.n_labels, "matrix": None}


AnyCode = Code | LabelCode
"""What the outputs of a network represent: one of several classes, or each of several labels."""


def read_code(data: object) -> AnyCode:
    """Read what `to_dict` of a code returned; raise `DamagedFileError` for anything else."""
    content = read_keys(data, ["name", "n_classes", "matrix"], "code")
    name, matrix, count = content["name"], content["matrix"], content["n_classes"]
    code: AnyCode
    try:
        if name == LABELS:
            code = LabelCode(count)
        else:
            code = Code(np.array(matrix)) if name == OWN else make_code(name, count)
    except (PBGNetError, ValueError) as error:
        raise DamagedFileError(f"code: {error}") from error
    if code.to_dict() != content:
        raise DamagedFileError("code: the number of classes or the matrix does not match the code.")
    return code


DEFAULT_CODE = "hadamard"
"""The default code; docs/reference/training.md has the measurements."""


def make_code(code: str | ArrayLike | Code, n_classes: int) -> Code:
    """Return the code with this name for so many classes; "auto" is the default, a matrix is used as it is.

    Examples
    --------
    >>> from pbgnet.networks import make_code
    >>> make_code("auto", 2).matrix.tolist()
    [[-1], [1]]
    >>> make_code("exhaustive", 3).matrix.tolist()
    [[-1, -1, -1], [1, -1, 1], [-1, 1, 1]]
    """
    count = positive_int("n_classes", n_classes)
    if isinstance(code, str):
        name = check_name("code", DEFAULT_CODE if code == "auto" else code, CODES)
        if not 2 <= count <= MOST_CLASSES:
            raise DomainError(f"A code supports 2 to {MOST_CLASSES} classes, got {count}.")
        return Code(CODES[name](count), name)
    made = code if isinstance(code, Code) else Code(np.asarray(code))
    if made.n_classes != count:
        raise ShapeError(f"The code has rows for {made.n_classes} classes, but there are {count}.")
    return made


TWO_CLASSES = make_code("auto", 2)
"""The code of two classes, with a single output."""
