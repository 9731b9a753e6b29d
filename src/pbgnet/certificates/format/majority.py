"""What is possible without learning: always the same answer, counted on the certified rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import DomainError
from pbgnet.records import Count, Limits, PositiveCount, Probability, Record

NO_LABEL = "no label"
"""The answer if no label applies to more than half of the rows."""


@dataclass(frozen=True)
class MajorityAnswer(Record):
    """How often it is wrong to always answer with the most frequent class, or with the labels of most rows.

    A count, not a claim: nothing is proved about it, and it has no share of delta.

    Attributes
    ----------
    answer : str
        The class, as Python writes it; the first one if several are equally frequent. For several labels,
        those that more than half of the rows have, or "no label".
    chosen_on : {"prior rows", "certified rows"}
        Where it is the most frequent; the certified rows if there are no others, which makes it look better.
    n, n_errors : int
        Number of certified rows, and of those of them that have another class, or other labels.
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
        """Count it, given the classes and the class indices of prior and of certified rows.

        For several labels, their names and which rows have them: 0 and 1, shapes (n, L).

        Examples
        --------
        >>> import numpy as np
        >>> from pbgnet.certificates.format import MajorityAnswer
        >>> MajorityAnswer.counted(("'no'", "'yes'"), np.array([0, 0, 1]), np.array([1, 0, 1, 1])).n_errors
        3
        """
        seen, n = apart if len(apart) else certified, len(certified)
        if certified.ndim == 2:
            frequent = 2 * seen.sum(axis=0) > len(seen)
            answer = " and ".join(names[k] for k in np.flatnonzero(frequent).tolist()) or NO_LABEL
            n_errors = int(np.sum((certified != frequent).any(axis=1)))
        else:
            place = int(np.bincount(seen, minlength=len(names)).argmax())
            answer, n_errors = names[place], int(np.sum(certified != place))
        return cls(answer, "prior rows" if len(apart) else "certified rows", n, n_errors, n_errors / n)


def never_answered(
    names: Sequence[str], truth: NDArray[np.int64], answers: NDArray[np.int64]
) -> tuple[str, ...]:
    """Return the classes, or labels, that occur but are never answered."""
    if truth.ndim == 2:
        missing = truth.any(axis=0) & ~answers.any(axis=0)
        return tuple(names[place] for place in np.flatnonzero(missing).tolist())
    found, answered = (np.bincount(places, minlength=len(names)) > 0 for places in (truth, answers))
    return tuple(names[place] for place in np.flatnonzero(found & ~answered).tolist())
