"""Rows given to a monitor, divided into those that count now, those that wait, and those that are skipped.

Nothing is changed here: a `Sorted` says what would happen, and the monitor does it if there is no error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates import Classes, group_names
from pbgnet.exceptions import DomainError, LabelError, OptionError, ShapeError
from pbgnet.monitoring.gaps import gaps_of, values_of
from pbgnet.monitoring.ids import are_among, id_fingerprints, id_texts

MISSING = ("error", "pending", "drop")
"""What to do with a row without a label: raise an error, keep it until its label arrives, or skip it."""

NO_ANSWER = "not answered"
"""Stands for the answer of a row that was left unanswered; texts are written in quotes."""

UNKNOWN_CLASS = "The certificate has no such class: correct the label, or drop the row."

REPEATED = ("error", "skip")
"""What to do with a row whose id was already counted."""


class WaitingRow(NamedTuple):
    """The answer to a row that still has no label, as Python writes it, its group, and if it was answered."""

    answer: str
    group: str | None
    answered: bool


@dataclass(frozen=True, eq=False)
class GivenRows:
    """Rows as given, each read and checked on its own.

    Attributes
    ----------
    truth, answers : ndarray of object, shape (n,)
        Labels and answers as Python writes them; None if missing.
    groups : ndarray of object, shape (n,), or None
    answered : ndarray of bool, shape (n,)
        Which rows were answered; by default all.
    ids : list of str or None
    """

    truth: NDArray[Any]
    answers: NDArray[Any]
    groups: NDArray[Any] | None
    answered: NDArray[np.bool_]
    ids: list[str] | None

    def __len__(self) -> int:
        return len(self.truth)


@dataclass(frozen=True, eq=False)
class Sorted:
    """What would happen to rows.

    Attributes
    ----------
    truth, answers : ndarray of object, shape (m,)
        The rows that count now, in their order; with `groups`, if there are any.
    answered : ndarray of bool, shape (m,)
    fingerprints : ndarray of uint64
        Fingerprints of their ids, if they have ids.
    completed : list of str
        Ids of rows that were waiting until now.
    waiting : dict
        Rows that wait from now on, by id.
    n_dropped, n_skipped : int
        Rows without a label, and rows that were already counted, that are skipped.
    """

    truth: NDArray[Any]
    answers: NDArray[Any]
    groups: NDArray[Any] | None
    answered: NDArray[np.bool_]
    fingerprints: NDArray[np.uint64]
    completed: list[str]
    waiting: dict[str, WaitingRow]
    n_dropped: int
    n_skipped: int

    @property
    def errors(self) -> NDArray[np.bool_]:
        """Which rows are wrong; an unanswered row whose answer is unknown counts as right."""
        return np.asarray((self.truth != self.answers) & (self.answers != NO_ANSWER), dtype=bool)


def read_rows(
    y_true: ArrayLike,
    y_pred: ArrayLike | None,
    ids: ArrayLike | None,
    groups: ArrayLike | None,
    answered: ArrayLike | None,
    classes: Classes | None,
) -> GivenRows:
    """Read the arguments of `Monitor.update`; wrong labels and lists of different lengths raise an error."""
    truth = values_of("y_true", y_true)
    names = None if ids is None else id_texts(ids, len(truth))
    if y_pred is None and names is None:
        raise OptionError(
            "y_pred is required: the labels that were predicted. Only rows that are pending "
            "under their ids have one already."
        )
    given = None if y_pred is None else values_of("y_pred", y_pred)
    if given is not None and len(given) != len(truth):
        raise ShapeError(f"y_true has {len(truth)} labels, but y_pred has {len(given)} predictions.")
    told = np.ones(len(truth), dtype=bool) if answered is None else _read_answered(answered, len(truth))
    if given is not None and (gaps := gaps_of(given) & told).any():
        raise LabelError(f"y_pred has no prediction in row {int(np.argmax(gaps))}; drop such rows.")
    of_groups = None if groups is None else group_names(groups, len(truth))
    return GivenRows(*_names(truth, given, classes), of_groups, told, names)


def _read_answered(answered: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
    told = values_of("answered", answered)
    if told.dtype.kind != "b" or len(told) != n_rows:
        raise ShapeError(
            f"answered must be True or False for each of the {n_rows} rows, got {len(told)} of {told.dtype}."
        )
    return told


def sort_rows(
    given: GivenRows,
    waiting: Mapping[str, WaitingRow],
    seen: NDArray[np.uint64],
    missing: str,
    repeated: str,
) -> Sorted:
    """Divide rows, given those that wait and the fingerprints of those already counted."""
    gaps = _are_none(given.truth)
    answers, groups = given.answers.copy(), None if given.groups is None else given.groups.copy()
    answered = given.answered.copy()
    counted = np.zeros(len(given), dtype=bool)
    ids, prints = given.ids, np.zeros(0, dtype=np.uint64)
    waited = counted.copy()
    if ids is not None:
        prints = id_fingerprints(ids)
        counted = are_among(prints, seen)
        if counted.any() and repeated == "error":
            row = int(np.argmax(counted))
            raise DomainError(
                f"The row with id {ids[row]!r:.60} was already counted (row {row} of {len(given)}, "
                f"{int(counted.sum())} such rows); a row counts once. Pass repeated='skip' to skip "
                "such rows."
            )
        if waiting:
            waited = np.array([text in waiting for text in ids], dtype=bool)
            groups = _recall(ids, waited, waiting, answers, answered, groups)
    fresh_gaps = gaps & ~counted & ~waited
    _check_gaps(fresh_gaps, missing, ids)
    unanswered = ~counted & _are_none(answers)
    if ids is not None and unanswered.any():
        row = int(np.argmax(unanswered))
        raise OptionError(f"The row with id {ids[row]!r:.60} is not pending, so y_pred is required.")
    now = ~gaps & ~counted
    kept = np.flatnonzero(fresh_gaps) if missing == "pending" else ()
    named = ids or []
    return Sorted(
        given.truth[now],
        answers[now],
        None if groups is None else groups[now],
        answered[now],
        prints[now] if ids is not None else prints,
        [named[row] for row in np.flatnonzero(now & waited)],
        {
            named[row]: WaitingRow(answers[row], None if groups is None else groups[row], bool(answered[row]))
            for row in kept
        },
        int(fresh_gaps.sum()) if missing == "drop" else 0,
        int(counted.sum()),
    )


def _are_none(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([value is None for value in values.tolist()], dtype=bool)


def _recall(
    ids: Sequence[str],
    waited: NDArray[np.bool_],
    waiting: Mapping[str, WaitingRow],
    answers: NDArray[Any],
    answered: NDArray[np.bool_],
    groups: NDArray[Any] | None,
) -> NDArray[Any] | None:
    """Insert the answers and groups of rows that waited; raise an error if different ones are given now."""
    for row in np.flatnonzero(waited).tolist():
        known = waiting[ids[row]]
        if answers[row] not in (None, known.answer):
            raise DomainError(
                f"The row with id {ids[row]!r:.60} is pending with the prediction {known.answer}, but "
                f"now comes with {answers[row]}: it is another row, or another model. The first "
                "prediction counts; leave out y_pred, or use another id."
            )
        answers[row], answered[row] = known.answer, known.answered
        if known.group is not None:
            groups = np.full(len(ids), None, dtype=object) if groups is None else groups
            groups[row] = known.group
    return groups


def _check_gaps(gaps: NDArray[np.bool_], missing: str, ids: Sequence[str] | None) -> None:
    """Raise an error if rows without a label are not accepted."""
    if not gaps.any():
        return
    first = (
        f"{int(gaps.sum())} of {gaps.size} rows have no label, the first of them row {int(np.argmax(gaps))}"
    )
    if missing == "error":
        raise LabelError(
            f"{first}. missing='drop' skips them; missing='pending' keeps them by id until their "
            "labels arrive. Whether a label is missing must not depend on its value."
        )
    if missing == "pending" and ids is None:
        raise OptionError(f"{first}; to wait for their labels, pass ids.")


def _names(
    truth: NDArray[Any], answers: NDArray[Any] | None, classes: Classes | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return labels and answers as Python writes them, None if missing.

    A missing answer is a row that was left unanswered.
    """
    lists = [truth] if answers is None else [truth, answers]
    known = [~gaps_of(values) for values in lists]
    present = [_without_gaps(values, where) for values, where in zip(lists, known, strict=True)]
    if classes is None:
        sources = [values for values in present if len(values)]
        classes = Classes.of(*sources) if sources else None
    found = [np.full(len(truth), None, dtype=object) for _ in range(2)]
    if answers is not None:
        found[1][:] = NO_ANSWER
    for k, (values, where) in enumerate(zip(present, known, strict=True)):
        if classes is not None and len(values):
            names = np.array(classes.names, dtype=object)
            found[k][where] = names[classes.places(values, f"{('y_true', 'y_pred')[k]} holds", UNKNOWN_CLASS)]
    return found[0], found[1]


def _without_gaps(values: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the values that are not missing; objects in their plainest type, as if nothing were missing."""
    found = values[known]
    if found.dtype.kind != "O":
        return found
    items = found.tolist()
    return found if any(isinstance(item, str) for item in items) else np.array(items)
