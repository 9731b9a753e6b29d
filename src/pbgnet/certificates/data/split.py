"""The prior rows and the certified rows: two disjoint sets of indices.

A split is drawn at random, or chosen by the user without looking at the content of the rows. If rows are
chosen by their features or labels, they are no longer draws from the distribution, and neither are the
remaining ones that are certified: the bound would not hold. A stratified split is such a choice, too.

The draw depends on the seed and on the rows as a set, which is hashed into its random numbers: reordering the
rows cannot influence where they go. Given the set, every subset is equally likely, which is all that the
proof requires.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.data.labelled_rows import LabelledRows
from pbgnet.certificates.data.split_rules import RULES, SplitRecord, rows_by_rule
from pbgnet.exceptions import DomainError, DtypeError, PriorLeakageError, ShapeError
from pbgnet.validation import check_readable, positive_real


class Split:
    """The prior rows and the certified rows of a table; checked once, when it is made.

    Parameters
    ----------
    prior_rows : array_like of int
        Rows on which the prior or the preprocessing was fitted; may be empty.
    certified_rows : array_like of int
        Rows the bound is computed on.
    record : SplitRecord, optional
        How they were chosen; by default "given", or "none" if there are no prior rows.

    Raises
    ------
    PriorLeakageError
        If a row is in both.
    DomainError
        If a row is named twice or negative, or none is certified.

    Examples
    --------
    >>> from pbgnet.certificates.data import Split
    >>> Split([0, 1], [1, 2])
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.PriorLeakageError: 1 of the 2 certified rows are also prior rows, for example row 1:
    the bound would not hold. Fit the prior and the preprocessing on other rows.
    """

    def __init__(
        self, prior_rows: ArrayLike, certified_rows: ArrayLike, record: SplitRecord | None = None
    ) -> None:
        self.prior_rows = _distinct_rows("prior_rows", prior_rows)
        self.certified_rows = _distinct_rows("certified_rows", certified_rows)
        self.record = record or SplitRecord("given" if self.prior_rows.size else "none")
        if self.certified_rows.size == 0:
            raise DomainError("There are no rows to certify; at least one is needed.")
        both = self.certified_rows[np.isin(self.certified_rows, self.prior_rows, assume_unique=True)]
        if both.size:
            raise PriorLeakageError(
                f"{both.size} of the {self.certified_rows.size} certified rows are also prior rows, for "
                f"example row {int(both.min())}: the bound would not hold. Fit the prior and the "
                "preprocessing on other rows."
            )

    @classmethod
    def of_table(
        cls,
        rows: LabelledRows,
        given: ArrayLike | SplitRecord | None = None,
        fraction: float | None = None,
        seed: int = 0,
    ) -> "Split":
        """Split all rows of a table: those that are not prior rows are certified.

        Parameters
        ----------
        rows : LabelledRows
        given : array_like of int or bool, or SplitRecord, optional
            The user's own choice of the prior rows: their indices, or a mask over all rows, made without
            looking at the content of the rows. Or a rule, from `by_hash_of` or `earliest_by`.
        fraction : float, optional
            Share of the rows to draw otherwise; None for no prior rows.
        seed : int
            Of the draw.

        Examples
        --------
        >>> import numpy as np
        >>> from pbgnet.certificates.data import LabelledRows, Split
        >>> split = Split.of_table(LabelledRows(np.eye(10), range(10)), fraction=0.5, seed=0)
        >>> len(split.prior_rows), split.record.how
        (5, 'drawn')
        """
        n = rows.n_rows
        if isinstance(given, SplitRecord):
            if given.how not in RULES:
                raise DomainError(
                    f"{given.how!r} is not a rule for splitting; use by_hash_of or earliest_by."
                )
            prior_rows, record = rows_by_rule(given, rows), given
        elif given is not None:
            prior_rows = _distinct_rows("prior_rows", _from_mask("prior_rows", given, n))
            record = SplitRecord("given" if prior_rows.size else "none")
        elif fraction is None:
            prior_rows, record = np.empty(0, dtype=np.int64), SplitRecord("none")
        elif n < 2:
            raise DomainError(
                f"Found {n} sample: at least one is needed for the prior and one for the certificate."
            )
        else:
            record = SplitRecord("drawn", seed=seed, fraction=fraction)
            prior_rows = rows_by_rule(record, rows)
        if prior_rows.size and int(prior_rows.max()) >= n:
            raise DomainError(f"prior_rows must be between 0 and {n - 1}, the rows passed to fit.")
        is_left = np.ones(n, dtype=bool)
        is_left[prior_rows] = False
        rest = np.flatnonzero(is_left)
        if rest.size == 0:
            raise DomainError("Every row is a prior row: no rows are left to certify.")
        return cls(prior_rows, rest, record)

    def check_within(self, n_rows: int) -> None:
        """Raise `DomainError` if an index is beyond the end of a table."""
        for name in ("prior_rows", "certified_rows"):
            rows = getattr(self, name)
            if rows.size and int(rows.max()) >= n_rows:
                raise DomainError(
                    f"{name} contains row {int(rows.max())}, but the last row of the table is {n_rows - 1}."
                )

    def n_left_out(self, n_rows: int) -> int:
        """Return how many rows of a table of n_rows are in neither set."""
        return max(0, n_rows - self.prior_rows.size - self.certified_rows.size)

    def record_problem(self, rows: LabelledRows) -> str:
        """Say how the record contradicts the prior rows of a table; "" if it does not.

        Even without prior rows a split can be "given": the user may have left rows out.
        """
        how, count = self.record.how, self.prior_rows.size
        chosen = count > 0 or (how == "given" and self.n_left_out(rows.n_rows) > 0)
        if (how == "none") == chosen:
            return f"The split should be {how!r}, but there are {count} prior rows."
        if how not in RULES or np.array_equal(rows_by_rule(self.record, rows), np.sort(self.prior_rows)):
            return ""
        if how == "drawn":
            return (
                f"The prior rows are not the ones that seed {self.record.seed} draws from {rows.n_rows} rows."
            )
        return f"The prior rows are not the ones that column {self.record.column!r:.60} gives."

    def left_out_problem(self, n_rows: int) -> str:
        """Say that rows are left out without the user vouching for it; "" if none are, or the user does.

        Anyone who may leave out certified rows can leave out those that the network gets wrong.
        """
        left_out = self.n_left_out(n_rows)
        if not left_out or self.record.how == "given":
            return ""
        return (
            f"{left_out} rows of the table are neither prior rows nor certified rows, but with a "
            f"{self.record.how!r} split all other rows must be certified. Certify them all, or pass "
            "split=SplitRecord('given') to vouch that they were left out without looking at their features "
            "or labels."
        )


def draw_prior_rows(X: Any, y: ArrayLike, fraction: float, seed: int) -> NDArray[np.int64]:  # noqa: N803
    """Draw `fraction` of the rows of a table at random; at least one row remains on each side.

    The draw depends on the seed and on the rows with their labels as a set: from a table with the same rows
    in another order, the same rows are drawn.

    Parameters
    ----------
    X : DataFrame, ndarray or scipy sparse matrix, shape (n, d)
        The table as it was given to fit.
    y : array_like, shape (n,)
        Its labels.
    fraction : float
        Share of the rows, between 0 and 1.
    seed : int

    Returns
    -------
    ndarray of int64
        Indices of the rows in the table, in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates import draw_prior_rows
    >>> X, y = np.arange(10.0)[:, None], np.arange(10) % 2
    >>> X[draw_prior_rows(X, y, 0.5, seed=0), 0]
    array([1., 2., 6., 7., 8.])
    >>> X[::-1][draw_prior_rows(X[::-1], y[::-1], 0.5, seed=0), 0]
    array([8., 7., 6., 2., 1.])
    """
    rows = LabelledRows(X, y)
    if rows.n_rows < 2:
        raise DomainError(
            f"At least 2 rows are needed, one for the prior and one to certify; got {rows.n_rows}."
        )
    if not positive_real("fraction", fraction) < 1:
        raise DomainError(f"fraction must be between 0 and 1 (for example 0.5), got {fraction!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise DomainError(f"seed must be a whole number of at least 0, got {seed!r:.60}.")
    return rows_by_rule(SplitRecord("drawn", int(seed), float(fraction)), rows)


def _from_mask(name: str, rows: ArrayLike, n: int) -> ArrayLike:
    """Return the indices marked by a mask over n rows; anything else unchanged."""
    check_readable(name, rows)
    mask: NDArray[Any] = np.asarray(rows)
    if mask.dtype.kind != "b":
        return rows
    if mask.shape != (n,):
        raise ShapeError(f"{name} is a mask of shape {mask.shape}, but there are {n} rows.")
    return np.flatnonzero(mask)


def _distinct_rows(name: str, rows: ArrayLike) -> NDArray[np.int64]:
    """Return indices of rows as a read-only int64 array, none negative or repeated."""
    check_readable(name, rows)
    array: NDArray[Any] = np.asarray(rows)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise DtypeError(
            f"{name} must contain row indices, got {array.dtype}; convert a mask with np.flatnonzero(mask)."
        )
    if array.ndim != 1:
        raise ShapeError(f"{name} must be a one-dimensional list of row indices, got shape {array.shape}.")
    if array.size and int(array.min()) < 0:
        raise DomainError(f"{name} must not contain negative indices, got {int(array.min())}.")
    increases = bool((array[1:] > array[:-1]).all())  # as usual for a table, then no sorting is needed
    ordered = array if increases else np.sort(array)
    repeats = np.flatnonzero(ordered[1:] == ordered[:-1])
    if repeats.size:
        twice = int(ordered[repeats[0]])
        raise DomainError(f"{name} contains row {twice} twice; rows must be independent draws.")
    result = array.astype(np.int64)
    result.setflags(write=False)
    return result
