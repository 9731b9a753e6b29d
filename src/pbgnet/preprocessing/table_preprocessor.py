"""Imputation, scaling and one-hot encoding in one step, with a memory that is plain JSON."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    DtypeError,
    EmptyColumnWarning,
    ManyCategoriesWarning,
    ShapeError,
    UnseenCategoryWarning,
)
from pbgnet.preprocessing.columns import (
    CategoricalColumn,
    EmptyColumn,
    NumericColumn,
    SomeColumn,
    fit_column,
)
from pbgnet.preprocessing.tables import Column, check_columns, column_names, first_few, read_columns
from pbgnet.records import Limits, PositiveCount, Record
from pbgnet.validation import positive_int

FORMAT = "pbgnet-table-preprocessor"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Memory(Record):
    """What a fitted preprocessor remembers."""

    format: Annotated[str, Limits(choices=(FORMAT,))]
    version: Annotated[int, Limits(low=FORMAT_VERSION, high=FORMAT_VERSION)]
    max_categories: PositiveCount
    parse_numbers: bool
    named: bool
    columns: Annotated[tuple[SomeColumn, ...], Limits(longest=2**17)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({column.name for column in self.columns}) != len(self.columns):
            raise DomainError("Two columns of the preprocessor have the same name.")


class TablePreprocessor(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a table of mixed types with gaps into numbers.

    Numeric columns: missing values become the median, then the column is standardised; a second 0/1
    output says where it was missing, if the fitted rows had missing values. A column that is constant in
    the fitted rows becomes 0 there. Other columns (text, true/false, categoricals): one 0/1 output per
    category of the fitted rows, missing being a category of its own. A column with no value is left out.

    Everything is fixed by the fitted rows. Fit it on rows that are not certified and it is a fixed
    function when the certified rows come, so the proof holds, whatever it does to them. For the same
    reason a category that the fitted rows did not have cannot get an output later: it becomes all zeros.
    So does what a column is: once numeric, text in it that writes out no finite number, and infinity,
    count as missing.

    Parameters
    ----------
    max_categories : int, default=255
        The most frequent categories of a column that get an output each; rarer ones become all zeros.
    parse_numbers : bool, default=True
        Whether a column of text is numeric if all its values in the fitted rows write out finite
        numbers. Then the fitted rows alone decide what a column is, though one text in another row makes
        readers of files turn the whole column into texts. Columns that the table itself calls categorical
        stay so; make those categorical whose numbers are names.

    Attributes
    ----------
    columns_ : tuple of FittedColumn
        What was learned, one per column of the fitted table.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the fitted table had names.
    n_features_out_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.preprocessing import TablePreprocessor
    >>> table = np.array([[1.0, "red"], [3.0, "blue"], [None, "red"]], dtype=object)
    >>> preprocessor = TablePreprocessor().fit(table)
    >>> preprocessor.get_feature_names_out()
    array(['x0', 'x0_missing', 'x1_blue', 'x1_red'], dtype=object)
    >>> preprocessor.transform(table).round(2)
    array([[-1.22,  0.  ,  0.  ,  1.  ],
           [ 1.22,  0.  ,  1.  ,  0.  ],
           [ 0.  ,  1.  ,  0.  ,  1.  ]])
    """

    def __init__(self, max_categories: int = 255, parse_numbers: bool = True) -> None:
        self.max_categories = max_categories
        self.parse_numbers = parse_numbers

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: N803
        """Learn the columns from these rows.

        Parameters
        ----------
        X : DataFrame or ndarray, shape (n, d)
            Anything with named columns, or an array of numbers or objects.
        y : ignored

        Warns
        -----
        EmptyColumnWarning
            For columns with no value, which are left out.
        ManyCategoriesWarning
            For columns with more than `max_categories` categories.
        """
        limit = positive_int("max_categories", self.max_categories)
        if not isinstance(self.parse_numbers, bool):
            raise DtypeError(f"parse_numbers must be True or False, got {self.parse_numbers!r:.60}.")
        columns = read_columns(X)
        if not columns or _n_rows(columns) == 0:
            raise ShapeError("The table has no rows or no columns to learn from.")
        fitted = tuple(fit_column(column, limit, self.parse_numbers) for column in columns)
        if empty := [column.name for column in fitted if isinstance(column, EmptyColumn)]:
            warnings.warn(
                f"{_some(empty)} had no value in the {_n_rows(columns)} fitted rows and will be left out.",
                EmptyColumnWarning,
                stacklevel=2,
            )
        many = [
            column.name for column in fitted if isinstance(column, CategoricalColumn) and column.truncated
        ]
        if many:
            warnings.warn(
                f"{_some(many)} had more than {limit} categories; the rarest become all zeros. If it merely "
                "names the rows, drop it; otherwise raise max_categories.",
                ManyCategoriesWarning,
                stacklevel=2,
            )
        return self._learn(fitted, column_names(X) is not None)

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Turn rows into numbers.

        Parameters
        ----------
        X : DataFrame or ndarray, shape (n, d)
            The columns of the fitted table; a frame may have them in any order.

        Returns
        -------
        ndarray of float64, shape (n, n_features_out_)

        Raises
        ------
        ShapeError
            For missing or additional columns.
        DtypeError
            For values that no table should hold, such as dates and lists.

        Warns
        -----
        UnseenCategoryWarning
            For categories the fitted rows did not have, and for what is no finite number in a numeric
            column.
        """
        check_is_fitted(self)
        columns = self._select(X)
        out = np.zeros((_n_rows(columns), self.n_features_out_))
        unseen: dict[str, list[str]] = {}
        unread: dict[str, list[str]] = {}
        start = 0
        for column, fitted in zip(columns, self.columns_, strict=True):
            stop = start + len(fitted.outputs)
            if unknown := fitted.encode(column, out[:, start:stop]):
                (unread if isinstance(fitted, NumericColumn) else unseen)[fitted.name] = unknown
            start = stop
        sentences = []
        if unseen:
            sentences.append(f"Not among the fitted rows, so encoded as all zeros: {_some_values(unseen)}.")
        if unread:
            sentences.append(f"Not finite numbers, so taken as missing: {_some_values(unread)}.")
        if sentences:
            warnings.warn(" ".join(sentences), UnseenCategoryWarning, stacklevel=2)
        return out

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[Any]:
        """Return the names of the outputs: the column, and the category or "missing"."""
        check_is_fitted(self)
        return np.array([name for column in self.columns_ for name in column.outputs], dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Return everything learned as plain JSON-able values; floats survive JSON exactly."""
        check_is_fitted(self)
        named = hasattr(self, "feature_names_in_")
        memory = Memory(FORMAT, FORMAT_VERSION, self.max_categories, self.parse_numbers, named, self.columns_)
        return memory.to_dict()

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Make a fitted preprocessor from what `to_dict` returned.

        Raises
        ------
        DamagedFileError
            For anything `to_dict` could not have written.
        """
        memory = Memory.from_dict(data)
        try:
            return cls(memory.max_categories, memory.parse_numbers)._learn(memory.columns, memory.named)
        except ShapeError as error:
            raise DamagedFileError(f"The preprocessor cannot be used: {error}") from error

    def _learn(self, fitted: tuple[SomeColumn, ...], named: bool) -> Self:
        self.n_features_out_ = sum(len(column.outputs) for column in fitted)
        if self.n_features_out_ == 0:
            raise ShapeError("No column of the table has any value, so nothing is left to learn from.")
        self.columns_ = fitted
        self.n_features_in_ = len(fitted)
        if named:
            self.feature_names_in_ = np.array([column.name for column in fitted], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # fitted again, now on an array
        return self

    def _select(self, X: Any) -> list[Column]:  # noqa: N803
        """Read the fitted columns from a table, by name, or by position for arrays."""
        names, found = [column.name for column in self.columns_], column_names(X)
        if found is None and hasattr(self, "feature_names_in_"):
            raise ShapeError(
                f"The fitted table had named columns ({_some(names)}); pass a table with names, not an array."
            )
        if found is not None:
            check_columns(found, names)
            return read_columns(X, names)
        columns = read_columns(X)
        if len(columns) != len(names):
            raise ShapeError(f"The fitted table had {len(names)} columns, this one has {len(columns)}.")
        return columns


def _n_rows(columns: Sequence[Column]) -> int:
    first = columns[0]
    for column in columns:
        if column.n_rows != first.n_rows:
            raise DomainError(
                f"Column {column.name!r} has {column.n_rows} rows, but {first.name!r} has {first.n_rows}."
            )
    return first.n_rows


def _some(names: Sequence[str]) -> str:
    return f"{'Columns' if len(names) > 1 else 'Column'} {first_few(names)}"


def _some_values(values: dict[str, list[str]]) -> str:
    parts = [
        f"column {name!r}: {first_few(texts, lambda text: text[:60])}"
        for name, texts in list(values.items())[:3]
    ]
    more = f"; and {len(values) - 3} more columns" if len(values) > 3 else ""
    return "; ".join(parts) + more
