"""Monitor a certificate in use: compare labelled rows with its bounds, and report if one is refuted."""

import ast
import os
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates import Certificate, Classes
from pbgnet.exceptions import DamagedFileError, DomainError, DtypeError, OptionError, UncertifiedError
from pbgnet.files import as_path, read_json, write_whole
from pbgnet.monitoring.change import ChangeDetector
from pbgnet.monitoring.claims import RecentRate, WatchedClaim, any_alarm, watched_claims
from pbgnet.monitoring.ids import (
    are_among,
    id_fingerprints,
    id_texts,
    joined,
    read_fingerprints,
    write_fingerprints,
)
from pbgnet.monitoring.labelled import MISSING, REPEATED, Sorted, WaitingRow, read_rows, sort_rows
from pbgnet.monitoring.state import MOST_WAITING, MonitorState, WaitingRecord, read_state, write_state
from pbgnet.monitoring.words import error_sentences
from pbgnet.validation import check_kind, check_name, positive_real


class Taken(NamedTuple):
    """What `Monitor.update` did with the rows it was given."""

    alarm: bool
    n_counted: int
    n_completed: int  # of these, rows that were waiting for their label
    n_waiting: int  # rows that wait from now on
    n_dropped: int  # rows without a label that were skipped
    n_skipped: int  # rows that were already counted


