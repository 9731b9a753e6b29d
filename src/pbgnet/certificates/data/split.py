"""Which rows made the prior and which are certified: two sets of indices that never meet.

A split is drawn at random from a seed, without looking at any row, or chosen by the user without looking at
anything in the rows. Rows that are chosen by their features or labels are no draws from the distribution any
more, and nor are those that are left to be certified: the bound would not hold. A stratified split is such a
choice too.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.exceptions import DomainError, DtypeError, PriorLeakageError, ShapeError
from pbgnet.records import Limits, OpenProbability, Record, Seed
from pbgnet.validation import check_readable, positive_int, positive_real


@dataclass(frozen=True)
class SplitRecord(Record):
    """How the rows of the prior were chosen.

    Attributes
    ----------
    how : {"drawn", "given", "none"}
        Drawn by `draw_prior_rows`; named by the user, who vouches that nothing in the rows was looked at; or
        there are none.
    seed, fraction : int, float or None
        What they were drawn with; None where they were not.

    Examples
    --------
    >>> from pbgnet.certificates import SplitRecord
    >>> SplitRecord("given", seed=3)
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DomainError: seed and fraction belong to a split that was drawn; this one is 'given'.
    """

    how: Annotated[str, Limits(choices=("drawn", "given", "none"))]
    seed: Seed | None = None
    fraction: OpenProbability | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.how == "drawn" and (self.seed is None or self.fraction is None):
            raise DomainError(
                "seed and fraction are needed for a drawn split, so that anyone can draw it again."
            )
        if self.how != "drawn" and (self.seed is not None or self.fraction is not None):
            raise DomainError(
                f"seed and fraction belong to a split that was drawn; this one is {self.how!r}."
            )


class Split:
    """Rows of a table that made the prior, and rows that are certified; made once, and checked then.

    Parameters
    ----------
    prior_rows : array_like of int
        Rows that the prior or the preprocessing was fitted on; may be empty.
    certified_rows : array_like of int
        Rows the bound is computed on.
    record : SplitRecord, optional
        How they were chosen; "given", or "none" if there are no prior rows, unless said.

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
    the bound would not hold. Fit prior and preprocessing on other rows.
    """

    def __init__(
        self, prior_rows: ArrayLike, certified_rows: ArrayLike, record: SplitRecord | None = None
    ) -> None:
        self.prior_rows = _distinct_rows("prior_rows", prior_rows)
        self.certified_rows = _distinct_rows("certified_rows", certified_rows)
        self.record = record or SplitRecord("given" if self.prior_rows.size else "none")
        if self.certified_rows.size == 0:
            raise DomainError("There is no row to certify; at least one is needed.")
        both = np.intersect1d(self.prior_rows, self.certified_rows, assume_unique=True)
        if both.size:
            raise PriorLeakageError(
                f"{both.size} of the {self.certified_rows.size} certified rows are also prior rows, for "
                f"example row {int(both[0])}: the bound would not hold. Fit prior and preprocessing on other "
                "rows."
            )

    @classmethod
    def of_table(
        cls, n: int, given: ArrayLike | None = None, fraction: float | None = None, seed: int = 0
    ) -> "Split":
        """Split all n rows of a table: the rest of the prior rows is certified.

        Parameters
        ----------
        n : int
        given : array_like of int or bool, optional
            The user's own choice of the prior rows: their indices, or a mask over all n rows. It must be made
            without looking at anything in the rows.
        fraction : float, optional
            Share of the rows to draw otherwise; None for no prior rows.
        seed : int
            Of the draw.

        Examples
        --------
        >>> from pbgnet.certificates.data import Split
        >>> split = Split.of_table(10, fraction=0.5, seed=0)
        >>> len(split.prior_rows), split.record.how
        (5, 'drawn')
        """
        if given is not None:
            prior_rows = _distinct_rows("prior_rows", _from_mask("prior_rows", given, n))
            record = SplitRecord("given" if prior_rows.size else "none")
        elif fraction is None:
            prior_rows, record = np.empty(0, dtype=np.int64), SplitRecord("none")
        elif n < 2:
            raise DomainError(f"Found {n} sample: the prior and the certificate each need one at least.")
        else:
            prior_rows = draw_prior_rows(n, fraction, seed)
            record = SplitRecord("drawn", seed=seed, fraction=fraction)
        if prior_rows.size and int(prior_rows.max()) >= n:
            raise DomainError(f"prior_rows must lie between 0 and {n - 1}, the rows given to fit.")
        rest = np.setdiff1d(np.arange(n), prior_rows, assume_unique=True)
        if rest.size == 0:
            raise DomainError("Every row is a prior row: there is nothing left to certify.")
        return cls(prior_rows, rest, record)

    def check_within(self, n_rows: int) -> None:
        """Raise `DomainError` if an index lies beyond the end of a table."""
        for name in ("prior_rows", "certified_rows"):
            rows = getattr(self, name)
            if rows.size and int(rows.max()) >= n_rows:
                raise DomainError(
                    f"{name} names row {int(rows.max())}, but the table ends with row {n_rows - 1}."
                )

    def n_left_out(self, n_rows: int) -> int:
        """Return how many rows of a table of n_rows are in neither set."""
        return max(0, n_rows - self.prior_rows.size - self.certified_rows.size)

    def record_problem(self, n_rows: int) -> str:
        """Say how the record contradicts the prior rows of a table of n_rows; "" if it does not.

        Without prior rows a split can be "given" all the same: the user may have left rows out.
        """
        how, count = self.record.how, self.prior_rows.size
        chosen = count > 0 or (how == "given" and self.n_left_out(n_rows) > 0)
        if (how == "none") == chosen:
            return f"The split is said to be {how!r}, but there are {count} prior rows."
        if self.record.seed is None or self.record.fraction is None:
            return ""
        if n_rows < 2 or not np.array_equal(
            draw_prior_rows(n_rows, self.record.fraction, self.record.seed), np.sort(self.prior_rows)
        ):
            return f"The prior rows are not those that seed {self.record.seed} draws from {n_rows} rows."
        return ""

    def left_out_problem(self, n_rows: int) -> str:
        """Say that rows are left out though nobody vouches for it; "" if none are, or the user does.

        Whoever may leave out certified rows can leave out those that the network gets wrong.
        """
        left_out = self.n_left_out(n_rows)
        if not left_out or self.record.how == "given":
            return ""
        return (
            f"{left_out} rows of the table are neither prior nor certified rows, but the split is "
            f"{self.record.how!r}: all rows that are not prior rows must be certified. Certify them all, or "
            "pass split=SplitRecord('given') and vouch that they were left out without looking at anything."
        )


def draw_prior_rows(n: int, fraction: float, seed: int) -> NDArray[np.int64]:
    """Draw `fraction` of n rows at random, in ascending order; at least one row is left on each side.

    Examples
    --------
    >>> from pbgnet.certificates import draw_prior_rows
    >>> len(draw_prior_rows(10, 0.5, seed=0))
    5
    """
    if positive_int("n", n) < 2:
        raise DomainError(f"n must be at least 2, a row for the prior and one to certify; got {n}.")
    if not positive_real("fraction", fraction) < 1:
        raise DomainError(f"fraction must lie between 0 and 1, e.g. 0.5, got {fraction!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise DomainError(f"seed must be a whole number of at least 0, got {seed!r:.60}.")
    count = min(max(1, round(fraction * n)), n - 1)
    return np.sort(np.random.default_rng(seed).permutation(n)[:count]).astype(np.int64)


def _from_mask(name: str, rows: ArrayLike, n: int) -> ArrayLike:
    """Return the indices that a mask over n rows marks; anything else as it is."""
    check_readable(name, rows)
    mask: NDArray[Any] = np.asarray(rows)
    if mask.dtype.kind != "b":
        return rows
    if mask.shape != (n,):
        raise ShapeError(f"{name} is a mask of shape {mask.shape}, but there are {n} rows to mark.")
    return np.flatnonzero(mask)


def _distinct_rows(name: str, rows: ArrayLike) -> NDArray[np.int64]:
    """Return indices of rows as a read-only int64 array, none of them negative or twice."""
    check_readable(name, rows)
    array: NDArray[Any] = np.asarray(rows)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise DtypeError(f"{name} must hold indices of rows, got {array.dtype}; pass np.flatnonzero(mask).")
    if array.ndim != 1:
        raise ShapeError(f"{name} must be one list of indices, got shape {array.shape}.")
    if array.size and int(array.min()) < 0:
        raise DomainError(f"{name} must count from 0, got {int(array.min())}.")
    values, counts = np.unique(array, return_counts=True)
    if values.size != array.size:
        twice = int(values[np.argmax(counts > 1)])
        raise DomainError(f"{name} names a row twice, row {twice}; the rows must be independent draws.")
    result = array.astype(np.int64)
    result.setflags(write=False)
    return result
