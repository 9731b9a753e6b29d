"""The history of a monitored error rate, thinned as it grows: the data of its chart."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from pbgnet.records import Count, Limits, PositiveCount, Record

MOST_POINTS = 400
"""With more points, every second one is dropped."""

FIRST_SPACING = 4


@dataclass(frozen=True)
class Trail(Record):
    """Errors and evidence at regular numbers of rows.

    Attributes
    ----------
    spacing : int
        The k-th point, counted from 1, was taken after k times this many rows.
    errors : tuple of int
        Number of errors until then.
    log_e : tuple of float
        Logarithm of the e-value then.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.monitoring.trail import Trail
    >>> trail = Trail().after(0, np.arange(1, 10001), np.zeros(10000))
    >>> trail.spacing, int(trail.rows[-1]), trail.errors[-1]
    (32, 9984, 9984)
    """

    spacing: PositiveCount = FIRST_SPACING
    errors: Annotated[tuple[Count, ...], Limits(longest=MOST_POINTS)] = ()
    log_e: Annotated[tuple[float, ...], Limits(longest=MOST_POINTS)] = ()

    @property
    def rows(self) -> NDArray[np.int64]:
        """The number of rows at each point."""
        return self.spacing * np.arange(1, len(self.errors) + 1)

    def after(self, n_before: int, n_errors: NDArray[np.int64], log_e: NDArray[np.float64]) -> "Trail":
        """Return the trail after further rows, given the errors up to each of them, and the e-values."""
        n_rows, spacing = n_before + len(n_errors), self.spacing
        while n_rows // spacing > MOST_POINTS:
            spacing *= 2
        kept = slice(spacing // self.spacing - 1, None, spacing // self.spacing)
        first = (len(self.errors) * self.spacing) // spacing + 1
        fresh = spacing * np.arange(first, n_rows // spacing + 1) - n_before - 1
        return Trail(
            spacing,
            self.errors[kept] + tuple(n_errors[fresh].tolist()),
            self.log_e[kept] + tuple(log_e[fresh].tolist()),
        )


NO_POINTS = Trail()
"""Before the first row."""