class Monitor:
    """Check continuously whether the bounds of a certificate still hold.

    For each bound B on an error rate, the monitor keeps an e-process: it bets against the hypothesis that
    each row is wrong with probability at most B, given the rows before. As long as the bounds hold, the
    probability of a false alarm, over all bounds together, is at most alpha, however many rows arrive and
    however often you look. The monitor watches the error rate over all rows, and that of answered rows if the
    certificate bounds it. If the certificate has bounds for classes or groups, these share half of alpha.

    Pass rows in the order in which their labels arrive. Labels may be known for a sample of the rows only, if
    it is drawn at random or by any rule that does not depend on whether the answer was right.

    Parameters
    ----------
    certified : Certificate, certified model, certified predictions or fitted estimator
        All but a bare certificate also know the classes.
    alpha : float, default=0.01
        Probability that an alarm is ever raised although all bounds hold.
    classes : sequence of labels, optional
        All classes, for a bare certificate; any other label is then an error. If the classes are not known,
        any label is accepted.
    change : ChangeDetector, optional
        Also test for change, which needs no labels; it is saved together with the monitor.

    Attributes
    ----------
    certificate : Certificate
    alpha : float
    claims : tuple of WatchedClaim
        The bounds that are watched; the error rate over all rows comes first.
    change : ChangeDetector or None

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet import Monitor, certify
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 1))
    >>> y = (X[:, 0] > 0) ^ (rng.random(2000) < 0.02)
    >>> certified = certify(lambda X: X[:, 0] > 0, X[:1000], y[:1000])
    >>> monitor = Monitor(certified)
    >>> monitor.update(y[1000:], X[1000:, 0] > 0).alarm
    False
    >>> monitor.update(y[1000:], X[1000:, 0] > 0.3).alarm
    True
    """

    def __init__(
        self,
        certified: Any,
        alpha: float = 0.01,
        *,
        classes: ArrayLike | None = None,
        change: ChangeDetector | None = None,
    ) -> None:
        self.certificate, self._classes = _certificate_and_classes(certified, classes)
        self.alpha = positive_real("alpha", alpha)
        if self.alpha >= 1.0:
            raise DomainError(
                f"alpha must be below 1, got {alpha!r}: it is the probability of a false alarm."
            )
        if change is not None:
            check_kind("change", change, ChangeDetector)
        self.claims: tuple[WatchedClaim, ...] = watched_claims(self.certificate)
        self.change = change
        self._waiting: dict[str, WaitingRow] = {}
        self._seen: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        self._tables: tuple[str, ...] = ()

    def update(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        answered: ArrayLike | None = None,
        missing: str = "error",
        repeated: str = "error",
    ) -> Taken:
        """Count rows: all of them, or none if there is an error.

        Parameters
        ----------
        y_true : array_like, shape (n,)
            The true labels; None or NaN if a label is not known yet.
        y_pred : array_like, shape (n,), optional
            The predictions; not needed for rows that are pending.
        ids : array_like, shape (n,), optional
            An id for each row. A row is counted once, and recognised by its id when its label arrives.
        groups : array_like, shape (n,), optional
            The group of each row, if the certificate has bounds for groups.
        answered : array_like of bool, shape (n,), optional
            Which rows were answered, if the certificate bounds the error rate of answered rows. For the
            others, `y_pred` is the prediction that was withheld; if it is None, they count as right.
        missing : {"error", "pending", "drop"}, default="error"
            What to do with rows without a label: raise an error; keep them by their ids until they come with
            their labels; or skip them.
        repeated : {"error", "skip"}, default="error"
            What to do with rows whose id was already counted.

        Returns
        -------
        Taken
            Whether there is an alarm, now or earlier, and how many rows were counted, pending or skipped.

        Raises
        ------
        LabelError
            For labels that are not classes, and for missing labels unless `missing` allows them.
        DomainError
            For an id that was already counted, or that occurs twice.
        """
        check_name("missing", missing, MISSING)
        check_name("repeated", repeated, REPEATED)
        by_group = any(claim.group is not None for claim in self.claims)
        if by_group and groups is None and y_pred is not None:
            raise OptionError("The certificate has bounds for groups; pass the group of each row as groups.")
        selective = any(claim.answered for claim in self.claims)
        if selective and answered is None and y_pred is not None:
            raise OptionError(
                "The certificate bounds the error rate of answered rows; pass answered, which says "
                "which rows were answered: those for which predict_or_abstain does not return None."
            )
        told = answered if selective else None
        given = read_rows(y_true, y_pred, ids, groups if by_group else None, told, self._classes)
        rows = sort_rows(given, self._waiting, self._seen, missing, repeated)
        n_waiting = len(self._waiting) - len(rows.completed) + len(rows.waiting)
        if n_waiting > MOST_WAITING:
            raise DomainError(
                f"More than {MOST_WAITING} rows would be pending; use missing='drop' for some of them."
            )
        claims = self._claims_after(rows)
        left = {name: row for name, row in self._waiting.items() if name not in set(rows.completed)}
        self.claims = claims
        self._waiting = left | rows.waiting
        if rows.fingerprints.size:
            self._seen = joined(self._seen, rows.fingerprints)
        counts = (len(rows.truth), len(rows.completed), len(rows.waiting), rows.n_dropped, rows.n_skipped)
        return Taken(self.alarm, *counts)

    def _claims_after(self, rows: Sorted) -> tuple[WatchedClaim, ...]:
        errors = rows.errors
        return tuple(
            claim.after(errors[claim.concerns(rows.truth, rows.groups, rows.answered)], self.alpha)
            for claim in self.claims
        )

    @property
    def alarm(self) -> bool:
        """Whether any bound has been contradicted, now or earlier."""
        return any_alarm(self.claims)

    @property
    def waiting(self) -> tuple[str, ...]:
        """Ids of the rows that are waiting for their labels."""
        return tuple(self._waiting)

    @property
    def error_rate(self) -> RecentRate:
        """The error rate of the latest labelled rows, with limits at confidence 1 - alpha.

        The latest rows are the last 500 or slightly more, or all if there are fewer. The limits hold at all
        times simultaneously. They are about the mean of the probabilities that each of these rows is wrong,
        given the rows before.
        """
        rates = self.claims[0].recent_rates(self.alpha)
        return rates[-1] if rates else RecentRate(1, 0, 0, 0.0, 1.0)

    @property
    def summary(self) -> str:
        """The state of the monitor in plain words."""
        return " ".join(error_sentences(self.claims, self.alpha, len(self._waiting)))

    def knows(self, ids: ArrayLike) -> NDArray[np.bool_]:
        """Return which ids were already counted or are waiting for their labels."""
        texts = id_texts(ids)
        waiting = np.array([text in self._waiting for text in texts], dtype=bool)
        return np.asarray(are_among(id_fingerprints(texts), self._seen) | waiting)

    def has_read(self, table: str) -> bool:
        """Whether `note_table` was called for a file with this SHA-256."""
        return table in self._tables

    def note_table(self, table: str) -> None:
        """Remember by its SHA-256 that a file was read."""
        self._tables = (*self._tables, table)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the state in a small JSON file, completely or not at all."""
        return write_whole(as_path(path), write_state(self._state(), self.change))

    @classmethod
    def resume(
        cls, path: str | os.PathLike[str], certified: Any, *, classes: ArrayLike | None = None
    ) -> Self:
        """Load a monitor that was saved with `save`.

        Parameters
        ----------
        path : path
        certified, classes
            As for a new monitor; the certificate must be the same.

        Raises
        ------
        UncertifiedError
            If the file is about another certificate.
        DamagedFileError
            If the file cannot be read.
        """
        state, change = read_json(as_path(path), read_state)
        made = cls(certified, state.alpha, classes=classes, change=change)
        if state.certificate != made.certificate.seal:
            raise UncertifiedError(
                f"{path} monitors another certificate: its seal is {state.certificate[:12]}..., and "
                f"that of this one is {made.certificate.seal[:12]}... Pass the model it was created "
                "with, or another file."
            )
        if [claim.identity for claim in state.claims] != [claim.identity for claim in made.claims]:
            raise DamagedFileError(f"{path} is damaged: its bounds do not match those of the certificate.")
        made.claims = state.claims
        made._waiting = {row.id: WaitingRow(row.answer, row.group, row.answered) for row in state.waiting}
        made._seen = read_fingerprints(state.seen)
        made._tables = state.tables
        return made

    def _state(self) -> MonitorState:
        waiting = tuple(WaitingRecord(name, *row) for name, row in self._waiting.items())
        seen = write_fingerprints(self._seen)
        return MonitorState(self.certificate.seal, self.alpha, self.claims, waiting, seen, self._tables)


def _certificate_and_classes(certified: Any, classes: ArrayLike | None) -> tuple[Certificate, Classes | None]:
    """Return a certificate and all classes, as far as they are known."""
    owner = certified
    for name in ("certificate", "certificate_"):
        if isinstance(getattr(owner, name, None), Certificate):
            certified = getattr(owner, name)
    if not isinstance(certified, Certificate):
        raise DtypeError(
            f"Expected a certificate or a certified model, got {type(certified).__name__}. Read a saved "
            "folder with load_model, or with load_predictions if the model is not stored."
        )
    found = next((getattr(owner, name) for name in ("classes", "classes_") if hasattr(owner, name)), None)
    if classes is not None:
        return certified, Classes.of(classes)
    if found is not None:
        return certified, Classes(tuple(found))
    named = [claim.given_class for claim in certified.class_conditional if claim.given_class is not None]
    return certified, Classes(tuple(map(ast.literal_eval, named))) if named else None
