"""How the bound decreases with the number of rows."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pbgnet.bounds import clopper_pearson_bound, split_delta
from pbgnet.certificates import delta_of
from pbgnet.exceptions import DomainError, DtypeError
from pbgnet.planning.goal import as_written, check_error, errors_expected
from pbgnet.validation import positive_int

ROWS = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)

MOST_ROWS_AT_ONCE = 100_000
"""Most numbers of rows in one call."""


@dataclass(frozen=True)
class BoundAtRows:
    """What this many certified rows prove at the expected error rate.

    Attributes
    ----------
    rows, n_errors : int
        Certified rows, and the expected number of errors among them, rounded up.
    bound : float
        The exact (Clopper-Pearson) bound from them.
    gap : float
        The bound minus the expected error rate: the price of not knowing the rate.
    """

    rows: int
    n_errors: int
    bound: float
    gap: float


def bound_by_rows(
    error: float, rows: Iterable[int] = ROWS, confidence: float = 0.95, *, n_claims: int = 1
) -> tuple[BoundAtRows, ...]:
    """Return the bound at several numbers of certified rows, for one error rate.

    Parameters
    ----------
    error : float
        The expected error rate, in [0, 1); the number of errors is rounded up.
    rows : iterable of int, optional
    confidence, n_claims
        As for `rows_needed`.

    Examples
    --------
    >>> from pbgnet.planning import bound_by_rows
    >>> [(at.rows, at.n_errors, round(at.bound, 4)) for at in bound_by_rows(0.02, (100, 1000, 10000))]
    [(100, 2, 0.0616), (1000, 20, 0.0289), (10000, 200, 0.0225)]
    """
    rate, delta = check_error(error), split_delta(delta_of(confidence), n_claims)
    try:
        given = iter(rows)
    except TypeError:
        raise DtypeError(f"rows must be a list of numbers of rows, got {rows!r:.60}.") from None
    sizes = []
    for n in given:
        sizes.append(positive_int("rows", n))
        if len(sizes) > MOST_ROWS_AT_ONCE:
            raise DomainError(f"rows must have at most {MOST_ROWS_AT_ONCE} numbers.")
    if not sizes:
        return ()
    exact = as_written(rate)
    errors = [errors_expected(exact, n) for n in sizes]
    bounds = np.asarray(clopper_pearson_bound(errors, sizes, delta)).tolist()
    return tuple(
        BoundAtRows(n, k, bound, bound - rate) for n, k, bound in zip(sizes, errors, bounds, strict=True)
    )
