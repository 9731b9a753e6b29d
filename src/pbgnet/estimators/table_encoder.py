"""A table of mixed types in the form that scikit-learn's classifiers need, learned from the fitted rows."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from pbgnet.preprocessing import (
    CategoricalColumn,
    CodedColumn,
    NumericColumn,
    TablePreprocessor,
    coded_numbers,
    column_names,
    read_columns,
)
from pbgnet.validation import check_name

ENCODINGS = {
    "standard": "numbers standardised, missing ones as the median and marked; categories one-hot",
    "values": "numbers as they are, missing ones as the median and marked; categories one-hot",
    "codes": "numbers as they are, missing ones as NaN; categories as codes, missing and unknown ones as NaN",
}


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a table of mixed types with missing values into an array, in one of `ENCODINGS`.

    A `TablePreprocessor` decides on the fitted rows what a column is and which categories it has.

    Parameters
    ----------
    encoding : {"standard", "values", "codes"}, default="standard"
        "standard" for linear classifiers and networks, "values" for trees, "codes" for gradient boosting that
        supports categories and missing values.
    preprocessor : TablePreprocessor, default=None
        Distinguishes numbers from categories, and decides which of these are rare.

    Attributes
    ----------
    preprocessor_ : TablePreprocessor
    is_categorical_ : ndarray of bool
        Which columns of "codes" are categories.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.estimators.table_encoder import TableEncoder
    >>> table = np.array([[1.5, "red"], [3.0, "blue"], [None, "red"]], dtype=object)
    >>> TableEncoder("codes").fit_transform(table)
    array([[1.5, 1. ],
           [3. , 0. ],
           [nan, 1. ]])
    """

    def __init__(self, encoding: str = "standard", preprocessor: TablePreprocessor | None = None) -> None:
        self.encoding = encoding
        self.preprocessor = preprocessor

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: N803
        """Learn the columns from these rows."""
        check_name("encoding", self.encoding, ENCODINGS)
        template = TablePreprocessor() if self.preprocessor is None else self.preprocessor
        self.preprocessor_ = clone(template).set_params(numbers="standard").fit(X)
        coded = self.preprocessor_.coded_
        self.is_categorical_ = np.array([isinstance(column, CategoricalColumn) for column in coded])
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Turn rows into an array of float64."""
        check_is_fitted(self)
        binned = self.preprocessor_.encode(X)  # it detects missing columns, and warns
        if self.encoding == "standard":
            return np.asarray(binned.toarray())
        names = [column.name for column in self.preprocessor_.columns_]
        columns = read_columns(X, names) if column_names(X) is not None else read_columns(X)
        read = zip(self.preprocessor_.columns_, columns, strict=True)
        numbers = [some for fitted, column in read for some in coded_numbers(fitted, column)]
        parts = [
            _as_values(fitted, some, codes, self.encoding == "codes")
            for fitted, some, codes in zip(self.preprocessor_.coded_, numbers, binned.codes.T, strict=True)
        ]
        return np.column_stack(parts)


def _as_values(
    fitted: CodedColumn, numbers: NDArray[np.float64] | None, codes: NDArray[Any], as_codes: bool
) -> NDArray[np.float64]:
    """Return what a column becomes: one output for "codes", otherwise one or more."""
    if isinstance(fitted, NumericColumn):
        assert numbers is not None
        if as_codes:
            return numbers
        absent = np.isnan(numbers)
        filled = np.where(absent, fitted.median, numbers)
        return np.column_stack([filled, absent.astype(np.float64)]) if fitted.missing else filled
    n_known = len(fitted.categories) + fitted.rare
    if as_codes:
        return np.where(codes < n_known, codes.astype(np.float64), np.nan)
    outputs = np.arange(n_known + fitted.missing)
    return np.asarray(codes[:, None] == outputs, dtype=np.float64)
