"""Imputation, scaling and one-hot encoding in one step, with a memory that is plain JSON."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    DtypeError,
    ShapeError,
    UnseenCategoryWarning,
)
from pbgnet.preprocessing.binned import BinnedTable, CodeBook
from pbgnet.preprocessing.code_files import collect_codes
from pbgnet.preprocessing.columns import (
    MOST_BINS,
    NUMBERS,
    CategoricalColumn,
    DateColumn,
    NumericColumn,
    SomeColumn,
    books_of,
    coded,
    encode_column,
)
from pbgnet.preprocessing.fitting import Rules, fit_column
from pbgnet.preprocessing.fitting_warnings import fit_warnings, some_columns
from pbgnet.preprocessing.numerals import DECIMALS
from pbgnet.preprocessing.parts import ColumnTable, column_parts, is_source
from pbgnet.preprocessing.tables import (
    Column,
    check_columns,
    column_names,
    count_rows,
    first_few,
    read_columns,
)
from pbgnet.records import Limits, PositiveCount, Record
from pbgnet.validation import check_name, positive_int

FORMAT = "pbgnet-table-preprocessor"
FORMAT_VERSION = 1

UNKNOWN = {
    CategoricalColumn.kind: "Not seen in the fitted rows, so encoded as all zeros",
    NumericColumn.kind: "Not finite numbers, so treated as missing",
    DateColumn.kind: "Not dates, so treated as missing",
}
"""What happens to later cells that a column of some kind cannot read."""

Unread = dict[str, dict[str, dict[str, None]]]
"""Such cells: for a kind of columns, for a column, each distinct one, in order."""


@dataclass(frozen=True)
class Memory(Record):
    """What a fitted preprocessor remembers."""

    format: Annotated[str, Limits(choices=(FORMAT,))]
    version: Annotated[int, Limits(low=FORMAT_VERSION, high=FORMAT_VERSION)]
    numbers: Annotated[str, Limits(choices=NUMBERS)]
    max_bins: PositiveCount
    max_categories: PositiveCount
    parse_numbers: bool
    decimal: Annotated[str, Limits(choices=tuple(DECIMALS))]
    drop_ids: bool
    named: bool
    columns: Annotated[tuple[SomeColumn, ...], Limits(longest=2**17)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({column.name for column in self.columns}) != len(self.columns):
            raise DomainError("Two columns of the preprocessor have the same name.")


class TablePreprocessor(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a table of mixed types with missing values into numbers.

    Numeric columns are binned. They become the standardised mean of the bin, a step at each threshold
    between bins (1 if the number is at least the threshold, else 0), or both. A missing value becomes the
    median, with a 0/1 output of its own if the fitted rows had missing values. Other columns (text,
    true/false, categoricals) get one 0/1 output per category of the fitted rows and one for all rare
    categories together; "missing" is a category, too. Dates become several numbers: days since 1970, year,
    month, weekday and hour. Columns without any value, and columns that only identify rows, are left out.

    Everything is determined by the fitted rows. If you fit the preprocessor on rows that are not certified,
    it is a fixed function of the certified rows, so the proof covers it. For the same reason, a category
    that did not occur in the fitted rows cannot get its own output later: it counts as rare, or becomes all
    zeros. The type and number format of a column are fixed in the same way: in a numeric column, text that
    is not a finite number in that format counts as missing, and so does infinity. Numbers beyond the range
    of the fitted rows fall into the first or last bin.

    Parameters
    ----------
    numbers : {"auto", "standard", "range", "steps", "both"}, default="auto"
        What a number becomes: its standardised value ("standard"); its value scaled to 0 for the smallest and
        1 for the largest bin, which keeps pixels comparable ("range"); steps; or standardised value and steps
        ("both"). "auto" means "both", unless the classifier trained on the table chooses
        (`PBGNetClassifier` does, on the prior rows; see `with_numbers`).
    max_bins : int, default=255
        Maximum number of bins per column. Thresholds are quantiles of the rows and of the distinct values.
    max_categories : int, default=253
        Maximum number of categories of a column with an output of their own; rarer ones share one output. Up
        to 253, a cell takes one byte.
    parse_numbers : bool, default=True
        Whether to read a text column as numbers or dates if at least 98 % of its values in the fitted rows
        are; the others count as missing. The fitted rows alone then decide the type of a column, whereas file
        readers turn a whole column into text because of a single cell. Columns that are categorical in the
        table stay categorical; use that for numbers that are names.
    decimal : {"auto", ".", ","}, default="auto"
        Decimal separator of numbers in text. "auto": the one that makes most of a column numbers.
    drop_ids : bool, default=True
        Whether to leave out columns that identify rows: texts that differ in all fitted rows (30 or more),
        and whole numbers that differ in all of them and are close together, like a counter (100 rows or more,
        within 8 numbers per row). They are kept if there is no other column.

    Attributes
    ----------
    columns_ : tuple of FittedColumn
        What was learned, one per column of the fitted table.
    n_features_in_ : int
        Number of columns of the fitted table.
    feature_names_in_ : ndarray of str
        Their names, if it had any.
    n_features_out_ : int
        Number of columns of the output.
    book_ : CodeBook
        What the codes of each column stand for; `coded_` lists the columns that are not left out.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.preprocessing import TablePreprocessor
    >>> table = np.array([[1.0, "red"], [3.0, "blue"], [None, "red"]], dtype=object)
    >>> preprocessor = TablePreprocessor().fit(table)
    >>> preprocessor.get_feature_names_out().tolist()
    ['x0', 'x0>=2.0', 'x0_missing', 'x1_blue', 'x1_red']
    >>> preprocessor.transform(table)
    array([[-1.,  0.,  0.,  0.,  1.],
           [ 1.,  1.,  0.,  1.,  0.],
           [ 1.,  1.,  1.,  0.,  1.]])
    """

    def __init__(
        self,
        numbers: str = "auto",
        *,
        max_bins: int = 255,
        max_categories: int = 253,
        parse_numbers: bool = True,
        decimal: str = "auto",
        drop_ids: bool = True,
    ) -> None:
        self.numbers = numbers
        self.max_bins = max_bins
        self.max_categories = max_categories
        self.parse_numbers = parse_numbers
        self.decimal = decimal
        self.drop_ids = drop_ids

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
            For columns without any value, which are left out.
        IdColumnWarning
            For columns that identify rows, which are left out.
        OddCellsWarning
            For cells that are not numbers in a column of numbers, or not dates in a column of dates.
        ManyCategoriesWarning
            For columns with more than `max_categories` categories.
        """
        rules = self._rules()
        columns = read_columns(X)
        if not columns or _n_rows(columns) == 0:
            raise ShapeError("The table has no rows or no columns to learn from.")
        found = [fit_column(column, rules) for column in columns]
        if not any(coded(one.column) for one in found):  # ID columns are better than nothing to learn from
            found = [fit_column(column, replace(rules, drop_ids=False)) for column in columns]
        for text, kind in fit_warnings(found, X, rules.max_categories):
            warnings.warn(text, kind, stacklevel=2)
        return self._learn(tuple(one.column for one in found), column_names(X) is not None)

    def encode(self, X: Any) -> BinnedTable:  # noqa: N803
        """Turn rows into codes, one per cell; `transform` returns the numbers they stand for.

        Parameters
        ----------
        X : DataFrame, ndarray or source, shape (n, d)
            The columns of the fitted table; a frame may have them in any order. A source
            (`pbgnet.sources.scan_table`) is read once, a few thousand rows at a time.

        Returns
        -------
        BinnedTable, shape (n, `n_features_out_`)

        Raises
        ------
        ShapeError
            For missing or additional columns.
        DtypeError
            For values that are not supported, such as lists.

        Warns
        -----
        UnseenCategoryWarning
            For categories that did not occur in the fitted rows, and for values that are not finite numbers
            in a numeric column, or not dates in a column of dates.
        """
        check_is_fitted(self)
        return self._encode(*self._select(X))

    def encode_array(self, array: NDArray[Any]) -> BinnedTable:
        """Turn the rows of an array into codes, matching columns by position instead of by name."""
        check_is_fitted(self)
        return self._encode(array, [column.name for column in self.columns_])

    def _encode(self, table: Any, names: Sequence[str] | None) -> BinnedTable:
        """Encode the fitted columns of a table, in order, and warn once about all cells without an output."""
        told: Unread = {}
        blocks = (self._encode_part(part, told) for part in column_parts(table, names))
        shape, folder = (count_rows(table), self.book_.n_columns), getattr(table, "cache_folder", None)
        codes = collect_codes(blocks, shape, self._code_type(), folder, mapped=is_source(table))
        if told:
            sentences = [f"{UNKNOWN[kind]}: {_some_values(told[kind])}." for kind in UNKNOWN if kind in told]
            warnings.warn(" ".join(sentences), UnseenCategoryWarning, stacklevel=3)
        return BinnedTable(codes, self.book_, folder)

    def _encode_part(self, part: ColumnTable, told: Unread) -> NDArray[Any]:
        """Return the codes of a few rows, and add the values without an output to those of other rows."""
        codes = np.empty((part.shape[0], self.book_.n_columns), dtype=self._code_type(), order="F")
        k = 0
        for column, fitted in zip(part.parts, self.columns_, strict=True):
            found, unknown = encode_column(fitted, column)
            for one in found:
                codes[:, k] = one
                k += 1
            if unknown:
                told.setdefault(fitted.kind, {}).setdefault(fitted.name, {}).update(dict.fromkeys(unknown))
        return codes

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Turn rows into numbers: float64, shape (n, `n_features_out_`); see `encode`."""
        return self.encode(X).toarray()

    def with_numbers(self, numbers: str) -> Self:
        """Return this fitted preprocessor with another choice of what a number becomes."""
        check_is_fitted(self)
        other = type(self)(**{**self.get_params(), "numbers": check_name("numbers", numbers, NUMBERS)})
        return other._learn(self.columns_, hasattr(self, "feature_names_in_"))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[Any]:
        """Return the names of the outputs: the column, and the category or "missing"."""
        check_is_fitted(self)
        return np.array([name for book in self.book_.columns for name in book.names], dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Return everything learned as plain values for JSON; floats survive JSON exactly."""
        check_is_fitted(self)
        named = hasattr(self, "feature_names_in_")
        return Memory(
            FORMAT,
            FORMAT_VERSION,
            self.numbers,
            self.max_bins,
            self.max_categories,
            self.parse_numbers,
            self.decimal,
            self.drop_ids,
            named,
            self.columns_,
        ).to_dict()

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
            return cls(
                memory.numbers,
                max_bins=memory.max_bins,
                max_categories=memory.max_categories,
                parse_numbers=memory.parse_numbers,
                decimal=memory.decimal,
                drop_ids=memory.drop_ids,
            )._learn(memory.columns, memory.named)
        except ShapeError as error:
            raise DamagedFileError(f"The preprocessor cannot be used: {error}") from error

    def _learn(self, fitted: tuple[SomeColumn, ...], named: bool) -> Self:
        numbers = "both" if self.numbers == "auto" else self.numbers
        self.book_ = CodeBook([book for column in fitted for book in books_of(column, numbers)])
        self.coded_ = tuple(part for column in fitted for part in coded(column))
        self.n_features_out_ = self.book_.n_outputs
        if self.n_features_out_ == 0:
            raise ShapeError("No column of the table contains a value, so there is nothing to learn from.")
        self.columns_ = fitted
        self.n_features_in_ = len(fitted)
        if named:
            self.feature_names_in_ = np.array([column.name for column in fitted], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # fitted again, now on an array
        return self

    def _rules(self) -> Rules:
        """Return the parameters, checked."""
        check_name("numbers", self.numbers, NUMBERS)
        max_bins = positive_int("max_bins", self.max_bins)
        if not 2 <= max_bins <= MOST_BINS:
            raise DomainError(f"max_bins must lie between 2 and {MOST_BINS}, got {max_bins}.")
        for name in ("parse_numbers", "drop_ids"):
            if not isinstance(getattr(self, name), bool):
                raise DtypeError(f"{name} must be True or False, got {getattr(self, name)!r:.60}.")
        return Rules(
            max_categories=positive_int("max_categories", self.max_categories),
            max_bins=max_bins,
            parse_numbers=self.parse_numbers,
            decimal=check_name("decimal", self.decimal, DECIMALS),
            drop_ids=self.drop_ids,
        )

    def _code_type(self) -> type[np.unsignedinteger[Any]]:
        most = max(column.n_codes for column in self.book_.columns)
        return next(kind for kind in (np.uint8, np.uint16, np.uint32) if most <= np.iinfo(kind).max + 1)

    def _select(self, X: Any) -> tuple[Any, Sequence[str] | None]:  # noqa: N803
        """Return a table that has the fitted columns, and which of its own those are if not all in order."""
        names, found = [column.name for column in self.columns_], column_names(X)
        if found is None and hasattr(self, "feature_names_in_"):
            raise ShapeError(
                f"The preprocessor was fitted on a table with column names ({some_columns(names)}); "
                "pass a table with names, not an array."
            )
        if found is not None:
            check_columns(found, names)
            if is_source(X):
                return X.select(names), None
        columns = read_columns(X, None if found is None else names, number_type=None)
        if len(columns) != len(names):
            raise ShapeError(
                f"The preprocessor was fitted on {len(names)} columns, but this table has {len(columns)}."
            )
        _n_rows(columns)
        return ColumnTable(tuple(columns)), None


def _n_rows(columns: Sequence[Column]) -> int:
    first = columns[0]
    for column in columns:
        if column.n_rows != first.n_rows:
            raise DomainError(
                f"Column {column.name!r} has {column.n_rows} rows, but {first.name!r} has {first.n_rows}."
            )
    return first.n_rows


def _some_values(values: dict[str, dict[str, None]]) -> str:
    parts = [
        f"column {name!r}: {first_few(list(texts), lambda text: text[:60])}"
        for name, texts in list(values.items())[:3]
    ]
    more = f"; and {len(values) - 3} more columns" if len(values) > 3 else ""
    return "; ".join(parts) + more
