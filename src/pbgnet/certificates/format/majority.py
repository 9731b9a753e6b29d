"""What can be had without learning: always the same answer, counted on the certified rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import DomainError
from pbgnet.records import Count, Limits, PositiveCount, Probability, Record


@dataclass(frozen=True)
class MajorityAnswer(Record):
    """How often it errs to answer always with the most frequent class.

    A count, and no claim: nothing is proved about it, and it has no share of delta.

    Attributes
    ----------
    answer : str
        The class, as Python writes it; the first of those that are as frequent.
    chosen_on : {"prior rows", "certified rows"}
        Where it is the most frequent; the certified rows where there are no others, which flatters it.
    n, n_errors : int
        Number of certified rows, and of those of them that are of another class.
    error_rate : float
        `n_errors / n`.
    """

    answer: str
    chosen_on: Annotated[str, Limits(choices=("prior rows", "certified rows"))]
    n: PositiveCount
    n_errors: Count
    error_rate: Probability

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_errors > self.n:
            raise DomainError(f"n_errors must be at most n, got {self.n_errors} of {self.n}.")

    @classmethod
    def counted(cls, names: Sequence[str], apart: NDArray[np.int64], certified: NDArray[np.int64]) -> Self:
        """Count it, given the classes and the places among them of prior and of certified rows.

        Examples
        --------
        >>> import numpy as np
        >>> from pbgnet.certificates.format import MajorityAnswer
        >>> MajorityAnswer.counted(("'no'", "'yes'"), np.array([0, 0, 1]), np.array([1, 0, 1, 1])).n_errors
        3
        """
        seen = apart if apart.size else certified
        place = int(np.bincount(seen, minlength=len(names)).argmax())
        n, n_errors = certified.size, int(np.sum(certified != place))
        return cls(names[place], "prior rows" if apart.size else "certified rows", n, n_errors, n_errors / n)


def never_answered(
    names: Sequence[str], truth: NDArray[np.int64], answers: NDArray[np.int64]
) -> tuple[str, ...]:
    """Return the classes that rows have, and that a classifier answers on none of them."""
    return tuple(names[place] for place in np.setdiff1d(truth, answers).tolist())
